// `toolwire agent` as a shell sees it, with the script model: every message and rule of the protocol, conversations,
// approvals, interrupts, and the ways to its end.
//
//   agent.mjs TOOLWIRE
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { assert, Checks } from '../interop/checks.mjs';
import { last, script, Shell, text, types, workplace } from './agent_shell.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('agent');
const ALL = ['--tool', '*=allow'];

/** An answer that begins with this word and does not end by itself. */
const endless = (word) => `/slow 10000 ${word} ${'and '.repeat(1000)}`;


/** A shell in a workplace of its own, ended in good order. */
async function withAgent(args, fn, env) {
    const work = workplace();
    const shell = new Shell(toolwire, work, typeof args === 'function' ? args(work) : args, env);
    await shell.ready();
    await fn(shell, work);
    if (shell.child.exitCode === null) {
        assert.deepEqual(await shell.close(), [0, null], shell.stderr);
    }
}

const check = (name, args, fn, env) => checks.check(name, () => withAgent(args, fn, env));
const SCRIPT = ['--model', 'script', '--diagnostics', '--no-toolkit', ...ALL];

// ---- messages ----

await check('ready says version and capabilities, and comes first', SCRIPT, async (shell) => {
    const ready = shell.messages[0];
    assert.equal(ready.type, 'ready');
    assert.equal(ready.version, '1.0.0');
    for (const capability of ['streaming', 'tools', 'attachments', 'interrupt', 'list_conversations', 'load_conversation',
        'delete_conversation', 'tool_progress']) {
        assert.ok(ready.capabilities.includes(capability), capability);
    }
    assert.ok(Math.abs(Date.now() - ready.timestamp) < 60_000);
});

await check('a message streams tokens and ends with one done', SCRIPT, async (shell) => {
    const messages = await shell.say('/echo Hello, world of tokens');
    assert.equal(text(messages), 'Hello, world of tokens');
    assert.equal(types(messages), 'done');
    assert.ok(messages.length > 3, 'several tokens');
    assert.ok(messages.every(({ timestamp }) => Number.isInteger(timestamp)));
    assert.deepEqual(last(messages).data, { conversationId: 'default', stopReason: 'end' });
});

await check('a tool is told, runs, and its result is told and read by the model', SCRIPT, async (shell) => {
    const messages = await shell.say('/call echo {"message":"one\\ntwo"}');
    assert.equal(types(messages), 'tool_use tool_result done');
    const [use, result] = messages.filter(({ type }) => type.startsWith('tool'));
    assert.equal(use.data.toolName, 'echo');
    assert.deepEqual(use.data.input, { message: 'one\ntwo' });
    assert.equal(result.data.toolId, use.data.toolId);
    assert.equal(result.data.toolName, 'echo');
    assert.equal(result.data.result, 'one\ntwo');
    assert.equal(text(messages), 'one\ntwo');
});

await check('a failing tool is a tool_result with an error, and the turn goes on', SCRIPT, async (shell) => {
    for (const call of ['/call fail {"message":"broken"}', '/call fail {"code":-5,"message":"broken"}', '/call nothing {}',
        '/call echo {"wrong":1}', '/call sleep {"ms":"x"}']) {
        const messages = await shell.say(call);
        assert.equal(types(messages), 'tool_use tool_result done', call);
        const { data } = messages.find(({ type }) => type === 'tool_result');
        assert.equal(typeof data.error, 'string', call);
        assert.ok(!('result' in data), call);
    }
});

await check('a failing model is one error, and the agent goes on', SCRIPT, async (shell) => {
    const messages = await shell.say('/fail API rate limit exceeded');
    assert.equal(types(messages), 'error');
    assert.match(last(messages).error, /API rate limit exceeded/);
    assert.equal(text(await shell.say('/echo on')), 'on');
});

