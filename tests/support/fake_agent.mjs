// An agent on stdin and stdout that follows orders: each message tells it what to do.
//
//   node fake_agent.mjs [LOG]
//
//   anything     "You said: anything", word by word
//   tool         uses list_files, which works
//   fail         uses read_file, which fails, and goes on
//   ask          uses write_file, which needs approval
//   later FILE   the same, when there is such a file
//   hang         says "One moment" and then nothing, until it is interrupted
//   deaf         the same, and goes on when it is interrupted
//   slow         uses build, which ends when it is interrupted
//   noise        prints a line that is no message
//   escape       a token with escape sequences
//   error        fails
//   rounds       is done, but for the rounds of tools
//   die          ends with status 3
//   args         its arguments and where it runs
// LOG gets every line that it reads.
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [log] = process.argv.slice(2);
const send = (type, id, more = {}) =>
    process.stdout.write(`${JSON.stringify({ type, id, ...more, timestamp: Date.now() })}\n`);
const token = (id, text) => send('token', id, { token: text });
const open = new Map(); // id of a request that hangs, or of a tool that waits, to what ends it

const orders = {
    tool(id) {
        send('tool_use', id, { data: { toolId: 't1', toolName: 'list_files', input: { path: 'src' } } });
        send('tool_progress', id, { data: { toolId: 't1', toolName: 'list_files', elapsedMs: 1, message: 'half' } });
        send('tool_result', id, { data: { toolId: 't1', toolName: 'list_files', result: { files: ['a'] } } });
        token(id, 'There is one file.');
        send('done', id);
    },
    fail(id) {
        send('tool_use', id, { data: { toolId: 't1', toolName: 'read_file', input: { path: 'x' } } });
        send('tool_result', id, { data: { toolId: 't1', toolName: 'read_file', error: 'no such file' } });
        token(id, 'Sorry.');
        send('done', id);
    },
    ask(id) {
        const data = { toolId: 't2', toolName: 'write_file', input: { path: 'a\u001b[2J' } };
        send('tool_use', id, { data: { ...data, approvalRequired: true } });
        open.set('t2', (approved) => {
            send('tool_result', id, { data: approved ? { ...data, result: { size: 1 } } : { ...data, error: 'refused' } });
            token(id, approved ? 'Written.' : 'Not written.');
            send('done', id);
        });
    },
    later(id, file) {
        token(id, 'One moment');
        const timer = setInterval(() => {
            if (existsSync(file)) {
                clearInterval(timer);
                orders.ask(id);
            }
        }, 10);
    },
    hang(id) {
        token(id, 'One moment');
        open.set(id, () => send('done', id, { data: { stopReason: 'interrupted' } }));
    },
    deaf(id) {
        token(id, 'One moment');
        open.set(id, () => token(id, ', I go on'));
    },
    slow(id) {
        send('tool_use', id, { data: { toolId: 't3', toolName: 'build', input: {} } });
        open.set(id, () => send('error', id, { error: 'cut short' }));
    },
    noise(id) {
        process.stdout.write('\u001b[31mnot a message\u001b[0m\n');
        token(id, 'ok');
        send('done', id);
    },
    escape(id) {
        token(id, 'a\u001b[3');
        token(id, '1mb\u0007c\u001b]0;title\u0007d\n');
        send('done', id);
    },
    error(id) {
        token(id, 'Half an ans');
        send('error', id, { error: 'rate limit exceeded' });
    },
    rounds(id) {
        token(id, 'Enough.');
        send('done', id, { data: { stopReason: 'rounds' } });
    },
    die() {
        process.exit(3);
    },
    args(id) {
        token(id, `${process.argv.slice(2).join(' ')}`);
        send('done', id);
    },
};

const kinds = {
    user_message({ id, message, attachments = [], metadata = {} }) {
        const [, word, rest] = /^(later) (.+)$/.exec(message) ?? [null, message];
        if (orders[word]) {
            orders[word](id, rest);
            return;
        }
        const files = attachments.map((a) => ` with ${a.path}`).join('');
        const where = metadata.conversationId ? ` in ${metadata.conversationId}` : '';
        for (const word of `You said: ${message}${files}${where}`.split(/(?<= )/)) {
            token(id, word);
        }
        send('done', id);
    },
    interrupt({ id, requestId }) {
        open.get(requestId)?.();
        send('done', id, { data: { interrupted: open.delete(requestId) ? 1 : 0 } });
    },
    tool_approval({ id, toolId, approved }) {
        open.get(toolId)?.(approved);
        open.delete(toolId);
        send('done', id);
    },
};

createInterface({ input: process.stdin, terminal: false }).on('line', (line) => {
    if (log) {
        appendFileSync(log, `${line}\n`);
    }
    const request = JSON.parse(line);
    const act = kinds[request.kind];
    act ? act(request) : send('error', request.id, { error: `Unknown request kind: ${request.kind}` });
}).on('close', () => process.exit(0));
send('ready', undefined, { version: '1.0.0', capabilities: ['streaming', 'tools', 'interrupt', 'tool_approval'] });
