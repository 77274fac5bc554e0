// Both versions of the official TypeScript client as one kind of `peer` (what it has: suite.mjs), connected to a command
// or to an address.
import { Client as ClientV2, SSEClientTransport as SseV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { assert } from './checks.mjs';
import { cuttableFetch } from './http.mjs';
import { Wire } from './wire.mjs';

/** Version 1 names methods by their schemas. */
const SCHEMAS = {
    'notifications/message': types.LoggingMessageNotificationSchema,
    'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
    'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
    'elicitation/create': types.ElicitRequestSchema,
    'sampling/createMessage': types.CreateMessageRequestSchema,
    'roots/list': types.ListRootsRequestSchema,
};
const WHO = { name: 'interop', version: '1.0.0' };

/** A client that can be asked everything. */
const CAN_ANSWER = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };

/** A result schema that takes whatever comes. */
const ANYTHING = { '~standard': { version: 1, vendor: 'interop', validate: (value) => ({ value }) } };

/** `target` has a command with its args, a url, or as `sse` the url of the stream of the oldest revision. */
function newTransport(Stdio, Http, Sse, { command, args, url, sse }, fetch) {
    if (url !== undefined) {
        return new Http(url, { fetch });
    }
    return sse !== undefined ? new Sse(sse) : new Stdio({ command, args, stderr: 'inherit' });
}

/** What every peer has; the rest is spelt in each version's own way. */
function common(client, transport, fetch, { command, fromUs = false }) {
    const overHttp = command === undefined;
    return { client, transport, fetch, wire: new Wire(transport), overHttp, fromUs };
}

/** Version 1, not connected yet. */
export function peerV1(target, capabilities = CAN_ANSWER) {
    const fetch = cuttableFetch();
    const client = new ClientV1(WHO, { capabilities });
    const transport = newTransport(StdioV1, HttpV1, SseV1, target, fetch);
    let subscribed = [];
    return {
        ...common(client, transport, fetch, target),
        era: 'legacy',
        call: (name, given = {}, { meta, ...rest } = {}) =>
            client.callTool({ name, arguments: given, ...(meta && { _meta: meta }) }, undefined, rest),
        async list(what) {
            const method = `list${what[0].toUpperCase()}${what.slice(1)}`;
            const all = [];
            let cursor;
            do {
                const page = await client[method](cursor === undefined ? undefined : { cursor });
                all.push(...page[what]);
                cursor = page.nextCursor;
            } while (cursor !== undefined);
            return all;
        },
        request: (method, params) => client.request({ method, params }, types.ResultSchema),
        on: (method, fn) => client.setNotificationHandler(SCHEMAS[method], fn),
        handle: (method, fn) => client.setRequestHandler(SCHEMAS[method], fn),
        async subscribe({ resourceSubscriptions }) {
            subscribed = resourceSubscriptions;
            await Promise.all(subscribed.map((uri) => client.subscribeResource({ uri })));
        },
        unsubscribe: () => Promise.all(subscribed.map((uri) => client.unsubscribeResource({ uri }))),
    };
}

/** Version 2, not connected yet. `mode`: legacy, auto, modern, or a legacy revision, then of a client that knows no other. */
export function peerV2(mode, target, capabilities = CAN_ANSWER) {
    const era = mode === 'auto' || mode === 'modern' ? 'modern' : 'legacy';
    const fetch = cuttableFetch();
    const client = new ClientV2(WHO, {
        capabilities,
        versionNegotiation: { mode: mode === 'modern' ? { pin: '2026-07-28' } : mode === 'auto' ? 'auto' : 'legacy' },
        ...(/^\d/.test(mode) && { supportedProtocolVersions: [mode] }),
    });
    const transport = newTransport(StdioV2, HttpV2, SseV2, target, fetch);
    let subscribed = [];
    let subscription;
    return {
        ...common(client, transport, fetch, target),
        era,
        call: (name, given = {}, { meta, raw, ...rest } = {}) =>
            client.callTool({ name, arguments: given, ...(meta && { _meta: meta }), ...raw }, rest),
        async list(what, { fresh = false } = {}) {
            const method = `list${what[0].toUpperCase()}${what.slice(1)}`;
            return (await client[method](undefined, fresh ? { cacheMode: 'refresh' } : {}))[what];
        },
        request: (method, params) => client.request({ method, params }, ANYTHING),
        on: (method, fn) => client.setNotificationHandler(method, fn),
        handle: (method, fn) => client.setRequestHandler(method, fn),
        async subscribe(filter) {
            if (era === 'legacy') {
                subscribed = filter.resourceSubscriptions;
                await Promise.all(subscribed.map((uri) => client.subscribeResource({ uri })));
            } else {
                subscription = await client.listen(filter);
                assert.deepEqual(subscription.honoredFilter, filter);
            }
        },
        async unsubscribe() {
            if (era === 'legacy') {
                await Promise.all(subscribed.map((uri) => client.unsubscribeResource({ uri })));
            } else {
                await subscription.close();
                assert.equal(await subscription.closed, 'local');
            }
        },
    };
}
