// What only a session over streamable HTTP has: streams that break and are taken up again, and an end by DELETE.
import { assert, Inbox } from './checks.mjs';
import { ask } from './http.mjs';
import { textOf } from './suite.mjs';

/** `fetch` is the one that the peer's transport uses (cuttableFetch), `url` where the server is. */
export async function runSessionSuite(checks, peer, { fetch, url }) {
    const { call, handle, on, transport, client, wire } = peer;
    const revision = wire.results()[0].message.result.protocolVersion;
    const headers = { 'mcp-session-id': transport.sessionId, 'mcp-protocol-version': revision };
    const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };

    await checks.check('the session has an id that cannot be guessed', () =>
        assert.match(transport.sessionId, /^[\x21-\x7e]{20,}$/));
    // Revisions before it have no event that a client could name if nothing was said before the stream broke.
    if (revision >= '2025-11-25') {
        await checks.check('the answer to a call whose stream breaks comes over the next one', async () => {
            handle('elicitation/create', async () => {
                assert.ok(fetch.cut('POST') > 0, 'no stream to cut');
                return { action: 'accept', content: { name: 'Eve' } };
            });
            const before = fetch.resumed().length;
            assert.equal(textOf(await call('ask_name')), 'Hello, Eve!');
            assert.ok(fetch.resumed().length > before, 'nothing was resumed');
            const { id } = wire.requests('tools/call').at(-1);
            assert.equal(wire.answersTo(id).length, 1);
        });
    }
    await checks.check('what is announced while the stream is broken comes when it is there again', async () => {
        const updated = new Inbox();
        on('notifications/resources/updated', ({ params }) => updated.push(params.uri));
        await client.subscribeResource({ uri: 'test://watched' });
        await call('update');
        await updated.nth(1);
        assert.ok(fetch.cut('GET') > 0, 'no stream to cut');
        await call('update');
        await call('update');
        await updated.nth(3);
        await client.unsubscribeResource({ uri: 'test://watched' });
        assert.deepEqual(updated.items, ['test://watched', 'test://watched', 'test://watched']);
    });
    await checks.check('DELETE ends the session', async () => {
        assert.deepEqual((await ask(url, { headers, body: ping })).last.result, {});
        await transport.terminateSession();
        assert.equal((await ask(url, { headers, body: ping })).status, 404);
        assert.equal((await ask(url, { method: 'GET', headers })).status, 404);
        assert.equal((await ask(url, { method: 'DELETE', headers })).status, 404);
    });
}
