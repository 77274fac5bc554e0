// `toolwire agent` beside a hub of the same state folder: its tools, its end in the middle of a call, its return; and other
// MCP servers (`mcpServers`), which the agent starts itself or the hub has.
//
//   agent_hub.mjs TOOLWIRE
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, Checks } from '../interop/checks.mjs';
import { last, Shell, text, types, workplace } from './agent_shell.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('agent_hub');
const work = workplace();
const AGENT = ['--model', 'script', '--tool', '*=allow'];
const error = (messages) => messages.find(({ type }) => type === 'tool_result').data.error;

/** Starts the hub; gives a function that ends it by that signal. */
async function startHub(args = []) {
    const config = args.includes('--config') ? [] : ['--config', 'none'];
    const child = spawn(toolwire, ['up', ...config, '--json', '--http', 'off', '--queue', 'off', '--no-toolkit',
        '--diagnostics', '--state', path.join(work, 'state'), ...args],
    { env: { PATH: process.env.PATH, HOME: path.join(work, 'home'), XDG_RUNTIME_DIR: path.join(work, 'run'), TMPDIR: work },
        stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit');
    const kill = () => child.kill('SIGKILL');

    process.once('exit', kill);
    await once(child.stdout, 'data');
    return async (signal) => {
        child.kill(signal);
        await exit;
        process.removeListener('exit', kill);
    };
}

let endHub = await startHub();
const shell = new Shell(toolwire, work, AGENT);
await shell.ready();

await checks.check("the hub's tools are there beside the file tools", async () => {
    assert.equal(text(await shell.say('/call echo {"message":"through the hub"}')), 'through the hub');
    writeFileSync(path.join(work, 'root', 'here.txt'), 'x');
    assert.equal(types(await shell.say('/call read_file {"path":"here.txt"}')), 'tool_use tool_result done');
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.hub, true);
    assert.equal(status.data.tools, 11);
});

await checks.check('errors and progress of its tools come through', async () => {
    assert.equal(error(await shell.say('/call fail {"message":"broken"}')), 'broken');
    assert.match(error(await shell.say('/call echo {"wrong":1}')), /message/);
    const messages = await shell.say('/call sleep {"ms":400}');
    assert.ok(messages.some(({ type, data }) => type === 'tool_progress' && data.progress !== undefined), JSON.stringify(messages));
});

await checks.check('a call is taken back through the hub', async () => {
    const id = shell.send({ kind: 'user_message', message: '/call sleep {"ms":60000}' });
    await shell.first(id, 'tool_progress');
    await shell.ask({ kind: 'interrupt' });
    assert.equal(error(await shell.answer(id)), 'interrupted');
});

await checks.check('--alone, and options that say which tools there are, do without the hub', async () => {
    for (const args of [['--alone', '--no-toolkit'], ['--no-toolkit']]) {
        const alone = new Shell(toolwire, work, [...AGENT, ...args]);
        const [status] = await alone.ask({ kind: 'get_status' });
        assert.deepEqual([status.data.hub, status.data.tools], [false, 5]);
        assert.deepEqual(await alone.close(), [0, null]);
    }
});

await checks.check('the toolkit is there where serve would offer it', async () => {
    const tools = path.join(work, 'tools.json');
    writeFileSync(tools, JSON.stringify([{ name: 'mine', description: 'd', input_schema: { type: 'object' }, command: ['true'] }]));
    for (const [args, n] of [[['--alone'], 5 + 8], [['--tools', tools], 5 + 1], [['--tools', tools, '--toolkit'], 5 + 1 + 8]]) {
        const alone = new Shell(toolwire, work, [...AGENT, ...args]);
        const [status] = await alone.ask({ kind: 'get_status' });
        assert.deepEqual([status.data.hub, status.data.tools], [false, n], String(args));
        assert.deepEqual(await alone.close(), [0, null]);
    }
});

await checks.check('a hub that is killed in the middle of a call: the result says so, and the turn goes on', async () => {
    const id = shell.send({ kind: 'user_message', message: '/call sleep {"ms":60000}' });
    await shell.first(id, 'tool_progress');
    await endHub('SIGKILL');
    const messages = await shell.answer(id);
    assert.match(error(messages), /hub .*gone/);
    assert.equal(last(messages).type, 'done');
});

await checks.check('while it is away its tools fail in words, and others work', async () => {
    assert.match(error(await shell.say('/call echo {"message":"x"}')), /hub .*not there/);
    assert.equal(types(await shell.say('/call read_file {"path":"here.txt"}')), 'tool_use tool_result done');
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.equal(status.data.hub, false);
});

await checks.check('when it is back the next message finds it, with the tools that it has now', async () => {
    const tools = path.join(work, 'tools.json');
    writeFileSync(tools, JSON.stringify([{ name: 'new_tool', description: 'New.', input_schema: { type: 'object' },
        command: ['/bin/echo', '"new"'] },
    { name: 'analyze_complexity', description: 'One that knows no root.', input_schema: { type: 'object' },
        command: ['/bin/echo', '"theirs"'] }]));
    endHub = await startHub(['--tools', tools]);
    assert.equal(text(await shell.say('/call echo {"message":"again"}')), 'again');
    assert.equal(types(await shell.say('/call new_tool {}')), 'tool_use tool_result done');
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.deepEqual([status.data.hub, status.data.tools], [true, 12]);
    assert.match(error(await shell.say('/call analyze_complexity {"project_path":".."}')), /outside allowed directory/);
    await endHub('SIGTERM');
    endHub = await startHub();
    assert.match(error(await shell.say('/call new_tool {}')), /not found/);
});

await checks.check('it ends in good order', async () => {
    assert.deepEqual(await shell.close(), [0, null]);
    await endHub('SIGTERM');
});

// ---- other MCP servers ----

const settings = path.join(work, 'servers.json');
const server = fileURLToPath(new URL('fake_mcp_server.mjs', import.meta.url));
writeFileSync(settings, JSON.stringify({ mcpServers: {
    old: { command: process.execPath, args: [server, 'legacy', path.join(work, 'old.log')] },
    new: { command: process.execPath, args: [server, 'modern'], prefix: true },
    none: { command: path.join(work, 'no-such-server') },
} }));
const starts = () => readFileSync(path.join(work, 'old.log'), 'utf8').split('\n').filter((line) => line === 'start').length;

/** Tools of both servers, from the very first message on. */
async function usesServers(agent) {
    const first = agent.say('/call add {"a":2,"b":3}'); // before the servers can have been started
    assert.equal(text(await first), '5');
    assert.equal(text(await agent.say('/call new__mirror {"text":"x"}')), 'string:x');
    assert.match(error(await agent.say('/call broken {}')), /it broke/);
    assert.match(error(await agent.say('/call no_such_tool {}')), /not found/);
    writeFileSync(path.join(work, 'root', 'here.txt'), 'x');
    assert.equal(types(await agent.say('/call read_file {"path":"here.txt"}')), 'tool_use tool_result done');
    const id = agent.send({ kind: 'user_message', message: '/call hang {}' });
    await agent.first(id, 'tool_use');
    await agent.ask({ kind: 'interrupt' });
    assert.equal(error(await agent.answer(id)), 'interrupted');
}

await checks.check('alone: other MCP servers are started, and waited for', async () => {
    const alone = new Shell(toolwire, work, [...AGENT, '--config', settings, '--alone']);
    await usesServers(alone);
    const [status] = await alone.ask({ kind: 'get_status' });
    assert.equal(status.data.hub, false);
    assert.equal(starts(), 1);
    assert.deepEqual(await alone.close(), [0, null]);
});

await checks.check('what they do is judged as the tools of others are', async () => {
    const careful = new Shell(toolwire, work, ['--model', 'script', '--config', settings, '--alone']);
    const id = careful.send({ kind: 'user_message', message: '/call wipe {}' });
    assert.equal((await careful.first(id, 'tool_use')).data.approvalRequired, true);
    const refused = await careful.ask({ kind: 'interrupt' });
    assert.equal(last(refused).type, 'done');
    assert.equal(text(await careful.say('/call add {"a":1,"b":1}')), '2'); // readOnlyHint
    assert.deepEqual(await careful.close(), [0, null]);
});

await checks.check("through a hub: its servers' tools, and none of our own", async () => {
    const before = starts();
    endHub = await startHub(['--config', settings]);
    const through = new Shell(toolwire, work, [...AGENT, '--config', settings]);
    await usesServers(through);
    const [status] = await through.ask({ kind: 'get_status' });
    assert.equal(status.data.hub, true);
    assert.equal(starts(), before + 1); // for the hub
    assert.deepEqual(await through.close(), [0, null]);
    await endHub('SIGTERM');
});

checks.finish();
