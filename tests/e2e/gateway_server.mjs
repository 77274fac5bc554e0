// A small MCP server on stdin and stdout that the gateway's tests put behind it.
//
//   node gateway_server.mjs KIND [NAME]
//
// KIND: legacy, modern; or one that misbehaves: stall (answers nothing), garbage (prints nonsense between its
// answers), noisy (1 MB on stderr first), stubborn (ignores TERM and the end of its input), circle (a cursor that
// comes again), dead (ends at once, with a word on stderr). NAME goes before the names of its tools.
import { createInterface } from 'node:readline';
import { writeSync } from 'node:fs';

const [kind, name = ''] = process.argv.slice(2);
const modern = kind === 'modern';
const META = 'io.modelcontextprotocol/';

if (kind === 'dead') {
    process.stderr.write('no licence for this machine\n');
    process.exit(3);
}
if (kind === 'noisy') {
    for (let i = 0; i < 1024; i++) {
        writeSync(2, `${'x'.repeat(1023)}\n`);
    }
}
if (kind === 'stubborn') {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1000);
}

const line = (text) => process.stdout.write(`${text}\n`);
const send = (message) => line(JSON.stringify({ jsonrpc: '2.0', ...message }));
const tool = (id, more) => ({ name: name + id, description: `The tool ${id}.`, inputSchema: { type: 'object' }, ...more });
const tools = [tool('exact'), tool('mirror'), tool('ask'), tool('sample'), tool('hang'), tool('count'), tool('die'), tool('refuse'),
               tool('grow'), tool('touch'), tool('two'), tool('pair'), tool('held')];
const text = (s) => ({ content: [{ type: 'text', text: s }] });
const form = (message) => ({ mode: 'form', message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } });

let nextId = 0;
const waiting = new Map();
const open = new Set();
const request = (method, params) => new Promise((resolve) => {
    waiting.set(`s${++nextId}`, resolve);
    send({ id: `s${nextId}`, method, params });
});
let listening;
let held = new Set(); // URIs that are subscribed to
const tell = (method, params = {}) => {
    if (modern && listening !== undefined) {
        params = { ...params, _meta: { [`${META}subscriptionId`]: listening } };
    }
    send({ method, params });
};

async function ask(params, count) {
    const answers = [];
    if (modern) {
        const got = params.inputResponses;
        if (got === undefined) {
            const inputRequests = {};
            for (let i = 1; i <= count; i++) {
                inputRequests[`q${i}`] = { method: 'elicitation/create', params: form(`Name ${i}?`) };
            }
            return { resultType: 'input_required', requestState: 'mine', inputRequests };
        }
        for (let i = 1; i <= count; i++) {
            answers.push(got[`q${i}`].content.name);
        }
        return text(`${answers.join(' ')} ${params.requestState}`);
    }
    for (let i = 1; i <= count; i++) {
        const answer = await request('elicitation/create', form(`Name ${i}?`));
        answers.push(answer.error ? `refused: ${answer.error.message}` : answer.result.content.name);
    }
    return text(answers.join(' '));
}

