// Parallel calls of one client whose server asks in the middle of them: every question is answered once, and reaches the call
// that asked.
//
//   gateway_ask.mjs TOOLWIRE [FRONT]
//
// A round makes 100 calls with progress at once, then 10 that elicit and 10 that sample at once. TOOLWIRE_ASK_ROUNDS says how
// many rounds each front has; TOOLWIRE_ASK_SEED repeats the times of a run.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const toolwire = resolve(process.argv[2]);
const fixture = join(dirname(fileURLToPath(import.meta.url)), 'gateway_ask_server.mjs');
const nRounds = Number(process.env.TOOLWIRE_ASK_ROUNDS ?? 5);
const seed = Number(process.env.TOOLWIRE_ASK_SEED ?? Date.now() % 2 ** 31);
const work = mkdtempSync(join(tmpdir(), 'tw-ask-'));
const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const ROUND_MS = 60_000; // far above what a round takes: a call that hangs ends the test by name
const TOKEN = 'a-token-of-this-test-alone'; // modern clients over HTTP are told apart by nothing else
const authorization = `Bearer ${TOKEN}`;
const capabilities = { elicitation: {}, sampling: {} };
const children = [];
process.on('exit', () => {
    children.forEach((child) => child.exitCode ?? child.kill('SIGKILL'));
    rmSync(work, { recursive: true, force: true });
});

let state = seed;
const random = (n) => { // xorshift: a seed repeats a run's delays
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
};
const later = (ms) => (ms > 0 ? new Promise((done) => { setTimeout(done, ms); }) : undefined);

/** What a client says to a question. */
function answer({ method, params }) {
    return method === 'elicitation/create'
        ? { action: 'accept', content: { token: params.message } }
        : { role: 'assistant', model: 'm', content: params.messages[0].content };
}

/** Whoever reads messages: results go to their calls, questions get answers. */
class Session {
    n = 0;
    waiting = new Map();
    maxAnswerMs = 0;

    take(message) {
        if (message.method === undefined) {
            this.waiting.get(message.id)?.(message);
            this.waiting.delete(message.id);
        } else if (message.id !== undefined) {
            this.onQuestion(message);
        } else if (message.method === 'notifications/progress') {
            this.onProgress?.(message.params.progressToken);
        }
    }

    /** A call that lasts, once the server has it. */
    async hold(name) {
        const begun = new Promise((done) => { this.onProgress = (token) => token === name && done(); });
        const call = this.call('hold', { name }, { progressToken: name });
        await begun;
        return { call };
    }

    async onQuestion(message) {
        await later(random(this.maxAnswerMs + 1));
        await this.say(message);
    }

    say(message) {
        return this.send({ jsonrpc: '2.0', id: message.id, result: answer(message) });
    }

    /** The next question, which is left open. */
    async asked() {
        const message = await new Promise((done) => { this.onQuestion = done; });
        delete this.onQuestion;
        return message;
    }

    request(method, params) {
        const id = ++this.n;
        const got = new Promise((done) => { this.waiting.set(id, done); });
        this.send({ jsonrpc: '2.0', id, method, params });
        return Object.assign(got, { id });
    }

    call(name, args, meta) {
        return this.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) });
    }

    async hello(protocolVersion) {
        this.version = protocolVersion;
        const { result } = await this.request('initialize', { protocolVersion, capabilities, clientInfo: { name: 't', version: '1' } });
        assert.equal(result.protocolVersion, protocolVersion);
        await this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    }

    end() {}
}

async function* events(body) {
    let rest = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + chunk).split(/\r?\n\r?\n/);
        rest = blocks.pop();
        for (const block of blocks) {
            const lines = block.split(/\r?\n/);
            yield { event: lines.find((line) => line.startsWith('event:'))?.slice(6).trim(),
                    data: lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).join('\n') };
        }
    }
}

/** Streamable HTTP: each call has a stream of its own, answers are POSTs. */
class Http extends Session {
    constructor(url) {
        super();
        this.url = `${url}/mcp`;
    }