await check('get_status', SCRIPT, async (shell) => {
    let [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.state, 'idle');
    assert.equal(status.data.conversationLength, 0);
    assert.equal(status.data.model, 'script');
    assert.equal(status.data.activeRequests, 0);
    assert.equal(status.data.tools, 8, 'three and the file tools');
    assert.ok(status.data.uptime >= 0);
    await shell.say('/echo x');
    const slow = shell.send({ kind: 'user_message', message: endless('x') });
    await shell.first(slow, 'token');
    [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.state, 'thinking');
    assert.equal(status.data.conversationLength, 2);
    assert.equal(status.data.activeRequests, 1);
    await shell.ask({ kind: 'interrupt', requestId: slow });
    const tool = shell.send({ kind: 'user_message', message: '/call sleep {"ms":30000}' });
    await shell.first(tool, 'tool_use');
    [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.state, 'using_tool');
    await shell.ask({ kind: 'interrupt' });
});

await check('progress is told ten times a second at most', SCRIPT, async (shell) => {
    // It reports every 30 ms.
    const told = (await shell.say('/call sleep {"ms":300}')).filter(({ type }) => type === 'tool_progress')
        .map(({ data }) => data.elapsedMs);
    assert.ok(told.length > 0);
    assert.ok(told.every((ms, i) => i === 0 || ms - told[i - 1] >= 100), told.join(' '));
});

await check('tool_progress comes while a tool runs', SCRIPT, async (shell) => {
    const id = shell.send({ kind: 'user_message', message: '/call sleep {"ms":1300}' });
    const progress = await shell.first(id, 'tool_progress');
    assert.equal(progress.data.toolName, 'sleep');
    assert.ok('elapsedMs' in progress.data || 'elapsed' in progress.data || 'elapsedSeconds' in progress.data, JSON.stringify(progress));
    assert.equal(types(await shell.answer(id)).replaceAll('tool_progress ', ''), 'tool_use tool_result done');
});

// ---- rules ----

await check('malformed lines are logged with the byte, answered only if the id can be read, and listening goes on', SCRIPT,
    async (shell) => {
        shell.line('this is no JSON');
        shell.line('{"id":"broken-1","kind":"user_message","message":"x');
        shell.line('{"kind":"user_message","message":"no id"}');
        shell.line('[1,2]');
        shell.line('');
        assert.equal(text(await shell.say('/echo on')), 'on');
        assert.equal(types(shell.of('broken-1')), 'error');
        assert.equal(shell.messages.filter(({ type }) => type === 'error').length, 1);
        await shell.until(() => /byte \d/.test(shell.stderr), 'the byte');
        assert.ok(shell.stderr.split('\n').filter((line) => /warn +agent: a line is no request/.test(line)).length >= 4,
            shell.stderr);
    });

await check('an unknown kind, a wrong member and an empty message are errors with the id', SCRIPT, async (shell) => {
    assert.match(last(await shell.ask({ kind: 'dance' })).error, /dance/);
    assert.equal(types(await shell.ask({ kind: 'user_message', message: 7 })), 'error');
    assert.equal(types(await shell.ask({ kind: 'user_message', message: '' })), 'error');
    assert.equal(types(await shell.ask({ kind: 'load_conversation' })), 'error');
});

await check('an id that is in use is refused, and free again when its request is over', SCRIPT, async (shell) => {
    shell.send({ id: 'twice', kind: 'user_message', message: endless('first') });
    await shell.first('twice', 'token');
    shell.send({ id: 'twice', kind: 'user_message', message: '/echo no' });
    const error = await shell.first('twice', 'error');
    assert.match(error.error, /[Dd]uplicate/);
    await shell.ask({ kind: 'interrupt', requestId: 'twice' });
    await shell.first('twice', 'done');
    assert.equal(text(shell.of('twice')).trim(), 'first', 'the first one goes on');
    shell.send({ id: 'twice', kind: 'user_message', message: '/echo again' });
    await shell.until(() => shell.of('twice').filter(({ type }) => type === 'done').length === 2);
    assert.match(text(shell.of('twice')), /again$/);
});

