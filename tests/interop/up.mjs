// `toolwire up`: one hub, and every kind of client of it over HTTP at the same time.
//
//   node up.mjs -- TOOLWIRE
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { assert, Checks, Inbox, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { textOf, wireRules } from './suite.mjs';
import { Wire } from './wire.mjs';

const { command: toolwire } = serverCommand();
const checks = new Checks('up');
const folder = await mkdtemp(path.join(tmpdir(), 'up-'));
const tools = path.join(folder, 'tools.json');
const state = path.join(folder, 'state');

// As in a login of a desktop: places of its own, of which the SDK's clients tell a server nothing that they start.
for (const [variable, name] of Object.entries({ XDG_RUNTIME_DIR: 'run', XDG_STATE_HOME: 'states', TMPDIR: 'tmp', HOME: 'home' })) {
    process.env[variable] = path.join(folder, name);
    await mkdir(process.env[variable], { mode: 0o700 });
}

/** A tools file with these commands, each of which says its name. */
async function writeTools(...names) {
    await writeFile(tools, JSON.stringify(names.map((name) => ({
        name, description: name, input_schema: { type: 'object' }, command: ['sh', '-c', `printf ${name}`],
    }))));
    await chmod(tools, 0o600);
}

const who = { name: 'interop', version: '1.0.0' };
const KINDS = {
    'client v1': (url) => ({ client: new ClientV1(who), transport: new HttpV1(url), version: 1 }),
    'client v1, HTTP+SSE': (url) => ({ client: new ClientV1(who), transport: new SseV1(new URL('/sse', url)), version: 1 }),
    'client v2 legacy': (url) => ({ client: new ClientV2(who), transport: new HttpV2(url) }),
    'client v2 auto': (url) => ({ client: new ClientV2(who, { versionNegotiation: { mode: 'auto' } }), transport: new HttpV2(url), era: 'modern' }),
    'client v2 modern': (url) =>
        ({ client: new ClientV2(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), transport: new HttpV2(url), era: 'modern' }),
    // As the hub says it: `serve` finds it, and is a front to it.
    'client v2 through serve': (url, { claude_desktop: { mcpServers } }) =>
        ({ client: new ClientV2(who), transport: new StdioV2({ ...mcpServers.toolwire, stderr: 'inherit' }) }),
};

function newPeer(title, hub) {
    const { client, transport, version = 2, era = 'legacy' } = KINDS[title](hub.url, hub.clients);
    const call = (name, args = {}, options = {}) => version === 1
        ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);
    return { title, client, transport, era, call, wire: new Wire(transport), announced: new Inbox() };
}

async function run(peer) {
    const { client, transport, title, era, wire, call } = peer;
    const check = (name, fn) => checks.check(`${title}: ${name}`, fn);

    await check('connect', () => client.connect(transport));
    await check('tools', async () => {
        const names = (await client.listTools()).tools.map(({ name }) => name).sort();
        assert.deepEqual(names, ['echo', 'fail', 'first', 'sleep']);
    });
    await check('a tool in the hub, and one that is a command', async () => {
        assert.equal(textOf(await call('echo', { message: title })), title);
        assert.equal(textOf(await call('first')), 'first');
    });
    await check('progress', async () => {
        assert.equal(textOf(await call('sleep', { ms: 200 }, { onprogress: () => {} })), 'slept 200 ms');
        assert.ok(wire.notifications('notifications/progress').length > 0);
    });
    await check('20 calls at once', async () => {
        const all = Array.from({ length: 20 }, (unused, i) => call('echo', { message: `${title} ${i}` }).then(textOf));
        assert.deepEqual(await Promise.all(all), all.map((unused, i) => `${title} ${i}`));
    });
    await wireRules({ check }, { client, wire, era }, era === 'modern' ? '2026-07-28' : '2025-11-25');
}

/** Each hears in the way of its era that the tools have changed. */
async function reload(peers) {
    for (const peer of peers.filter(({ era }) => era === 'modern')) {
        peer.client.setNotificationHandler('notifications/tools/list_changed', () => {});
        await peer.client.listen({ toolsListChanged: true });
    }
    for (const { wire, transport, announced } of peers) {
        const before = transport.onmessage;
        transport.onmessage = (message, extra) => {
            before(message, extra);
            if (message.method === 'notifications/tools/list_changed') {
                announced.push(wire.received.length);
            }
        };
    }
    await writeTools('second');
    await Promise.all(peers.map(({ announced }) => announced.nth(1)));
    for (const { call } of peers) {
        assert.equal(textOf(await call('second')), 'second');
    }
}

await writeTools('first');
const hub = await startServer({
    command: toolwire,
    args: ['up', '--json', '--no-toolkit', '--diagnostics', '--tools', tools, '--state', state, '--pipe', path.join(folder, 'pipe')],
});
const peers = Object.keys(KINDS).map((title) => newPeer(title, hub));
await Promise.all(peers.map(run));
await checks.check('a tools file that changes is announced to all', () => reload(peers));
await checks.check('`toolwire call` uses the hub that runs', async () => {
    const { stdout } = await promisify(execFile)(toolwire, ['call', '--state', state, 'second']);
    assert.equal(stdout.trim(), 'second');
});
await checks.check('figures count the calls of all', async () => {
    const metrics = await (await fetch(new URL('/metrics', hub.url))).text();
    const counted = [...metrics.matchAll(/^toolwire_calls_total\{.*\} (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
    assert.ok(counted >= peers.length * 24, `${counted} calls`);
    assert.deepEqual((await (await fetch(new URL('/healthz', hub.url))).json()).status, 'ok');
});
await checks.check('all leave', () => Promise.all(peers.map(({ client }) => client.close())));
await checks.check('the hub ends when it is told to', () => hub.stop());
await rm(folder, { recursive: true, force: true });
checks.finish();
