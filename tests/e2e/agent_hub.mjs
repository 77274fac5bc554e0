// `toolwire agent` beside a hub of the same state folder: its tools, its end in the middle of a call, its return.
//
//   agent_hub.mjs TOOLWIRE
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { assert, Checks } from '../interop/checks.mjs';
import { last, Shell, text, types, workplace } from './agent_shell.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('agent_hub');
const work = workplace();
const AGENT = ['--model', 'script', '--tool', '*=allow'];
const error = (messages) => messages.find(({ type }) => type === 'tool_result').data.error;

/** Starts the hub; gives a function that ends it by that signal. */
async function startHub(args = []) {
    const child = spawn(toolwire, ['up', '--config', 'none', '--json', '--http', 'off', '--queue', 'off', '--no-toolkit',
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

checks.finish();
