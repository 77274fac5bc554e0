// What the official suite leaves open about MCP over HTTP, without a client library in between: pages, who goes away, both
// eras on one connection, delivery and end of subscriptions, and many clients at once.
//
//   node http_rules.mjs -- SERVER [ARG…]
import http from 'node:http';
import { setTimeout as later } from 'node:timers/promises';
import { assert, Checks, Inbox, serverCommand } from './checks.mjs';
import { ask, messagesOf, modernRequest, send, startServer } from './http.mjs';
import { textOf } from './suite.mjs';

const POLL_MS = 10;
const LEGACY = '2025-11-25';
const META = 'io.modelcontextprotocol/';
const checks = new Checks('http');
const command = serverCommand();
const server = await startServer(command);
const { url } = server;
let lastId = 0;

const modern = (method, params, options) => ({ ...modernRequest(++lastId, method, params, options), ...options });
const modernCall = async (name, given = {}, options = {}) =>
    textOf((await ask(url, modern('tools/call', { name, arguments: given }, options))).last.result);
const nCancelled = async () => Number(await modernCall('cancelled_count'));

async function untilCancelled(n) {
    while (await nCancelled() < n) {
        await later(POLL_MS);
    }
    assert.equal(await nCancelled(), n);
}

/** A legacy session: its headers, requests in it, and its end. */
async function openSession(options = {}) {
    const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: 'interop', version: '1.0.0' } };
    const { headers: given, last } = await ask(url, { ...options, body: { jsonrpc: '2.0', id: ++lastId, method: 'initialize', params } });
    assert.equal(last.result.protocolVersion, LEGACY);
    const headers = { 'mcp-session-id': given['mcp-session-id'], 'mcp-protocol-version': LEGACY };
    const message = (method, of, id) => ({ ...options, headers, body: { jsonrpc: '2.0', ...(id !== undefined && { id }), method, params: of } });
    const session = {
        headers,
        message,
        request: (method, of) => ask(url, message(method, of, ++lastId)),
        notify: async (method, of) => assert.equal((await ask(url, message(method, of))).status, 202),
        call: async (name, of = {}) => textOf((await session.request('tools/call', { name, arguments: of })).last.result),
        close: async () => assert.equal((await ask(url, { ...options, method: 'DELETE', headers })).status, 204),
    };
    await session.notify('notifications/initialized');
    return session;
}

/** A stream whose messages arrive in an inbox; `end` holds when it has ended. */
async function openStream(options) {
    const answer = await send(url, options);
    assert.equal(answer.status, 200);
    assert.match(answer.headers['content-type'], /^text\/event-stream/);
    const inbox = new Inbox();
    const end = (async () => {
        for await (const message of messagesOf(answer)) {
            inbox.push(message);
        }
    })();
    end.catch(() => {}); // for those who break it themselves
    return { inbox, end, headers: answer.headers, lastEventId: () => answer.lastEventId, leave: () => answer.request.destroy() };
}

