// A shell for an agent, in Node: each line that is typed is a message, the answer streams to stdout.
//
//   node shell.mjs [COMMAND ARGUMENT…]          else: toolwire agent
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters as plain } from 'node:util';

const [command, ...args] = process.argv.length > 2 ? process.argv.slice(2) : ['toolwire', 'agent'];
const open = new Map(); // request id → who takes its responses
const unsent = []; // what was said while there was no agent
let agent, turn, leaving = false, wait = 500;

function start() {
    let rest = '', skips = false;
    agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    agent.stdin.on('error', () => {}); // its exit is told below
    agent.stdout.setEncoding('utf8').on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        if (skips && lines.shift() !== undefined) skips = false; // the end of what was too long
        if (rest.length > 10 * 1024 * 1024) [rest, skips] = ['', true];
        lines.forEach(receive);
    });
    agent.on('error', (error) => { console.error(`cannot start ${command}: ${error.message}`); process.exit(1); });
    agent.on('exit', (status) => {
        for (const take of [...open.values()]) take({ type: 'error', error: `the agent ended (${status})` });
        agent = undefined;
        if (!leaving) setTimeout(start, wait);
        wait = Math.min(wait * 2, 30_000);
    });
    for (const line of unsent.splice(0)) agent.stdin.write(line);
}

function receive(line) {
    let message;
    try { message = JSON.parse(line); } catch { return line.trim() && console.error(`agent: ${plain(line)}`); }
    open.get(message.id)?.(message); // a late one belongs to nobody
}

// Resolves with the message that ends the request; onMessage sees those before it.
function request(kind, more = {}, onMessage = () => {}) {
    const id = randomUUID();
    const promise = new Promise((resolve, reject) => {
        let timer;
        const end = (act, value) => { clearTimeout(timer); open.delete(id); act(value); };
        const listen = () => { timer = setTimeout(() => end(reject, new Error('the agent is silent')), 60_000); };
        listen();
        open.set(id, (message) => {
            clearTimeout(timer);
            if (message.type === 'error') return end(reject, new Error(message.error));
            if (message.type === 'done' || message.type === 'status') return end(resolve, message, wait = 500);
            if (!message.data?.approvalRequired) listen(); // else it is the person who is silent
            onMessage(message);
        });
    });
    const line = `${JSON.stringify({ id, kind, ...more })}\n`;
    agent ? agent.stdin.write(line) : unsent.push(line);
    return Object.assign(promise, { id });
}

const person = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
const ask = (question) => new Promise((resolve) => person.question(question, resolve));
async function show({ type, token, data }) {
    if (type === 'token') process.stdout.write(token);
    if (type === 'tool_use') console.error(`[${data.toolName} ${JSON.stringify(data.input)}]`);
    if (type === 'tool_result' && data.error) console.error(`[${data.toolName} failed: ${data.error}]`);
    if (!data?.approvalRequired) return;
    const approved = !!process.stdin.isTTY && /^y/i.test(await ask(`Allow ${data.toolName}? [y/N] `));
    request('tool_approval', { toolId: data.toolId, approved }).catch(() => {});
}
person.on('SIGINT', () => { turn ? request('interrupt', { requestId: turn.id }).catch(() => {}) : person.close(); });
start();
person.prompt();
for await (const message of person) {
    turn = message.trim() ? request('user_message', { message }, show) : undefined;
    await turn?.then(() => console.log(), (error) => console.error(`\n${error.message}`));
    turn = undefined;
    person.prompt();
}
leaving = true;
agent ? agent.stdin.end() : process.exit();
