// `toolwire agent` with services of models over real HTTP (tests/support/fake_model.mjs), in both dialects: streams in odd
// pieces, slow ones, ones that are refused at first, cut, stalled, that call what they should not; and a hundred
// conversations at once.
//
//   agent_models.mjs TOOLWIRE
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, Checks } from '../interop/checks.mjs';
import { last, Shell, text, types, workplace } from './agent_shell.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('agent_models');
const work = workplace();
const KEY = 'sk-test-0123456789';

const service = spawn(process.execPath, [fileURLToPath(new URL('../support/fake_model.mjs', import.meta.url)), '--key', KEY],
    { stdio: ['pipe', 'pipe', 'inherit'] });
process.once('exit', () => service.kill('SIGKILL'));
const port = String((await once(service.stdout, 'data'))[0]).trim();

const DIALECTS = {
    openai: { args: ['--model', 'openai:fake-1', '--base-url', `http://127.0.0.1:${port}/v1`], env: { OPENAI_API_KEY: KEY } },
    anthropic: { args: ['--model', 'anthropic:fake-1', '--base-url', `http://127.0.0.1:${port}`], env: { ANTHROPIC_API_KEY: KEY } },
};

const tools = path.join(work, 'tools.json');
writeFileSync(tools, JSON.stringify([{ name: 'any', description: 'Says what it got.', input_schema: { type: 'object' },
    command: ['/bin/cat'] }]));
const COMMON = ['--no-toolkit', '--diagnostics', '--tools', tools, '--tool', '*=allow', '--log-level', 'info'];

const start = ({ args, env }, more = []) => new Shell(toolwire, work, [...args, ...COMMON, ...more], env);
let n_talks = 0;
const fresh = () => ({ metadata: { conversationId: `talk-${++n_talks}` } });
const count = (n) => Array.from({ length: n }, (_, i) => `t${i} `).join('');
const results = (messages) => messages.filter(({ type }) => type === 'tool_result').map(({ data }) => data);

