// Arguments that a tool's schema does not allow, at every door: one fault and several are said in the same words, each with
// its place, and all of them.
//
//   faults.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const toolwire = resolve(process.argv[2]);
const work = mkdtempSync(join(tmpdir(), 'tw-faults-'));
const env = { ...process.env, HOME: work, XDG_STATE_HOME: work, XDG_RUNTIME_DIR: work };
const META = 'io.modelcontextprotocol/';
const children = [];
const timer = setTimeout(() => { console.log('it hangs'); process.exit(1); }, 60_000);
process.on('exit', () => {
    children.forEach((child) => child.exitCode ?? child.kill('SIGKILL'));
    rmSync(work, { recursive: true, force: true });
});

const tools = join(work, 'tools.json');
writeFileSync(tools, JSON.stringify([{ name: 't', description: 'd', command: ['cat'], inputSchema: { type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'string' } }, required: ['a', 'b'], additionalProperties: false } }]));

// What is wrong, and in which words.
const cases = [
    [{ a: 'x', b: 'y' }, 'arguments/a: expected integer, got string'],
    [{ a: 1 }, 'arguments: missing property "b"'],
    [{ a: 'x', c: 1 }, 'arguments/a: expected integer, got string; arguments/c: unknown property; arguments: missing property "b"'],
];

const start = (args, stderr = 'inherit') => {
    const child = spawn(toolwire, args, { cwd: work, env, stdio: ['pipe', 'pipe', stderr] });
    children.push(child);
    return child;
};
const stop = async (child, signal) => {
    const ended = new Promise((done) => { child.on('exit', (code) => done(code)); });
    signal ? child.kill(signal) : child.stdin.end();
    assert.equal(await ended, 0);
};

/** Answers of a session of MCP over the stdio of a program, in order. */
async function session(args, messages) {
    const child = start(args);
    const answers = [];
    const all = new Promise((done) => {
        createInterface({ input: child.stdout }).on('line', (line) => answers.push(JSON.parse(line)) === messages.filter((m) => m.id !== undefined).length && done());
    });
    messages.forEach((message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`));
    await all;
    await stop(child);
    return answers.sort((a, b) => a.id - b.id);
}

const calls = (more = {}) => cases.map(([args], i) => ({ id: i + 1, method: 'tools/call', params: { name: 't', arguments: args, ...more } }));
const legacy = (protocolVersion) => [
    { id: 0, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } } },
    { method: 'notifications/initialized' }, ...calls()];
const serve = ['serve', '--tools', tools, '--alone', '--no-toolkit'];
const words = cases.map(([, said]) => said);
const texts = (answers) => answers.map(({ result }) => result.isError && result.content[0].text);

/** One request of a bridge to a parent. */
function ask(socket, args) {
    return new Promise((done, fail) => {
        const wire = connect(socket, () => {
            const body = Buffer.from(JSON.stringify({ method: 'call_tool', params: { name: 't', arguments: args } }));
            const head = Buffer.alloc(4);
            head.writeUInt32BE(body.length);
            wire.write(Buffer.concat([head, body]));
        });
        let got = Buffer.alloc(0);
        wire.on('error', fail);
        wire.on('data', (data) => {
            got = Buffer.concat([got, data]);
            if (got.length >= 4 && got.length >= 4 + got.readUInt32BE()) {
                wire.end();
                done(JSON.parse(got.subarray(4)));
            }
        });
    });
}

const doors = {
    async 'MCP, as a tool\'s result'() {
        assert.deepEqual(texts((await session(serve, legacy('2025-11-25'))).slice(1)), words);
        const _meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {}, [`${META}clientInfo`]: { name: 't', version: '1' } };
        assert.deepEqual(texts(await session(serve, calls({ _meta }))), words);
    },

    async 'MCP, as an error'() {
        for (const version of ['2024-11-05', '2025-03-26', '2025-06-18']) {
            const errors = (await session(serve, legacy(version))).slice(1).map(({ error }) => error);
            assert.deepEqual(errors.map(({ code, message }) => [code, message]), words.map((said) => [-32602, said]));
            assert.deepEqual(errors[2].data.errors.map(({ path }) => path), ['/a', '/c', '']);
        }
    },

    async 'the call socket, and a bridge'() {
        const host = start(['host', '--tools', tools, '--socket', join(work, 'h.sock')], 'pipe');
        await new Promise((done) => { createInterface({ input: host.stderr }).once('line', done); });
        for (const [args, message] of cases) {
            assert.deepEqual(await ask(join(work, 'h.sock'), args), { error: { message, type: 'ValueError' } });
        }
        const bridge = ['bridge', join(work, 'h.sock'), join(work, 'h.json')];
        assert.deepEqual(texts((await session(bridge, legacy('2025-11-25'))).slice(1)), words);
        await stop(host, 'SIGTERM');
    },

    async 'commands over HTTP, and jobs'() {
        const path = join(work, 'up.json');
        writeFileSync(path, JSON.stringify({ http: '127.0.0.1:0', tools, state: join(work, 'state') }));
        const hub = start(['up', '--config', path, '--no-toolkit']);
        const url = await new Promise((done) => {
            createInterface({ input: hub.stdout }).on('line', (line) => /http:\/\//.test(line) && done(line.match(/http:\/\/[^\s/]+/)[0]));
        });
        for (const [args, message] of cases) {
            const response = await fetch(`${url}/rpc/t?waitMs=20000`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(args) });
            const { code, msg } = (await response.json()).result.result;
            assert.deepEqual([code, msg], ['INVALID_PARAMS', message]);
        }
        await stop(hub, 'SIGTERM');
    },

    async 'the command line'() {
        for (const [args, said] of cases) {
            const { status, stdout, stderr } = spawnSync(toolwire, ['call', '--server', [toolwire, ...serve].join(' '), 't', JSON.stringify(args)], { cwd: work, env, encoding: 'utf8' });
            assert.equal(status, 1, stderr);
            assert.ok(`${stdout}${stderr}`.split('\n').some((line) => line.endsWith(said)), `${stdout}${stderr}`);
        }
    },
};

for (const [name, test] of Object.entries(doors)) {
    await test();
    console.log(`ok: ${name}`);
}
clearTimeout(timer);
