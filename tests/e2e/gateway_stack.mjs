// Three hubs before one server, over HTTP and stdio: what goes through them is not changed, and progress and cancelling
// reach the other end.
//
//   gateway_stack.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { startHub, writeSettings } from '../interop/hub.mjs';

const toolwire = resolve(process.argv[2]);
const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
// Spelt as no writer of JSON would: numbers, an order of keys, members that nobody knows.
const EXACT = '{"unknown":{"z":1,"a":[1.0,9007199254740993,1e2]},"structuredContent":{"n":9007199254740993,"f":1.0,"b":0,"a":-0.0},' +
    '"content":[{"type":"text","text":"exact","zzz":1.0}],"isError":true}';

if (process.argv[3] === 'child') {
    let nCancelled = 0;
    const line = (text) => process.stdout.write(`${text}\n`);
    const tools = ['exact', 'mirror', 'hang', 'count'].map((name) => ({ name, inputSchema: { type: 'object' }, 'x-own': name }));
    createInterface({ input: process.stdin }).on('line', (text) => {
        const { id, method, params } = JSON.parse(text);
        const answer = (json) => line(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`);
        const say = (words) => answer(JSON.stringify({ content: [{ type: 'text', text: words }] }));
        if (method === 'initialize') {
            answer(JSON.stringify({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'child', version: '1' } }));
        } else if (method === 'tools/list') {
            answer(JSON.stringify({ tools }));
        } else if (method === 'notifications/cancelled') {
            nCancelled++;
        } else if (method === 'tools/call') {
            const { name, _meta } = params;
            if (name === 'hang') {
                line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"own":[1.0,"x"],"progressToken":` +
                    `${JSON.stringify(_meta.progressToken)},"progress":1.0,"total":2e0,"message":"half"}}`);
            } else if (name === 'exact') {
                answer(EXACT);
            } else {
                say(name === 'count' ? String(nCancelled) : /"arguments":(.*),"_meta"/.exec(text)[1]);
            }
        } else if (id !== undefined) {
            line(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }));
        }
    });
} else {
    await main();
}

async function main() {
    const timer = setTimeout(() => { console.log('it hangs'); process.exit(1); }, 60_000);
    const third = await startHub(toolwire, { child: { command: process.execPath, args: [fileURLToPath(import.meta.url), toolwire, 'child'] } });
    const second = await startHub(toolwire, { third: { url: third.url.href } });
    const first = await writeSettings({ second: { url: second.url.href } });
    const top = spawn(toolwire, first.serve, { stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = new Promise((done) => { top.once('exit', (code, signal) => done(code ?? signal)); });
    process.once('exit', () => top.kill('SIGKILL'));
    const waiting = new Map();
    let told;
    const progress = new Promise((done) => { told = done; });
    createInterface({ input: top.stdout }).on('line', (text) => {
        const message = JSON.parse(text);
        if (message.method === 'notifications/progress') {
            told({ text, ...message.params });
        }
        waiting.get(message.id)?.({ text, ...message });
    });
    let id = 0;
    const send = (text) => top.stdin.write(`${text}\n`);
    const call = (name, args = '{}', meta = '') => new Promise((done) => {
        waiting.set(++id, done);
        send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args},"_meta":{` +
            `"${META}protocolVersion":"${VERSION}","${META}clientCapabilities":{}${meta}}}}`);
    });

    const exact = await call('exact');
    for (const member of EXACT.slice(1, -1).split(/,(?="structured|"content|"isError)/)) {
        assert.ok(exact.text.includes(member), `${member} is not in ${exact.text}`);
    }
    const args = '{"z":9007199254740993,"a":1.0,"m":{"b":[],"a":-0.0}}';
    assert.equal((await call('mirror', args)).result.content[0].text, args);

    void call('hang', '{}', ',"progressToken":"mine"');
    assert.match((await progress).text, /"params":\{"progressToken":"mine","progress":1\.0,"total":2e0,"message":"half","own":\[1\.0,"x"\]\}/);
    send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
    while ((await call('count')).result.content[0].text !== '1') {
        // It is on its way.
    }

    top.stdin.end();
    assert.equal(await exit, 0);
    await second.stop();
    await third.stop();
    await first.remove();
    clearTimeout(timer);
    console.log('gateway stack: 5 of 5');
}
