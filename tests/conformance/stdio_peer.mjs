// A client of one server process, message by message, without any MCP library.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export const PREFIX = 'io.modelcontextprotocol/';
const CLIENT = { name: 'conformance-test-client', version: '1.0.0' };
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } };

/** Far above what an answer takes on a busy machine. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Unique in a whole run, so that what was sent and received may be looked at together. */
let lastId = 0;

export class RpcError extends Error {
    constructor(error) {
        super(`error ${error.code}: ${error.message}`);
        this.code = error.code;
        this.data = error.data;
    }
}

export class Peer {
    sent = [];
    received = [];
    handlers = new Map(); // method of a server's request → function of its params that gives the result
    #child;
    #exit;
    #waiting = []; // {match, resolve}
    #revision;

    constructor(command, revision) {
        this.#revision = revision;
        this.#child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
        this.#exit = new Promise((resolve) => {
            this.#child.once('exit', (code, signal) => resolve({ code, signal }));
            this.#child.once('error', (error) => resolve({ error: error.message }));
        });
        this.#child.stdin.on('error', () => {}); // its end says more
        createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(JSON.parse(line)));
    }

    get isModern() {
        return this.#revision === '2026-07-28';
    }

    /** The handshake of the older era; the newer one has none. */
    async open() {
        if (this.isModern) {
            return undefined;
        }
        const params = { protocolVersion: this.#revision, capabilities: CAPABILITIES, clientInfo: CLIENT };
        const result = await this.request('initialize', params);
        this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
        return result;
    }

    /** Ends the server's input; it must then end by itself, with status 0. */
    async close() {
        this.#child.stdin.end();
        assert.deepEqual(await this.#exit, { code: 0, signal: null });
    }

    kill() {
        this.#child.kill('SIGKILL');
    }

    send(message) {
        this.sent.push(message);
        this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    }

    /** `_meta` of a request of the newer era. */
    meta(more = {}) {
        return {
            [`${PREFIX}protocolVersion`]: this.#revision,
            [`${PREFIX}clientInfo`]: CLIENT,
            [`${PREFIX}clientCapabilities`]: CAPABILITIES,
            ...more,
        };
    }

    /** The whole answer to exactly these params. */
    async raw(method, params, id = ++lastId) {
        const answer = this.next((m) => m.id === id && m.method === undefined, `the answer to ${method}`);
        this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
        return answer;
    }

    /** The whole answer to a request as this era wants it. */
    async answer(method, params) {
        return this.raw(method, this.isModern ? { ...params, _meta: this.meta(params?._meta) } : params);
    }

    /** The result; an error is thrown. */
    async request(method, params) {
        const answer = await this.answer(method, params);
        if (answer.error !== undefined) {
            throw new RpcError(answer.error);
        }
        return answer.result;
    }

    /** The next message that match accepts; none that came before. */
    next(match, what) {
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`${what} did not come`)), ANSWER_TIMEOUT_MS);
            this.#exit.then((how) => reject(new Error(`the server ended before ${what}: ${JSON.stringify(how)}`)));
            this.#waiting.push({ match, resolve: (message) => { clearTimeout(timer); resolve(message); } });
        });
    }

    notifications(method) {
        return this.received.filter((m) => m.method === method && m.id === undefined);
    }

    #receive(message) {
        this.received.push(message);
        if (message.method !== undefined && message.id !== undefined) {
            this.#serve(message);
        }
        const due = this.#waiting.filter(({ match }) => match(message));
        this.#waiting = this.#waiting.filter((one) => !due.includes(one));
        due.forEach(({ resolve }) => resolve(message));
    }

    #serve({ id, method, params }) {
        const handler = this.handlers.get(method);
        const outcome = handler === undefined
            ? { error: { code: -32601, message: 'no such method' } }
            : { result: handler(params) };
        this.send({ jsonrpc: '2.0', id, ...outcome });
    }
}
