// A small MCP server on stdin and stdout, as a foreign implementation might behave.
//
//   node fake_mcp_server.mjs KIND [LOG]
//
// KIND is legacy (answers server/discover with an error), modern (knows no initialize), silent (does not
// answer the probe), never (answers nothing), frail (dies on the probe, as some do), wrong (speaks versions that
// nobody knows), tomb (dies after the first call), endless (every page of its tools has a next one), or circle
// (which is the page itself). LOG gets every line that the client sends, after a "start" for each start.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [kind, log] = process.argv.slice(2);
const note = (line) => log && appendFileSync(log, `${line}\n`);
const wire = (side, line) => process.env.TW_WIRE_LOGS &&
    appendFileSync(`${process.env.TW_WIRE_LOGS}/${process.pid}`, `${side}${line}\n`);
const send = (message) => {
    const line = JSON.stringify({ jsonrpc: '2.0', ...message });
    wire('<', line);
    process.stdout.write(`${line}\n`);
};
const modern = kind === 'modern' || kind === 'wrong';

const tools = [
    { name: 'add', description: 'Adds two numbers.\nOn a second line.', annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', properties: { a: { type: 'number', description: 'one' }, b: { type: 'number' } },
                     required: ['a', 'b'] } },
    { name: 'mirror', title: 'Mirror', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } },
    { name: 'wipe', description: 'Removes \u001b[31meverything.', annotations: { destructiveHint: true },
      inputSchema: { type: 'object' } },
    { name: 'picture', description: 'An image, a sound and a link.', inputSchema: { type: 'object' } },
    { name: 'ask', description: 'Asks for a name and for roots.', inputSchema: { type: 'object' } },
    { name: 'hang', description: 'Never answers.', inputSchema: { type: 'object' } },
    { name: 'broken', description: 'Fails.', inputSchema: { type: 'object' } },
];
const text = (s, more) => ({ content: [{ type: 'text', text: s }], ...more });
const form = { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

let nextId = 0;
const waiting = new Map();
const request = (method, params) => new Promise((resolve) => {
    waiting.set(`s${++nextId}`, resolve);
    send({ id: `s${nextId}`, method, params });
});

async function callAsk(params) {
    if (!modern) {
        const roots = await request('roots/list');
        const who = await request('elicitation/create', form);
        const ping = await request('ping');
        const sample = await request('sampling/createMessage', { messages: [], maxTokens: 1 });
        return text(`${who.result.action} ${roots.result.roots[0].uri} ${JSON.stringify(ping.result)} ${sample.error.code}`);
    }
    if (params.inputResponses === undefined) {
        return { resultType: 'input_required', requestState: 'st\u0061te "1"',
                 inputRequests: { who: { method: 'elicitation/create', params: form }, where: { method: 'roots/list' } } };
    }
    return text(`${params.inputResponses.who.action} ${params.inputResponses.where.roots[0].uri} ${params.requestState}`);
}

async function call(params, id) {
    const a = params.arguments;
    switch (params.name) {
    case 'add': {
        const token = params._meta?.progressToken;
        if (token !== undefined) send({ method: 'notifications/progress', params: { progressToken: token, progress: 1, total: 2 } });
        return text(String(a.a + a.b), { structuredContent: { sum: a.a + a.b } });
    }
    case 'mirror': return text(`${typeof a.text}:${a.text}`);
    case 'picture': return { content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(1648) },
                                       { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
                                       { type: 'resource_link', uri: 'file:///x', name: 'x' }] };
    case 'ask': return callAsk(params);
    case 'hang': return new Promise(() => {});
    case 'broken': return text('it broke', { isError: true });
    default: throw { code: -32602, message: `Unknown tool: ${params.name}`, data: { name: params.name } };
    }
}

async function answer(method, params, id) {
    switch (method) {
    case 'initialize':
        if (modern) throw { code: -32601, message: 'Method not found' };
        return { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } };
    case 'server/discover':
        if (kind === 'wrong') throw { code: -32022, message: 'no', data: { supported: ['2031-01-01'], requested: 'x' } };
        if (!modern) throw { code: -32600, message: 'Not initialized' };
        return { supportedVersions: ['2026-07-28'], capabilities: {}, ttlMs: 0, cacheScope: 'public' };
    case 'tools/list': {
        if (kind === 'endless') return { tools: [], nextCursor: String(Number(params?.cursor ?? 0) + 1) };
        if (kind === 'circle') return { tools: [], nextCursor: 'here' };
        // Two a page; the second page's cursor is the empty string, which is a cursor like any other.
        const at = params?.cursor === undefined ? 0 : params.cursor === '' ? 2 : Number(params.cursor);
        const next = at + 2 < tools.length ? (at === 0 ? '' : String(at + 2)) : undefined;
        return { tools: tools.slice(at, at + 2), nextCursor: next, ...(modern ? { ttlMs: 0, cacheScope: 'public' } : {}) };
    }
    case 'tools/call': return call(params, id);
    case 'resources/list': return { resources: [{ uri: 'mem:/a.txt', name: 'a.txt', mimeType: 'text/plain', description: 'A text.' }] };
    case 'resources/templates/list': return { resourceTemplates: [{ uriTemplate: 'mem:/{name}', name: 'any' }] };
    case 'resources/read':
        if (params.uri === 'mem:/a.txt') return { contents: [{ uri: params.uri, text: 'no newline at the end' }] };
        if (params.uri === 'mem:/b') return { contents: [{ uri: params.uri, mimeType: 'x/y', blob: Buffer.from([0, 1, 254, 255]).toString('base64') }] };
        throw { code: -32002, message: 'Resource not found' };
    case 'prompts/list': return { prompts: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'who', required: true }, { name: 'how' }] }] };
    case 'prompts/get': return { messages: [{ role: 'user', content: { type: 'text', text: `${params.arguments.how ?? 'Hello'}, ${params.arguments.who}` } }] };
    default: throw { code: -32601, message: 'Method not found' };
    }
}

note('start');
process.stdout.write('Listening on nothing at all\n');
createInterface({ input: process.stdin }).on('line', async (line) => {
    note(line);
    wire('>', line);
    const message = JSON.parse(line);
    if (kind === 'never') return undefined;
    if (message.method === undefined) return waiting.get(message.id)?.(message);
    if (message.id === undefined) return;
    if (message.method === 'server/discover' && kind === 'silent') return;
    if (message.method === 'server/discover' && kind === 'frail') {
        process.stderr.write('expected initialize\n');
        process.exit(1);
    }
    if (message.method === 'tools/call' && kind === 'tomb') process.exit(9);
    try {
        const result = await answer(message.method, message.params, message.id);
        send({ id: message.id, result: modern ? { resultType: 'complete', ...result } : result });
    } catch (error) {
        send({ id: message.id, error: { code: error.code ?? -32603, message: error.message, data: error.data } });
    }
});
