// An MCP server over HTTP behind `toolwire serve` that breaks off, goes away and comes back: what its callers are told, and
// that the hub sees it without a call.
//
//   gateway_web.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { writeSettings } from '../interop/hub.mjs';

const toolwire = resolve(process.argv[2]);
const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const timer = setTimeout(() => { console.log('it hangs'); process.exit(1); }, 60_000);

/** A modern server: `tools` by name, `cut` breaks off, `listens` are the streams that tell of changes. */
class Server {
    tools = ['echo', 'cut'];
    listens = new Set();
    nCut = 0;
    nListens = 0;
    nRefusals = 0; // of a list, that are to come

    async start(port = 0) {
        this.http = createServer((request, response) => {
            let text = '';
            request.on('data', (chunk) => { text += chunk; });
            request.on('end', () => this.#answer(JSON.parse(text), response));
        });
        await new Promise((done) => this.http.listen(port, '127.0.0.1', done));
        this.port = this.http.address().port;
    }

    async stop() {
        const closed = new Promise((done) => this.http.close(done));
        this.http.closeAllConnections();
        await closed;
        this.listens.clear();
    }

    tell() {
        const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
        this.listens.forEach(({ id, response }) => response.write(`data: ${JSON.stringify({
            ...message, params: { _meta: { [`${META}subscriptionId`]: id } } })}\n\n`));
    }

    #answer({ id, method, params }, response) {
        const send = (what) => {
            response.setHeader('content-type', 'application/json');
            response.end(JSON.stringify({ jsonrpc: '2.0', id, ...what }));
        };
        const result = (more) => send({ result: { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: 's', version: '1' } }, ...more } });
        if (method === 'server/discover') {
            result({ supportedVersions: [VERSION], capabilities: { tools: { listChanged: true } }, ttlMs: 0, cacheScope: 'public' });
        } else if (method === 'tools/list' && this.nRefusals > 0) {
            this.nRefusals--;
            send({ error: { code: -32000, message: 'not yet' } });
        } else if (method === 'tools/list') {
            result({ tools: this.tools.map((name) => ({ name, inputSchema: { type: 'object' } })), ttlMs: 3_600_000, cacheScope: 'public' });
        } else if (method === 'subscriptions/listen') {
            this.nListens++;
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged',
                params: { notifications: params.notifications, _meta: { [`${META}subscriptionId`]: id } } })}\n\n`);
            const listen = { id, response };
            this.listens.add(listen);
            response.on('close', () => this.listens.delete(listen));
        } else if (params.name === 'cut') {
            this.nCut++;
            response.writeHead(200, { 'content-type': 'application/json' });
            response.write('{"jsonrpc"', () => response.destroy());
        } else {
            result({ content: [{ type: 'text', text: 'here' }] });
        }
    }
}

/** A modern client on the stdio of `serve`. */
class Client {
    #n = 0;
    #waiting = new Map();

    constructor(args) {
        this.child = spawn(toolwire, args, { stdio: ['pipe', 'pipe', 'inherit'] });
        process.once('exit', () => this.child.kill('SIGKILL'));
        this.ended = new Promise((done) => { this.child.once('exit', (code, signal) => done(code ?? signal)); });
        createInterface({ input: this.child.stdout }).on('line', (text) => {
            const message = JSON.parse(text);
            this.#waiting.get(message.id)?.(message);
        });
    }

    ask(method, params = {}) {
        const id = ++this.#n;
        const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })}\n`);
        return new Promise((done) => { this.#waiting.set(id, done); });
    }

    /** Whether it failed, and the words. */
    async call(name) {
        const { result } = await this.ask('tools/call', { name, arguments: {} });
        return [result.isError === true, result.content[0].text];
    }

    async list() {
        const { result } = await this.ask('tools/list');
        const state = result._meta['toolwire/servers']?.find(({ name }) => name === 's');
        return { names: result.tools.map(({ name }) => name), state: state?.state ?? 'ready', why: state?.why };
    }

    async listed(fits) {
        for (;;) {
            const list = await this.list();
            if (fits(list)) {
                return list;
            }
            await new Promise((done) => setTimeout(done, 10));
        }
    }
}

const until = async (fn) => {
    while (!fn()) {
        await new Promise((done) => setTimeout(done, 5));
    }
};

const server = new Server();
server.nRefusals = 1;
await server.start();
const settings = await writeSettings({ s: { url: `http://127.0.0.1:${server.port}/mcp`, start: 'eager' } });
const client = new Client(settings.serve);

// An error of the server's own to a list, with the number that we use for sessions that ended: it is asked again when told.
await until(() => server.nRefusals === 0 && server.listens.size === 1);
server.tell();
await client.listed(({ names }) => names.includes('echo'));
assert.deepEqual(await client.call('echo'), [false, 'here']);
console.log('ok: a list that was refused once');

const [failed, words] = await client.call('cut');
assert.ok(failed);
assert.match(words, /^the server s has gone; the call may have run: the server's answer broke off/);
assert.equal(server.nCut, 1);
assert.equal((await client.list()).state, 'ready');
console.log('ok: an answer that breaks off may have run');

const before = server.nListens;
server.tools.push('while_deaf');
server.listens.forEach(({ response }) => response.destroy());
await client.listed(({ names }) => names.includes('while_deaf'));
assert.equal(server.nListens, before + 1);
server.tools.push('told');
server.tell();
await client.listed(({ names }) => names.includes('told'));
console.log('ok: a subscription that breaks is begun again, and what changed meanwhile is seen');

await server.stop();
const down = await client.listed(({ state }) => state !== 'ready'); // without a call
assert.match(down.why, /^cannot reach /);
assert.ok(down.names.includes('echo'));
assert.match((await client.call('echo'))[1], /^the server s (is not there|has gone; the call was not sent to it): cannot reach /);
console.log('ok: a server that has gone is down');

server.tools = ['echo', 'reborn'];
await server.start(server.port);
await client.listed(({ names, state }) => state === 'ready' && names.includes('reborn') && !names.includes('told'));
assert.deepEqual(await client.call('reborn'), [false, 'here']);
console.log('ok: it is found when it is there again');

client.child.stdin.end();
assert.equal(await client.ended, 0);
await server.stop();
await settings.remove();
clearTimeout(timer);