await check('conversations run beside each other, and each in its order', SCRIPT, async (shell) => {
    const talk = (conversationId) => ({ metadata: { conversationId } });
    const slow = shell.send({ kind: 'user_message', message: endless('a'), ...talk('A') });
    const behind = shell.send({ kind: 'user_message', message: '/echo behind', ...talk('A') });
    await shell.first(slow, 'token');
    assert.equal(text(await shell.say('/echo beside', talk('B'))), 'beside');
    assert.equal(shell.of(behind).length, 0, 'the second message of A waits');
    await shell.ask({ kind: 'interrupt', requestId: slow });
    assert.equal(text(await shell.answer(behind)), 'behind');
    assert.equal(last(shell.of(behind)).data.conversationId, 'A');
});

await check('messages without a conversation are one after the other', SCRIPT, async (shell) => {
    const ids = [1, 2, 3].map((n) => shell.send({ kind: 'user_message', message: `/slow 5 ${n} a b c` }));
    await Promise.all(ids.map((id) => shell.answer(id)));
    const order = shell.messages.filter(({ type }) => type === 'token').map(({ id }) => id);
    assert.deepEqual(order, [...order].sort(), 'no token of one between those of another');
});

await check('lines may be 10 MiB long and no longer', SCRIPT, async (shell) => {
    const padding = (n) => 'x'.repeat(n);
    const frame = JSON.stringify({ id: 'long', kind: 'user_message', message: '' }).length;
    const MAX = 10 * 1024 * 1024;
    shell.line(JSON.stringify({ id: 'long', kind: 'user_message', message: '/echo ' + padding(MAX - frame - 7) + 'y' }));
    await shell.until(() => shell.of('long').some(({ type }) => type === 'done' || type === 'error'));
    shell.line(JSON.stringify({ id: 'longer', kind: 'user_message', message: padding(MAX - frame) }));
    assert.match(last(await shell.answer('longer')).error, /10 MiB/);
    assert.equal(text(await shell.say('/echo on')), 'on');
});

// ---- interrupt, approvals ----

await check('interrupt ends a request early with what was said', SCRIPT, async (shell) => {
    const id = shell.send({ kind: 'user_message', message: endless('one') });
    await shell.first(id, 'token');
    const interrupted = await shell.ask({ kind: 'interrupt', requestId: id });
    assert.deepEqual(last(interrupted).data, { interrupted: 1 });
    const messages = await shell.answer(id);
    assert.equal(last(messages).type, 'done');
    assert.equal(last(messages).data.stopReason, 'interrupted');
    assert.deepEqual(last(await shell.ask({ kind: 'interrupt', requestId: 'nobody' })).data, { interrupted: 0 });
    const { messages: said } = last(await shell.ask({ kind: 'load_conversation', conversation_id: 'default' })).data;
    assert.deepEqual(said.map(({ role }) => role), ['user', 'assistant']);
    assert.equal(said[1].content[0].text.trim(), 'one');
});

await check('interrupt stops a tool, and a request that waits', SCRIPT, async (shell) => {
    const tool = shell.send({ kind: 'user_message', message: '/call sleep {"ms":60000}' });
    const waiting = shell.send({ kind: 'user_message', message: '/echo never' });
    await shell.first(tool, 'tool_use');
    assert.deepEqual(last(await shell.ask({ kind: 'interrupt' })).data, { interrupted: 2 });
    assert.match(types(await shell.answer(tool)), /^tool_use (tool_progress )*tool_result done$/);
    assert.equal(shell.of(tool).find(({ type }) => type === 'tool_result').data.error, 'interrupted');
    assert.equal(types(await shell.answer(waiting)), 'done');
    assert.equal(text(shell.of(waiting)), '');
});

