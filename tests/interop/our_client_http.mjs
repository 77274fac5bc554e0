// Our client commands against servers over HTTP: server-everything by Streamable HTTP and by HTTP+SSE, the fixture on version
// 2 of the official TypeScript server, our hub; and servers that behave as none should.
//
//   node our_client_http.mjs -- TOOLWIRE
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { assert, Checks, serverCommand } from './checks.mjs';

const { command: toolwire } = serverCommand();
const checks = new Checks('our client over HTTP');
const here = path.dirname(fileURLToPath(import.meta.url));
const everything = path.join(path.dirname(
    createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')), 'dist/index.js');
const home = await mkdtemp(path.join(tmpdir(), 'toolwire-http-'));
const env = { ...process.env, HOME: home, XDG_RUNTIME_DIR: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home };
const started = [];

/** Starts a server; gives what its first matching line of output says. */
function start(program, words, pattern, more = {}) {
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...env, ...more }, cwd: home });
    started.push(child);
    return new Promise((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr]) {
            createInterface({ input: stream }).on('line', (line) => {
                const found = pattern.exec(line);
                if (found !== null) { resolve(found[1]); }
            });
        }
        child.on('exit', (status) => reject(new Error(`${words.join(' ')} ended: ${status}`)));
    });
}

/** A port that nobody uses; for programs that cannot choose one themselves. */
function freePort() {
    return new Promise((resolve) => {
        const server = createServer();
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

async function run(...words) {
    const child = spawn(toolwire, words, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let text = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => { text += chunk; });
    child.stderr.on('data', (chunk) => { stderr += chunk; });
    const status = await new Promise((resolve) => { child.on('close', resolve); });
    return { status, text, stderr };
}

async function output(...words) {
    const { status, text, stderr } = await run(...words);
    assert.equal(status, 0, stderr);
    return text;
}

const json = async (...words) => JSON.parse(await output(...words, '--json'));
const names = (entries) => entries.map(({ name }) => name);

async function failure(...words) {
    const { status, text, stderr } = await run(...words);
    assert.equal(status, 1, `${text}${stderr}`);
    return `${text}${stderr}`;
}

/** What server-everything has. */
function everythingTests(url, era) {
    const at = ['--server', url, '--era', era];
    return {
        'tools': async () => assert.ok(names((await json('tools', ...at)).tools).includes('echo')),
        'call': async () => assert.equal(await output('call', ...at, 'echo', 'message=hi'), 'Echo: hi\n'),
        'call with progress': async () =>
            assert.match(await output('call', ...at, 'trigger-long-running-operation', 'duration=1', 'steps=2'), /completed/),
        'resources': async () => assert.ok((await json('resources', ...at)).resources.length > 0),
        'prompts': async () => {
            const { messages } = await json('prompts', ...at, 'args-prompt', 'city=Oslo', 'state=Oslo');
            assert.match(messages[0].content.text, /Oslo/);
        },
        'an unknown tool': async () => assert.match(await failure('call', ...at, 'no-such-tool'), /no-such-tool/),
    };
}

function fixtureTests(url, era) {
    const at = ['--server', url, '--era', era];
    const modern = era !== 'legacy';
    return {
        'tools': async () => assert.equal((await json('tools', ...at)).tools.length, 19),
        'call': async () => {
            const result = await json('call', ...at, 'echo', 'message=é\u2028"x"');
            assert.deepEqual(result.content, [{ type: 'text', text: 'é\u2028"x"' }]);
            assert.equal(result.resultType, modern ? 'complete' : undefined);
        },
        ...(modern ? {
            'a question, declined': async () => assert.equal(await output('call', ...at, 'ask_name'), 'decline\n'),
            'the folder we work in': async () => assert.equal(await output('call', ...at, 'roots'), `file://${process.cwd()}\n`),
        } : {}),
        'progress': async () => assert.match(await output('call', ...at, 'progress', 'steps=3'), /done 3/),
        'resources': async () => assert.match(await output('resources', ...at, 'test://item/a%20b'), /^item a b\n?$/),
        'a resource that is not there': async () => assert.match(await failure('resources', ...at, 'test://none'), /-3260/),
        'prompts': async () => assert.match(await output('prompts', ...at, 'greet', 'name=Ann', 'style=formal'), /Greet Ann/),
    };
}

function hubTests(url) {
    return Object.fromEntries(['auto', 'legacy', 'modern', 'assume'].map((era) => [era, async () => {
        const at = ['--server', url, '--era', era];
        assert.equal(await output('call', ...at, 'echo', 'message=é'), 'é\n');
        assert.ok(names((await json('tools', ...at)).tools).includes('sleep'));
        assert.match(await failure('call', ...at, 'sleep', 'ms=60000', '--timeout', '300ms'), /time/);
    }]));
}

/** A server whose answers to POST are written by `answer(response, message, request)`. */
async function strange(answer) {
    const server = createServer((request, response) => {
        let body = '';
        request.on('data', (chunk) => { body += chunk; });
        request.on('end', () => answer(response, body === '' ? {} : JSON.parse(body), request));
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    server.unref();
    return `http://127.0.0.1:${server.address().port}/mcp`;
}

const say = (response, status, value, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
const events = (response) => response.writeHead(200, { 'content-type': 'text/event-stream' });
const legacy = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };

/** A legacy server that is decent but for tools/call. */
function decentBut(call, session = () => 's') {
    return strange((response, { id, method, params }, request) => {
        if (request.method !== 'POST') { return response.writeHead(405).end(); }
        if (id === undefined) { return response.writeHead(202).end(); }
        if (method === 'initialize') {
            return say(response, 200, { jsonrpc: '2.0', id, result: legacy }, { 'mcp-session-id': session() });
        }
        return method === 'tools/call' ? call(response, id, params, request)
            : say(response, 404, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } });
    });
}

const result = (id) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } });
/** As JSON, so that nothing is asked before the call. */
const callIt = (url, ...more) => ['call', '--server', url, 't', '{}', ...more];

