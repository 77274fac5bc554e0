// The command line of the MCP Inspector, in one of its three eras, against a server that offers the fixture.
//
//   node inspector.mjs legacy|auto|modern [--http] -- SERVER [ARG…]
import { assert, Checks, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { call, newInspector, runTests } from './inspector_run.mjs';

const { command, args, options: [era, over = ''] } = serverCommand();
const checks = new Checks(`inspector ${era}${over}`);
const server = over === '--http' ? await startServer({ command, args }) : undefined;
const modern = era !== 'legacy';
const { inspect, succeeds, remove } = await newInspector(era, server === undefined ? { command, args } : { url: server.url });

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

// Once the era is found there is nothing new in `auto`, so the methods themselves are enough there.
await runTests(checks, Object.entries(TESTS).filter(([name]) => era !== 'auto' || /^[a-z]+(\/[a-z]+)?$/.test(name)));
if (server !== undefined) {
    await checks.check('the server ends when it is told to', () => server.stop());
}
await remove();
checks.finish();