await check('a tool that writes asks first: yes, no, and an id that nobody knows',
    ['--model', 'script', '--no-toolkit'], async (shell, work) => {
        const file = path.join(work, 'root', 'made.txt');
        const call = '/call write_file {"path":"made.txt","content":"hello"}';
        let id = shell.send({ kind: 'user_message', message: call });
        let use = await shell.first(id, 'tool_use');
        assert.equal(use.data.approvalRequired, true);
        assert.equal(existsSync(file), false);
        assert.equal(types(await shell.ask({ kind: 'tool_approval', toolId: 'other', approved: true })), 'error');
        assert.equal(types(await shell.ask({ kind: 'tool_approval', toolId: use.data.toolId, approved: false })), 'done');
        let messages = await shell.answer(id);
        assert.match(messages.find(({ type }) => type === 'tool_result').data.error, /did not allow/);
        assert.equal(last(messages).type, 'done');
        assert.equal(existsSync(file), false);
        id = shell.send({ kind: 'user_message', message: call });
        use = await shell.first(id, 'tool_use');
        await shell.ask({ kind: 'tool_approval', toolId: use.data.toolId, approved: true });
        messages = await shell.answer(id);
        assert.ok('result' in messages.find(({ type }) => type === 'tool_result').data, JSON.stringify(messages));
        assert.equal(readFileSync(file, 'utf8'), 'hello');
        // Twice is once too often.
        assert.equal(types(await shell.ask({ kind: 'tool_approval', toolId: use.data.toolId, approved: true })), 'error');
        // What only reads is not asked about.
        assert.equal(types(await shell.say('/call read_file {"path":"made.txt"}')), 'tool_use tool_result done');
    });

await check('rules say which tools run', ['--model', 'script', '--no-toolkit', '--diagnostics', '--tool', '*=deny', '--tool',
    'e*=allow'], async (shell) => {
    assert.equal(text(await shell.say('/call echo {"message":"yes"}')), 'yes');
    const messages = await shell.say('/call read_file {"path":"x"}');
    assert.match(messages.find(({ type }) => type === 'tool_result').data.error, /not allowed|not found/);
});

await check('an approval that does not come in time is a no', ['--model', 'script', '--no-toolkit', '--approval-ms', '50ms'],
    async (shell) => {
        const messages = await shell.say('/call write_file {"path":"x","content":""}');
        assert.match(messages.find(({ type }) => type === 'tool_result').data.error, /in time/);
        assert.equal(last(messages).type, 'done');
    });

// ---- rounds ----

await check('a model that calls tools for ever is stopped after ten rounds',
    (work) => ['--model', script(work, 'loop', [{ tool: 'echo', input: { message: 'x' }, again: true }]), '--diagnostics',
        '--no-toolkit', ...ALL], async (shell) => {
        const messages = await shell.say('go');
        assert.equal(messages.filter(({ type }) => type === 'tool_use').length, 10);
        assert.equal(messages.filter(({ type }) => type === 'tool_result').length, 10);
        assert.equal(last(messages).type, 'done');
        assert.equal(last(messages).data.stopReason, 'rounds');
        assert.match(last(messages).data.message, /rounds/);
    });

await check('bad arguments, an unknown tool and several calls at once each have their result',
    (work) => ['--model', script(work, 'calls', [
        { tool: 'echo', input: '{bad' }, { tool: 'nothing', input: {} }, { tool: 'echo', input: { message: 'fine' } },
        { end: 'tools' }, { result: true }, { end: 'end' }]), '--diagnostics', '--no-toolkit', ...ALL], async (shell) => {
        const messages = await shell.say('go');
        const results = messages.filter(({ type }) => type === 'tool_result').map(({ data }) => data.error ?? data.result);
        assert.equal(results.length, 3, JSON.stringify(messages));
        assert.match(results[0], /not a JSON object/);
        assert.equal(results[1], 'Tool not found: nothing');
        assert.equal(results[2], 'fine');
        assert.equal(last(messages).type, 'done');
    });

