// Listens at a client's transport, and holds what a server sent against the rules of its era that no
// client library checks: which members may be there, which must, and what may not be said at all.
import { assert } from './checks.mjs';

const PREFIX = 'io.modelcontextprotocol/';
const MODERN_MEMBERS = ['resultType', 'ttlMs', 'cacheScope', 'inputRequests', 'requestState'];
const CACHEABLE = new Set([
    'server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read',
]);
const STREAM_ONLY = new Set([
    'notifications/tools/list_changed', 'notifications/prompts/list_changed',
    'notifications/resources/list_changed', 'notifications/resources/updated',
]);

/** What version 2 of the client asks before it connects; it hears the answer past every other handler. */
const PROBE = /^server-discover-probe-/;

export class Wire {
    sent = [];
    received = [];
    #waiting = new Map();
    #signals = new Map();
    #transport;

    /** To be called before the client connects: it passes messages on to a handler that is already there. */
    constructor(transport) {
        transport.onmessage = (message) => {
            this.received.push(structuredClone(message));
            this.#waiting.get(message.id)?.(this.received.at(-1));
        };
        this.#transport = transport;
        const send = transport.send.bind(transport);
        transport.send = (message, options, ...rest) => {
            if (!PROBE.test(message.id)) {
                this.sent.push(structuredClone(message));
            }
            this.#signals.set(message.id, options?.requestSignal);
            return send(message, options, ...rest).catch((error) => this.#refused(message, error));
        };
    }

    /** Over HTTP an error of the protocol may come as a status, which version 2 of the client does not always read. */
    #refused(message, error) {
        const text = error.data?.text;
        if (typeof text !== 'string' || !text.startsWith('{"jsonrpc"')) {
            throw error;
        }
        const answer = JSON.parse(text);
        assert.equal(answer.id, message.id, text);
        this.#transport.onmessage(answer);
    }

    /** Leaves by `close`, and fails unless the server then ends by itself and with status 0 (sanitizers speak there). */
    async leave(close) {
        const child = this.#transport._process; // the libraries keep it to themselves
        const exit = new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
        await close();
        assert.deepEqual(await exit, { code: 0, signal: null });
    }

    /** A request that the library would not send; gives the whole answer. */
    ask({ method, params }) {
        const id = `behind the library's back ${this.sent.length}`;
        return new Promise((resolve, reject) => {
            this.#waiting.set(id, resolve);
            this.#transport.send({ jsonrpc: '2.0', id, method, params }).catch(reject);
        });
    }

    requests(method) {
        return this.sent.filter((message) => message.method === method && message.id !== undefined);
    }

    notifications(method) {
        return this.received.filter((message) => message.method === method && message.id === undefined);
    }

    answersTo(id) {
        return this.received.filter((message) => message.id === id && message.method === undefined);
    }

    /** Results with the request that each belongs to. */
    results() {
        const asked = new Map(this.sent.filter((m) => m.method !== undefined && m.id !== undefined).map((m) => [m.id, m]));
        return this.received.filter((m) => m.result !== undefined).map((m) => ({ request: asked.get(m.id), message: m }));
    }

    /** Over HTTP, who goes away has cancelled. */
    #wasAbandoned(id) {
        return this.#signals.get(id)?.aborted === true;
    }

    /** Every request one answer, a cancelled one none or, if they crossed, one; no answer to nothing. */
    checkPairs() {
        const cancelled = new Set(this.sent.filter((m) => m.method === 'notifications/cancelled').map((m) => m.params.requestId));
        const ids = new Set();
        for (const { id, method } of this.sent.filter((m) => m.method !== undefined && m.id !== undefined)) {
            ids.add(id);
            const n = this.answersTo(id).length;
            assert.ok(n === 1 || (n === 0 && (cancelled.has(id) || this.#wasAbandoned(id) || method === 'subscriptions/listen')),
                `request ${JSON.stringify(id)} (${method}) got ${n} answers`);
        }
        for (const { id, method } of this.received.filter((m) => m.id !== undefined && m.method === undefined)) {
            assert.ok(ids.has(id), `an answer to ${JSON.stringify(id)}, which was never asked (${method})`);
        }
    }

    checkLegacy() {
        assert.ok(this.results().length > 0);
        for (const { request, message } of this.results()) {
            for (const member of MODERN_MEMBERS) {
                assert.ok(!(member in message.result), `${member} in the answer to ${request?.method}`);
            }
        }
        for (const { result, params, method } of this.received) {
            for (const key of Object.keys(result?._meta ?? params?._meta ?? {})) {
                assert.ok(!key.startsWith(PREFIX), `${key} in ${method ?? 'an answer'}`);
            }
        }
    }

    checkModern(serverInfo) {
        assert.ok(this.results().length > 0);
        for (const message of this.received) {
            assert.ok(message.method === undefined || message.id === undefined, `the server sent a request: ${message.method}`);
            if (STREAM_ONLY.has(message.method)) {
                const id = message.params?._meta?.[`${PREFIX}subscriptionId`];
                assert.ok(this.requests('subscriptions/listen').some((listen) => listen.id === id),
                    `${message.method} outside a subscription (${JSON.stringify(id)})`);
            }
        }
        for (const { request, message: { result } } of this.results()) {
            const where = `in the answer to ${request?.method}`;
            assert.ok(['complete', 'input_required'].includes(result.resultType), `resultType ${result.resultType} ${where}`);
            assert.equal(result._meta?.[`${PREFIX}serverInfo`]?.name, serverInfo.name, `serverInfo ${where}`);
            assert.equal(result._meta[`${PREFIX}serverInfo`].version, serverInfo.version, `serverInfo ${where}`);
            assert.ok(!('serverInfo' in result), `serverInfo outside _meta ${where}`);
            const cacheable = CACHEABLE.has(request.method) && result.resultType === 'complete';
            assert.equal('ttlMs' in result, cacheable, `ttlMs ${where}`);
            assert.equal('cacheScope' in result, cacheable, `cacheScope ${where}`);
            if (cacheable) {
                assert.ok(Number.isSafeInteger(result.ttlMs) && result.ttlMs >= 0, `ttlMs ${result.ttlMs} ${where}`);
                assert.ok(['public', 'private'].includes(result.cacheScope), `cacheScope ${result.cacheScope} ${where}`);
            }
            if (result.resultType === 'input_required') {
                assert.ok(result.inputRequests !== undefined || result.requestState !== undefined, where);
                for (const inner of Object.values(result.inputRequests ?? {})) {
                    assert.deepEqual(Object.keys(inner).filter((key) => !['method', 'params'].includes(key)), [], where);
                }
            }
        }
    }
}