for (const [name, dialect] of Object.entries(DIALECTS)) {
    const check = (what, fn) => checks.check(`${name}: ${what}`, fn);
    const shell = start(dialect);
    await shell.ready();
    const say = (message, more = {}) => shell.say(message, { ...fresh(), ...more });

    await check('what it says is streamed as it comes', async () => {
        const messages = await say('say Hello brave new world');
        assert.equal(text(messages), 'Hello brave new world');
        assert.equal(types(messages), 'done');
        assert.ok(messages.filter(({ type }) => type === 'token').length >= 4);
        assert.equal(text(await say('odd say \u00fcber \ud83d\ude00 "quoted" \\ done')), '\u00fcber \ud83d\ude00 "quoted" \\ done');
        assert.equal(text(await say('odd tokens 50')), count(50));
        assert.equal(text(await say('tokens 10 20')), count(10));
    });

    await check('tools are called with what was assembled from pieces, and it reads the results', async () => {
        for (const style of ['', 'odd ']) {
            const messages = await say(`${style}call echo {"message":"a \\"b\\" \u00fc"}`);
            assert.equal(types(messages), 'tool_use tool_result done');
            assert.equal(messages.find(({ type }) => type === 'tool_use').data.input.message, 'a "b" \u00fc');
            assert.equal(text(messages), 'Calling. result: a "b" \u00fc');
        }
        const messages = await say('calls any 3');
        assert.deepEqual(results(messages).map(({ result }) => JSON.parse(result).n), [0, 1, 2]);
        assert.match(text(messages), /^result: .*0.*1.*2/s);
        assert.equal(new Set(results(messages).map(({ toolId }) => toolId)).size, 3);
    });

    await check('the same id in two conversations is told apart', async () => {
        const talks = [fresh(), fresh()];
        const ids = talks.map((talk) => shell.send({ kind: 'user_message', message: 'same call sleep {"ms":300}', ...talk }));
        const uses = await Promise.all(ids.map((id) => shell.first(id, 'tool_use')));
        assert.notEqual(uses[0].data.toolId, uses[1].data.toolId);
        for (const id of ids) {
            assert.equal(last(await shell.answer(id)).type, 'done');
        }
    });

    await check('bad arguments, an unknown tool and one that fails: results in words, and the turn goes on', async () => {
        let messages = await say('bad echo');
        assert.match(results(messages)[0].error, /not a JSON object/);
        assert.match(text(messages), /^result: .*not a JSON object/);
        messages = await say('call nothing {}');
        assert.equal(results(messages)[0].error, 'Tool not found: nothing');
        assert.equal(last(messages).type, 'done');
        messages = await say('call fail {"message":"broken"}');
        assert.match(text(messages), /result: .*broken/);
    });

    await check('a loop of calls ends after ten rounds', async () => {
        const messages = await say('loop any');
        assert.equal(results(messages).length, 10);
        assert.deepEqual([last(messages).type, last(messages).data.stopReason], ['done', 'rounds']);
    });

    await check('429 and 529 are tried again, and what does not end is one error', async () => {
        assert.equal(text(await say(`fail 429 1 0 ${name}`)), 'ok');
        assert.equal(text(await say(`fail 529 2 0 ${name}`)), 'ok');
        assert.match(shell.stderr, /info +agent: the model is asked again/);
        const messages = await say('fail 429 99 0');
        assert.equal(types(messages), 'error');
        assert.match(last(messages).error, /429/);
        assert.match(last(await say(`fail 429 1 x dated ${name}`)).error, /it asks to wait 3600 s/);
    });

    await check('a refusal that no trying mends is one error at once', async () => {
        const messages = await say('fail 400 99');
        assert.equal(types(messages), 'error');
        assert.match(last(messages).error, /400/);
    });

    await check('a stream that is cut is one error behind its tokens, and never tried again', async () => {
        const talk = fresh();
        for (const message of ['cut 5', 'odd cut 5', 'broken 5']) {
            const messages = await shell.say(message, talk);
            assert.equal(text(messages), count(5), message);
            assert.equal(types(messages), 'error');
        }
        // The conversation goes on, with what was said.
        assert.equal(text(await shell.say('say on', talk)), 'on');
        assert.match(text(await shell.say('describe', talk)), /user assistant user assistant user assistant/);
    });

    await check('an interrupt ends the stream', async () => {
        const id = shell.send({ kind: 'user_message', message: 'tokens 100000 20', ...fresh() });
        await shell.first(id, 'token');
        await shell.ask({ kind: 'interrupt', requestId: id });
        assert.equal(last(await shell.answer(id)).data.stopReason, 'interrupted');
    });

    await check('images and tools reach the model', async () => {
        const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
        const images = JSON.stringify([{ data: dot, mime_type: 'image/png', name: 'dot.png' }]);
        const asked = JSON.parse(text(await say('describe', { images })));
        assert.equal(asked.images.length, 1);
        assert.deepEqual(asked.tools.sort(), ['any', 'echo', 'fail', 'list_files', 'read_file', 'run_command', 'search_files',
            'sleep', 'write_file']);
        assert.ok(asked.system.length > 0);
    });

    await check('the key is nowhere to be seen', async () => {
        assert.ok(!JSON.stringify(shell.messages).includes(KEY));
        assert.ok(!shell.stderr.includes(KEY));
    });
    await check('it ends in good order', async () => assert.deepEqual(await shell.close(), [0, null], shell.stderr));

    await check('a silent model is an error after its time, a wrong key at once', async () => {
        const stalled = start(dialect, ['--stall-ms', '300ms']);
        const messages = await stalled.say('stall 2');
        assert.equal(types(messages), 'error');
        assert.equal(text(messages), count(2));
        assert.deepEqual(await stalled.close(), [0, null]);
        const variable = Object.keys(dialect.env)[0];
        const refused = start({ ...dialect, env: { [variable]: 'sk-wrong-key' } });
        const answer = await refused.say('say hello');
        assert.equal(types(answer), 'error');
        assert.ok(!JSON.stringify(answer).includes('sk-wrong-key'));
        await refused.close();
    });

    await check('a long conversation is cut to fit, and stays whole: no call without its result', async () => {
        const small = start(dialect, ['--budget-tokens', '4000', '--max-tokens', '256']);
        const talk = fresh();
        await small.say('say the very beginning', talk);
        for (let i = 0; i < 12; i++) {
            const messages = await small.say(`call echo {"message":"${'word '.repeat(200)}${i}"}`, talk);
            assert.equal(last(messages).type, 'done', JSON.stringify(last(messages)));
        }
        const { roles } = JSON.parse(text(await small.say('describe', talk)));
        assert.ok(roles.split(' ').length < 30, roles);
        const { messages } = last(await small.ask({ kind: 'load_conversation', ...talk })).data;
        assert.equal(messages.length, 2 + 12 * 4 + 2, 'all of it is kept');
        await small.close();
    });

    await check('a long beginning is sent once, and what was said since is not lost to it', async () => {
        const small = start(dialect, ['--budget-tokens', '4000', '--max-tokens', '256']);
        const talk = fresh();
        await small.say(`say hello\n${'long '.repeat(8000)}`, talk);
        await small.say('say more', talk);
        const { roles } = JSON.parse(text(await small.say('describe', talk)));
        assert.equal(roles.replace('system ', ''), 'user assistant user', 'without the first message and its answer');
        await small.close();
    });

    await check('a hundred conversations at once, 200 tokens each: all complete, in order, none lost', async () => {
        const crowd = start(dialect);
        await crowd.ready();
        const ids = Array.from({ length: 100 }, () => crowd.send({ kind: 'user_message', message: 'tokens 200 1', ...fresh() }));
        for (const id of ids) {
            await crowd.answer(id);
        }
        const by_id = Map.groupBy(crowd.messages, ({ id }) => id);
        for (const id of ids) {
            assert.equal(text(by_id.get(id)), count(200));
            assert.equal(types(by_id.get(id)), 'done');
        }
        const order = crowd.messages.filter(({ type }) => type === 'token').map(({ id }) => id);
        assert.ok(order.some((id, i) => i > 0 && id !== order[i - 1] && order.indexOf(id) < i - 1), 'they interleave');
        assert.deepEqual(await crowd.close(), [0, null]);
    });
}

