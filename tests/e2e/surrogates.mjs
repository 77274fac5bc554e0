// Half of a surrogate pair ("\ud83d", as JavaScript and Python write text that was cut) passes every wire byte for byte,
// and is U+FFFD only where it becomes text for a person or a file.
//
//   surrogates.mjs TOOLWIRE
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { assert, Checks } from '../interop/checks.mjs';
import { startServer } from '../interop/http.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('surrogates');
const work = mkdtempSync(path.join(os.tmpdir(), 'tw-surrogates-'));
const env = { PATH: process.env.PATH, HOME: work, XDG_RUNTIME_DIR: work, XDG_STATE_HOME: work, TMPDIR: work };
const place = (name) => path.join(work, name);
process.setMaxListeners(0); // each program that is started has one
process.once('exit', () => rmSync(work, { recursive: true, force: true }));

/** As a peer writes it: spelt with capitals and without, in a key and in a value, beside whole pairs. */
const ARGUMENTS = String.raw`{"s":"cut \ud83d","\uDC00k":["\uD83D\uDE00","\ud800\ud800"]}`;
const INIT = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const call = (id, name) => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${ARGUMENTS}}}`;

writeFileSync(place('tools.json'), JSON.stringify([
    { name: 'same', description: 'gives its arguments back', input_schema: { type: 'object' }, output_schema: { type: 'object' }, command: ['cat'] },
    { name: 'chosen', description: 'takes U+FFFD only', command: ['cat'],
        input_schema: { type: 'object', properties: { s: { enum: ['\ufffd'] } } } },
]), { mode: 0o600 });

/** A program that speaks in lines. */
function start(args, more = {}) {
    const child = spawn(toolwire, args, { cwd: work, env, stdio: ['pipe', 'pipe', 'inherit'], ...more });
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    process.once('exit', () => child.kill('SIGKILL'));
    const passed = [];
    return {
        child,
        passed,
        send: (line) => child.stdin.write(`${line}\n`),
        /** The next answer; notifications are passed over, and kept. */
        next: async () => {
            for (;;) {
                const { value } = await lines.next();
                if (value === undefined || value.includes('"id":')) {
                    return value;
                }
                passed.push(value);
            }
        },
        stop: async () => { child.stdin.end(); await once(child, 'exit'); },
    };
}

/** Calls `same` over MCP on stdio; the answer must have the very bytes. */
async function passes(title, args, name = 'same') {
    await checks.check(title, async () => {
        const server = start(args);
        server.send(INIT);
        await server.next();
        server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
        server.send(call(String.raw`"\ud83dA"`, name));
        const line = await server.next();
        assert.ok(line.includes(String.raw`"id":"\ud83dA"`), line);
        assert.ok(line.includes(`"structuredContent":${ARGUMENTS}`), line);
        await server.stop();
    });
}

const common = ['--no-toolkit', '--tools', place('tools.json')];
await passes('serve', ['serve', '--alone', ...common]);

await checks.check('a schema does not take one half for another character', async () => {
    const server = start(['serve', '--alone', ...common]);
    server.send(INIT);
    await server.next();
    for (const [text, isRefused] of [[String.raw`\ufffd`, false], [String.raw`\ud800`, true]]) {
        server.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chosen","arguments":{"s":"${text}"}}}`);
        const line = await server.next();
        assert.equal(/isError|"error"/.test(line), isRefused, line);
    }
    await server.stop();
});

await checks.check('two ids with different halves are two requests', async () => {
    const server = start(['serve', '--alone', '--no-toolkit', '--diagnostics']);
    server.send(INIT);
    await server.next();
    for (const id of [String.raw`\ud800`, String.raw`\ud801`]) {
        server.send(`{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"sleep","arguments":{"ms":100}}}`);
    }
    for (const line of [await server.next(), await server.next()]) {
        assert.match(line, /"id":"\\ud80[01]".*slept 100 ms/);
    }
    await server.stop();
});

