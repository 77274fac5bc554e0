// A small MCP server whose tools and prompts are named by its arguments. Each tool answers with the label.
//
//   node names_server.mjs LABEL TOOLS [PROMPTS [GATE]]     names with commas between them
//
// It lists nothing before the file GATE is there. A LABEL that is "wait FILE LABEL": its tools answer when FILE is there.
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [label, tools, prompts = '', gate = ''] = process.argv.slice(2);
const names = (list) => list.split(',').filter((name) => name !== '');
const reply = (id, body) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
const appears = async (path) => {
    while (path !== '' && !existsSync(path)) {
        await new Promise((done) => { setTimeout(done, 5); });
    }
};
const answerGate = label.startsWith('wait ') ? label.split(' ')[1] : '';

async function answer(method, params) {
    switch (method) {
    case 'initialize':
        return { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {} }, serverInfo: { name: 'names', version: '1' } };
    case 'tools/list':
        await appears(gate);
        return { tools: names(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) };
    case 'prompts/list':
        await appears(gate);
        return { prompts: names(prompts).map((name) => ({ name })) };
    case 'tools/call':
        await appears(answerGate);
        return { content: [{ type: 'text', text: `${label}:${params.name}` }] };
    case 'prompts/get':
        return { messages: [{ role: 'user', content: { type: 'text', text: `${label}:${params.name}` } }] };
    case 'ping':
        return {};
    default:
        return undefined;
    }
}

createInterface({ input: process.stdin }).on('line', async (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined && method !== undefined) {
        const result = await answer(method, params);
        reply(id, result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result });
    }
});
