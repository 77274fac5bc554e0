// The MCP server on standard input and output, and commands as tools.
import { assert, Checks } from '../interop/checks.mjs';
import { folderWith, Program, run, textOf, toolEntry, windowsPath } from './program.mjs';

const checks = new Checks('serve');

await checks.check('a session: hello, list, call, error, end', async () => {
    const server = new Program(['serve', '--diagnostics', '--no-toolkit']);
    const hello = await server.initialize();

    assert.equal(hello.serverInfo.name, 'toolwire');
    assert.deepEqual(await server.tools(), ['echo', 'fail', 'sleep']);
    assert.equal(textOf(await server.call('echo', { message: 'grüße €' })), 'grüße €');
    assert.equal((await server.call('fail')).result.isError, true);
    assert.ok((await server.call('nothing')).error !== undefined);
    assert.match(JSON.stringify(await server.call('echo', { message: 1 })), /message/);
    await server.leave();
});

await checks.check('a call that runs is finished after the end of input', async () => {
    const server = new Program(['serve', '--diagnostics']);

    await server.initialize();
    const slept = server.call('sleep', { ms: 300 });
    server.endInput();
    assert.equal(textOf(await slept), 'slept 300 ms');
    assert.deepEqual(await server.exit(), { code: 0, signal: null });
});

await checks.check('many calls at once are all answered', async () => {
    const server = new Program(['serve', '--diagnostics', '--rate', 'off']);

    await server.initialize();
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => server.call('echo', { message: `${i}` })));
    assert.deepEqual(answers.map(textOf), Array.from({ length: 500 }, (_, i) => `${i}`));
    await server.leave();
});

await checks.check('a large message goes in and out', async () => {
    const server = new Program(['serve', '--diagnostics', '--max-request-bytes', '9MiB']);
    const message = 'x'.repeat(8 * 1024 * 1024);

    await server.initialize();
    assert.ok(textOf(await server.call('echo', { message })) === message);
    await server.leave();
});

const folder = folderWith({
    'tools.json': [
        toolEntry('echo', ['echo']),
        toolEntry('breaks', ['fail']),
        toolEntry('where', ['where']),
        toolEntry('wait', ['wait'], { timeout_ms: 500 }),
        toolEntry('secret', ['variable', 'TW_SECRET']),
        toolEntry('given', ['variable', 'TW_SECRET'], { env: ['TW_SECRET'] }),
        toolEntry('root', ['variable', 'SystemRoot']),
        toolEntry('words', ['arguments', 'a b', 'c"d', 'e\\', '', 'ö']),
        toolEntry('shell', [], { description: 'cmd', command: ['cmd.exe', '/c', 'echo hello'] }),
        toolEntry('missing', [], { description: 'none', command: ['no-such-program'] }),
    ],
    'broken.json': [{ name: 'x' }],
});

await checks.check('commands are tools', async () => {
    const server = new Program(['serve', '--tools', 'tools.json'], { cwd: folder, env: { TW_SECRET: 'token' } });

    await server.initialize();
    assert.deepEqual(JSON.parse(textOf(await server.call('echo', { text: 'ä' }))), { text: 'ä' });
    const broken = await server.call('breaks');
    assert.equal(broken.result.isError, true);
    assert.match(textOf(broken), /^exit status 3\nthe tool fails$/);
    assert.match(textOf(await server.call('where')), /^Z:/i);
    assert.equal(textOf(await server.call('shell')), 'hello');
    assert.deepEqual(textOf(await server.call('words')).split('\n'),
        ['a b', 'c"d', 'e\\', '', 'ö']);
    await server.leave();
});

await checks.check('a command gets the variables that it needs, and no others', async () => {
    const server = new Program(['serve', '--tools', 'tools.json'], { cwd: folder, env: { TW_SECRET: 'token' } });

    await server.initialize();
    assert.equal(textOf(await server.call('secret')), '(not set)');
    assert.equal(textOf(await server.call('given')), 'token');
    assert.match(textOf(await server.call('root')), /^C:\\windows$/i);
    await server.leave();
});

await checks.check('a command that does not end is ended', async () => {
    const server = new Program(['serve', '--tools', 'tools.json'], { cwd: folder });

    await server.initialize();
    const answer = await server.call('wait');
    assert.match(JSON.stringify(answer), /deadline passed after 500 ms/);
    await server.leave();
});

await checks.check('a program that is not there is told', async () => {
    const server = new Program(['serve', '--tools', 'tools.json'], { cwd: folder });

    await server.initialize();
    assert.match(JSON.stringify(await server.call('missing')), /no-such-program/);
    await server.leave();
});

await checks.check('a tools file that cannot be used is status 2, with its line', async () => {
    const { code, stderr } = await run(['serve', '--tools', 'broken.json'], { cwd: folder });
    assert.equal(code, 2);
    assert.match(stderr, /broken\.json:1/);
});

await checks.check('a configuration names files from its own folder', async () => {
    const elsewhere = folderWith({});
    const settings = folderWith({ 'toolwire.json': { tools: 'mine.json' }, 'mine.json': [toolEntry('echo', ['echo'])] });
    const server = new Program(['serve', '--no-toolkit', '--config', windowsPath(`${settings}/toolwire.json`)],
        { cwd: elsewhere });

    await server.initialize();
    assert.deepEqual(await server.tools(), ['echo']);
    await server.leave();
});

checks.finish();
