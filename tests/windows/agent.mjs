// The agent runtime by the script model, and `chat`, which starts it.
import { assert, Checks } from '../interop/checks.mjs';
import { folderWith, Program, run, windowsPath } from './program.mjs';

const checks = new Checks('agent');
const script = ['--config', 'none', '--model', 'script'];

/** An agent that is asked line by line. */
class Agent extends Program {
    #n = 0;

    constructor(...args) {
        super(['agent', '--no-toolkit', ...args]);
    }

    send(request) {
        const id = `r${++this.#n}`;

        this.write(`${JSON.stringify({ id, ...request })}\n`);
        return id;
    }

    /** What was told of a request, as soon as its end was. */
    async told(id) {
        await this.stdout.has(new RegExp(`\\{"type":"(done|error|status)","id":"${id}".*\\n`));
        return this.stdout.all.split('\n').slice(0, -1).map((line) => JSON.parse(line))
            .filter((message) => message.id === id);
    }

    ask(request) {
        return this.told(this.send(request));
    }

    say(message) {
        return this.ask({ kind: 'user_message', message });
    }
}

const types = (messages) => messages.map(({ type }) => type).join(' ');

await checks.check('a message is answered, and a tool is called for it', async () => {
    const agent = new Agent(...script, '--history', 'off', '--diagnostics');
    const answer = await agent.say('/echo grüße €');
    const called = await agent.say('/call echo {"message":"by the tool"}');

    assert.equal(answer.filter(({ type }) => type === 'token').map(({ token }) => token).join(''), 'grüße €');
    assert.equal(types(called), 'tool_use tool_result token token token done');
    assert.equal(called[1].data.result, 'by the tool');
    await agent.leave();
});

await checks.check('a message that runs is interrupted', async () => {
    const agent = new Agent(...script, '--history', 'off');
    const id = agent.send({ kind: 'user_message', message: '/slow 10000 one two three' });

    await agent.stdout.has(/"type":"token"/);
    assert.equal(types(await agent.ask({ kind: 'interrupt', requestId: id })), 'done');
    assert.equal((await agent.told(id)).at(-1).data.stopReason, 'interrupted');
    await agent.leave();
});

await checks.check('a conversation is there again for the next agent', async () => {
    const file = windowsPath(`${folderWith({})}/history/agent.db`);
    const first = new Agent(...script, '--history', file);

    await first.say('/echo to be kept');
    await first.leave();
    const second = new Agent(...script, '--history', file);
    const [status] = await second.ask({ kind: 'get_status' });
    assert.equal(status.data.conversationLength, 2);
    assert.equal(status.data.history, `kept in ${file}`);
    await second.leave();
});

await checks.check('there are no file tools: a root is refused, and the status names none', async () => {
    const { code, stderr } = await run(['agent', ...script, '--root', '.']);
    const agent = new Agent(...script, '--history', 'off');
    const [status] = await agent.ask({ kind: 'get_status' });

    assert.equal(code, 2);
    assert.match(stderr, /not on Windows yet/);
    assert.equal(status.data.root, undefined);
    assert.equal(status.data.tools, 0);
    await agent.leave();
});

await checks.check('a model that is asked over HTTP is not to be had, and that is said', async () => {
    const agent = new Agent('--config', 'none', '--model', 'openai:any', '--base-url', 'http://127.0.0.1:9/v1', '--history', 'off');
    const [failed] = await agent.say('hello');

    assert.equal(failed.type, 'error');
    assert.match(failed.error, /openai:any at .*over HTTP: not on Windows yet/);
    await agent.leave();
});

await checks.check('chat says what it is given, and prints the answer', async () => {
    const words = await run(['chat', ...script, '--history', 'off', '/echo as words']);
    const input = await run(['chat', ...script, '--history', 'off'], { input: '/echo as input\n' });
    const failed = await run(['chat', ...script, '--history', 'off', '/fail on purpose']);

    assert.deepEqual([words.code, words.stdout], [0, 'as words\n'], words.stderr);
    assert.deepEqual([input.code, input.stdout], [0, 'as input\n'], input.stderr);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /on purpose/);
});

checks.finish();