/** What a server behind the hub was sent, and what it says, with halves of pairs in text that is decoded on its way. */
const HALF = String.raw`cut \ud83d`;
writeFileSync(place('behind.mjs'), String.raw`
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const say = (line) => process.stdout.write(line + '\n');
createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const answer = (result) => say('{"jsonrpc":"2.0","id":' + id + ',' + result + '}');
    appendFileSync('seen.txt', line + '\n');
    if (method === 'initialize') {
        answer('"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"b","version":"1"},"capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}');
    } else if (method === 'tools/list') {
        answer('"result":{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}');
    } else if (method === 'resources/list') {
        answer('"result":{"resources":[{"uri":"x:cut \\ud83d","name":"r"},{"uri":"x:cut \\ud83e","name":"s"}]}');
    } else if (method === 'resources/templates/list') {
        answer('"result":{"resourceTemplates":[]}');
    } else if (method === 'prompts/list') {
        answer('"result":{"prompts":[{"name":"p","arguments":[{"name":"a"}]}]}');
    } else if (method === 'resources/read') {
        answer('"result":{"contents":[]}');
    } else if (method === 'completion/complete') {
        answer('"result":{"completion":{"values":["\\ud83d"]}}');
    } else if (method === 'tools/call') {
        say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":' + JSON.stringify(params._meta.progressToken) + ',"progress":1,"message":"cut \\ud83d"}}');
        answer('"error":{"code":-32000,"message":"cut \\ud83d"}');
    } else if (id !== undefined) {
        answer('"result":{}');
    }
});
`);