    async send(message) {
        const response = await fetch(this.url, { method: 'POST', body: JSON.stringify(message), headers: {
            authorization, 'content-type': 'application/json', accept: 'application/json, text/event-stream',
            ...(this.id && { 'mcp-session-id': this.id, 'mcp-protocol-version': this.version }) } });
        this.id ??= response.headers.get('mcp-session-id');
        if (message.id === undefined || message.method === undefined) {
            assert.equal(response.status, 202, await response.text());
        } else if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
            for await (const { data } of events(response.body)) {
                data && this.take(JSON.parse(data));
            }
        } else {
            assert.equal(response.status, 200, `${message.method}`);
            this.take(await response.json());
        }
    }

    async end() {
        await fetch(this.url, { method: 'DELETE', headers: { authorization, 'mcp-session-id': this.id } });
    }
}

/** HTTP and SSE of 2024-11-05: one stream for everything. */
class Sse extends Session {
    async open(url) {
        this.leave = new AbortController();
        const { body } = await fetch(`${url}/sse`, { headers: { authorization, accept: 'text/event-stream' }, signal: this.leave.signal });
        await new Promise((opened) => {
            (async () => {
                for await (const { event, data } of events(body)) {
                    if (event === 'endpoint') {
                        this.post = new URL(data, url);
                        opened();
                    } else if (data) {
                        this.take(JSON.parse(data));
                    }
                }
            })().catch((error) => error.name === 'AbortError' || this.ended || Promise.reject(error));
        });
        return this;
    }

    async send(message) {
        const response = await fetch(this.post, { method: 'POST', body: JSON.stringify(message), headers: { authorization, 'content-type': 'application/json' } });
        assert.equal(response.status, 202, await response.text());
    }

    end() {
        this.ended = true;
        this.leave.abort();
    }
}