// ---- conversations ----

await check('conversations are listed, loaded, begun, cleared and deleted', SCRIPT, async (shell) => {
    const data = async (request) => last(await shell.ask(request)).data;
    await shell.say('/echo one', { metadata: { conversationId: 'A' } });
    await shell.say('/echo two');
    let { conversations } = await data({ kind: 'list_conversations' });
    assert.deepEqual(conversations.map(({ id, messageCount }) => [id, messageCount]).sort(), [['A', 2], ['default', 2]]);
    assert.equal(conversations.find(({ id }) => id === 'A').title, '/echo one');
    const loaded = await data({ kind: 'load_conversation', metadata: { conversationId: 'A' } });
    assert.equal(loaded.messageCount, 2);
    assert.deepEqual(loaded.messages.map(({ role, content }) => [role, content[0].text]),
        [['user', '/echo one'], ['assistant', 'one']]);
    // It is the current one from now on.
    assert.equal(last(await shell.say('/echo three')).data.conversationId, 'A');
    const begun = await data({ kind: 'new_conversation', metadata: { title: 'Trip' } });
    assert.equal(begun.title, 'Trip');
    assert.equal(last(await shell.say('/echo four')).data.conversationId, begun.conversationId);
    await data({ kind: 'clear_history' });
    ({ conversations } = await data({ kind: 'list_conversations' }));
    const trip = conversations.find(({ id }) => id === begun.conversationId);
    assert.deepEqual([trip.title, trip.messageCount], ['Trip', 0]);
    await data({ kind: 'delete_conversation', conversation_id: 'A' });
    ({ conversations } = await data({ kind: 'list_conversations' }));
    assert.deepEqual(conversations.map(({ id }) => id).sort(), [begun.conversationId, 'default'].sort());
    assert.match(last(await shell.ask({ kind: 'load_conversation', conversation_id: 'A' })).error, /not found/);
    assert.equal(last(await shell.say('/echo five')).data.conversationId, begun.conversationId, 'the current one is as before');
});

await check('what is sent behind new_conversation belongs to it, though nobody waited', SCRIPT, async (shell) => {
    const begun = shell.send({ kind: 'new_conversation' });
    const said = shell.send({ kind: 'user_message', message: '/echo x' });
    const { conversationId } = last(await shell.answer(begun)).data;
    assert.equal(last(await shell.answer(said)).data.conversationId, conversationId);
});

await check('clear_history waits for the turn before it, and the turn behind it begins anew', SCRIPT, async (shell) => {
    shell.send({ kind: 'user_message', message: '/slow 10 a b c' });
    const cleared = shell.send({ kind: 'clear_history' });
    await shell.answer(cleared);
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.conversationLength, 0);
});

await checks.check('a conversation goes on after a restart, with its tools', async () => {
    const work = workplace();
    let shell = new Shell(toolwire, work, SCRIPT);
    await shell.say('/call echo {"message":"remember"}', { metadata: { conversationId: 'A' } });
    assert.deepEqual(await shell.close(), [0, null]);
    assert.equal(statSync(path.join(work, 'state', 'agent.db')).mode & 0o777, 0o600);
    shell = new Shell(toolwire, work, SCRIPT);
    const { messages } = last(await shell.ask({ kind: 'load_conversation', conversation_id: 'A' })).data;
    assert.deepEqual(messages.map(({ role, content }) => [role, content.map(({ type }) => type).join()]),
        [['user', 'text'], ['assistant', 'tool_use'], ['user', 'tool_result'], ['assistant', 'text']]);
    assert.equal(messages[1].content[0].toolName, 'echo');
    assert.equal(messages[2].content[0].toolId, messages[1].content[0].toolId);
    assert.deepEqual(await shell.close(), [0, null]);
});

