// MCP servers that others wrote, from npm, as the settings of a hub name them: `everything` and `files` on version 1 of
// the TypeScript SDK, `fixture` on version 2, and `proxied`, another `everything` which mcp-proxy serves over HTTP.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { assert } from './checks.mjs';

const POLL_MS = 20;
const PATIENCE_MS = 60_000;

/** The program of a package: what its `bin` says. */
function binOf(name) {
    const require = createRequire(import.meta.url);
    const folder = require.resolve.paths(name).map((place) => path.join(place, name)).find(existsSync);
    const { bin } = require(path.join(folder, 'package.json'));
    return path.join(folder, Object.values(bin)[0]);
}

const EVERYTHING = binOf('@modelcontextprotocol/server-everything');
const FILESYSTEM = binOf('@modelcontextprotocol/server-filesystem');
const PROXY = binOf('mcp-proxy');
const FIXTURE = fileURLToPath(new URL('server_v2.mjs', import.meta.url));
const node = process.execPath;

/** Asks until fn gives something; for what another process does in its own time. */
export async function until(what, fn) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
        const value = await fn();
        if (value) {
            return value;
        }
        assert.ok(Date.now() < end, `waited in vain: ${what}`);
        await later(POLL_MS);
    }
}

/** A process that nobody has waited for yet is no more, although its number is taken. */
export async function alive(pid) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z');
    return !/^State:\s*Z/m.test(status);
}

/** The children of a process, and theirs. */
export async function descendants(pid) {
    const lists = await readdir(`/proc/${pid}/task`).then((threads) => Promise.all(threads.map((thread) =>
        readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''))), () => []);
    const own = lists.join(' ').split(/\s+/).filter((word) => word !== '').map(Number);
    return [...own, ...(await Promise.all(own.map(descendants))).flat()];
}

/** The port on which a process listens, for one that does not say: the system knows. */
async function listeningPort(pid) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')));
    for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n')) {
        const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
        if (state === '0A' && links.includes(`socket:[${inode}]`)) {
            return Number.parseInt(local.split(':')[1], 16);
        }
    }
    return 0;
}

/** mcp-proxy before an `everything` of its own, on a free port, or on one that it had before. */
export async function startProxy(port = 0) {
    const child = spawn(node, [PROXY, '--host', '127.0.0.1', '--port', String(port), '--', node, EVERYTHING],
        { stdio: 'ignore' });
    const exit = new Promise((resolve) => { child.once('exit', resolve); });
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    const found = await until('the port of mcp-proxy', () => listeningPort(child.pid));
    return {
        pid: child.pid,
        port: found,
        url: `http://127.0.0.1:${found}/mcp`,
        /** With its child, which it would leave behind if it were killed alone. Again does nothing. */
        async stop() {
            const all = await descendants(child.pid);
            child.kill('SIGTERM');
            await Promise.race([exit, later(5_000).then(kill)]);
            await exit;
            process.removeListener('exit', kill);
            for (const pid of all) {
                await until(`the end of ${pid}, a child of mcp-proxy`, async () => !await alive(pid));
            }
        },
    };
}

/** A folder with an allowed part and one that is not, the proxy, and all as `mcpServers`. */
export async function startServers() {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'gateway-')));
    const allowed = path.join(folder, 'allowed');
    const outside = path.join(folder, 'outside.txt');
    await mkdir(allowed);
    await writeFile(outside, 'a secret');
    await writeFile(path.join(allowed, 'note.txt'), 'three small wörds');
    await symlink(outside, path.join(allowed, 'way-out'));
    const proxy = await startProxy();
    return {
        folder,
        allowed,
        outside,
        proxy,
        mcpServers: {
            everything: { command: node, args: [EVERYTHING], prefix: true },
            files: { command: node, args: [FILESYSTEM, allowed] },
            fixture: { command: node, args: [FIXTURE] },
            proxied: { url: proxy.url, prefix: true },
        },
        async stop() {
            await proxy.stop();
            await rm(folder, { recursive: true, force: true });
        },
    };
}
