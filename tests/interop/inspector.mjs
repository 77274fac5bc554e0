// The command line of the MCP Inspector, in one of its three eras, against a server that offers the fixture.
//
//   node inspector.mjs legacy|auto|modern [--http] -- SERVER [ARG…]
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { assert, Checks, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';

const { command, args, options: [era, over = ''] } = serverCommand();
const checks = new Checks(`inspector ${era}${over}`);
const server = over === '--http' ? await startServer({ command, args }) : undefined;
const target = server === undefined ? [command, ...args] : [server.url.href, '--transport', 'http'];
const modern = era !== 'legacy';
const inspector = path.join(
    path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
    'clients/launcher/build/index.js');
const home = await mkdtemp(path.join(tmpdir(), 'inspector-')); // it writes there

/** One run: exit status, the JSON of stdout, and stderr. */
function inspect(...words) {
    const own = ['--cli', ...target, '--format', 'json', '--quiet', '--protocol-era', era, ...words];
    return new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [inspector, ...own], {
            env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'],
        });
        let stdout = '';
        let stderr = '';
        child.stdout.on('data', (chunk) => { stdout += chunk; });
        child.stderr.on('data', (chunk) => { stderr += chunk; });
        child.on('error', reject);
        child.on('close', (status) => {
            try {
                resolve({ status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout).result });
            } catch (error) {
                reject(new Error(`${error.message}: ${stdout} ${stderr}`));
            }
        });
    });
}

async function succeeds(...words) {
    const { status, result, stderr } = await inspect(...words);
    assert.equal(status, 0, stderr);
    return result;
}

const call = (name, ...words) => ['--method', 'tools/call', '--tool-name', name, ...words];
const TESTS = {
    async initialize() {
        const result = await succeeds('--method', 'initialize');
        assert.deepEqual(result.serverInfo, { name: 'fixture', version: '1.0.0' });
        assert.equal(result.protocolVersion, modern ? '2026-07-28' : '2025-11-25');
        assert.equal(result.instructions, 'Call echo.');
        assert.deepEqual(Object.keys(result.capabilities).sort(), ['completions', 'logging', 'prompts', 'resources', 'tools']);
    },
    async 'tools/list'() {
        const { tools } = await succeeds('--method', 'tools/list', '--strict'); // which also looks at the schemas
        assert.equal(tools.length, 19);
        assert.equal(tools[0].name, 'echo');
    },
    async 'tools/call'() {
        const result = await succeeds(...call('echo', '--tool-arg', 'message=hi'));
        assert.deepEqual(result.content, [{ type: 'text', text: 'hi' }]);
        const name = result._meta?.['io.modelcontextprotocol/serverInfo']?.name;
        assert.equal(name, modern ? 'fixture' : undefined);
    },
    async 'tools/call with a structured result'() {
        const { structuredContent } = await succeeds(...call('add', '--tool-args-json', '{"a":1,"b":0.5}'));
        assert.deepEqual(structuredContent, { sum: 1.5 });
    },
    async 'tools/call with progress'() {
        assert.equal((await succeeds(...call('progress', '--tool-arg', 'steps=3'))).content[0].text, 'done 3');
    },
    async 'a tool that fails'() {
        const { status, result } = await inspect(...call('failing'));
        assert.equal(status, 5);
        assert.equal(result.content[0].text, 'it failed');
    },
    async 'a question that the Inspector cannot answer'() {
        const { status, stderr, result } = await inspect(...call('ask_name'));
        assert.notEqual(status, 0, JSON.stringify(result));
        assert.notEqual(stderr, '');
    },
    async 'resources/list'() {
        const { resources } = await succeeds('--method', 'resources/list');
        assert.deepEqual(resources.map(({ uri }) => uri), ['test://static', 'test://blob', 'test://watched']);
    },
    async 'resources/templates/list'() {
        const { resourceTemplates } = await succeeds('--method', 'resources/templates/list');
        assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), ['test://item/{id}']);
    },
    async 'resources/read'() {
        const result = await succeeds('--method', 'resources/read', '--uri', 'test://item/7');
        assert.deepEqual(result.contents, [{ uri: 'test://item/7', mimeType: 'text/plain', text: 'item 7' }]);
        assert.equal('ttlMs' in result, modern);
    },
    async 'prompts/list'() {
        assert.deepEqual((await succeeds('--method', 'prompts/list')).prompts.map(({ name }) => name), ['simple', 'greet']);
    },
    async 'prompts/get'() {
        const result = await succeeds('--method', 'prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ann', 'style=formal');
        assert.equal(result.messages[0].content.text, 'Greet Ann in a formal style');
    },
    async 'calls under load'() {
        const result = await succeeds(...call('echo', '--tool-arg', 'message=hi',
            '--load', '--load-requests', '500', '--load-concurrency', '10'));
        assert.deepEqual([result.ok, result.errors, result.toolErrors], [500, 0, 0]);
    },
};

// Each run starts programs, so two at a time keep a small machine busy. Once the era is found there is nothing
// new in `auto`, so the methods themselves are enough there.
const queue = Object.entries(TESTS).filter(([name]) => era !== 'auto' || /^[a-z]+(\/[a-z]+)?$/.test(name));
async function worker() {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await checks.check(...next);
    }
}
await Promise.all([worker(), worker()]);
if (server !== undefined) {
    await checks.check('the server ends when it is told to', () => server.stop());
}
await rm(home, { recursive: true, force: true });
checks.finish();
