// What a FastMCP server of the Python SDK does on the wire (mcp 1.29, uvicorn, host 127.0.0.1), in its four HTTP modes:
// with sessions or without (`stateless`), answers as events or as JSON (`json`). Compared with the real one, answer by
// answer; what pydantic says of bad arguments is shortened.
//
//   const server = new PythonServer({ stateless, json, refusalId, isOld, refusesBy });   await server.start();   server.url
//
// `refusalId`: how the error of a refusal begins behind "jsonrpc"; the SDK's own is '"id":"server-error",'. `isOld`: as before
// mcp 1.26, a session that is not known is told by plain text. `refusesBy`: 'events' and 'open events' are no modes of the SDK: a
// message without session or with an unknown version is refused by an event of a 200 answer, which ends, or does not;
// 'result events' answers with a result in place of the error, 'no events' with an empty stream.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const DEFAULT_VERSION = '2025-03-26';
const MAX_BODY = 4 * 1024 * 1024;
const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const PARSE_ERROR = -32700;

const schema = (name, properties, required) => ({ properties, ...(required ? { required } : {}), title: name, type: 'object' });
const tool = (name, description, properties, required, type) => ({
    name, description,
    inputSchema: schema(`${name}Arguments`, properties, required),
    outputSchema: schema(`${name}Output`, { result: { title: 'Result', type } }, ['result']),
});
const integer = (title) => ({ title, type: 'integer' });
const TOOLS = [
    tool('add', 'Adds two numbers.', { a: integer('A'), b: integer('B') }, ['a', 'b'], 'integer'),
    tool('fail', 'Fails.', {}, undefined, 'string'),
    tool('steps', 'Reports its progress.', { n: { default: 2, ...integer('N') } }, undefined, 'string'),
];

const text = (words, isError, structured) => ({
    content: [{ type: 'text', text: words }], ...(structured === undefined ? {} : { structuredContent: { result: structured } }), isError });

/** An answer of a tool; `tell` sends a notification that belongs to the request. */
function callTool({ name, arguments: given = {}, _meta }, tell) {
    switch (name) {
    case 'add':
        if (!Number.isInteger(given.a) || !Number.isInteger(given.b)) {
            return text('Error executing tool add: validation errors for addArguments', true);
        }
        return text(String(given.a + given.b), false, given.a + given.b);
    case 'fail':
        return text('Error executing tool fail: it broke', true);
    case 'steps': {
        const n = given.n ?? 2;
        for (let i = 1; i <= n; i++) {
            if (_meta?.progressToken !== undefined) { // Python writes whole floats as 1.0
                tell(`{"method":"notifications/progress","params":{"progressToken":${JSON.stringify(_meta.progressToken)},` +
                     `"progress":${i}.0,"total":${n}.0},"jsonrpc":"2.0"}`);
            }
            tell(`{"method":"notifications/message","params":{"level":"info","data":"step ${i}"},"jsonrpc":"2.0"}`);
        }
        return text('done', false, 'done');
    }
    default:
        return text(`Unknown tool: ${name}`, true);
    }
}

/** `{ result }` or `{ error }`. */
function answer(method, params, tell) {
    switch (method) {
    case 'initialize':
        return { result: {
            protocolVersion: VERSIONS.includes(params.protocolVersion) ? params.protocolVersion : VERSIONS.at(-1),
            capabilities: { experimental: {}, prompts: { listChanged: false }, resources: { subscribe: false, listChanged: false },
                            tools: { listChanged: false } },
            serverInfo: { name: 'ref', version: '1.29.0' } } };
    case 'ping':
        return { result: {} };
    case 'tools/list':
        return { result: { tools: TOOLS } };
    case 'tools/call':
        return { result: callTool(params, tell) };
    case 'prompts/list':
        return { result: { prompts: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'who', required: true }] }] } };
    case 'resources/list':
        return { result: { resources: [{ name: 'one', uri: 'note://one', description: 'A note.', mimeType: 'text/plain' }] } };
    case 'resources/templates/list':
        return { result: { resourceTemplates: [] } };
    default: // pydantic does not know the method
        return { error: { code: INVALID_PARAMS, message: 'Invalid request parameters', data: '' } };
    }
}

const isMessage = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && value.jsonrpc === '2.0';
const isRequest = (message) => typeof message.method === 'string' && (typeof message.id === 'string' || Number.isInteger(message.id));

