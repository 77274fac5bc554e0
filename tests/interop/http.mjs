// A server of ours that serves HTTP, as a process, and what a driver needs to reach it without a client library.
import { spawn } from 'node:child_process';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { assert } from './checks.mjs';

/**
 * Starts the server on a free port. It says on its first line where it is: an address, or JSON that has one (`toolwire
 * up --json`). With `stop` it ends by SIGTERM, and fails unless with status 0 (sanitizers speak there).
 */
export async function startServer({ command, args }) {
    const child = spawn(command, [...args, '--http', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
    process.once('exit', () => child.kill('SIGKILL'));
    const line = await new Promise((resolve, reject) => {
        createInterface(child.stdout).once('line', resolve);
        child.once('error', reject);
        exit.then(({ code }) => reject(new Error(`${command} ended with ${code} before it served`)));
    });
    const said = line.startsWith('{') ? JSON.parse(line) : { http: { url: line } };
    return {
        pid: child.pid,
        url: new URL(said.http.url),
        /** What `toolwire up` says to those who use it. */
        clients: said.clients,
        /** For who has told it already: a second signal would not wait. */
        async ended() {
            assert.deepEqual(await exit, { code: 0, signal: null });
        },
        stop() {
            child.kill('SIGTERM');
            return this.ended();
        },
    };
}

/** A fetch that can cut the streams of events that it gave, as a network does. */
export function cuttableFetch() {
    const streams = new Set();
    const cuttable = async (url, init = {}) => {
        const cut = new AbortController();
        const signal = init.signal ? AbortSignal.any([init.signal, cut.signal]) : cut.signal;
        const response = await fetch(url, { ...init, signal });
        if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
            const headers = new Headers(init.headers);
            streams.add({ method: init.method ?? 'GET', lastEventId: headers.get('last-event-id'), cut });
        }
        return response;
    };
    cuttable.streams = streams;
    /** Cuts all that were opened with the method; gives how many. */
    cuttable.cut = (method) => {
        const those = [...streams].filter((stream) => stream.method === method && !stream.cut.signal.aborted);
        those.forEach(({ cut }) => cut.abort(new Error('the network is gone')));
        return those.length;
    };
    /** What was named when streams were taken up again. */
    cuttable.resumed = () => [...streams].map(({ lastEventId }) => lastEventId).filter((id) => id !== null);
    return cuttable;
}

export const MODERN = '2026-07-28';

/** The headers and the body of a modern request. */
export function modernRequest(id, method, params = {}, { capabilities = {}, meta = {} } = {}) {
    const name = { 'tools/call': params.name, 'prompts/get': params.name, 'resources/read': params.uri }[method];
    const _meta = {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientInfo': { name: 'interop', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': capabilities,
        ...meta,
    };
    return {
        headers: { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) },
        body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
    };
}

/** One request with node:http, so that connections are ours to count and to break. */
export function send(url, { method = 'POST', headers = {}, body, agent } = {}) {
    return new Promise((resolve, reject) => {
        const request = http.request(url, {
            method, agent,
            headers: {
                accept: 'application/json, text/event-stream',
                ...(body !== undefined && { 'content-type': 'application/json' }),
                ...headers,
            },
        });
        request.once('error', reject);
        request.once('response', (response) => resolve({ request, response, status: response.statusCode, headers: response.headers }));
        request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
}

/** Messages of an answer as they come, whether it is JSON or a stream of events; answer.lastEventId is the id of the last. */
export async function* messagesOf(answer) {
    const { response } = answer;
    let text = '';
    const stream = response.headers['content-type']?.startsWith('text/event-stream');
    for await (const chunk of response.setEncoding('utf8')) {
        text += chunk;
        for (let end = text.indexOf('\n\n'); stream && end >= 0; end = text.indexOf('\n\n')) {
            const lines = text.slice(0, end).split('\n');
            const of = (field) => lines.filter((line) => line.startsWith(`${field}: `)).map((line) => line.slice(field.length + 2));
            const data = of('data').join('\n');
            text = text.slice(end + 2);
            answer.lastEventId = of('id')[0] ?? answer.lastEventId;
            if (data !== '') {
                yield JSON.parse(data);
            }
        }
    }
    if (!stream && text !== '') {
        yield JSON.parse(text);
    }
}

/** Sends, and gives the status, the headers and all messages of the answer. */
export async function ask(url, options) {
    const answer = await send(url, options);
    const messages = [];
    for await (const message of messagesOf(answer)) {
        messages.push(message);
    }
    return { status: answer.status, headers: answer.headers, messages, last: messages.at(-1), socket: answer.request.socket };
}