async function call(params, id) {
    switch (params.name.slice(name.length)) {
    case 'exact': // as bytes: an integer beyond doubles, 1.0, and members that nobody knows
        line(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${modern ? '"resultType":"complete",' : ''}"zebra":[1.0,{"b":1,"a":2}],` +
             '"content":[{"type":"text","text":"t","odd":9007199254740993}],"structuredContent":{"n":9007199254740993,"f":1.0},' +
             `"_meta":{"x/y":1.50},"alpha":null${params.arguments.more ?? ''}}}`);
        return undefined;
    case 'mirror':
        return text(JSON.stringify({ arguments: params.arguments, meta: params._meta }));
    case 'ask': {
        open.add(id);
        const answer = await ask(params, 1);
        open.delete(id);
        return answer;
    }
    case 'two':
        return ask(params, 2);
    case 'pair': { // the second question comes while the first is open, and a change of the list says so
        const first = request('elicitation/create', form('Name 1?'));
        await new Promise((done) => { setTimeout(done, 100); });
        const second = request('elicitation/create', form('Name 2?'));
        tools.push(tool(`paired${tools.length}`));
        tell('notifications/tools/list_changed');
        return text((await Promise.all([first, second])).map((one) => one.result.content.name).join(' '));
    }
    case 'sample': {
        const answer = await request('sampling/createMessage', { messages: [], maxTokens: 7 });
        return text(answer.error ? `refused: ${answer.error.code} ${answer.error.message}` : `sampled ${answer.result.content.text}`);
    }
    case 'hang':
        open.add(id);
        return undefined;
    case 'count':
        for (let i = 1; i <= 3; i++) {
            send({ method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: i, total: 3 } });
            send({ method: 'notifications/message', params: { level: 'info', logger: 'count', data: { step: i } } });
        }
        return text('counted');
    case 'die':
        process.stderr.write('it hurts\n');
        process.exit(7);
        break;
    case 'refuse':
        throw { code: params.arguments.code ?? -31999, message: 'not today', data: { why: 1.0 } };
    case 'grow':
        tools.push(tool('grown'));
        tell('notifications/tools/list_changed');
        return text('grown');
    case 'touch':
        held.forEach((uri) => tell('notifications/resources/updated', { uri }));
        return text('touched');
    case 'held':
        return text([...held].sort().join(' '));
    default:
        return text(`no such tool ${params.name}`);
    }
    return undefined;
}

const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} };

async function answer(method, params, id) {
    switch (method) {
    case 'server/discover':
        if (!modern) {
            throw { code: -32601, message: 'Method not found' };
        }
        return { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 0, cacheScope: 'public' };
    case 'initialize':
        if (modern) {
            throw { code: -32601, message: 'Method not found' };
        }
        return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'gateway-server', version: '1' } };
    case 'tools/list': {
        const at = Number(params?.cursor ?? 0);
        if (kind === 'circle') {
            return { tools: at === 0 ? tools : [], nextCursor: '1' };
        }
        return { tools: tools.slice(at, at + 4), ...(at + 4 < tools.length && { nextCursor: String(at + 4) }) };
    }
    case 'tools/call':
        return call(params, id);
    case 'resources/list':
        return { resources: [{ uri: `res://${name}one`, name: 'one' }] };
    case 'resources/templates/list':
        return { resourceTemplates: [{ uriTemplate: `res://${name}all/{id}`, name: 'all' }] };
    case 'resources/read':
        return { contents: [{ uri: params.uri, text: `content of ${params.uri}` }] };
    case 'resources/subscribe':
        held.add(params.uri);
        return {};
    case 'resources/unsubscribe':
        held.delete(params.uri);
        return {};
    case 'logging/setLevel':
        return {};
    case 'prompts/list':
        return { prompts: [{ name: `${name}hello`, arguments: [{ name: 'who', required: true }] }] };
    case 'prompts/get':
        return { ...(params.arguments?.who !== 'nobody' && { description: params.arguments?.who === '' ? '' : 'A greeting.' }), messages: [{ role: 'user', content: { type: 'text', text: `Hello ${params.arguments?.who}` } }] };
    case 'completion/complete':
        return { completion: { values: [`${params.argument.value}!`], total: 1, hasMore: false } };
    case 'subscriptions/listen':
        listening = id;
        held = new Set(params.notifications.resourceSubscriptions);
        send({ method: 'notifications/subscriptions/acknowledged', params: { notifications: params.notifications,
            _meta: { [`${META}subscriptionId`]: id } } });
        return undefined;
    case 'ping':
        return {};
    default:
        throw { code: -32601, message: 'Method not found' };
    }
}

createInterface({ input: process.stdin }).on('line', async (input) => {
    if (kind === 'stall') {
        return;
    }
    const message = JSON.parse(input);
    if (kind === 'garbage') {
        line('listening on nothing');
        line('{"jsonrpc":"2.0","method":"notifications/nonsense","params":');
    }
    if (message.method === undefined) {
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
        return;
    }
    if (message.id === undefined) {
        if (message.method === 'notifications/cancelled' && open.delete(message.params.requestId)) {
            process.stderr.write(`cancelled ${message.params.requestId}\n`);
            tools.push(tool('was_cancelled'));
            tell('notifications/tools/list_changed');
        }
        return;
    }
    try {
        const result = await answer(message.method, message.params, message.id);
        if (result !== undefined) {
            send({ id: message.id, result: modern && result.resultType === undefined ? { resultType: 'complete', ...result } : result });
        }
    } catch (error) {
        send({ id: message.id, error });
    }
});
