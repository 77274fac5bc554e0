// The official TypeScript client, version 2, in each of its modes, against a server that offers the fixture.
//
//   node client_v2.mjs legacy|auto|modern|REVISION [--ours] [--http | --sse] -- SERVER [ARG…]
//
// Over stdio, over streamable HTTP, or over HTTP+SSE, as clients of 2024-11-05 did.
// A legacy REVISION runs what every revision has, with a client that knows no other.
import { assert, Checks, rejectsWith, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { runSessionSuite } from './http_session.mjs';
import { peerV2 } from './peers.mjs';
import { runSuite, textOf, wireRules } from './suite.mjs';

const { command, args, options: [mode, ...flags] } = serverCommand();
const era = mode === 'auto' || mode === 'modern' ? 'modern' : 'legacy';
const revision = /^\d/.test(mode) ? mode : undefined;
const over = ['--http', '--sse'].find((flag) => flags.includes(flag));
const checks = new Checks(`client v2 ${mode}${over ?? ''}`);

/** A client with a server of its own. */
async function newPeer(capabilities) {
    const server = over && await startServer({ command, args });
    const TARGETS = { '--http': () => ({ url: server.url }), '--sse': () => ({ sse: new URL('/sse', server.url) }) };
    const target = TARGETS[over]?.() ?? { command, args };
    const peer = peerV2(mode, { ...target, fromUs: flags.includes('--ours') }, capabilities);
    return {
        ...peer,
        server,
        pid: () => server?.pid ?? peer.transport.pid,
        /** Fails unless the server ends with status 0: when its client leaves, or over HTTP when it is told to. */
        async leave() {
            if (server === undefined) {
                return peer.wire.leave(() => peer.client.close());
            }
            await peer.client.close();
            return server.stop();
        },
    };
}

/** What has not changed since the first revision, and which members each one knows. */
async function oldRevision(peer) {
    const { client, wire, call, list } = peer;
    const since = (first) => revision >= first;
    await checks.check('the revision is the one asked for', () =>
        assert.equal(wire.results()[0].message.result.protocolVersion, revision));
    await checks.check('tools/list', async () => assert.equal((await list('tools')).length, 19));
    await checks.check('a tool has the members of its revision', () => {
        const tools = wire.results().filter(({ request }) => request.method === 'tools/list')
            .flatMap(({ message }) => message.result.tools);
        const [echo, add] = tools;
        assert.equal('annotations' in echo, since('2025-03-26'));
        assert.equal('title' in echo, since('2025-06-18'));
        assert.equal('outputSchema' in add, since('2025-06-18'));
    });
    await checks.check('tools/call', async () => assert.equal(textOf(await call('echo', { message: 'hi' })), 'hi'));
    await checks.check('structured results', async () => {
        const result = await call('add', { a: 1, b: 2 });
        assert.deepEqual(JSON.parse(textOf(result)), { sum: 3 });
        const { structuredContent } = wire.results().at(-1).message.result;
        assert.deepEqual(structuredContent, since('2025-06-18') ? { sum: 3 } : undefined);
    });
    await checks.check('an error with a number of its own is a result since 2025-06-18', async () => {
        const outcome = call('own_error');
        if (since('2025-06-18')) {
            assert.equal((await outcome).isError, true);
        } else {
            await rejectsWith(4242, () => outcome);
        }
    });
    await checks.check('audio and links only where they are known', async () => {
        await call('audio');
        assert.equal(wire.results().at(-1).message.result.content[0].type, since('2025-03-26') ? 'audio' : 'text');
        await call('link');
        assert.equal(wire.results().at(-1).message.result.content[0].type, since('2025-06-18') ? 'resource_link' : 'text');
    });
    await checks.check('resources/read', async () =>
        assert.equal((await client.readResource({ uri: 'test://static' })).contents[0].text, 'static text'));
    await checks.check('prompts/get', async () =>
        assert.equal((await client.getPrompt({ name: 'simple' })).messages[0].content.text, 'A simple prompt'));
    await checks.check('progress, whose words came with 2025-03-26', async () => {
        await call('progress', { steps: 2 }, { onprogress: () => {} });
        const reports = wire.notifications('notifications/progress').map(({ params }) => params);
        assert.deepEqual(reports.map((report) => report.progress), [1, 2]);
        assert.deepEqual(reports.map((report) => 'message' in report), [since('2025-03-26'), since('2025-03-26')]);
    });
    await checks.check('ping', () => client.ping());
    await wireRules(checks, peer, revision);
}

/** Nothing is asked of a client that did not say that it can answer. */
async function incapable() {
    const peer = await newPeer({});
    await peer.client.connect(peer.transport);
    for (const [tool, capability] of [['ask_name', 'elicitation'], ['ask_url', 'elicitation'], ['sample', 'sampling'], ['roots', 'roots']]) {
        const outcome = await peer.call(tool, { prompt: 'x' }).catch((error) => error);
        assert.ok(outcome instanceof Error || outcome.isError === true, JSON.stringify(outcome));
        if (era === 'modern') {
            const { code, data } = peer.wire.received.at(-1).error;
            assert.equal(code, -32021, tool);
            assert.deepEqual(Object.keys(data.requiredCapabilities), [capability]);
        }
    }
    assert.deepEqual(peer.wire.received.filter((message) => message.method !== undefined), []);
    await peer.leave();
}

/** A modern request in the middle of a legacy session, which goes on as before. */
async function bothEras() {
    const peer = await newPeer();
    await peer.client.connect(peer.transport);
    const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
    };
    const modern = { method: 'tools/call', params: { name: 'echo', arguments: { message: 'modern' }, _meta } };
    for (let i = 0; i < 2; i++) {
        assert.equal((await peer.wire.ask(modern)).result.resultType, 'complete');
        assert.equal(textOf(await peer.call('echo', { message: 'legacy' })), 'legacy');
        assert.deepEqual(Object.keys(peer.wire.received.at(-1).result), ['content']);
    }
    _meta['io.modelcontextprotocol/protocolVersion'] = '2099-01-01';
    assert.equal((await peer.wire.ask(modern)).error.code, -32022);
    await peer.leave();
}

/** A server that is told to stop ends its subscriptions in words. */
async function gracefulEnd() {
    const peer = await newPeer();
    await peer.client.connect(peer.transport);
    const subscription = await peer.client.listen({ toolsListChanged: true });
    const stop = async () => {
        process.kill(peer.pid(), 'SIGTERM');
        assert.equal(await subscription.closed, 'graceful');
    };
    if (peer.server === undefined) {
        await peer.wire.leave(stop);
    } else {
        await stop();
        await peer.server.ended();
    }
    await peer.client.close();
}

const peer = await newPeer();
await checks.check('connect', () => peer.client.connect(peer.transport));
await checks.check('the era', () => {
    const negotiated = peer.client.getNegotiatedProtocolVersion();
    assert.equal(negotiated, revision ?? (era === 'modern' ? '2026-07-28' : '2025-11-25'));
});
await (revision ? oldRevision(peer) : runSuite(checks, peer));
if (over === '--http' && era === 'legacy') {
    await runSessionSuite(checks, peer, { fetch: peer.fetch, url: peer.server.url });
}
await checks.check('the server ends', () => peer.leave());
if (peer.fromUs && revision === undefined) {
    await checks.check('a client that cannot be asked is not asked', incapable);
}
if (mode === 'legacy' && peer.fromUs && !over) {
    await checks.check('both eras on one wire', bothEras);
}
if (era === 'modern' && peer.fromUs) {
    await checks.check('a server that stops ends subscriptions in words', gracefulEnd);
}
checks.finish();
