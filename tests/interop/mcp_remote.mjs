// `mcp-remote` from npm between a client over stdio and our server over HTTP, as those have it in their configuration whose
// client cannot speak HTTP.
//
//   node mcp_remote.mjs http-only|sse-only -- SERVER [ARG…]
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { assert, Checks, Inbox, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { textOf, wireRules } from './suite.mjs';
import { Wire } from './wire.mjs';

const { command, args, options: [strategy] } = serverCommand();
const checks = new Checks(`mcp-remote ${strategy}`);
const remote = path.join(path.dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist/proxy.js');
const folder = await mkdtemp(path.join(tmpdir(), 'mcp-remote-')); // it keeps what it learns there
const server = await startServer({ command, args });
const url = strategy === 'sse-only' ? new URL('/sse', server.url) : server.url;
const transport = new StdioClientTransport({
    command: process.execPath, args: [remote, url.href, '--allow-http', '--transport', strategy, '--silent'],
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: folder, HOME: folder }, stderr: 'inherit',
});
const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: { form: {} }, sampling: {} } });
const wire = new Wire(transport);
const call = (name, given = {}, options = {}) => client.callTool({ name, arguments: given }, undefined, options);

await checks.check('connect', () => client.connect(transport));
await checks.check('the server behind it is ours', () =>
    assert.deepEqual([client.getServerVersion().name, client.getInstructions()], ['fixture', 'Call echo.']));
await checks.check('tools/list, page by page', async () => {
    const names = [];
    let cursor;
    do {
        const page = await client.listTools(cursor === undefined ? undefined : { cursor });
        names.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.equal(names.length, 19);
    assert.equal(wire.requests('tools/list').length, 4);
});
await checks.check('tools/call', async () => assert.equal(textOf(await call('echo', { message: 'é\u2028' })), 'é\u2028'));
await checks.check('a tool that fails', async () => assert.equal((await call('failing')).isError, true));
await checks.check('progress', async () => {
    await call('progress', { steps: 3 }, { onprogress: () => {} });
    assert.deepEqual(wire.notifications('notifications/progress').map(({ params }) => params.progress), [1, 2, 3]);
});
await checks.check('questions', async () => {
    client.setRequestHandler(types.ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ann' } }));
    assert.equal(textOf(await call('ask_name')), 'Hello, Ann!');
    client.setRequestHandler(types.CreateMessageRequestSchema, async () => ({
        model: 'none', role: 'assistant', content: { type: 'text', text: 'because' },
    }));
    assert.equal(textOf(await call('sample', { prompt: 'why' })), 'the model says: because');
});
await checks.check('resources and prompts', async () => {
    assert.equal((await client.readResource({ uri: 'test://item/7' })).contents[0].text, 'item 7');
    assert.equal((await client.getPrompt({ name: 'simple' })).messages[0].content.text, 'A simple prompt');
});
await checks.check('changes are announced', async () => {
    const heard = new Inbox();
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, ({ method }) => heard.push(method));
    client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ method }) => heard.push(method));
    await client.subscribeResource({ uri: 'test://watched' });
    await call('update');
    await heard.nth(1);
    await call('add_tool', { name: 'new_one' });
    await heard.nth(2);
    assert.deepEqual(heard.items, ['notifications/resources/updated', 'notifications/tools/list_changed']);
});
await checks.check('50 calls at once, each with its own answer', async () => {
    const all = Array.from({ length: 50 }, (unused, i) => call('echo', { message: `call ${i}` }).then(textOf));
    assert.deepEqual(await Promise.all(all), all.map((unused, i) => `call ${i}`));
});
await wireRules(checks, { client, wire, era: 'legacy' }, wire.results()[0].message.result.protocolVersion);
await checks.check('the client leaves', () => client.close());
await checks.check('the server ends when it is told to', () => server.stop());
await rm(folder, { recursive: true, force: true });
checks.finish();