export class PythonServer {
    #stateless;
    #json;
    #refusalId;
    #isOld;
    #refusesBy;
    #sessions = new Map(); // id: { isOver, stream }
    requests = [];         // methods, as they came; of HTTP where there is no message
    refusals = 0;

    constructor({ stateless = false, json = false, refusalId = '"id":"server-error",', isOld = false, refusesBy } = {}) {
        this.#stateless = stateless;
        this.#json = json;
        this.#refusalId = refusalId;
        this.#isOld = isOld;
        this.#refusesBy = refusesBy;
    }

    async start(port = 0) {
        this.http = createServer((request, response) => {
            const chunks = [];
            request.on('data', (chunk) => chunks.push(chunk));
            request.on('end', () => this.#serve(request, response, Buffer.concat(chunks)));
        });
        await new Promise((done) => this.http.listen(port, '127.0.0.1', done));
        this.url = `http://127.0.0.1:${this.http.address().port}/mcp`;
    }

    async stop() {
        const closed = new Promise((done) => this.http.close(done));
        this.http.closeAllConnections();
        await closed;
    }

    /** As after a restart: no session is known any more. */
    forget() {
        this.#sessions.forEach(({ stream }) => stream?.destroy());
        this.#sessions.clear();
    }

    #plain(response, status, words, headers = {}) {
        response.writeHead(status, { ...headers, 'content-length': words.length }).end(words);
    }

