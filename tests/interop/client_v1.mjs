// The official TypeScript client, version 1, against a server that offers the fixture.
//
//   node client_v1.mjs [--ours] [--http | --sse] -- SERVER [ARG…]
//
// Over stdio, over streamable HTTP, or over HTTP+SSE, as clients of 2024-11-05 did.
import { Checks, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { runSessionSuite } from './http_session.mjs';
import { peerV1 } from './peers.mjs';
import { runSuite } from './suite.mjs';

const { command, args, options } = serverCommand();
const over = ['--http', '--sse'].find((flag) => options.includes(flag));
const checks = new Checks(`client v1${over ?? ''}`);
const server = over && await startServer({ command, args });
const TARGETS = { '--http': () => ({ url: server.url }), '--sse': () => ({ sse: new URL('/sse', server.url) }) };
const target = TARGETS[over]?.() ?? { command, args };
const peer = peerV1({ ...target, fromUs: options.includes('--ours') });
const { client, wire, transport, fetch } = peer;

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