await checks.check('without a history that can be used the agent runs and says so', async () => {
    const work = workplace();
    writeFileSync(path.join(work, 'state', 'agent.db'), 'this is no database, but a text that is long enough to be looked at\n'.repeat(20));
    const shell = new Shell(toolwire, work, SCRIPT);
    await shell.say('/echo one');
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.match(status.data.history, /^not kept: /);
    assert.equal(status.data.conversationLength, 2, 'it is remembered as long as the agent lives');
    assert.deepEqual(await shell.close(), [0, null]);
    assert.match(shell.stderr, /warn +agent: the history is not kept/);
    const off = new Shell(toolwire, work, [...SCRIPT, '--history', 'off']);
    assert.match((await off.ask({ kind: 'get_status' }))[0].data.history, /off/);
    await off.close();
});

await checks.check('a history that is another program\'s, or was emptied, is left as it is', async () => {
    const work = workplace();
    const file = path.join(work, 'state', 'agent.db');
    const first = new Shell(toolwire, work, SCRIPT);
    await first.say('/echo one');
    assert.deepEqual(await first.close(), [0, null]);
    const foreign = readFileSync(file);
    foreign.fill(0, 68, 72); // the number of the application
    foreign.fill(1, 18, 20); // written without a log
    for (const [bytes, why] of [[foreign, /another program/], [Buffer.alloc(0), /is empty/]]) {
        writeFileSync(file, bytes);
        const shell = new Shell(toolwire, work, SCRIPT);
        await shell.say('/echo two');
        const [status] = await shell.ask({ kind: 'get_status' });
        assert.match(status.data.history, /^not kept: /);
        assert.match(status.data.history, why);
        assert.deepEqual(await shell.close(), [0, null]);
        assert.ok(readFileSync(file).equals(bytes), 'no byte of it has changed');
        assert.deepEqual(readdirSync(path.dirname(file)).filter((name) => name.startsWith('agent.db')), ['agent.db']);
    }
});

// ---- attachments ----

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

await check('attachments are read beneath the root, and refused elsewhere', SCRIPT, async (shell, work) => {
    writeFileSync(path.join(work, 'root', 'note.txt'), 'the note');
    writeFileSync(path.join(work, 'secret.txt'), 'the secret');
    writeFileSync(path.join(work, 'root', 'dot.png'), Buffer.from(PNG, 'base64'));
    writeFileSync(path.join(work, 'root', 'blob'), Buffer.from([0, 1, 2, 255, 254]));
    const attach = (file, mime = 'text/plain') => ({ attachments: [{ path: file, mime }], metadata: { conversationId: 'A' } });
    assert.equal(types(await shell.say('/echo x', attach('note.txt'))), 'done');
    assert.equal(types(await shell.say('/echo x', attach(path.join(work, 'root', 'note.txt')))), 'done');
    assert.equal(types(await shell.say('/echo x', attach('dot.png', 'image/png'))), 'done');
    for (const [file, words] of [['../secret.txt', /Access denied/], [path.join(work, 'secret.txt'), /Access denied/],
        ['missing.txt', /missing.txt/], ['blob', /blob/]]) {
        const messages = await shell.say('/echo x', attach(file));
        assert.equal(types(messages), 'error', file);
        assert.match(last(messages).error, words);
        assert.ok(!JSON.stringify(messages).includes('the secret'));
    }
    const { messages } = last(await shell.ask({ kind: 'load_conversation', conversation_id: 'A' })).data;
    assert.ok(messages[0].content.some((block) => block.type === 'text' && block.text.includes('the note')));
    const image = messages[4].content.find(({ type }) => type === 'image');
    assert.deepEqual([image.mime, image.data], ['image/png', PNG]);
});

await check('images come as the real shell sends them', SCRIPT, async (shell) => {
    const images = JSON.stringify([{ data: PNG, mime_type: 'image/png', name: 'dot.png' }]);
    assert.equal(text(await shell.say('/echo seen', { images })), 'seen');
    assert.equal(types(await shell.say('/echo x', { images: JSON.stringify([{ data: 'AAAA', mime_type: 'image/png', name: 'x' }]) })),
        'error');
});

