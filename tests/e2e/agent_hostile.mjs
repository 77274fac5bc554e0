// `toolwire agent` and what a model that was talked into it may try: paths and links that lead out of the root, shell
// characters in arguments, huge files, tools that print garbage, never end or print for ever. Each has its stated outcome,
// the turn goes on, and nothing outside the root is read or changed.
//
//   agent_hostile.mjs TOOLWIRE
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { assert, Checks } from '../interop/checks.mjs';
import { last, Shell, types, workplace } from './agent_shell.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('agent_hostile');
const work = workplace();
const root = path.join(work, 'root');
const SECRET = 'the secret that nobody may read';

// What lies outside, and the ways to it.
mkdirSync(path.join(work, 'root-evil'));
for (const file of ['secret.txt', 'root-evil/secret.txt']) {
    writeFileSync(path.join(work, file), SECRET);
}
symlinkSync('../secret.txt', path.join(root, 'link.txt'));
symlinkSync(path.join(work, 'secret.txt'), path.join(root, 'absolute.txt'));
symlinkSync('..', path.join(root, 'up'));
mkdirSync(path.join(root, 'sub'));
writeFileSync(path.join(root, 'sub', 'fine.txt'), 'fine');
const big = path.join(root, 'big.txt');
writeFileSync(big, '');
truncateSync(big, 50 * 1024 * 1024);

// Tools that do not behave.
const tool = (name, code, more = {}) => ({ name, description: name, input_schema: { type: 'object' },
    command: ['/bin/sh', '-c', code], ...more });
const tools = path.join(work, 'tools.json');
writeFileSync(tools, JSON.stringify([
    tool('garbage', "printf 'no \\001\\377 JSON\\n{'"),
    tool('newlines', 'printf \'{"a":\\n\\n1}\'', { output_schema: { type: 'object' } }),
    tool('silent', ':'),
    tool('crashes', 'kill -SEGV $$'),
    tool('endless', 'while :; do sleep 1; done'),
    tool('floods', 'yes 0123456789abcdef | head -c 50000000'),
]));

const shell = new Shell(toolwire, work, ['--model', 'script', '--no-toolkit', '--tools', tools, '--tool', '*=allow',
    '--call-timeout-ms', '5s']);
await shell.ready();

/** Calls a tool; gives what the shell was told of its end. The turn must go on to its done. */
async function call(name, input) {
    const messages = await shell.say(`/call ${name} ${JSON.stringify(input)}`);
    assert.match(types(messages), /^tool_use (tool_progress )*tool_result done$/);
    assert.ok(!JSON.stringify(messages).includes(SECRET), 'the secret has got out');
    return messages.find(({ type }) => type === 'tool_result').data;
}

const OUT = ['../secret.txt', 'sub/../../secret.txt', './/..//secret.txt', 'link.txt', 'absolute.txt', 'up/secret.txt',
    path.join(work, 'secret.txt'), `${root}-evil/secret.txt`, '../root-evil/secret.txt', '/etc/passwd', '/proc/self/environ',
    '/proc/self/cwd/../secret.txt', 'sub/\u0000/../../secret.txt'];

await checks.check('no path leads out: read_file', async () => {
    for (const file of OUT) {
        const { error } = await call('read_file', { path: file });
        assert.equal(typeof error, 'string', file);
    }
    assert.match((await call('read_file', { path: '../secret.txt' })).error, /Access denied: path outside allowed directory/);
    assert.match((await call('read_file', { path: 'link.txt' })).error, /Access denied: path outside allowed directory/);
    assert.ok('result' in await call('read_file', { path: 'sub/../sub/fine.txt' }), 'inside is fine');
});

await checks.check('no path leads out: write_file', async () => {
    for (const file of [...OUT, '../new.txt', 'up/new.txt', '/tmp/agent-hostile-new']) {
        assert.equal(typeof (await call('write_file', { path: file, content: 'overwritten' })).error, 'string', file);
    }
    for (const file of ['secret.txt', 'root-evil/secret.txt']) {
        assert.equal(readFileSync(path.join(work, file), 'utf8'), SECRET);
    }
    for (const file of [path.join(work, 'new.txt'), '/tmp/agent-hostile-new']) {
        assert.throws(() => statSync(file), file);
    }
});

await checks.check('no path leads out: list_files and search_files', async () => {
    for (const folder of ['..', 'up', '/', '/etc', work]) {
        assert.equal(typeof (await call('list_files', { path: folder })).error, 'string', folder);
    }
    for (const pattern of ['../*', '../secret.txt', 'up/*', '/etc/*', '**/secret.txt']) {
        const { result, error } = await call('search_files', { pattern });
        assert.ok(error !== undefined || result.matches.length === 0, `${pattern}: ${JSON.stringify(result)}`);
    }
});

await checks.check('arguments of commands are no shell', async () => {
    const run = (command, ...args) => call('run_command', { command, args });
    const made = path.join(work, 'made');
    assert.equal((await run('echo', `hi; touch ${made}`)).result.stdout, `hi; touch ${made}\n`);
    assert.equal((await run('echo', `$(touch ${made})`, '`id`', '| cat', '> x')).result.stdout, `$(touch ${made}) \`id\` | cat > x\n`);
    for (const command of ['sh', '/bin/sh', 'echo; id', '../../bin/sh', 'rm', '']) {
        assert.equal(typeof (await run(command, '-c', `touch ${made}`)).error, 'string', command);
    }
    for (const file of ['../secret.txt', 'link.txt', path.join(work, 'secret.txt'), '/etc/shadow']) {
        const { result, error } = await run('cat', file);
        assert.ok(error !== undefined || result.exitCode !== 0, file);
    }
    assert.throws(() => statSync(made));
});

