// A legacy MCP server on stdin and stdout that asks many questions at once; tests/e2e/gateway_ask.mjs puts it behind the
// gateway.
//
//   node gateway_ask_server.mjs [modern]
//
// Tools: `work` reports progress twice. `elicit` and `sample` wait `delayMs`, ask for the text of `token` and give back what
// was answered; with `then` they let go of a call of `hold` as soon as they have asked. `hold` reports progress and lasts until
// `release` names it. `report` counts the answers that came twice or to no question.
import { createInterface } from 'node:readline';

const modern = process.argv[2] === 'modern';
const tools = ['work', 'elicit', 'sample', 'hold', 'release', 'report'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const capabilities = { tools: {} };
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const later = (ms) => (ms > 0 ? new Promise((done) => { setTimeout(done, ms); }) : undefined);
const waiting = new Map();
const held = new Map();
let nAsked = 0;
let nStray = 0;

const question = (name, token) => (name === 'elicit'
    ? { method: 'elicitation/create', params: { message: token, requestedSchema: { type: 'object', properties: { token: { type: 'string' } } } } }
    : { method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: token } }], maxTokens: 10 } });

const answerOf = (name, { result, error }) => {
    if (error !== undefined) {
        return { ...text(`refused: ${error.message}`), isError: true };
    }
    return text(name === 'elicit' ? result.content.token : result.content.text);
};

const release = (name) => {
    held.get(name)?.();
    held.delete(name);
};

async function ask(name, { arguments: { token, delayMs, then }, inputResponses }) {
    if (inputResponses !== undefined) {
        return answerOf(name, { result: inputResponses.q.action === 'decline' ? { content: { token: 'declined' } } : inputResponses.q });
    }
    await later(delayMs);
    nAsked++;
    if (modern) {
        return { resultType: 'input_required', inputRequests: { q: question(name, token) } };
    }
    const id = `q${nAsked}`;
    const answer = new Promise((done) => { waiting.set(id, done); });
    send({ id, ...question(name, token) });
    release(then);
    return answerOf(name, await answer);
}

function call(params) {
    if (params.name === 'work') {
        for (let progress = 1; progress <= 2; progress++) {
            send({ method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress, total: 2 } });
        }
        return text('done');
    }
    switch (params.name) {
    case 'hold':
        send({ method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1 } });
        return new Promise((done) => { held.set(params.arguments.name, () => done(text('let go'))); });
    case 'release':
        release(params.arguments.name);
        return text('released');
    case 'report':
        return text(`${nAsked} asked, ${nStray} stray, ${waiting.size} open`);
    default:
        return ask(params.name, params);
    }
}

function answer(method, params) {
    switch (method) {
    case 'server/discover':
    case 'initialize':
        if (modern !== (method === 'server/discover')) {
            throw { code: -32601, message: 'Method not found' };
        }
        return modern ? { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 3_600_000, cacheScope: 'public' }
                      : { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'asks', version: '1' } };
    case 'tools/list':
        return { tools };
    case 'tools/call':
        return call(params);
    default:
        throw { code: -32601, message: 'Method not found' };
    }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
    const message = JSON.parse(line);
    if (message.method === undefined) {
        nStray += waiting.has(message.id) ? 0 : 1;
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
    } else if (message.id !== undefined) {
        try {
            const result = await answer(message.method, message.params);
            send({ id: message.id, result: modern ? { resultType: 'complete', ...result } : result });
        } catch (error) {
            send({ id: message.id, error });
        }
    }
});
