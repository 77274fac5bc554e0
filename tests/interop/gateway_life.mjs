// Servers from npm behind `toolwire up` that are killed, stopped and started again, and some that were never there.
//
//   node gateway_life.mjs -- TOOLWIRE
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { assert, Checks, Inbox, serverCommand } from './checks.mjs';
import { alive, descendants, startProxy, startServers, until } from './gateway_servers.mjs';
import { ONE_OF_EACH } from './gateway_suite.mjs';
import { startHub } from './hub.mjs';
import { peerV1, peerV2 } from './peers.mjs';
import { textOf } from './suite.mjs';

const { command: toolwire } = serverCommand();
const checks = new Checks('gateway life');
const servers = await startServers();
let proxy = servers.proxy;
const hub = await startHub(toolwire, {
    ...servers.mcpServers,
    unlicensed: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(3)'] },
    missing: { command: '/nowhere/at/all' },
});
const peers = [peerV1({ url: hub.url }), peerV2('modern', { url: hub.url })];

/** What the hub says of a server: in lists, and in its figures. */
async function stateOf(name, peer = peers[1]) {
    await peer.list('tools', { fresh: true });
    const { result } = peer.wire.results().filter(({ request }) => request?.method === 'tools/list').at(-1).message;
    const { state = 'ready', why = '' } = result._meta?.['toolwire/servers']?.find((server) => server.name === name) ?? {};
    const figures = await (await fetch(new URL('/metrics', hub.url))).text();
    return { state, why, up: Number(figures.match(new RegExp(`^toolwire_server_up{server="${name}"} (\\d)`, 'm'))[1]) };
}

/** The process of ours that runs a package. */
async function pidOf(word) {
    for (const pid of await descendants(hub.pid)) {
        if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(word)) {
            return pid;
        }
    }
    return undefined;
}

for (const peer of peers) {
    peer.handle('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ann' } }));
    peer.handle('roots/list', async () => ({ roots: [] }));
    await peer.client.connect(peer.transport);
}

await checks.check('the good ones are there, beside those that are not', async () => {
    await until('the good ones', async () => {
        const names = (await peers[0].list('tools')).map(({ name }) => name);
        return ONE_OF_EACH.every((name) => names.includes(name));
    });
    for (const [name, why] of [['unlicensed', /exit status 3.*no licence/], ['missing', /no such file/]]) {
        // It is tried again and again, and is `starting` meanwhile.
        const said = await until(`${name} is down`, async () => {
            const is = await stateOf(name);
            return is.state === 'down' && is.up === 0 ? is : undefined;
        });
        assert.match(said.why, why);
    }
    const { stdout, stderr } = await promisify(execFile)(toolwire, ['tools', '--server', hub.url.href]);
    assert.match(stdout, /^everything__echo /m);
    assert.match(stderr, /^toolwire: server missing down: /m);
});
for (const [i, peer] of peers.entries()) {
    await checks.check(`${peer.era}: a child that is killed in a call, and called again`, async () => {
        const pid = await pidOf('server-everything');
        const started = new Inbox();
        const call = peer.call('everything__trigger-long-running-operation', { duration: 30, steps: 600 },
            { onprogress: (report) => started.push(report) });
        await started.nth(1);
        process.kill(pid, 'SIGKILL');
        const result = await call;
        assert.equal(result.isError, true);
        assert.match(textOf(result), /^the server everything has gone; the call may have run: the server ended \(signal 9\)/);
        assert.equal(textOf(await peer.call('everything__echo', { message: 'again' })), 'Echo: again');
        assert.match((await peer.call('everything__trigger-elicitation-request')).content[1].text, /Name: Ann/);
        assert.notEqual(await pidOf('server-everything'), pid);
        assert.equal(await alive(pid), false);
        assert.deepEqual(await peers[1 - i].call('everything__get-sum', { a: 1, b: 2 }).then(textOf), 'The sum of 1 and 2 is 3.');
    });
}
await checks.check('a server over HTTP that is stopped is shown so, and only that one', async () => {
    await proxy.stop();
    await until('proxied is down', async () => (await stateOf('proxied')).up === 0);
    const { why } = await stateOf('proxied');
    assert.match(why, /^cannot reach http:\/\/127\.0\.0\.1/);
    for (const peer of peers) {
        assert.ok((await peer.list('tools', { fresh: true })).some(({ name }) => name === 'proxied__echo'), 'its tools stay');
        const result = await peer.call('proxied__echo', { message: 'hi' });
        assert.equal(result.isError, true);
        assert.match(textOf(result), /^the server proxied (is not there|has gone; the call was not sent to it): cannot reach /);
        assert.equal(textOf(await peer.call('everything__echo', { message: 'hi' })), 'Echo: hi');
    }
});
await checks.check('and is found when it is there again', async () => {
    proxy = await startProxy(proxy.port);
    await until('proxied is up', async () => (await stateOf('proxied')).state === 'ready');
    for (const peer of peers) {
        assert.equal(textOf(await peer.call('proxied__echo', { message: 'back' })), 'Echo: back');
    }
});
await checks.check('the end, with status 0, and nobody is left', async () => {
    const children = await descendants(hub.pid);
    await Promise.all(peers.map(({ client }) => client.close()));
    await hub.stop();
    for (const pid of children) {
        await until(`the end of ${pid}`, async () => !await alive(pid));
    }
});
await proxy.stop();
await servers.stop();
checks.finish();