async function openListen(notifications) {
    const request = modern('subscriptions/listen', { notifications });
    const stream = await openStream(request);
    const acknowledged = await stream.inbox.nth(1);
    assert.equal(acknowledged.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(acknowledged.params.notifications, notifications);
    return { ...stream, id: request.body.id };
}

/** A connection that is kept; fails where a second one is opened. */
function oneConnection() {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set();
    return {
        agent,
        async ask(options) {
            const answer = await ask(url, { ...options, agent });
            sockets.add(answer.socket);
            assert.equal(sockets.size, 1, 'it was closed in between');
            return answer;
        },
    };
}

await checks.check('lists have pages, and a cursor works on any connection', async () => {
    const session = await openSession();
    for (const page of [
        (params) => ask(url, { ...modern('tools/list', params), agent: new http.Agent() }),
        (params) => session.request('tools/list', params),
    ]) {
        const sizes = [];
        const names = new Set();
        let cursor;
        do {
            const { result } = (await page(cursor === undefined ? {} : { cursor })).last;
            sizes.push(result.tools.length);
            result.tools.forEach(({ name }) => names.add(name));
            cursor = result.nextCursor;
        } while (cursor !== undefined);
        assert.deepEqual(sizes, [5, 5, 5, 4]);
        assert.equal(names.size, 19);
        const { status, last } = await page({ cursor: 'not-a-cursor' });
        assert.deepEqual([status, last.error.code], [200, -32602]);
    }
    await session.close();
});

await checks.check('a modern client that goes away has cancelled', async () => {
    const before = await nCancelled();
    const stream = await openStream(modern('tools/call', { name: 'slow', arguments: {} }, { meta: { progressToken: 'p' } }));
    assert.equal((await stream.inbox.nth(1)).params.message, 'started');
    stream.leave();
    await untilCancelled(before + 1);
});

await checks.check('a legacy client that goes away has not; it may come back and cancel', async () => {
    const before = await nCancelled();
    const session = await openSession();
    const slow = { name: 'slow', arguments: {}, _meta: { progressToken: 'p' } };
    const stream = await openStream(session.message('tools/call', slow, 'slow'));
    assert.equal((await stream.inbox.nth(1)).params.message, 'started');
    stream.leave();
    const again = await openStream({ method: 'GET', headers: { ...session.headers, 'last-event-id': stream.lastEventId() } });
    assert.equal(await session.call('cancelled_count'), String(before));
    await session.notify('notifications/cancelled', { requestId: 'slow' });
    await untilCancelled(before + 1);
    await again.end;
    assert.deepEqual(again.inbox.items, []);
    const { status } = await ask(url, { method: 'GET', headers: { ...session.headers, 'last-event-id': stream.lastEventId() } });
    assert.equal(status, 405, 'nothing is left of it');
    await session.close();
});

await checks.check('the end of a session cancels what runs in it', async () => {
    const before = await nCancelled();
    const session = await openSession();
    const stream = await openStream(session.message('tools/call', { name: 'slow', arguments: {}, _meta: { progressToken: 'p' } }, 'slow'));
    await stream.inbox.nth(1);
    await session.close();
    await untilCancelled(before + 1);
    await stream.end;
});

await checks.check('both eras alternate on one connection', async () => {
    const connection = oneConnection();
    const session = await openSession({ agent: connection.agent });
    const call = { name: 'echo', arguments: { message: 'hi' } };
    for (let i = 0; i < 3; i++) {
        const discovered = await connection.ask(modern('server/discover'));
        assert.ok(discovered.last.result.supportedVersions.includes('2026-07-28'));
        const old = await connection.ask(session.message('tools/call', call, `old ${i}`));
        assert.deepEqual(Object.keys(old.last.result), ['content']);
        const request = modern('tools/call', call);
        // A modern request looks at no session, nor does it begin one.
        request.headers['mcp-session-id'] = i === 0 ? 'nonsense' : session.headers['mcp-session-id'];
        const fresh = await connection.ask(request);
        assert.equal(fresh.last.result.resultType, 'complete');
        assert.equal(fresh.headers['mcp-session-id'], undefined);
        const future = modern('tools/call', call, { meta: { [`${META}protocolVersion`]: '2099-01-01' } });
        future.headers['mcp-protocol-version'] = '2099-01-01';
        const refused = await connection.ask(future);
        assert.deepEqual([refused.status, refused.last.error.code], [400, -32022]);
        // Legacy without its session is not let in by what modern ones did on this connection.
        const stray = await connection.ask({ headers: { 'mcp-protocol-version': LEGACY }, body: session.message('tools/list', {}, 'stray').body });
        assert.equal(stray.status, 400);
    }
    await session.close();
    connection.agent.destroy();
});

await checks.check('each subscription gets what it asked for, and a legacy session what it subscribed to', async () => {
    const session = await openSession();
    const get = await openStream({ method: 'GET', headers: session.headers });
    await session.request('resources/subscribe', { uri: 'test://watched' });
    const updates = await openListen({ resourceSubscriptions: ['test://watched'] });
    const lists = await openListen({ toolsListChanged: true });
    assert.equal(updates.headers['x-accel-buffering'], 'no');

    await modernCall('update');
    await modernCall('update');
    await modernCall('add_tool', { name: 'fresh' });
    const tagged = ({ id }, method, params = {}) =>
        ({ jsonrpc: '2.0', method, params: { ...params, _meta: { [`${META}subscriptionId`]: id } } });
    const update = tagged(updates, 'notifications/resources/updated', { uri: 'test://watched' });
    assert.deepEqual(await updates.inbox.nth(2), update);
    assert.deepEqual(await updates.inbox.nth(3), update);
    assert.deepEqual(await lists.inbox.nth(2), tagged(lists, 'notifications/tools/list_changed'));
    await get.inbox.nth(3);
    assert.deepEqual(get.inbox.items.map(({ method }) => method.split('/').slice(1).join('/')),
        ['resources/updated', 'resources/updated', 'tools/list_changed']);

    // Who has left hears nothing, and the others all the same.
    updates.leave();
    await modernCall('add_tool', { name: 'fresher' });
    await lists.inbox.nth(3);
    assert.equal(updates.inbox.items.length, 3);
    assert.equal(lists.inbox.items.length, 3);
    lists.leave();
    await session.close();
    await get.end;
});

await checks.check('60 clients of both eras at once, each with its own answers', async () => {
    const n_calls = 10;
    const answers = async (who, call) => {
        const all = Array.from({ length: n_calls }, (unused, i) => call('echo', { message: `${who} ${i}` }));
        assert.deepEqual(await Promise.all(all), all.map((unused, i) => `${who} ${i}`));
    };
    await Promise.all(Array.from({ length: 60 }, async (unused, i) => {
        const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });
        if (i % 2 === 0) {
            await answers(`modern ${i}`, (name, given) => modernCall(name, given, { agent }));
        } else {
            const session = await openSession({ agent });
            await answers(`legacy ${i}`, session.call);
            await session.close();
        }
        agent.destroy();
    }));
});

await checks.check('a server that stops ends subscriptions in words, and lets nobody in', async () => {
    const session = await openSession();
    const get = await openStream({ method: 'GET', headers: session.headers });
    const listeners = await Promise.all([openListen({ toolsListChanged: true }), openListen({ promptsListChanged: true })]);
    process.kill(server.pid, 'SIGTERM');
    for (const { inbox, end, id } of listeners) {
        const { result, ...rest } = await inbox.nth(2);
        assert.deepEqual(rest, { jsonrpc: '2.0', id });
        assert.equal(result.resultType, 'complete');
        assert.equal(result._meta[`${META}subscriptionId`], id);
        await end; // not broken off
    }
    await get.end;
    await server.ended();
    await assert.rejects(() => ask(url, { ...modern('server/discover'), agent: new http.Agent() }), { code: 'ECONNREFUSED' });
});
checks.finish();
