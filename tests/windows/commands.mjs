// Commands that end by themselves: what they print, and their exit status.
import { assert, Checks } from '../interop/checks.mjs';
import { folderWith, run, toolwire, windowsPath } from './program.mjs';

const checks = new Checks('commands');
const exe = windowsPath(toolwire);
const serve = `"${exe}" serve --diagnostics`;

await checks.check('the version is printed', async () => {
    const { code, stdout } = await run(['-V']);
    assert.equal(code, 0);
    assert.match(stdout, /^toolwire \d+\.\d+\.\d+\n$/);
});

await checks.check('wrong use is told, and is status 2', async () => {
    for (const [args, words] of [
        [[], /a command is missing/],
        [['srve'], /did you mean 'serve'/],
        [['serve', '--toools', 'x'], /did you mean '--tools'/],
        [['serve', 'operand'], /operand/],
        [['host'], /there is no tool to offer/],
        [['addin'], /there is no tool to offer/],
        [['bridge'], /toolwire bridge: /],
        [['validate', '--frame', 'lines'], /--frame is 'lines'/],
    ]) {
        const { code, stderr } = await run(args);
        assert.equal(code, 2, `${args}: ${stderr}`);
        assert.match(stderr, words);
    }
});

await checks.check('valid and invalid documents are told apart', async () => {
    const folder = folderWith({
        'schema.json': { type: 'object', required: ['a'] }, 'good.json': { a: 1 }, 'bad.json': { b: 1 }, 'ä.json': '{"a":"ü"}',
    });
    const good = await run(['validate', '--schema', 'schema.json', 'good.json', 'ä.json'], { cwd: folder });
    assert.equal(good.code, 0, good.stderr + good.stdout);
    const bad = await run(['validate', '--schema', 'schema.json', 'bad.json'], { cwd: folder });
    assert.equal(bad.code, 1);
    assert.match(bad.stdout, /required|"a"|'a'/);
    const missing = await run(['validate', windowsPath(`${folder}/none.json`)]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /cannot read .*none\.json.*no such file/i);
});

await checks.check('lines come from standard input as they are', async () => {
    const { code, stdout } = await run(['validate', '--frame', 'ndjson'], { input: '{"a":1}\r\n[2]\n{"x"\x1a}\n' });
    assert.equal(code, 1);
    assert.match(stdout, /3/);
});

await checks.check('the tools of a server that it starts are listed', async () => {
    const { code, stdout, stderr } = await run(['tools', '--server', serve]);
    assert.equal(code, 0, stderr);
    for (const name of ['echo', 'sleep', 'fail']) {
        assert.match(stdout, new RegExp(`^${name}\\b`, 'm'));
    }
});

await checks.check('a tool is called, and its error is status 1', async () => {
    const good = await run(['call', '--server', serve, 'echo', 'message=grüße']);
    assert.equal(good.code, 0, good.stderr);
    assert.equal(good.stdout, 'grüße\n');
    const bad = await run(['call', '--server', serve, 'fail']);
    assert.equal(bad.code, 1);
});

await checks.check('arguments come from standard input', async () => {
    const { code, stdout, stderr } = await run(['call', '--server', serve, 'echo', '-'], { input: '{"message":"typed"}\n' });
    assert.equal(code, 0, stderr);
    assert.equal(stdout, 'typed\n');
});

await checks.check('a server that cannot be started is told', async () => {
    const { code, stderr } = await run(['tools', '--server', 'C:\\nowhere\\nothing.exe']);
    assert.equal(code, 1);
    assert.match(stderr, /nothing\.exe/);
});

checks.finish();