await checks.check('words, URIs and completions on their way to and from a server', async () => {
    writeFileSync(place('behind.json'), JSON.stringify({ mcpServers: { b: { command: process.execPath, args: [place('behind.mjs')] } } }), { mode: 0o600 });
    const server = start(['serve', '--alone', '--no-toolkit', '--config', place('behind.json')]);
    const ask = async (id, method, params) => {
        server.send(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`);
        return server.next();
    };
    server.send(INIT);
    await server.next();
    server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    assert.ok((await ask(1, 'tools/call', '{"name":"fail","arguments":{},"_meta":{"progressToken":"t\\ud83d"}}')).includes(`"message":"${HALF}"`));
    assert.ok(server.passed.some((line) => line.includes(String.raw`"progressToken":"t\ud83d"`) && line.includes(`"message":"${HALF}"`)), server.passed.join('\n'));
    for (const half of [String.raw`\ud83d`, String.raw`\ud83e`]) {
        assert.match(await ask(2, 'resources/read', `{"uri":"x:cut ${half}"}`), /"contents"/);
        assert.ok(readFileSync(place('seen.txt'), 'utf8').includes(`{"uri":"x:cut ${half}"`), half);
    }
    assert.match(await ask(3, 'resources/read', '{"uri":"x:cut \ufffd"}'), /"error"/);
    const completion = await ask(4, 'completion/complete', `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"${HALF}"}}`);
    assert.ok(completion.includes(String.raw`["\ud83d"]`), completion);
    assert.ok(readFileSync(place('seen.txt'), 'utf8').includes(`"value":"${HALF}"`));
    assert.match(await ask(5, 'tools/call', String.raw`{"name":"no \ud83d","arguments":{}}`), /no \\ud83d/);
    await server.stop();
});

await checks.check('a person reads U+FFFD in what a server says', () => {
    const said = spawnSync(toolwire, ['call', '--server', `${process.execPath} ${place('behind.mjs')}`, 'fail'], { cwd: work, env });
    const words = new TextDecoder('utf-8', { fatal: true }).decode(said.stderr);
    assert.match(words, /cut \ufffd/);
});

/** Frames of a length and JSON, on a Unix socket that waits for one peer. */
async function framed(name, write, read) {
    const server = createServer().listen(place(name));
    await once(server, 'listening');
    return { accept: async () => {
        const [socket] = await once(server, 'connection');
        server.close();
        let held = Buffer.alloc(0);
        let wake = () => {};
        socket.on('data', (piece) => { held = Buffer.concat([held, piece]); wake(); });
        socket.on('error', () => {});
        return {
            send: (text) => { const n = Buffer.alloc(4); n[write](Buffer.byteLength(text)); socket.write(Buffer.concat([n, Buffer.from(text)])); },
            next: async () => {
                while (held.length < 4 || held.length < 4 + held[read](0)) {
                    await new Promise((resolve) => { wake = resolve; });
                }
                const text = held.subarray(4, 4 + held[read](0)).toString();
                held = held.subarray(4 + held[read](0));
                return text;
            },
            end: () => socket.destroy(),
        };
    } };
}

await checks.check('ids and words of an add-in', async () => {
    const pipe = await framed('other.pipe', 'writeUInt32LE', 'readUInt32LE');
    const addin = spawn(toolwire, ['addin', '--pipe', place('other.pipe'), '--tools', place('tools.json')], { cwd: work, env, stdio: ['ignore', 'inherit', 'ignore'] });
    process.once('exit', () => addin.kill('SIGKILL'));
    const hub = await pipe.accept();
    const until = async (word) => { for (;;) { const text = await hub.next(); if (text.includes(word)) { return text; } } };
    hub.send(String.raw`{"id":"c\ud83d","type":"tool_call","timestamp":"2025-01-15T10:30:00.000Z","payload":{"tool_name":"same","args":${ARGUMENTS}}}`);
    const result = await until('"call_id"');
    assert.ok(result.includes(String.raw`"call_id":"c\ud83d"`) && result.includes(ARGUMENTS), result);
    hub.send(String.raw`{"type":"tool_call","payload":{"args":{"id":"5",}},"id":"d\ud83d"}`);
    const error = await until('"error"');
    assert.ok(error.includes(String.raw`"call_id":"d\ud83d"`) && error.includes('Invalid JSON'), error);
    hub.end();
    addin.kill('SIGTERM');
    await once(addin, 'exit');
});

// A parent and its bridge.
const host = spawn(toolwire, ['host', '--tools', place('tools.json'), '--socket', place('host.sock')], { cwd: work, env, stdio: ['ignore', 'inherit', 'pipe'] });
process.once('exit', () => host.kill('SIGKILL'));
await once(readline.createInterface({ input: host.stderr }), 'line');
await passes('host and bridge', ['bridge', place('host.sock'), place('host.json')]);
await checks.check('the error of a parent', async () => {
    const parent = await framed('parent.sock', 'writeUInt32BE', 'readUInt32BE');
    const bridge = start(['bridge', place('parent.sock'), place('host.json')]);
    const answering = parent.accept().then(async (peer) => {
        await peer.next();
        peer.send(String.raw`{"error":{"message":"cut \ud83d","type":"T\udc00"}}`);
        return peer;
    });
    bridge.send(INIT);
    await bridge.next();
    bridge.send(call(1, 'same'));
    const line = await bridge.next();
    assert.ok(line.includes(String.raw`cut \ud83d (type: T\udc00)"`), line);
    (await answering).end();
    await bridge.stop();
});
host.kill('SIGTERM');
await once(host, 'exit');

// Another MCP server behind this one.
writeFileSync(place('settings.json'), JSON.stringify({ mcpServers: { behind: { command: toolwire, args: ['serve', '--alone', ...common] } } }), { mode: 0o600 });
await passes('a server behind the hub', ['serve', '--alone', '--no-toolkit', '--config', place('settings.json')]);

// A hub: its add-in, MCP and jobs over HTTP, and a person who calls.
Object.assign(process.env, env);
const hub = await startServer({ command: toolwire, args: ['up', '--json', '--no-toolkit', '--diagnostics', '--state', place('state'), '--pipe', place('pipe')] });
const addin = spawn(toolwire, ['addin', '--pipe', place('pipe'), '--tools', place('tools.json')], { cwd: work, env, stdio: ['ignore', 'inherit', 'ignore'] });
process.once('exit', () => addin.kill('SIGKILL'));
const post = async (where, body) => (await fetch(new URL(where, hub.url), { method: 'POST', body, headers: {
    'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...hub.headers } })).text();
await checks.check('the add-in has come', async () => {
    const until = Date.now() + 20_000;
    let listed = '';
    while (!listed.includes('same') && Date.now() < until) {
        listed = execFileSync(toolwire, ['tools', '--state', place('state')], { cwd: work, env, encoding: 'utf8' });
    }
    assert.match(listed, /same/);
});
await passes('an add-in, through the hub', ['serve', '--state', place('state')]);
await checks.check('MCP over HTTP', async () => {
    const meta = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}';
    const answer = await (await fetch(hub.url, { method: 'POST', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'same' },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"same","arguments":${ARGUMENTS},${meta}}}` })).text();
    assert.ok(answer.includes(`"structuredContent":${ARGUMENTS}`), answer);
});
await checks.check('a job over plain HTTP', async () => {
    const answer = await post('/rpc?waitMs=20000', `{"jsonrpc":"2.0","id":1,"method":"same","params":${ARGUMENTS}}`);
    assert.ok(answer.includes(String.raw`"cut \ud83d"`), answer);
    assert.ok(answer.includes(String.raw`"\uDC00k":["\uD83D\uDE00","\ud800\ud800"]`), answer);
});
await checks.check('the names of a job', async () => {
    const enqueue = (key) => post('/rpc?waitMs=20000', `{"jsonrpc":"2.0","id":"\\ud83d","method":"same","idempotencyKey":"k ${key}","params":{}}`);
    const first = await enqueue(String.raw`\ud83d`);
    assert.ok(first.includes(String.raw`"id":"\ud83d"`), first);
    const jobOf = (answer) => /"job_?[iI]d":"([^"]+)"/.exec(answer)?.[1];
    assert.notEqual(jobOf(first), undefined, first);
    assert.equal(jobOf(await enqueue(String.raw`\ud83d`)), jobOf(first));
    assert.notEqual(jobOf(await enqueue(String.raw`\ud83e`)), jobOf(first));
    const row = await (await fetch(new URL(`/job/${jobOf(first)}`, hub.url), { headers: hub.headers })).text();
    assert.ok(row.includes(String.raw`"k \ud83d"`), row);
    assert.match(await post('/rpc', String.raw`{"jsonrpc":"2.0","id":1,"method":"no \ud83d","params":{}}`), /no \\ud83d/);
});
await checks.check('over HTTP, a request that cannot be read is answered with its id', async () => {
    for (const [where, id] of [['/mcp', '"a"'], ['/rpc', '7']]) {
        const answer = await post(where, `{"method":"same","params":{"id":5,},"jsonrpc":"2.0","id":${id}}`);
        assert.ok(answer.includes(`"id":${id},`) && answer.includes('-32700'), `${where}: ${answer}`);
    }
});
await checks.check('a person reads U+FFFD', () => {
    const said = execFileSync(toolwire, ['call', '--state', place('state'), 'echo', String.raw`{"message":"cut \ud83d"}`], { cwd: work, env });
    assert.equal(new TextDecoder('utf-8', { fatal: true }).decode(said), 'cut \ufffd\n');
});
addin.kill('SIGTERM');
await once(addin, 'exit');
await hub.stop();

// The agent: the shell's line, and what its file tool writes.
await checks.check('a line of a shell, and a file that the agent writes', async () => {
    const agent = start(['agent', '--model', 'script', '--root', work, '--tool', 'write_file=allow', '--history', 'off', '--alone', '--no-toolkit']);
    const say = async (id, message) => {
        agent.send(`{"id":"${id}","kind":"user_message","message":"${message}"}`);
        for (;;) {
            const line = await agent.next();
            assert.notEqual(line, undefined);
            const { id: of, type } = JSON.parse(line);
            assert.notEqual(type, 'error', line);
            if (of === id && type === 'done') {
                return;
            }
        }
    };
    await say('r1', String.raw`cut \ud83d`);
    await say('r2', String.raw`/call write_file {\"path\":\"made.txt\",\"content\":\"cut \\ud83d\"}`);
    assert.equal(readFileSync(place('made.txt')).toString('hex'), Buffer.from('cut \ufffd').toString('hex'));
    await agent.stop();
});

// The agent and a model: what the shell says, and what the model says in pieces that are cut inside of a pair.
await checks.check('text to a model, and from it', async () => {
    const bodies = [];
    const pieces = [String.raw`\ud83d`, String.raw`\ude00 and \udc00`];
    const model = http.createServer(async (request, response) => {
        let body = '';
        for await (const piece of request) {
            body += piece;
        }
        bodies.push(body);
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        for (const piece of pieces) {
            response.write(`data: {"id":"1","choices":[{"index":0,"delta":{"content":"${piece}"}}]}\n\n`);
        }
        response.end('data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
    }).listen(0, '127.0.0.1');
    await once(model, 'listening');
    const agent = start(['agent', '--model', 'openai:m', '--root', work, '--alone', '--no-toolkit', '--state', place('agent'),
        '--base-url', `http://127.0.0.1:${model.address().port}/v1`], {
        env: { ...env, OPENAI_API_KEY: 'k' } });
    const say = async (id, message) => {
        let told = '';
        agent.send(`{"id":"${id}","kind":"user_message","message":"${message}"}`);
        for (;;) {
            const line = await agent.next();
            assert.notEqual(line, undefined);
            const said = JSON.parse(line);
            assert.notEqual(said.type, 'error', line);
            told += said.type === 'token' ? said.token : '';
            if (said.type === 'done') {
                assert.ok(line.includes(`"id":"${id}"`), line);
                return told;
            }
        }
    };
    assert.equal(await say(String.raw`r\ud83d`, HALF), '\ud83d\ude00 and \udc00');
    await say('r2', 'again');
    assert.ok(bodies[0].includes(`"${HALF}"`), bodies[0]);
    assert.ok(bodies[1].includes(`"${HALF}"`), bodies[1]);
    assert.equal(JSON.parse(bodies[1]).messages.at(-2).content, '\ud83d\ude00 and \udc00');
    await agent.stop();
    model.close();
});

checks.finish();