    #refuseByEvents(response, body) {
        this.#beginEvents(response, {});
        if (this.#refusesBy !== 'no events') {
            const data = this.#refusesBy === 'result events' ? body.replace(/"error":.*/, '"result":{}}') : body;
            response.write(`event: message\r\ndata: ${data}\r\n\r\n`);
        }
        if (this.#refusesBy !== 'open events') {
            response.end();
        }
    }

    #refuse(response, status, message, { code = INVALID_REQUEST, session, headers = {} } = {}) {
        const body = `{"jsonrpc":"2.0",${this.#refusalId}"error":{"code":${code},"message":${JSON.stringify(message)}}}`;
        this.refusals++;
        if (this.#refusesBy !== undefined && response.req.method === 'POST' && status === 400) {
            this.#refuseByEvents(response, body);
            return;
        }
        this.#plain(response, status, body, {
            'content-type': 'application/json', ...headers, ...(session ? { 'mcp-session-id': session } : {}) });
    }

    #serve(request, response, body) {
        const { headers, method, url } = request;
        if (url === '/mcp/') {
            this.#plain(response, 307, '', { location: `http://${headers.host}/mcp` });
        } else if (url !== '/mcp') {
            this.#plain(response, 404, 'Not Found', { 'content-type': 'text/plain; charset=utf-8' });
        } else if (method === 'POST' && body.length > MAX_BODY) {
            this.#plain(response, 413, 'Request body too large');
        } else {
            this.#route(request, response, body);
        }
    }

    #route(request, response, body) {
        const given = request.headers['mcp-session-id'];
        if (this.#stateless) {
            this.#handle(undefined, request, response, body);
        } else if (given === undefined) {
            const id = randomUUID().replaceAll('-', '');
            this.#sessions.set(id, {});
            this.#handle(id, request, response, body);
        } else if (this.#sessions.has(given)) {
            this.#handle(given, request, response, body);
        } else if (this.#isOld) {
            this.#plain(response, 400, 'Bad Request: No valid session ID provided');
        } else {
            this.#refuse(response, 404, 'Session not found');
        }
    }

    #handle(session, request, response, body) {
        const { headers, method } = request;
        if (!/^(127\.0\.0\.1|localhost|\[::1\]):\d+$/.test(headers.host ?? '')) {
            this.#plain(response, 421, 'Invalid Host header');
        } else if (headers.origin !== undefined && !/^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/.test(headers.origin)) {
            this.#plain(response, 403, 'Invalid Origin header');
        } else if (method === 'POST' && !/^application\/json/i.test(headers['content-type'] ?? '')) {
            this.#plain(response, 400, 'Invalid Content-Type header');
        } else if (session !== undefined && this.#sessions.get(session).isOver) {
            this.#refuse(response, 404, 'Not Found: Session has been terminated', { session });
        } else if (method === 'POST') {
            this.#post(session, request, response, body);
        } else if (method === 'GET') {
            this.#get(session, request, response);
        } else if (method === 'DELETE') {
            this.#delete(session, request, response);
        } else {
            this.#refuse(response, 405, 'Method Not Allowed', { session, headers: { allow: 'GET, POST, DELETE' } });
        }
    }

    #accepts(request) {
        const types = (request.headers.accept ?? '').split(',').map((type) => type.trim());
        return ['application/json', 'text/event-stream'].map((wanted) => types.some((type) => type.startsWith(wanted)));
    }

    /** Whether session and version are named as they must be; else it is refused. */
    #isKnown(session, request, response) {
        const version = request.headers['mcp-protocol-version'] ?? DEFAULT_VERSION;
        if (session !== undefined && request.headers['mcp-session-id'] === undefined) {
            this.#refuse(response, 400, 'Bad Request: Missing session ID', { session });
            return false;
        }
        if (!VERSIONS.includes(version)) {
            this.#refuse(response, 400, `Bad Request: Unsupported protocol version: ${version}. ` +
                                        `Supported versions: ${VERSIONS.join(', ')}`, { session });
            return false;
        }
        return true;
    }

    #post(session, request, response, body) {
        const [json, events] = this.#accepts(request);
        let message;
        if (!json || (!events && !this.#json)) {
            this.#refuse(response, 406, this.#json ? 'Not Acceptable: Client must accept application/json'
                : 'Not Acceptable: Client must accept both application/json and text/event-stream', { session });
            return;
        }
        try {
            message = JSON.parse(body);
        } catch {
            this.#refuse(response, 400, `Parse error: Expecting value: line 1 column ${body.length + 1} (char ${body.length})`,
                         { code: PARSE_ERROR, session });
            return;
        }
        if (!isMessage(message)) {
            this.#refuse(response, 400, 'Validation error: 4 validation errors for JSONRPCMessage', { code: INVALID_PARAMS, session });
            return;
        }
        this.requests.push(message.method);
        if (!(isRequest(message) && message.method === 'initialize') && !this.#isKnown(session, request, response)) {
            return;
        }
        if (!isRequest(message)) {
            this.#plain(response, 202, '', { 'content-type': 'application/json', ...(session ? { 'mcp-session-id': session } : {}) });
            return;
        }
        this.#answer(session, message, response);
    }

    #answer(session, { id, method, params }, response) {
        const headers = session ? { 'mcp-session-id': session } : {};
        const told = [];
        const outcome = answer(method, params ?? {}, (note) => told.push(note));
        const last = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
        if (this.#json) { // notifications of the request are dropped
            this.#plain(response, 200, last, { 'content-type': 'application/json', ...headers });
            return;
        }
        this.#beginEvents(response, headers);
        [...told, last].forEach((data) => response.write(`event: message\r\ndata: ${data}\r\n\r\n`));
        response.end();
    }

    #beginEvents(response, headers) {
        response.writeHead(200, { 'cache-control': 'no-cache, no-transform', 'connection': 'keep-alive',
                                  'content-type': 'text/event-stream', ...headers, 'x-accel-buffering': 'no' });
        response.flushHeaders();
    }

    #get(session, request, response) {
        this.requests.push('GET');
        if (!this.#accepts(request)[1]) {
            this.#refuse(response, 406, 'Not Acceptable: Client must accept text/event-stream', { session });
        } else if (!this.#isKnown(session, request, response)) {
            return;
        } else if (session !== undefined && this.#sessions.get(session).stream !== undefined) {
            this.#refuse(response, 409, 'Conflict: Only one SSE stream is allowed per session', { session });
        } else {
            const state = session === undefined ? {} : this.#sessions.get(session);
            state.stream = response;
            response.on('close', () => { state.stream = undefined; });
            this.#beginEvents(response, session ? { 'mcp-session-id': session } : {});
        }
    }

    #delete(session, request, response) {
        this.requests.push('DELETE');
        if (session === undefined) {
            this.#refuse(response, 405, 'Method Not Allowed: Session termination not supported');
        } else if (this.#isKnown(session, request, response)) {
            const state = this.#sessions.get(session);
            state.isOver = true;
            state.stream?.end();
            this.#plain(response, 200, '', { 'content-type': 'application/json', 'mcp-session-id': session });
        }
    }
}