// ---- the trace ----

await check('--trace-protocol shows messages on stderr with secrets masked', [...SCRIPT, '--trace-protocol'], async (shell) => {
    await shell.say('/echo visible', { metadata: { apiKey: 'sk-hidden' } });
    await shell.say('/call echo {"message":"x"}');
    await shell.until(() => (shell.stderr.match(/\[SEND\] \{"type":"done"/g) ?? []).length === 2);
    assert.match(shell.stderr, /\[RECV\] \{"id":"q1","kind":"user_message"/);
    assert.match(shell.stderr, /\[SEND\] \{"type":"token","id":"q1","token":"visible"/);
    assert.ok(!shell.stderr.includes('sk-hidden'));
});

await check('what variables and settings hold as secrets is masked in texts, too', (work) => {
    writeFileSync(path.join(work, 'settings.json'), JSON.stringify({ mcpServers: {
        x: { url: 'http://127.0.0.1:9/', headers: { Authorization: 'Bearer of-the-settings' }, disabled: true } } }));
    return [...SCRIPT, '--trace-protocol', '--config', path.join(work, 'settings.json')];
}, async (shell) => {
    await shell.say('/call echo {"message":"of-a-variable, of-the-settings"}');
    await shell.until(() => shell.stderr.includes('[SEND] {"type":"done"'));
    assert.match(shell.stderr, /\*\*\*, \*\*\*/);
    assert.ok(!/of-a-variable|of-the-settings/.test(shell.stderr), shell.stderr);
}, { MY_TOKEN: 'of-a-variable' });

// ---- the end ----

await checks.check('the end of input lets turns end, and the last line needs no newline', async () => {
    const shell = new Shell(toolwire, workplace(), SCRIPT);
    const id = shell.send({ kind: 'user_message', message: '/slow 30 a b c d' });
    const behind = shell.send({ kind: 'user_message', message: '/echo behind' });
    shell.child.stdin.end('{"id":"rest","kind":"get_status"}');
    assert.deepEqual(await shell.ended(), [0, null]);
    assert.equal(text(shell.of(id)), 'a b c d');
    assert.equal(text(shell.of(behind)), 'behind');
    assert.equal(types(shell.of('rest')), 'status');
});

await checks.check('SIGTERM cuts what does not end in time, with an error, and it is saved', async () => {
    const work = workplace();
    let shell = new Shell(toolwire, work, [...SCRIPT, '--grace-ms', '100ms']);
    const slow = shell.send({ kind: 'user_message', message: endless('half') });
    const behind = shell.send({ kind: 'user_message', message: '/echo behind' });
    const tool = shell.send({ kind: 'user_message', message: '/call sleep {"ms":60000}', metadata: { conversationId: 'T' } });
    await shell.first(slow, 'token');
    await shell.first(tool, 'tool_use');
    shell.child.kill('SIGTERM');
    assert.deepEqual(await shell.ended(), [0, null], shell.stderr);
    assert.match(last(shell.of(slow)).error, /shutting down/);
    assert.match(last(shell.of(behind)).error, /shutting down/);
    assert.match(types(shell.of(tool)), /tool_result error$/);
    shell = new Shell(toolwire, work, SCRIPT);
    const { messages } = last(await shell.ask({ kind: 'load_conversation', conversation_id: 'default' })).data;
    assert.equal(messages[1].content[0].text.trim(), 'half');
    await shell.close();
});

await checks.check('a turn that ends in time is not cut, new requests are refused meanwhile', async () => {
    const shell = new Shell(toolwire, workplace(), [...SCRIPT, '--grace-ms', '1m']);
    const id = shell.send({ kind: 'user_message', message: '/slow 1500 a b c' });
    await shell.first(id, 'token');
    shell.child.kill('SIGTERM');
    await shell.until(() => shell.child.killed);
    let status;
    do {
        [status] = await shell.ask({ kind: 'get_status' });
    } while (status.data.state !== 'shutting_down');
    assert.match(last(await shell.say('/echo no')).error, /shutting down/);
    assert.deepEqual(await shell.ended(), [0, null]);
    assert.equal(text(shell.of(id)), 'a b c');
});

await checks.check('a second signal cuts at once', async () => {
    const shell = new Shell(toolwire, workplace(), [...SCRIPT, '--grace-ms', '1h']);
    const id = shell.send({ kind: 'user_message', message: endless('half') });
    await shell.first(id, 'token');
    shell.child.kill('SIGTERM');
    let status;
    do {
        [status] = await shell.ask({ kind: 'get_status' });
    } while (status.data.state !== 'shutting_down');
    shell.child.kill('SIGTERM');
    assert.deepEqual(await shell.ended(), [0, null]);
    assert.match(last(shell.of(id)).error, /shutting down/);
});

await checks.check('a shell that goes away ends the agent', async () => {
    const shell = new Shell(toolwire, workplace(), [...SCRIPT, '--grace-ms', '1h']);
    const id = shell.send({ kind: 'user_message', message: '/slow 1 ' + 'word '.repeat(5000) });
    await shell.first(id, 'token');
    shell.child.stdout.destroy();
    assert.deepEqual(await shell.exit, [0, null], shell.stderr);
    shell.child.stdin.destroy();
});

// ---- wrong use ----

await checks.check('what cannot work is said at the start', async () => {
    for (const [args, words] of [[['--model', 'martian:x'], /martian/], [['--root', '/nowhere/at/all'], /nowhere/],
        [['--system', '/nowhere'], /nowhere/], [['--tool', 'x=maybe'], /maybe/], [['--grace-ms', 'long'], /grace-ms/],
        [['--model', 'script:/nowhere'], /nowhere/]]) {
        const shell = new Shell(toolwire, workplace(), args);
        assert.deepEqual(await shell.ended(), [2, null], args.join(' '));
        assert.match(shell.stderr, words);
        assert.equal(shell.messages.length, 0);
    }
});

await checks.check('the settings have a member of their own', async () => {
    const work = workplace();
    mkdirSync(path.join(work, 'root', 'sub'));
    writeFileSync(path.join(work, 'root', 'toolwire.json'), JSON.stringify({
        agent: { model: 'script', root: 'sub', history: 'off', tools: { write_file: 'allow', '*': 'deny' }, max_rounds: 3 } }));
    const shell = new Shell(toolwire, work, ['--config', 'toolwire.json']);
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.model, 'script');
    assert.equal(status.data.root, realpathSync(path.join(work, 'root', 'sub')));
    assert.match(status.data.history, /off/);
    assert.equal(types(await shell.say('/call write_file {"path":"x","content":"y"}')), 'tool_use tool_result done');
    assert.equal(readFileSync(path.join(work, 'root', 'sub', 'x'), 'utf8'), 'y');
    const messages = await shell.say('/call read_file {"path":"x"}');
    assert.match(messages.find(({ type }) => type === 'tool_result').data.error, /not allowed|not found/);
    assert.deepEqual(await shell.close(), [0, null]);
    // An option outdoes them, and a later one an earlier one.
    const other = new Shell(toolwire, work, ['--config', 'toolwire.json', '--tool', 'write_file=ask', '--tool', 'write_file=deny']);
    const refused = await other.say('/call write_file {"path":"x","content":"z"}');
    assert.match(refused.find(({ type }) => type === 'tool_result').data.error, /not allowed/);
    assert.equal(readFileSync(path.join(work, 'root', 'sub', 'x'), 'utf8'), 'y');
    assert.deepEqual(await other.close(), [0, null]);
});

checks.finish();
