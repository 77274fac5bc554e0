// Long answers on lines: the official TypeScript clients close a session when more than 10 MiB wait in their buffer. What
// is too long for a line must be an error of its request, and the session go on.
//
//   node line_limit.mjs -- TOOLWIRE
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { assert, Checks, serverCommand } from './checks.mjs';
import { startServer } from './http.mjs';
import { textOf } from './suite.mjs';

const LINE_BYTES = 10_485_760 - 65_536; // the default of --max-line-bytes
const CLIENT_BYTES = 10_485_760; // what a client holds
const AROUND = 300; // what stands around the text of a result is less, in every revision

const { command: toolwire } = serverCommand();
const checks = new Checks('line_limit');
const folder = await mkdtemp(path.join(tmpdir(), 'line-'));
const place = (name) => path.join(folder, name);
const who = { name: 'interop', version: '1.0.0' };

// The SDK's clients give a server no variables but these.
for (const [variable, name] of Object.entries({ XDG_RUNTIME_DIR: 'run', XDG_STATE_HOME: 'states', TMPDIR: 'tmp', HOME: 'home' })) {
    process.env[variable] = place(name);
    await mkdir(process.env[variable], { mode: 0o700 });
}
await writeFile(place('tools.json'), JSON.stringify([{
    name: 'print', description: 'prints n bytes', input_schema: { type: 'object', properties: { n: { type: 'integer' } } },
    command: ['sh', '-c', 'head -c "$(tr -dc 0-9)" /dev/zero | tr "\\\\0" x'],
}]));

/** Every client on a server that this command starts. */
function peersOf(command) {
    const server = { ...command, stderr: 'inherit', env: { XDG_RUNTIME_DIR: place('run'), XDG_STATE_HOME: place('states') } };
    return [
        ['v1', new ClientV1(who), new StdioV1(server)],
        ['v2 legacy', new ClientV2(who), new StdioV2(server)],
        ['v2 modern', new ClientV2(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), new StdioV2(server)],
    ];
}

/** isWhole: with answers that just fit, over which these clients work for seconds. */
async function run(title, [version, client, transport], isWhole) {
    const check = (name, fn) => checks.check(`${title}, client ${version}: ${name}`, fn);
    const print = (n) => client.callTool({ name: 'print', arguments: { n } });
    let closed = false;

    await check('connect', () => client.connect(transport));
    client.onclose = () => { closed = true; };
    if (isWhole) {
        await check('just under the limit', async () => {
            assert.equal(textOf(await print(LINE_BYTES - AROUND)).length, LINE_BYTES - AROUND);
        });
        // The end of a line arrives in one chunk with what follows it.
        await check('several of these at once', async () => {
            for (const result of await Promise.all([1, 2].map(() => print(LINE_BYTES - AROUND)))) {
                assert.equal(textOf(result).length, LINE_BYTES - AROUND);
            }
        });
    }
    for (const n of [LINE_BYTES, CLIENT_BYTES - AROUND]) {
        await check(`${n} bytes of text are refused by name`, async () => {
            const result = await print(n);
            assert.equal(result.isError, true);
            assert.match(textOf(result), /too large.*10420224 bytes.*--max-line-bytes/);
        });
    }
    await check('the session lives', async () => {
        assert.equal(textOf(await print(3)), 'xxx');
        assert.equal(closed, false);
    });
    await client.close();
}

const common = ['--no-toolkit', '--tools', place('tools.json')];
for (const peer of peersOf({ command: toolwire, args: ['serve', '--alone', ...common] })) {
    await run('serve', peer, peer[0] !== 'v2 modern');
}

// A parent and its bridge: a legal answer of the call socket is as long as a client's buffer.
const host = spawn(toolwire, ['host', '--tools', place('tools.json'), '--socket', place('host.sock')], { stdio: ['ignore', 'inherit', 'pipe'] });
await once(createInterface(host.stderr), 'line');
for (const peer of peersOf({ command: toolwire, args: ['bridge', place('host.sock'), place('host.json')] }).slice(1)) {
    await run('bridge', peer, false);
}
host.kill('SIGTERM');
await once(host, 'exit');

// Fronts of a hub; over HTTP there is no such limit.
const hub = await startServer({ command: toolwire, args: ['up', '--json', ...common, '--state', place('state'), '--pipe', place('pipe')] });
for (const peer of peersOf({ command: toolwire, args: ['serve', '--state', place('state')] }).slice(0, 1)) {
    await run('front', peer, true);
}
await checks.check('HTTP: longer than any line', async () => {
    const client = new ClientV2(who);
    await client.connect(new HttpV2(hub.url));
    const n = CLIENT_BYTES - AROUND;
    assert.equal(textOf(await client.callTool({ name: 'print', arguments: { n } })).length, n);
    await client.close();
});
await hub.stop();

await rm(folder, { recursive: true, force: true });
checks.finish();
