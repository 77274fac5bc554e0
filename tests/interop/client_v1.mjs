// The official TypeScript client, version 1, against a server that offers the fixture.
//
//   node client_v1.mjs [--ours] [--http | --sse] -- SERVER [ARG…]
//
// Over stdio, over streamable HTTP, or over HTTP+SSE, as clients of 2024-11-05 did.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { Checks, serverCommand } from './checks.mjs';
import { cuttableFetch, startServer } from './http.mjs';
import { runSessionSuite } from './http_session.mjs';
import { runSuite } from './suite.mjs';
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

const { command, args, options } = serverCommand();
const over = ['--http', '--sse'].find((flag) => options.includes(flag));
const checks = new Checks(`client v1${over ?? ''}`);
const server = over && await startServer({ command, args });
const fetch = cuttableFetch();

function newTransport() {
    switch (over) {
    case '--http': return new StreamableHTTPClientTransport(server.url, { fetch });
    case '--sse':  return new SSEClientTransport(new URL('/sse', server.url));
    default:       return new StdioClientTransport({ command, args, stderr: 'inherit' });
    }
}

const client = new Client({ name: 'interop', version: '1.0.0' }, {
    capabilities: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
});
const transport = newTransport();
const wire = new Wire(transport);

const peer = {
    client,
    wire,
    transport,
    era: 'legacy',
    overHttp: over !== undefined,
    fromUs: options.includes('--ours'),
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
    subscribe: ({ resourceSubscriptions: [uri] }) => client.subscribeResource({ uri }),
    unsubscribe: () => client.unsubscribeResource({ uri: 'test://watched' }),
};

await checks.check('connect', () => client.connect(transport));
await runSuite(checks, peer);
if (over === '--http') {
    await runSessionSuite(checks, peer, { fetch, url: server.url });
}
if (over) {
    await checks.check('the client leaves', () => client.close());
    await checks.check('the server ends when it is told to', () => server.stop());
} else {
    await checks.check('the server ends when its client leaves', () => wire.leave(() => client.close()));
}
checks.finish();
