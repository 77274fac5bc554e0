// A parent and bridges, through a named pipe; the schema file beside it.
import { existsSync, readFileSync } from 'node:fs';

import { assert, Checks } from '../interop/checks.mjs';
import { folderWith, pipeName, Program, run, textOf, toolEntry, windowsPath } from './program.mjs';

const checks = new Checks('host');

const startHost = async (socket, schema, ...more) => {
    const host = new Program(['host', '--socket', socket, '--schema', schema, ...more]);
    await host.stderr.has(/\d+ tools? at /);
    return host;
};

await checks.check('a bridge reaches the tools of a host', async () => {
    const folder = folderWith({ 'tools.json': [toolEntry('app.echo', ['echo'])] });
    const socket = `\\\\.\\pipe\\${pipeName()}`;
    const schema = windowsPath(`${folder}/schema.json`);
    const host = await startHost(socket, schema, '--diagnostics', '--tools', windowsPath(`${folder}/tools.json`));
    const bridge = new Program(['bridge', socket, schema]);

    await bridge.initialize();
    assert.deepEqual(await bridge.tools(), ['app.echo', 'echo', 'fail', 'sleep']);
    assert.equal(textOf(await bridge.call('echo', { message: 'grüße' })), 'grüße');
    assert.deepEqual(JSON.parse(textOf(await bridge.call('app.echo', { text: 'x' }))), { text: 'x' });
    assert.equal((await bridge.call('fail')).result.isError, true);
    const large = 'x'.repeat(900_000);
    assert.ok(textOf(await bridge.call('echo', { message: large })) === large);
    await bridge.leave();
    await host.kill();
});

await checks.check('a second host of the same pipe is refused, and the first is named', async () => {
    const folder = folderWith({});
    const socket = `\\\\.\\pipe\\${pipeName()}`;
    const host = await startHost(socket, windowsPath(`${folder}/one.json`), '--diagnostics');
    const { code, stderr } = await run(['host', '--socket', socket, '--schema', windowsPath(`${folder}/two.json`), '--diagnostics']);

    assert.equal(code, 1, stderr);
    assert.match(stderr, /served by process \d+/);
    assert.ok(!existsSync(`${folder}/two.json`));
    await host.kill();
});

await checks.check('a host that was killed leaves nothing that stops the next one', async () => {
    const folder = folderWith({});
    const socket = `\\\\.\\pipe\\${pipeName()}`;
    const schema = windowsPath(`${folder}/schema.json`);

    await (await startHost(socket, schema, '--diagnostics')).kill();
    const host = await startHost(socket, schema, '--diagnostics');
    const bridge = new Program(['bridge', socket, schema]);
    await bridge.initialize();
    assert.equal(textOf(await bridge.call('echo', { message: 'again' })), 'again');
    await bridge.leave();
    await host.kill();
});

await checks.check('a host that is told no place chooses one, and prints how a client starts the bridge', async () => {
    const { code, stdout, stderr } = await run(['host', '--print-config']);
    assert.equal(code, 0, stderr);
    const { command, args } = JSON.parse(stdout).mcpServers.toolwire;
    assert.match(command, /toolwire\.exe$/);
    assert.equal(args[0], 'bridge');
    assert.match(args[1], /^\\\\\.\\pipe\\/);
    assert.match(args[2], /^[A-Z]:\\.*\\toolwire\\.*\.json$/i);
});

await checks.check('a bridge without a parent answers that there is none', async () => {
    const folder = folderWith({
        'schema.json': [{ name: 'app.do', description: 'x', input_schema: { type: 'object' } }],
    });
    const bridge = new Program(['bridge', `\\\\.\\pipe\\${pipeName()}`, windowsPath(`${folder}/schema.json`)]);

    await bridge.initialize();
    assert.deepEqual(await bridge.tools(), ['app.do']);
    assert.ok(JSON.stringify(await bridge.call('app.do')).match(/"isError":true|"error"/));
    await bridge.leave();
});

await checks.check('a schema file that cannot be used is told', async () => {
    const folder = folderWith({ 'schema.json': '[{"name": 1}]', 'broken.json': '[' });
    const pipe = `\\\\.\\pipe\\${pipeName()}`;

    for (const name of ['schema.json', 'broken.json', 'none.json']) {
        const { code, stderr } = await run(['bridge', pipe, windowsPath(`${folder}/${name}`)]);
        assert.notEqual(code, 0, stderr);
        assert.ok(stderr.includes(name), stderr);
    }
    assert.ok(readFileSync(`${folder}/broken.json`, 'utf8') === '[');
});

checks.finish();
