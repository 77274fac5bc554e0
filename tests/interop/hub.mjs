// `toolwire up` with other MCP servers behind it, as a process with places of its own.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServer } from './http.mjs';

/** A folder with the settings of a hub; gives their path, and `args` that make them all that a hub or `serve` has. */
export async function writeSettings(mcpServers, more = {}) {
    const folder = await mkdtemp(path.join(tmpdir(), 'hub-'));
    const config = path.join(folder, 'settings.json');
    await writeFile(config, JSON.stringify({ mcpServers, ...more }), { mode: 0o600 });
    return {
        folder,
        config,
        serve: ['serve', '--config', config, '--alone', '--no-toolkit', '--state', path.join(folder, 'state')],
        up: ['up', '--json', '--config', config, '--no-toolkit', '--state', path.join(folder, 'state'), '--pipe', path.join(folder, 'pipe')],
        remove: () => rm(folder, { recursive: true, force: true }),
    };
}

/** A hub that serves these servers over HTTP, and nothing else; `stop` as startServer has it. */
export async function startHub(toolwire, mcpServers, more) {
    const settings = await writeSettings(mcpServers, more);
    try {
        const hub = await startServer({ command: toolwire, args: settings.up });
        return { ...hub, stop: () => hub.stop().finally(settings.remove) };
    } catch (error) {
        await settings.remove();
        throw error;
    }
}
