// A shell for an agent, in Node: each line that is typed is a message, the answer streams to stdout.
// Use: node shell.mjs [COMMAND ARGUMENT…], which starts that agent, and without one `toolwire agent`.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const [command, ...args] = process.argv.length > 2 ? process.argv.slice(2) : ['toolwire', 'agent'];
const person = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
let agent, turn, timer, n = 0, wait = 250; // turn: the message that is being answered

function start() {
    let rest = '', skips = false; // skips: the end of a line that was too long is still to come
    agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    agent.on('error', (error) => { console.error(`cannot start ${command}: ${error.message}`); process.exit(1); });
    agent.on('exit', (status) => { agent = undefined; end(`the agent ended (${status})`); });
    agent.stdin.on('error', () => {}); // its exit says more
    agent.stdout.setEncoding('utf8').on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        if (skips && lines.shift() !== undefined) skips = false;
        if (rest.length > 10 * 1024 * 1024) [rest, skips] = ['', true];
        lines.forEach(receive);
    });
}
const send = (request) => agent?.stdin.write(`${JSON.stringify({ id: `${++n}`, ...request })}\n`);
const listen = () => { timer = setTimeout(end, 60_000, 'the agent is silent'); };
function end(problem) {
    clearTimeout(timer);
    if (turn) problem ? console.error(`\n${problem}`) : console.log();
    turn = turn?.resolve();
}
async function receive(line) {
    let message;
    try { message = JSON.parse(line); } catch { return line.trim() && console.error('agent: %j', line); }
    const { type, id, token, data, error } = message ?? {};
    if (!turn || id !== turn.id) return; // a late one belongs to nobody
    if (type === 'done' || type === 'error') { wait = 250; return end(error); }
    if (type === 'token') process.stdout.write(token);
    if (type === 'tool_use') console.error(`[${data.toolName} ${JSON.stringify(data.input)}]`);
    if (type === 'tool_result' && data.error) console.error(`[${data.toolName} failed: ${data.error}]`);
    clearTimeout(timer); // a person who is asked may take longer than an agent
    if (data?.approvalRequired) {
        const approved = !!process.stdin.isTTY && /^y/i.test(await person.question(`Allow ${data.toolName}? [y/N] `));
        send({ kind: 'tool_approval', toolId: data.toolId, approved });
    }
    if (turn?.id === id) listen();
}
person.on('SIGINT', () => { turn ? send({ kind: 'interrupt', requestId: turn.id }) : person.close(); });
start();
person.prompt();
for await (const message of person) {
    if (!agent) { await sleep(Math.min(wait *= 2, 30_000)); start(); }
    if (message.trim()) await new Promise((resolve) => {
        turn = { id: `m${++n}`, resolve };
        send({ kind: 'user_message', id: turn.id, message });
        listen();
    });
    person.prompt();
}
agent?.stdin.end();