/** A client of `serve` in front of the hub. */
class Stdio extends Session {
    constructor(args) {
        super();
        this.child = start(args);
        createInterface({ input: this.child.stdout }).on('line', (line) => this.take(JSON.parse(line)));
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify(message)}\n`);
    }

    async end() {
        this.child.stdin.end();
        await new Promise((done) => { this.child.on('exit', done); });
    }
}

/** 2026-07-28 over HTTP: no session, a question is a result, and the same call brings the answers. */
class Modern {
    n = 0;
    maxAnswerMs = 0;

    constructor(url) {
        this.url = `${url}/mcp`;
    }

    async request(method, params) {
        const _meta = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: capabilities, [`${META}clientInfo`]: { name: 't', version: '1' }, ...params._meta };
        const response = await fetch(this.url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: ++this.n, method, params: { ...params, _meta } }), headers: {
            authorization, 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN,
            'mcp-method': method, ...(params.name && { 'mcp-name': params.name }) } });
        if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
            return response.json();
        }
        let last;
        for await (const { data } of events(response.body)) {
            last = data ? JSON.parse(data) : last;
        }
        return last;
    }

    async call(name, args, meta) {
        let got = await this.request('tools/call', { name, arguments: args, _meta: meta });
        while (got.result?.resultType === 'input_required') {
            const { inputRequests, requestState } = got.result;
            const inputResponses = {};
            for (const [key, question] of Object.entries(inputRequests)) {
                await later(random(this.maxAnswerMs + 1));
                inputResponses[key] = answer(question);
            }
            got = await this.request('tools/call', { name, arguments: args, _meta: meta, inputResponses, requestState });
        }
        return got;
    }

    end() {}
}

function start(args) {
    const child = spawn(toolwire, args, { cwd: work, stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, HOME: work, XDG_STATE_HOME: work, XDG_RUNTIME_DIR: work } });
    children.push(child);
    return child;
}

async function hub(kind) {
    const path = join(work, `${kind}.json`);
    writeFileSync(join(work, 'token'), TOKEN, { mode: 0o600 });
    writeFileSync(path, JSON.stringify({ http: { address: '127.0.0.1:0', token_file: 'token' }, queue: 'off', state: join(work, kind), limits: { rate_burst: 1_000_000, rate_per_s: 1_000_000 },
                                         mcpServers: { asks: { command: process.execPath, args: [fixture, kind] } } }));
    const child = start(['up', '--config', path, '--no-toolkit']);
    const url = await new Promise((done) => {
        createInterface({ input: child.stdout }).on('line', (line) => /http:\/\//.test(line) && done(line.match(/http:\/\/[^\s/]+/)[0]));
    });
    return { child, url, path };
}

/** Ends the test, by name, if it does not come. */
function within(promise, what) {
    let timer;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`it hangs: ${what()}`)), ROUND_MS); });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const burst = (client) => Promise.all(Array.from({ length: 100 }, async (_, i) => {
    const got = await client.call('work', { i }, { progressToken: `p${i}` });
    assert.equal(got.result?.content[0].text, 'done', JSON.stringify(got));
}));

/** 20 calls that ask, in any order, at times of any distance. */
async function round(client, number) {
    const spread = [0, 5, 60, 300][number % 4];
    client.maxAnswerMs = [0, 10, 0, 100][(number >> 2) % 4];
    await within(burst(client), () => `the calls before round ${number}`);
    const kinds = Array.from({ length: 20 }, (_, i) => (i < 10 && client.version !== '2024-11-05' ? 'elicit' : 'sample')).sort(() => random(2) - 0.5);
    const open = new Set();
    const calls = kinds.map(async (name, i) => {
        const token = `${name}-${number}-${i}`;
        open.add(token);
        const got = await client.call(name, { token, delayMs: random(spread + 1) });
        open.delete(token);
        assert.equal(got.result?.content[0].text, token, JSON.stringify(got));
    });
    await within(Promise.all(calls), () => `round ${number}, ${open.size} of 20: ${[...open].join(' ')}`);
}

const said = async (call) => (await call).result?.content[0].text;

/** A legacy server does not say which call asks, so that a call may carry the question of another; its end is not the question's. */
async function carried(client) {
    // The one that carries it ends while the client thinks.
    let question = client.asked();
    let { call: hold } = await client.hold('a');
    let asks = client.call('sample', { token: 'a' });
    question = await question;
    assert.equal(await said(client.call('release', { name: 'a' })), 'released');
    await client.say(question);
    assert.equal(await said(asks), 'a');
    assert.equal(await said(hold), 'let go');
    // It ends before the client was asked.
    ({ call: hold } = await client.hold('b'));
    asks = client.call('sample', { token: 'b', then: 'b' });
    assert.equal(await said(asks), 'b');
    assert.equal(await said(hold), 'let go');
    // It is cancelled while the client thinks: he is asked anew.
    question = client.asked();
    ({ call: hold } = await client.hold('c'));
    asks = client.call('sample', { token: 'c' });
    question = await question;
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: hold.id } });
    assert.equal(await said(asks), 'c');
    await client.say(question); // too late, and no harm
    assert.equal(await said(client.call('sample', { token: 'd' })), 'd');
}

/** An error of a legacy client is an answer to a legacy server: it is passed on, whatever the question was. */
async function refuses(client) {
    for (const kind of client.version === '2024-11-05' ? ['sample'] : ['elicit', 'sample']) {
        const question = client.asked();
        const asks = client.call(kind, { token: 'no' });
        await client.send({ jsonrpc: '2.0', id: (await question).id, error: { code: -32603, message: `no ${kind}` } });
        assert.equal(await said(asks), `refused: no ${kind}`);
    }
}

const fronts = {
    '2025-06-18': async ({ url }) => { const client = new Http(url); await client.hello('2025-06-18'); return client; },
    '2025-11-25': async ({ url }) => { const client = new Http(url); await client.hello('2025-11-25'); return client; },
    sse: async ({ url }) => { const client = await new Sse().open(url); await client.hello('2024-11-05'); return client; },
    stdio: async ({ path }) => { const client = new Stdio(['serve', '--config', path]); await client.hello('2025-11-25'); return client; },
    modern: ({ url }) => new Modern(url),
};

console.log(`seed ${seed}`);
for (const kind of ['legacy', 'modern']) {
    const place = await hub(kind);
    for (const [name, open] of Object.entries(fronts)) {
        if (process.argv[3] !== undefined && process.argv[3] !== name) {
            continue;
        }
        const client = await open(place);
        if (kind === 'legacy' && name !== 'modern') {
            await within(carried(client), () => 'a question that another call carries');
            await within(refuses(client), () => 'an error in place of an answer');
        }
        for (let i = 0; i < nRounds; i++) {
            await round(client, i);
        }
        const report = (await client.call('report', {})).result.content[0].text;
        assert.match(report, / 0 stray, 0 open$/);
        await client.end();
        console.log(`ok: ${name} client, ${kind} server: ${nRounds} rounds, ${report}`);
    }
    place.child.kill('SIGTERM');
    assert.equal(await new Promise((done) => { place.child.on('exit', done); }), 0);
}
process.exit(0);
