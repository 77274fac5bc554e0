// Our client commands against servers that others wrote: server-everything, which knows only the legacy era, and
// the fixture on version 2 of the official TypeScript server, which knows both.
//
//   node our_client.mjs -- TOOLWIRE
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, Checks, serverCommand } from './checks.mjs';

const { command: toolwire } = serverCommand();
const checks = new Checks('our client');
const here = path.dirname(fileURLToPath(import.meta.url));
const quoted = (...words) => words.map((word) => `'${word}'`).join(' ');
const everything = quoted(process.execPath, path.join(
    path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')), 'dist/index.js'));
const fixture = quoted(process.execPath, path.join(here, 'server_v2.mjs'));
const modernOnly = `${fixture} --era modern`;

/** Runs a program to its end: status, stdout as bytes and as text, stderr. */
function run(program, words, input = '') {
    return new Promise((resolve, reject) => {
        const child = spawn(program, words, { stdio: 'pipe' });
        const stdout = [];
        let stderr = '';
        child.stdout.on('data', (chunk) => stdout.push(chunk));
        child.stderr.on('data', (chunk) => { stderr += chunk; });
        child.stdin.on('error', () => {}); // it may end without reading
        child.on('error', reject);
        child.on('close', (status) => {
            const bytes = Buffer.concat(stdout);
            resolve({ status, bytes, text: bytes.toString(), stderr });
        });
        child.stdin.end(input);
    });
}

/** A command that must succeed; gives what it printed. */
async function output(...words) {
    const { status, text, stderr } = await run(toolwire, words);
    assert.equal(status, 0, stderr);
    return text;
}

const json = async (...words) => JSON.parse(await output(...words, '--json'));
const names = (entries) => entries.map(({ name }) => name);

/** A command that must fail, and say so on stderr; gives all that it says. */
async function failure(...words) {
    const { status, text, stderr } = await run(toolwire, words);
    assert.equal(status, 1, `${text}${stderr}`);
    assert.notEqual(stderr, '');
    return `${text}${stderr}`;
}

/** As a person would run it, at a terminal, typing those lines. */
async function atTerminal(lines, ...words) {
    const line = quoted(toolwire, ...words.map((word) => word.replaceAll("'", `'\\''`)));
    const typed = lines.map((answer) => `${answer}\n`).join('');
    const { status, text, stderr } = await run('script', ['-qec', line, '/dev/null'], typed);
    assert.equal(status, 0, `${text}${stderr}`);
    return text;
}

/** What every server of the two has, in the way of each. */
function everythingTests(era) {
    const at = ['--server', everything, '--era', era];
    return {
        'tools': async () => {
            const listed = names((await json('tools', ...at)).tools);
            assert.ok(listed.includes('echo') && listed.includes('get-sum'), listed);
            assert.match(await output('tools', ...at), /^get-sum .*sum of two numbers$/m);
        },
        'one tool': async () => assert.match(await output('tools', ...at, 'get-sum'), /\ba\b[^]*\bb\b/),
        'call': async () => assert.equal(await output('call', ...at, 'echo', 'message=hi'), 'Echo: hi\n'),
        'call with numbers': async () => assert.match(await output('call', ...at, 'get-sum', 'a=2', 'b=40'), /\b42\b/),
        'a structured result': async () => {
            const { structuredContent } = await json('call', ...at, 'get-structured-content', '{"location":"Chicago"}');
            assert.equal(typeof structuredContent.temperature, 'number');
        },
        'a call that takes its time': async () => assert.match(
            await output('call', ...at, 'trigger-long-running-operation', 'duration=1', 'steps=3'), /completed.*Steps: 3/),
        'images and links': async () => {
            assert.match(await output('call', ...at, 'get-tiny-image'), /\[image: image\/png, [\d,]+ bytes\]/);
            const { content } = await json('call', ...at, 'get-resource-links', 'count=2');
            assert.equal(content.filter(({ type }) => type === 'resource_link').length, 2);
        },
        'the folder we work in': async () => assert.ok((await output('call', ...at, 'get-roots-list')).includes(`file://${process.cwd()}`)),
        'a question, declined where nobody can answer': async () =>
            assert.match(await output('call', ...at, 'trigger-elicitation-request'), /declined/),
        'resources': async () => {
            const { resources } = await json('resources', ...at);
            const uri = 'demo://resource/static/document/features.md';
            assert.ok(resources.some((resource) => resource.uri === uri));
            assert.match(await output('resources', ...at, uri), /^# /m);
        },
        'a resource of a template': async () =>
            assert.match(await output('resources', ...at, 'demo://resource/dynamic/text/7'), /Resource 7/),
        'prompts': async () => {
            assert.ok(names((await json('prompts', ...at)).prompts).includes('args-prompt'));
            const { messages } = await json('prompts', ...at, 'args-prompt', 'city=Oslo', 'state=Oslo');
            assert.match(messages[0].content.text, /Oslo/);
        },
        'an unknown tool': async () => assert.match(await failure('call', ...at, 'no-such-tool'), /no-such-tool/),
    };
}

function fixtureTests(era) {
    const at = ['--server', fixture, '--era', era];
    const modern = era !== 'legacy';
    return {
        'tools': async () => {
            const { tools } = await json('tools', ...at);
            assert.equal(tools.length, 19);
            assert.equal(tools[0].annotations.readOnlyHint, true);
        },
        'call': async () => {
            const result = await json('call', ...at, 'echo', 'message=é\u2028"x"');
            assert.deepEqual(result.content, [{ type: 'text', text: 'é\u2028"x"' }]);
            assert.equal(result.resultType, modern ? 'complete' : undefined);
        },
        'arguments of their types': async () => {
            assert.deepEqual((await json('call', ...at, 'add', 'a=0.5', 'b:=2')).structuredContent, { sum: 2.5 });
            assert.equal(await output('call', ...at, 'echo', 'message=42'), '42\n');
        },
        'a tool that fails': async () => assert.match(await failure('call', ...at, 'failing'), /it failed/),
        'a question, declined where nobody can answer': async () => assert.equal(await output('call', ...at, 'ask_name'), 'decline\n'),
        'a question, answered at the terminal': async () =>
            assert.match(await atTerminal(['y', 'Ann'], 'call', ...at, 'ask_name'), /Hello, Ann!/),
        'two questions, one after the other': async () =>
            assert.match(await atTerminal(['y', 'A', 'y', 'B'], 'call', ...at, 'ask_twice'), /two A B/),
        'a page to open': async () => {
            const shown = await atTerminal(['y'], 'call', ...at, 'ask_url');
            assert.match(shown, /https:\/\/example\.test\/consent[^]*accept/);
        },
        'progress': async () => assert.match(await atTerminal([], 'call', ...at, 'progress', 'steps=3'), /step 3 of 3[^]*done 3/),
        'the folder we work in': async () => assert.equal(await output('call', ...at, 'roots'), `file://${process.cwd()}\n`),
        'a question that we never answer': async () => assert.match(await failure('call', ...at, 'sample', 'prompt=x'), /sampling/),
        'resources': async () => {
            const { resources, resourceTemplates } = await json('resources', ...at);
            assert.deepEqual(names(resources), ['static', 'blob', 'watched']);
            assert.deepEqual(names(resourceTemplates), ['item']);
            assert.match(await output('resources', ...at, 'test://item/a%20b'), /^item a b\n?$/);
        },
        'a binary resource': async () => {
            const { bytes } = await run(toolwire, ['resources', ...at, 'test://blob']);
            assert.deepEqual([...bytes], [0, 1, 2, 255]);
        },
        'a resource that is not there': async () => assert.match(await failure('resources', ...at, 'test://none'), /-32602/),
        'prompts': async () => {
            assert.deepEqual(names((await json('prompts', ...at)).prompts), ['simple', 'greet']);
            assert.match(await output('prompts', ...at, 'greet', 'name=Ann', 'style=formal'), /Greet Ann in a formal style[^]*Hello, Ann/);
        },
        'an unknown tool': async () => assert.match(await failure('call', ...at, 'no_such_tool'), /-32602/),
    };
}

const eraTests = {
    'modern where only legacy is known': async () => assert.match(await failure('tools', '--era', 'modern', '--server', everything), /server\/discover/),
    'legacy where only modern is known': async () => assert.match(await failure('tools', '--era', 'legacy', '--server', modernOnly), /-32022/),
    'the right one is found': async () => {
        const result = await json('call', '--server', modernOnly, 'echo', 'message=hi');
        assert.equal(result.resultType, 'complete');
    },
    'a server that ends at the first unknown word is started again as a legacy one': async () => {
        // Some legacy servers die of a request before `initialize`; here a shell looks at the first line for them.
        const picky = `sh -c 'IFS= read -r line; case $line in *\\"initialize\\"*) ;; *) exit 1 ;; esac; ` +
            `{ printf "%s\\n" "$line"; cat; } | exec "$0" "$@"' ${everything}`;
        assert.equal(await output('call', '--server', picky, 'echo', 'message=hi'), 'Echo: hi\n');
    },
};

/** Once the era is found, what follows is the same: so a few of the tests do where it is looked for. */
function some(tests, ...wanted) {
    return Object.fromEntries(wanted.map((name) => [name, tests[name]]));
}

const suites = {
    'server-everything, legacy': everythingTests('legacy'),
    'server-everything, auto': some(everythingTests('auto'), 'tools', 'call', 'resources', 'prompts'),
    'server v2, legacy': fixtureTests('legacy'),
    'server v2, modern': fixtureTests('modern'),
    'server v2, auto': some(fixtureTests('auto'), 'tools', 'call', 'two questions, one after the other', 'resources', 'prompts'),
    'eras': eraTests,
};
const queue = Object.entries(suites).flatMap(([title, tests]) =>
    Object.entries(tests).map(([name, fn]) => [`${title}: ${name}`, fn]));
async function worker() {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await checks.check(...next);
    }
}
// server-everything does not end with its input, and our client waits a second before it makes it: time for others.
await Promise.all([worker(), worker(), worker(), worker()]);
checks.finish();
