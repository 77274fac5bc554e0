// The hub and add-ins, through a named pipe.
import { assert, Checks } from '../interop/checks.mjs';
import { folderWith, libraryAddin, pipeName, Program, run, textOf, toolEntry } from './program.mjs';

const checks = new Checks('pipe');
const MIB = 1024 * 1024;
const folder = folderWith({
    'tools.json': [toolEntry('app.echo', ['echo']), toolEntry('app.breaks', ['fail']), toolEntry('app.wait', ['wait'])],
});

const startHub = async (name, ...more) => {
    const hub = new Program(['serve', '--pipe', name, '--rate', 'off', ...more]);
    await hub.initialize();
    return hub;
};
const startAddin = (name, ...more) => new Program(['addin', '--pipe', name, '--retry-ms', '100ms', ...more], { cwd: folder });

await checks.check('the tools of an add-in are called through the pipe', async () => {
    const name = pipeName();
    const hub = await startHub(name);
    const addin = startAddin(name, '--tools', 'tools.json');

    await hub.untilTool('app.echo');
    assert.deepEqual(JSON.parse(textOf(await hub.call('app.echo', { text: 'ä' }))), { text: 'ä' });
    const broken = await hub.call('app.breaks');
    assert.equal(broken.result.isError, true);
    assert.match(JSON.stringify(broken), /the tool fails/);
    assert.match(JSON.stringify(await hub.call('app.echo', { text: 1 })), /text/);
    await addin.kill();
    await hub.leave();
});

await checks.check('the calls of an add-in that is killed fail, and another one is called', async () => {
    const name = pipeName();
    const hub = await startHub(name);
    const first = startAddin(name, '--tools', 'tools.json');

    await hub.untilTool('app.wait');
    const waits = hub.call('app.wait');
    assert.equal(textOf(await hub.call('app.echo')), '{}'); // so the call before it has arrived
    await first.kill();
    const failed = await waits;
    assert.match(JSON.stringify(failed), /PIPE_DISCONNECTED/);
    await hub.untilTool('app.echo', false);
    const second = startAddin(name, '--diagnostics');
    await hub.untilTool('echo');
    assert.equal(textOf(await hub.call('echo', { message: 'again' })), 'again');
    await second.kill();
    await hub.leave();
});

await checks.check('an add-in connects again when its hub is back', async () => {
    const name = pipeName();
    const addin = startAddin(name, '--diagnostics');

    await addin.stderr.has(/Reconnecting in/);
    const first = await startHub(name);
    await first.untilTool('echo');
    await first.kill();
    await addin.stderr.has(/Disconnected/);
    const second = await startHub(name);
    await second.untilTool('echo');
    assert.equal(textOf(await second.call('echo', { message: 'again' })), 'again');
    await second.leave();
    await addin.kill();
});

await checks.check('several add-ins are there at once', async () => {
    const name = pipeName();
    const hub = await startHub(name);
    const addins = [startAddin(name, '--diagnostics'), startAddin(name, '--tools', 'tools.json')];

    await hub.untilTool('echo');
    await hub.untilTool('app.echo');
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => hub.call('echo', { message: `${i}` })));
    assert.deepEqual(answers.map(textOf), Array.from({ length: 100 }, (_, i) => `${i}`));
    await Promise.all(addins.map((addin) => addin.kill()));
    await hub.leave();
});

await checks.check('an application offers its tools by the library, and answers from a thread', async () => {
    const name = pipeName();
    const hub = await startHub(name);
    const application = new Program([`\\\\.\\pipe\\${name}`], { program: libraryAddin });

    await hub.untilTool('library.hello');
    const answers = await Promise.all(Array.from({ length: 20 }, () => hub.call('library.hello')));
    assert.ok(answers.every((answer) => JSON.stringify(answer.result).includes('from a thread, 8')), JSON.stringify(answers[0]));
    await application.kill();
    await hub.untilTool('library.hello', false);
    await hub.leave();
});

await checks.check('a message of nearly 16 MiB passes both ways, a longer one is refused', async () => {
    const name = pipeName();
    const hub = await startHub(name, '--max-request-bytes', '18MiB', '--max-response-bytes', '48MiB', '--max-line-bytes', '48MiB');
    const addin = startAddin(name, '--diagnostics');
    const message = 'x'.repeat(16 * MIB - 4096);

    await hub.untilTool('echo');
    assert.ok(textOf(await hub.call('echo', { message })) === message);
    assert.match(JSON.stringify(await hub.call('echo', { message: 'x'.repeat(16 * MIB) })), /PIPE_MESSAGE_TOO_LARGE/);
    assert.equal(textOf(await hub.call('echo', { message: 'still there' })), 'still there');
    await addin.kill();
    await hub.leave();
});

await checks.check('a pipe that is served is not taken, and its owner is named', async () => {
    const name = pipeName();
    const hub = await startHub(name);
    const { code, stderr } = await run(['serve', '--pipe', name]);

    assert.equal(code, 1, stderr);
    assert.match(stderr, /process \d+/);
    await hub.leave();
});

checks.finish();