await checks.check('with nothing in the environment the script answers, and says so', async () => {
    const shell = new Shell(toolwire, work, COMMON, { OLLAMA_HOST: '127.0.0.1:1' });
    const messages = await shell.say('hello');
    const [status] = await shell.ask({ kind: 'get_status' });
    if (status.data.isScript) {
        assert.match(text(messages), /not a language model/);
    } else {
        console.log(`(there is a model on this machine: ${status.data.model})`);
    }
    await shell.close();
});

await checks.check('OPENAI_BASE_URL alone is enough', async () => {
    const shell = new Shell(toolwire, work, COMMON, { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY });
    assert.equal(text(await shell.say('say chosen', fresh())), 'chosen');
    const [status] = await shell.ask({ kind: 'get_status' });
    assert.match(status.data.model, /openai:fake-1/);
    await shell.close();
});

await checks.check('a proxy is not asked for this machine', async () => {
    const shell = new Shell(toolwire, work, COMMON, { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY,
        http_proxy: 'http://127.0.0.1:1', all_proxy: 'http://127.0.0.1:1' });
    assert.equal(text(await shell.say('say direct', fresh())), 'direct');
    await shell.close();
});

await checks.check('secrets of the address are sent, and never shown', async () => {
    const secrets = ['pass-w0rd', 'query-k3y'];
    const at = `me:${secrets[0]}@127.0.0.1:${port}/v1`;
    for (const [url, said] of [[`http://${at}/?api_key=${secrets[1]}`, /^chosen$/], [`http://${at}/no?k=${secrets[1]}`, /^$/],
        [`ftp://${at}?k=${secrets[1]}`, /^$/]]) {
        const shell = new Shell(toolwire, work, [...COMMON, '--trace-protocol', '--base-url', url], { OPENAI_API_KEY: KEY });
        assert.match(text(await shell.say('say chosen', fresh())), said, url);
        await shell.ask({ kind: 'get_status' });
        await shell.say(`say ${KEY}`, fresh());
        await shell.close();
        for (const secret of secrets) {
            assert.ok(!JSON.stringify(shell.messages).includes(secret), url);
            assert.ok(!shell.stderr.includes(secret), shell.stderr);
        }
        assert.ok(!shell.stderr.includes(KEY), 'nor the key in the trace');
    }
});

service.stdin.end();
checks.finish();
