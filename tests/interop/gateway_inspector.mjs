// Servers from npm behind `toolwire up` or `toolwire serve`, and the command line of the MCP Inspector before it.
//
//   node gateway_inspector.mjs up|serve legacy|auto|modern -- TOOLWIRE
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { assert, Checks, serverCommand } from './checks.mjs';
import { startServers, until } from './gateway_servers.mjs';
import { startHub, writeSettings } from './hub.mjs';
import { call, newInspector, runTests } from './inspector_run.mjs';

const { command: toolwire, options: [how, era] } = serverCommand();
const checks = new Checks(`gateway inspector ${how} ${era}`);
const servers = await startServers();
const hub = how === 'up' ? await startHub(toolwire, servers.mcpServers) : undefined;
const settings = how === 'up' ? undefined : await writeSettings(servers.mcpServers);
const { inspect, succeeds, remove } = await newInspector(era, hub ?? await serveAsScript());
const text = (result) => result.content[0].text;

/** The Inspector takes options of a server for its own, such as --config. */
async function serveAsScript() {
    const script = path.join(settings.folder, 'serve');
    const words = [path.resolve(toolwire), ...settings.serve].map((word) => `'${word}'`);
    await writeFile(script, `#!/bin/sh\nexec ${words.join(' ')}\n`, { mode: 0o755 });
    return { command: script, args: [] };
}

/** Also looks at the schemas of the tools. */
async function allTools() {
    const { tools } = await succeeds('--method', 'tools/list', '--strict');
    return tools.length === 2 * 13 + 4 + 14 + 19 ? tools : undefined;
}

const TESTS = {
    async 'tools/list'() {
        // On a busy machine servers take longer than a list waits for them.
        const names = (await until('all tools', allTools)).map(({ name }) => name);
        assert.ok(['everything__echo', 'proxied__echo', 'echo', 'everything__get-roots-list', 'read_text_file', 'add'].every((name) => names.includes(name)));
        assert.equal(new Set(names).size, names.length);
    },
    async 'tools/call of a child, of one over HTTP, of a modern one'() {
        assert.equal(text(await succeeds(...call('everything__echo', '--tool-arg', 'message=hi'))), 'Echo: hi');
        assert.equal(text(await succeeds(...call('proxied__echo', '--tool-arg', 'message=hi'))), 'Echo: hi');
        assert.equal(text(await succeeds(...call('echo', '--tool-arg', 'message=hi'))), 'hi');
    },
    async 'a structured result'() {
        const { structuredContent } = await succeeds(...call('proxied__get-structured-content', '--tool-arg', 'location=Chicago'));
        assert.deepEqual(structuredContent, { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
    },
    async 'a refusal of the filesystem server'() {
        const { status, result } = await inspect(...call('read_text_file', '--tool-arg', `path=${servers.outside}`));
        assert.equal(status, 5);
        assert.equal(text(result), `Access denied - path outside allowed directories: ${servers.outside} not in ${servers.allowed}`);
    },
    async 'a question that the Inspector cannot answer'() {
        const { status, stderr, result } = await inspect(...call('everything__trigger-elicitation-request'));
        assert.notEqual(status, 0, JSON.stringify(result));
        assert.notEqual(stderr, '');
    },
    async 'prompts/get'() {
        const { messages } = await succeeds('--method', 'prompts/get', '--prompt-name', 'everything__args-prompt', '--prompt-args', 'city=Ulm');
        assert.equal(messages[0].content.text, "What's weather in Ulm?");
    },
    async 'resources/read'() {
        const { contents } = await succeeds('--method', 'resources/read', '--uri', 'demo://resource/dynamic/text/7');
        assert.match(contents[0].text, /^Resource 7: /);
    },
};

// With `serve` every run starts all servers anew; and once the era is found there is nothing new in `auto`.
const tests = Object.entries(TESTS).slice(0, how === 'serve' ? 1 : era === 'auto' ? 2 : undefined);
await checks.check(...tests[0]);
await runTests(checks, tests.slice(1));
if (hub !== undefined) {
    await checks.check('the hub ends when it is told to', () => hub.stop());
} else {
    await settings.remove();
}
await remove();
await servers.stop();
checks.finish();