const hostileTests = {
    'an event without end': async () => {
        const url = await decentBut((response) => {
            events(response).write('data: ');
            const more = () => { while (!response.destroyed && response.write('x'.repeat(65536))); };
            response.on('drain', more);
            more();
        });
        assert.match(await failure(...callIt(url)), /longer than allowed/);
    },
    'a body without end': async () => {
        const url = await decentBut((response) => {
            response.writeHead(200, { 'content-type': 'application/json' });
            const more = () => { while (!response.destroyed && response.write(' '.repeat(65536))); };
            response.on('drain', more);
            more();
        });
        assert.match(await failure(...callIt(url)), /longer than allowed/);
    },
    'garbage': async () => {
        const url = await decentBut((response) => events(response).end('\0\xff: :\n\ndata: {]\n\n'));
        assert.match(await failure(...callIt(url)), /not JSON.*may have been carried out/);
    },
    'another type': async () => {
        const url = await decentBut((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
        assert.match(await failure(...callIt(url)), /type 'text\/html'/);
    },
    'redirections in circles': async () => {
        const url = await strange((response) => response.writeHead(307, { location: '/mcp' }).end());
        assert.match(await failure(...callIt(url)), /circles/);
    },
    'a redirection to another server': async () => {
        const url = await strange((response) => response.writeHead(308, { location: 'http://127.0.0.1:1/' }).end());
        assert.match(await failure(...callIt(url)), /another server/);
    },
    'no answer': async () => {
        const url = await decentBut((response) => events(response).flushHeaders());
        assert.match(await failure(...callIt(url, '--timeout', '300ms')), /did not answer in time/);
    },
    'an answer that drips and never ends': async () => {
        const url = await decentBut((response) => {
            events(response);
            const timer = setInterval(() => response.write(': x\n'), 20);
            response.on('close', () => clearInterval(timer));
        });
        assert.match(await failure(...callIt(url, '--timeout', '400ms')), /did not answer in time/);
    },
    'the answer twice, and another one': async () => {
        const url = await decentBut((response, id) => {
            events(response).end([99, id, id].map((n) => `data: ${JSON.stringify(result(n))}\n\n`).join(''));
        });
        assert.equal(await output(...callIt(url)), 'done\n');
    },
    'a session that is forgotten once': async () => {
        let n = 0;
        let nCalls = 0;
        const url = await decentBut((response, id, params, request) => {
            nCalls++;
            return request.headers['mcp-session-id'] === 's1' ? response.writeHead(404).end() : say(response, 200, result(id));
        }, () => `s${++n}`);
        assert.equal(await output(...callIt(url)), 'done\n');
        assert.equal(n, 2);
        assert.equal(nCalls, 2);
    },
    'a session that is forgotten for ever': async () => {
        let n = 0;
        const url = await decentBut((response) => response.writeHead(404).end(), () => `s${++n}`);
        assert.match(await failure(...callIt(url)), /forgets its session/);
        assert.equal(n, 2);
    },
    'a connection that ends in the middle of a call': async () => {
        let nCalls = 0;
        const url = await decentBut((response) => {
            nCalls++;
            events(response).write('data: {');
            setImmediate(() => response.destroy());
        });
        assert.match(await failure(...callIt(url)), /may have been carried out/);
        assert.equal(nCalls, 1);
    },
    'a head without end': async () => {
        const url = await decentBut((response, id) => {
            const many = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x-${i}`, 'y'.repeat(1000)]));
            return say(response, 200, result(id), many);
        });
        assert.match(await failure(...callIt(url)), /longer than allowed/);
    },
    'who must log in is told how': async () => {
        const url = await strange((response) => response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end());
        assert.match(await failure(...callIt(url)), /toolwire auth login/);
    },
    'a page of the web': async () => {
        const url = await strange((response, message, request) => (request.method === 'GET'
            ? response.writeHead(200, { 'content-type': 'text/html' }).end('<p>') : response.writeHead(405).end()));
        assert.match(await failure(...callIt(url)), /no MCP server at/);
    },
    'nobody': async () => assert.match(await failure(...callIt(`http://127.0.0.1:${await freePort()}/mcp`)), /cannot reach/),
    'headers that a server did not expect are learnt': async () => {
        const seen = [];
        const schema = { type: 'object', properties: { r: { type: 'string', 'x-mcp-header': 'Region' } } };
        const url = await strange((response, { id, method }, request) => {
            const answer = (more) => say(response, 200, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...more } });
            seen.push(method);
            if (method === 'server/discover') { return answer({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }); }
            if (method === 'tools/list') { return answer({ tools: [{ name: 't', inputSchema: schema }] }); }
            if (request.headers['mcp-param-region'] !== 'eu') {
                return say(response, 400, { jsonrpc: '2.0', id, error: { code: -32020, message: 'Header mismatch' } });
            }
            return answer({ content: [{ type: 'text', text: 'done' }] });
        });
        assert.equal(await output('call', '--server', url, 't', '{"r":"eu"}'), 'done\n');
        assert.deepEqual(seen, ['server/discover', 'tools/call', 'tools/list', 'tools/call']);
    },
};

/** Who brings what is wanted on every request; ours, and what a login would bring, is not shown besides. */
const headerTests = {
    'headers are sent with every request, those of the environment, too': async () => {
        const seen = [];
        const url = await decentBut((response, id) => say(response, 200, result(id)), () => 's');
        const proxy = await strange(async (response, message, request) => {
            seen.push([request.method, request.headers['x-key'], request.headers['x-other'], request.headers.authorization]);
            const answer = await fetch(url, { method: request.method,
                headers: { 'content-type': 'application/json' },
                body: request.method === 'POST' ? JSON.stringify(message) : undefined });
            response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
                .end(await answer.text());
        });
        env.TW_TEST_KEY = 's3cret';
        assert.equal(await output(...callIt(proxy, '--header', 'X-Key: ${TW_TEST_KEY}', '--header', 'X-Other: ${TW_TEST_NONE:-b}',
            '--header', 'Authorization: Bearer ${TW_TEST_KEY}')), 'done\n');
        assert.ok(seen.filter(([method]) => method === 'POST').length >= 3, JSON.stringify(seen));
        for (const [, ...headers] of seen) { assert.deepEqual(headers, ['s3cret', 'b', 'Bearer s3cret']); }
    },
    'what is no header is wrong use': async () => {
        const wrong = [[['--header', 'X Key: s3cret'], /'X Key' is not the name of a header/],
            [['--header', 'X-Key: s3cret\r\nX-Other: b'], /'X-Key' has a value that no header can have/],
            [['--header', 's3cret'], /written as --header 'Name: value'/],
            [['--header', 'X-Key: ${TW_TEST_NONE}'], /\$\{TW_TEST_NONE\} is not set/],
            [['--header', 'X-Key: s3cret$'], /a '\$' begins/],
            [['--header', 'Mcp-Name: s3cret'], /is a header of MCP itself/]];
        for (const [words, pattern] of wrong) {
            const { status, stderr } = await run('tools', '--server', 'http://127.0.0.1:1/', ...words);
            assert.equal(status, 2, words[1]);
            assert.match(stderr, pattern);
            assert.doesNotMatch(stderr, /s3cret/);
        }
        assert.equal((await run('tools', '--server', 'true', '--header', 'X-Key: a')).status, 2);
        assert.equal((await run('tools', '--header', 'X-Key: a')).status, 2);
    },
};

const suites = { 'hostile': hostileTests, 'headers': headerTests };
for (const [transport, place] of [['streamableHttp', '/mcp'], ['sse', '/sse']]) {
    const port = await freePort();
    await start(process.execPath, [everything, transport], /(listening|running)/i, { PORT: String(port) });
    suites[`server-everything, ${transport}`] = everythingTests(`http://127.0.0.1:${port}${place}`, 'auto');
}
const v2 = await start(process.execPath, [path.join(here, 'server_v2.mjs'), '--http'], /(http:\S+)/);
for (const era of ['legacy', 'auto', 'modern', 'assume']) {
    suites[`server v2, ${era}`] = fixtureTests(v2, era);
}
await mkdir(path.join(home, 'state'));
const hub = ['--diagnostics', '--state', path.join(home, 'state'), '--config', 'none', '--json'];
suites.hub = hubTests(await start(toolwire, ['up', '--http', '127.0.0.1:0', ...hub], /"url":"([^"]+)"/));

const queue = Object.entries(suites).flatMap(([title, tests]) =>
    Object.entries(tests).map(([name, fn]) => [`${title}: ${name}`, fn]));
async function worker() {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await checks.check(...next);
    }
}
await Promise.all([worker(), worker(), worker()]);
for (const child of started) {
    child.removeAllListeners('exit');
    child.kill('SIGTERM');
    await new Promise((resolve) => { child.exitCode !== null || child.signalCode !== null ? resolve() : child.on('exit', resolve); });
}
await rm(home, { recursive: true, force: true });
checks.finish();
