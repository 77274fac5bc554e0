// llama.cpp behind OpenAI's chat completions, with a tiny random model: a real engine that streams real tokens.
//
//   node tests/llama/llama_server.mjs
//
// Prints its port as one line, and ends when stdin does. A request with tools is answered with a call of the first, its
// arguments generated under a grammar of its schema, until a result of it has come; any other with 40 tokens of text.
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaCompletion, LlamaLogLevel } from 'node-llama-cpp';

import { writeModel } from './tiny_model.mjs';

const folder = mkdtempSync(join(tmpdir(), 'toolwire-llama-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
writeModel(join(folder, 'tiny.gguf'));

// One thread: with more, a machine that is busy takes a thousand times as long.
const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, progressLogs: false,
                               logLevel: LlamaLogLevel.error, maxThreads: 1 });
const model = await llama.loadModel({ modelPath: join(folder, 'tiny.gguf') });
const context = await model.createContext({ contextSize: 512, threads: 1 });
const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
let busy = Promise.resolve(); // one sequence: one answer at a time

const event = (res, json) => res.write(`data: ${JSON.stringify(json)}\n\n`);
const chunk = (res, delta, finish_reason = null) => event(res, { choices: [{ index: 0, delta, finish_reason }] });

async function answer(json, res) {
    const tool = json.messages.at(-1).role === 'tool' ? undefined : json.tools?.[0]?.function;
    const grammar = tool && await llama.createGrammarForJsonSchema(tool.parameters);
    res.writeHead(200, { 'Content-Type': 'text/event-stream' });
    chunk(res, { role: 'assistant', content: '' });
    if (tool) chunk(res, { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: tool.name, arguments: '' } }] });
    await completion.generateCompletion(json.messages.at(-1).content.slice(0, 100) || 'x', {
        maxTokens: tool ? 300 : Math.min(json.max_tokens, 40), temperature: 0.8, seed: 1, grammar,
        onTextChunk: (text) => chunk(res, tool ? { tool_calls: [{ index: 0, function: { arguments: text } }] } : { content: text }),
    });
    chunk(res, {}, tool ? 'tool_calls' : 'stop');
    res.end('data: [DONE]\n\n');
}

const server = http.createServer((req, res) => {
    const parts = [];
    req.on('data', (part) => parts.push(part));
    req.on('end', () => {
        if (req.url === '/v1/models') {
            res.end(JSON.stringify({ object: 'list', data: [{ id: 'tiny', object: 'model' }] }));
            return;
        }
        busy = busy.then(() => answer(JSON.parse(Buffer.concat(parts)), res)).catch((error) => {
            console.error(error);
            res.destroy();
        });
    });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
