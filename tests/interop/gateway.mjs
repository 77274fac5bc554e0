// Servers from npm behind `toolwire up` or `toolwire serve`, all at once, with one of the official clients before it.
//
//   node gateway.mjs up|serve v1|legacy|auto|modern -- TOOLWIRE
import { Checks, assert, serverCommand } from './checks.mjs';
import { alive, descendants, startServers, until } from './gateway_servers.mjs';
import { runGatewaySuite } from './gateway_suite.mjs';
import { startHub, writeSettings } from './hub.mjs';
import { peerV1, peerV2 } from './peers.mjs';
import { wireRules } from './suite.mjs';

const { command: toolwire, options: [how, kind] } = serverCommand();
const checks = new Checks(`gateway ${how} ${kind}`);
const servers = await startServers();
const hub = how === 'up' ? await startHub(toolwire, servers.mcpServers) : undefined;
const settings = how === 'up' ? undefined : await writeSettings(servers.mcpServers);
const target = how === 'up' ? { url: hub.url } : { command: toolwire, args: settings.serve };
const peer = kind === 'v1' ? peerV1(target) : peerV2(kind, target);

await checks.check('connect', () => peer.client.connect(peer.transport));
await runGatewaySuite(checks, peer, servers);
await wireRules(checks, peer, peer.client.getNegotiatedProtocolVersion?.() ?? '2025-11-25');
await checks.check('the end, with status 0, and nobody is left', async () => {
    const children = await descendants(hub?.pid ?? peer.transport.pid);
    assert.ok(children.length >= 3, 'the servers were children');
    if (hub !== undefined) {
        await peer.client.close();
        await hub.stop();
    } else {
        await peer.wire.leave(() => peer.client.close());
        await settings.remove();
    }
    for (const pid of children) {
        await until(`the end of ${pid}`, async () => !await alive(pid));
    }
});
await servers.stop();
checks.finish();