await checks.check('a file of 50 MB is refused, and not read', async () => {
    assert.match((await call('read_file', { path: 'big.txt' })).error, /too large/i);
    const messages = await shell.say('/echo x', { attachments: [{ path: 'big.txt', mime: 'text/plain' }] });
    assert.equal(types(messages), 'error');
    assert.match(last(messages).error, /large/i);
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${shell.child.pid}/status`, 'utf8'))[1]);
    assert.ok(process.env.ASAN_OPTIONS !== undefined || process.env.TSAN_OPTIONS !== undefined || peak < 200_000,
        `${peak} KiB`);
});

await checks.check('attachments cannot be links that lead out', async () => {
    for (const file of ['link.txt', 'absolute.txt', 'up/secret.txt', '../secret.txt']) {
        const messages = await shell.say('/echo x', { attachments: [{ path: file, mime: 'text/plain' }] });
        assert.match(last(messages).error, /Access denied/, file);
        assert.ok(!JSON.stringify(messages).includes(SECRET));
    }
});

await checks.check('a tool that prints garbage, crashes or says nothing has a result in words', async () => {
    // What is no JSON is text, and what is no text is replaced.
    assert.match((await call('garbage', {})).result, /^no \u0001\uFFFD JSON\n\{$/);
    assert.equal(typeof (await call('crashes', {})).error, 'string');
    assert.ok(Object.keys(await call('silent', {})).some((key) => key === 'error' || key === 'result'));
    // White space in what a tool prints does not break a line.
    assert.deepEqual((await call('newlines', {})).result, { a: 1 });
});

await checks.check('a tool that never ends, and one that prints for ever, are ended', async () => {
    assert.match((await call('endless', {})).error, /deadline|time/i);
    assert.equal(typeof (await call('floods', {})).error, 'string');
});

// The analyser reads without being asked, so it is bounded by the root as the file tools are. The root is not the working
// folder here, and a repository lies above it.
const inner = path.join(root, 'sub');
writeFileSync(path.join(root, 'above.c'), 'int secret_above(int a) { return a ? 1 : 2; }\n');
writeFileSync(path.join(inner, 'in.c'), 'int inside(int a) { return a ? 1 : 2; }\n');
symlinkSync('..', path.join(inner, 'out'));
for (const words of ['init -q', 'add -A sub above.c', '-c user.name=A -c user.email=a@example.org commit -q -m secret_commit']) {
    execFileSync('git', words.split(' '), { cwd: root, env: { PATH: process.env.PATH, HOME: path.join(work, 'home') } });
}

/** Calls an analyser's tool of an agent whose root is `inner`. */
async function analyze(agent, name, input) {
    const messages = await agent.say(`/call ${name} ${JSON.stringify({ format: 'json', ...input })}`);
    assert.equal(types(messages).replaceAll('tool_progress ', ''), 'tool_use tool_result done');
    assert.ok(!/secret_above|secret_commit/.test(JSON.stringify(messages)), 'the secret has got out');
    return messages.find(({ type }) => type === 'tool_result').data;
}

await checks.check('no path leads out: the analyser', async () => {
    const agent = new Shell(toolwire, work, ['--model', 'script', '--alone', '--root', inner]);
    await agent.ready();
    for (const name of ['analyze_complexity', 'analyze_code_churn', 'analyze_hotspots']) {
        for (const folder of [root, path.join(root, 'above.c'), '..', '../above.c', 'out', 'out/above.c', '/', '/nowhere/at/all']) {
            assert.match((await analyze(agent, name, { project_path: folder })).error,
                /Access denied: path outside allowed directory/, `${name} ${folder}`);
        }
    }
    for (const file of ['.', 'in.c', inner]) {
        assert.match(JSON.stringify((await analyze(agent, 'analyze_complexity', { project_path: file })).result), /inside/, file);
    }
    for (const name of ['analyze_code_churn', 'analyze_hotspots']) {
        assert.match((await analyze(agent, name, { project_path: '.' })).error, /No git repository found/, name);
    }
    assert.deepEqual(await agent.close(), [0, null]);
});

await checks.check('a tool that is named as a file tool yields to it, and the agent starts', async () => {
    const file = path.join(work, 'same.json');
    writeFileSync(file, JSON.stringify([tool('read_file', 'echo theirs'), tool('other', 'echo other')]));
    const agent = new Shell(toolwire, work, ['--model', 'script', '--no-toolkit', '--tools', file, '--tool', '*=allow']);
    await agent.ready();
    const say = async (words) => JSON.stringify((await agent.say(words)).find(({ type }) => type === 'tool_result').data);
    assert.match(await say('/call read_file {"path":"sub/fine.txt"}'), /fine/);
    assert.match(await say('/call other {}'), /other/);
    assert.match(agent.stderr, /read_file .*has the name of one of ours/);
    assert.deepEqual(await agent.close(), [0, null]);
});

await checks.check('after all that the agent is as before', async () => {
    assert.equal(types(await shell.say('/echo on')), 'done');
    assert.deepEqual(await shell.close(), [0, null]);
});

checks.finish();
