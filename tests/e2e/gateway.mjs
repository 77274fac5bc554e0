// MCP servers behind `toolwire serve` and `toolwire up`: both eras on either side, servers that misbehave, reload, and
// what is left when a server or the hub is killed.
//
//   gateway.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const toolwire = resolve(process.argv[2]);
const fixture = join(dirname(fileURLToPath(import.meta.url)), 'gateway_server.mjs');
const work = mkdtempSync(join(tmpdir(), 'tw-gateway-'));
const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';
const children = [];
process.on('exit', () => {
    children.forEach((child) => child.exitCode ?? child.kill('SIGKILL'));
    rmSync(work, { recursive: true, force: true });
});

const server = (kind, name = '', more = {}) => ({ command: process.execPath, args: [fixture, kind, name], ...more });
let nFiles = 0;
const settings = (servers, path = join(work, `settings${++nFiles}.json`), more = {}) => {
    // A state folder of its own: what servers listed in one test is not there in the next.
    writeFileSync(path, JSON.stringify({ mcpServers: servers, state: `${path}.state`, ...more }));
    return path;
};

// A client on the stdio of a program.
class Client {
    constructor(args, can = {}) {
        this.can = can;
        this.n = 0;
        this.waiting = new Map();
        this.told = [];
        this.watchers = [];
        this.errors = '';
        this.child = spawn(toolwire, args, { cwd: work, env: { ...process.env, HOME: work, XDG_STATE_HOME: work, XDG_RUNTIME_DIR: work } });
        children.push(this.child);
        this.ended = new Promise((done) => this.child.on('exit', (code, signal) => done(signal ?? code)));
        this.child.stderr.on('data', (data) => { this.errors += data; });
        createInterface({ input: this.child.stdout }).on('line', (line) => this.take(line));
    }

    take(line) {
        if (!line.startsWith('{"jsonrpc"')) { // what a hub says when it serves
            this.told.push({ method: 'hub', line });
            this.watchers.forEach((watcher) => watcher());
            return;
        }
        const message = JSON.parse(line);
        if (message.method !== undefined) {
            this.told.push(message);
            if (message.id !== undefined) {
                const answer = this.answer(message);
                answer && this.send({ id: message.id, ...answer });
            }
            this.watchers.forEach((watcher) => watcher());
            return;
        }
        this.waiting.get(message.id)?.({ line, ...message });
        this.waiting.delete(message.id);
    }

    answer({ method, params }) {
        if (method === 'elicitation/create') {
            return { result: { action: 'accept', content: { name: params.message.replace(/\W/g, '') } } };
        }
        return { result: { role: 'assistant', model: 'm', content: { type: 'text', text: `max ${params.maxTokens}` } } };
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }

    start(method, params) {
        const id = ++this.n;
        const answer = new Promise((done) => this.waiting.set(id, done));
        this.send({ id, method, params });
        return Object.assign(answer, { id });
    }

    async legacy() {
        const hello = await this.start('initialize', { protocolVersion: '2025-11-25', capabilities: this.can, clientInfo: { name: 't', version: '1' } });
        this.send({ method: 'notifications/initialized' });
        return hello.result;
    }

    modern(method, params = {}, more = {}) {
        return this.start(method, { ...params, _meta: { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: this.can, ...more } });
    }

    call(name, args, more) {
        return this.start('tools/call', { name, arguments: args, ...more });
    }

    async names(method = 'tools/list', key = 'tools', by = 'name') {
        return (await this.start(method, {})).result[key].map((entry) => entry[by]);
    }

    // Waits until something was told that fits.
    until(fits) {
        return new Promise((done) => {
            const look = () => this.told.some(fits) && done(this.told.find(fits));
            this.watchers.push(look);
            look();
        });
    }

    async end() {
        this.child.stdin.end();
        return this.ended;
    }
}

const serve = (config, can, more = []) => new Client(['serve', '--config', config, '--alone', '--no-toolkit', ...more], can);
const textOf = (message) => message.result.content[0].text;
const asking = { elicitation: { form: {} }, sampling: {} };

// The processes that run the fixture for this test.
const fixtures = () => readdirSync('/proc').filter((pid) => {
    try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return /^\d+$/.test(pid) && line.includes(fixture) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(work) &&
            !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
        return false;
    }
});
const gone = async () => {
    for (let i = 0; i < 600 && fixtures().length > 0; i++) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return fixtures();
};

const tests = {
    async 'what a server has is here, byte for byte'() {
        for (const kind of ['legacy', 'modern']) {
            const client = serve(settings({ s: server(kind) }), asking);
            await client.legacy();
            assert.deepEqual((await client.names()).slice(0, 3), ['exact', 'mirror', 'ask']);
            assert.equal((await client.names()).length, 13); // three pages
            const { line } = await client.call('exact', {});
            assert.ok(line.includes('"content":[{"type":"text","text":"t","odd":9007199254740993}],"structuredContent":{"n":9007199254740993,"f":1.0}'), line);
            assert.ok(line.includes('"zebra":[1.0,{"b":1,"a":2}],"alpha":null') && line.includes('"x/y":1.50'), line);
            const seen = JSON.parse(textOf(await client.call('mirror', { a: 1 }, { _meta: { progressToken: 't', traceparent: '00-ab' } })));
            assert.deepEqual([seen.arguments, seen.meta.traceparent], [{ a: 1 }, '00-ab']);
            const refused = await client.call('refuse', {});
            assert.deepEqual(refused.error, { code: -31999, message: 'not today', data: { why: 1 } });
            assert.deepEqual(await client.names('resources/list', 'resources', 'uri'), ['res://one']);
            assert.equal((await client.start('resources/read', { uri: 'res://all/7' })).result.contents[0].text, 'content of res://all/7');
            const prompt = await client.start('prompts/get', { name: 'hello', arguments: { who: 'you' } });
            assert.equal(prompt.result.messages[0].content.text, 'Hello you');
            // What is false, zero or empty is as it came, and what is not there does not come.
            for (const send of [(method, params) => client.start(method, params), (method, params) => client.modern(method, params)]) {
                const call = (name, args) => send('tools/call', { name, arguments: args });
                assert.deepEqual((await call('refuse', { code: 0 })).error, { code: 0, message: 'not today', data: { why: 1 } });
                assert.equal((await call('exact', { more: ',"isError":false' })).result.isError, false);
                assert.equal('isError' in (await call('exact', {})).result, false);
                assert.equal((await call('exact', { more: ',"isError":true' })).result.isError, true);
                const described = async (who) => (await send('prompts/get', { name: 'hello', arguments: { who } })).result.description;
                assert.deepEqual([await described('you'), await described(''), await described('nobody')], ['A greeting.', '', undefined]);
            }
            const completion = await client.start('completion/complete', { ref: { type: 'ref/prompt', name: 'hello' }, argument: { name: 'who', value: 'a' } });
            assert.deepEqual(completion.result.completion.values, ['a!']);
            assert.equal(await client.end(), 0);
        }
    },

    async 'progress, logs, cancel, changes and updates pass'() {
        const client = serve(settings({ s: server('legacy') }));
        await client.legacy();
        await client.names();
        assert.equal(textOf(await client.call('count', {}, { _meta: { progressToken: 'p' } })), 'counted');
        assert.deepEqual(client.told.filter((m) => m.method === 'notifications/progress').map((m) => m.params.progress), [1, 2, 3]);
        assert.equal(client.told.filter((m) => m.method === 'notifications/message').length, 3);
        client.told.length = 0;
        await client.call('grow', {});
        await client.until((m) => m.method === 'notifications/tools/list_changed');
        assert.ok((await client.names()).includes('grown'));
        await client.start('resources/subscribe', { uri: 'res://one' });
        await client.call('touch', {});
        await client.until((m) => m.method === 'notifications/resources/updated' && m.params.uri === 'res://one');
        client.told.length = 0;
        const { id } = client.call('hang', {});
        client.send({ method: 'notifications/cancelled', params: { requestId: id } });
        await client.until((m) => m.method === 'notifications/tools/list_changed');
        assert.ok((await client.names()).includes('was_cancelled'));
        await client.end();
    },

    async 'updates reach whoever listens, and what nobody wants is taken back'() {
        for (const kind of ['legacy', 'modern']) {
            const client = serve(settings({ s: server(kind) }));
            await client.legacy();
            await client.names();
            // What the server has been asked to tell, once it is that.
            const held = async (want) => {
                while (textOf(await client.call('held', {})) !== want) { /* it is on its way */ }
            };
            const listen = (...uris) => client.modern('subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
            const drop = (requestId) => client.send({ method: 'notifications/cancelled', params: { requestId } });
            const first = listen('res://one').id;
            assert.equal(textOf(await client.call('held', {})), 'res://one'); // no call overtakes it
            const second = listen('res://one', 'res://all/7', 'res://nobody/has/it').id;
            await client.start('resources/subscribe', { uri: 'res://all/8' });
            await held('res://all/7 res://all/8 res://one');
            client.told.length = 0;
            await client.call('touch', {});
            for (const [uri, id] of [['res://one', first], ['res://one', second], ['res://all/7', second], ['res://all/8', undefined]]) {
                await client.until((m) => m.method === 'notifications/resources/updated' && m.params.uri === uri &&
                    m.params._meta?.[`${META}subscriptionId`] === id);
            }
            assert.equal(client.told.length, 4);
            drop(second);
            await held('res://all/8 res://one');
            await client.start('resources/unsubscribe', { uri: 'res://all/8' });
            await held('res://one');
            // A server that has ended is told again.
            await client.call('die', {});
            await held('res://one');
            drop(first);
            await held('');
            await client.end();
        }
    },

    async 'a question reaches the one who called, in every pair of eras'() {
        for (const kind of ['legacy', 'modern']) {
            const own = kind === 'modern' ? ' mine' : '';
            const client = serve(settings({ s: server(kind) }), asking);
            await client.legacy();
            assert.equal(textOf(await client.call('ask', {})), `Name1${own}`);
            assert.equal(textOf(await client.call('two', {})), `Name1 Name2${own}`);
            // The same client as a modern one: each question is a round of its own from a legacy server.
            let { result } = await client.modern('tools/call', { name: 'two', arguments: {} });
            for (let rounds = 0; result.resultType === 'input_required'; rounds++) {
                assert.ok(rounds < 2);
                const inputResponses = {};
                for (const [key, { params }] of Object.entries(result.inputRequests)) {
                    inputResponses[key] = { action: 'accept', content: { name: params.message } };
                }
                ({ result } = await client.modern('tools/call', { name: 'two', arguments: {}, inputResponses, requestState: result.requestState }));
            }
            assert.equal(result.content[0].text, `Name 1? Name 2?${own}`);
            await client.end();
        }
        const client = serve(settings({ s: server('legacy') }), asking);
        await client.legacy();
        assert.equal(textOf(await client.call('sample', {})), 'sampled max 7');
        // What the client says no with reaches the server.
        client.answer = () => ({ error: { code: -1, message: 'User rejected sampling request' } });
        assert.equal(textOf(await client.call('sample', {})), 'refused: -1 User rejected sampling request');
        await client.end();
        const mute = serve(settings({ s: server('legacy') }), {});
        await mute.legacy();
        assert.match(textOf(await mute.call('ask', {})), /^refused: .*cannot be asked/);
        await mute.end();
    },

    async 'a question that nobody will answer ends the call at its server'() {
        const cancelled = async (client) => {
            while (!(await client.names()).includes('was_cancelled')) {
                await client.until((m) => m.method === 'notifications/tools/list_changed');
                client.told.length = 0;
            }
        };
        // Taken back while the question is open.
        const client = serve(settings({ s: server('legacy') }), asking);
        await client.legacy();
        await client.names();
        client.answer = () => undefined;
        const { id } = client.call('ask', {});
        await client.until((m) => m.method === 'elicitation/create');
        client.send({ method: 'notifications/cancelled', params: { requestId: id } });
        await cancelled(client);
        await client.end();
        // A client that was asked, owes the answers, and goes.
        const state = join(work, 'state-asked');
        const path = settings({ s: server('legacy') }, undefined, { http: 'off', queue: 'off' });
        const hub = new Client(['up', '--config', path, '--state', state, '--no-toolkit']);
        await hub.until((m) => m.method === 'hub');
        const [stays, goes] = [1, 2].map(() => new Client(['serve', '--config', path, '--state', state], asking));
        await stays.legacy();
        assert.ok(!(await stays.names()).includes('was_cancelled'));
        assert.equal((await goes.modern('tools/call', { name: 'ask', arguments: {} })).result.resultType, 'input_required');
        await goes.end();
        await cancelled(stays);
        await stays.end();
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
    },

    async 'an answer counts once, and a state that was changed for nothing'() {
        const client = serve(settings({ s: server('legacy') }), asking);
        const first = await client.modern('tools/call', { name: 'ask', arguments: {} });
        const [key] = Object.keys(first.result.inputRequests);
        const again = { name: 'ask', arguments: {}, inputResponses: { [key]: { action: 'accept', content: { name: 'N' } } },
                        requestState: first.result.requestState };
        const forged = await client.modern('tools/call', { ...again, requestState: `${again.requestState.slice(0, -2)}AA` });
        assert.ok(forged.error !== undefined);
        assert.equal(textOf(await client.modern('tools/call', again)), 'N');
        assert.match(textOf(await client.modern('tools/call', again)), /not open any more/);
        await client.end();
    },

    async 'names are plain where they are clear'() {
        const client = serve(settings({ one: server('legacy'), two: server('modern', '', { deny: ['d*'], tools: { exact: { description: 'Mine.' } } }),
                                        three: server('legacy', 'x_', { prefix: 'q', allow: ['*exact', '*ask'] }), off: server('legacy', 'off_', { disabled: true }) }));
        await client.legacy();
        const list = (await client.start('tools/list', {})).result.tools;
        const names = list.map((tool) => tool.name);
        assert.ok(names.includes('exact') && names.includes('two__exact') && names.includes('die') && !names.includes('one__exact'), names);
        assert.deepEqual(names.slice(-2), ['q__x_exact', 'q__x_ask']);
        assert.ok(!names.some((name) => name.startsWith('off_')));
        assert.equal(list.find((tool) => tool.name === 'two__exact').description, 'Mine.');
        assert.equal(textOf(await client.call('two__mirror', { a: 1 })).includes('"a":1'), true);
        await client.end();
    },

    async 'a server that is toolwire itself does not start itself for ever'() {
        // Settings that name themselves: the second is there, the third is not started.
        const path = join(work, 'myself.json');
        settings({ me: { command: toolwire, args: ['serve', '--config', path, '--alone'] } }, path);
        const client = serve(path);
        await client.legacy();
        await client.names();
        const running = readdirSync('/proc').filter((pid) => {
            try {
                return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(path);
            } catch {
                return false;
            }
        });
        assert.ok(running.length >= 2 && running.length <= 3, String(running.length)); // the first has a guard
        await client.end();
        // A hub whose server would be a front of the same hub.
        const state = join(work, 'state-myself');
        const own = settings({ me: { command: toolwire, args: ['serve', '--state', state] } }, undefined, { http: 'off', queue: 'off' });
        const hub = new Client(['up', '--config', own, '--state', state, '--no-toolkit']);
        await hub.until((m) => m.method === 'hub');
        const front = new Client(['serve', '--config', own, '--state', state]);
        await front.legacy();
        const { _meta } = (await front.start('tools/list', {})).result;
        assert.match(_meta['toolwire/servers'][0].why, /it would be its own/);
        await front.end();
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
    },

    async 'a server that misbehaves costs nobody else'() {
        const client = serve(settings({ good: server('legacy', 'good_'), dead: server('dead', 'dead_'), stall: server('stall', 'stall_'),
                                        garbage: server('garbage', 'garbage_'), noisy: server('noisy', 'noisy_'), circle: server('circle', 'circle_'),
                                        missing: { command: join(work, 'nothing') } }));
        await client.legacy();
        const { tools, _meta } = (await client.start('tools/list', {})).result;
        const names = tools.map((tool) => tool.name);
        for (const name of ['good_exact', 'noisy_exact', 'circle_exact']) {
            assert.ok(names.includes(name), `${name} in ${names}`);
        }
        const states = Object.fromEntries(_meta['toolwire/servers'].map(({ name, state, why }) => [name, `${state} ${why}`]));
        assert.match(states.dead, /^down .*exit status 3.*no licence for this machine/s);
        assert.match(states.missing, /^down cannot start/);
        assert.match(states.stall, /^starting/);
        const { error } = await client.call('dead_exact', {});
        assert.match(error.message, /unknown tool: dead_exact.*the server dead is not there: .*no licence/s);
        assert.equal(textOf(await client.call('noisy_mirror', {})).includes('meta'), true);
        assert.match(client.errors, /circle.*cursor came again/);
        const lost = await client.call('good_die', {});
        assert.ok(lost.result.isError);
        assert.match(textOf(lost), /may have run.*exit status 7.*it hurts/s);
        assert.equal(textOf(await client.call('good_mirror', { b: 2 })).includes('"b":2'), true);
        await client.end();
        assert.deepEqual(await gone(), []);
    },

    async 'a resource that two servers have is the first one\'s, and the log says so once'() {
        const client = serve(settings({ a: server('legacy'), b: server('modern') }));
        await client.legacy();
        assert.ok((await client.names()).includes('b__mirror'));
        assert.deepEqual(await client.names('resources/list', 'resources', 'uri'), ['res://one']);
        client.told.length = 0;
        await client.call('grow', {}); // and so all is published anew
        await client.until((m) => m.method === 'notifications/tools/list_changed');
        assert.ok((await client.names()).length > 0);
        await client.end();
        assert.equal(client.errors.match(/the resource res:\/\/one is listed twice/g)?.length, 1, client.errors);
    },

    async 'nothing is left of a server that does not want to end'() {
        const client = serve(settings({ s: server('stubborn') }));
        await client.legacy();
        await client.names();
        assert.equal(fixtures().length, 1);
        await client.end();
        assert.deepEqual(await gone(), []);
    },

    async 'nothing is left when the hub is killed'() {
        const client = serve(settings({ a: server('stubborn', 'a_'), b: server('legacy', 'b_') }));
        await client.legacy();
        await client.names();
        assert.equal(fixtures().length, 2);
        client.child.kill('SIGKILL');
        await client.ended;
        assert.deepEqual(await gone(), []);
    },

    async 'a question that may be of two clients is refused, and then they take turns'() {
        const state = join(work, 'turns');
        const path = settings({ s: server('legacy') }, undefined, { http: 'off', queue: 'off' });
        const hub = new Client(['up', '--config', path, '--state', state, '--no-toolkit']);
        await hub.until((m) => m.method === 'hub');
        const [a, b] = [1, 2].map(() => new Client(['serve', '--config', path, '--state', state], asking));
        await Promise.all([a.legacy(), b.legacy()]);
        await Promise.all([a.names(), b.names()]);
        const hang = a.call('hang', {}, { _meta: { progressToken: 'p' } });
        assert.match(textOf(await a.call('mirror', {})), /meta/); // the server has both
        assert.match(textOf(await b.call('ask', {})), /^refused: several clients/);
        const turn = b.call('ask', {});
        a.send({ method: 'notifications/cancelled', params: { requestId: hang.id } });
        assert.equal(textOf(await turn), 'Name1');
        assert.ok(!a.told.some((m) => m.method === 'elicitation/create'));
        await Promise.all([a.end(), b.end()]);
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
    },

    async 'at a server that asks while it waits, nobody is asked for another'() {
        const state = join(work, 'pairs');
        const path = settings({ s: server('legacy') }, undefined, { http: 'off', queue: 'off' });
        const hub = new Client(['up', '--config', path, '--state', state, '--no-toolkit']);
        await hub.until((m) => m.method === 'hub');
        const [a, b] = [1, 2].map(() => new Client(['serve', '--config', path, '--state', state], asking));
        await Promise.all([a.legacy(), b.legacy()]);
        await Promise.all([a.names(), b.names()]);
        const asked = (m) => m.method === 'elicitation/create';
        const changed = (m) => m.method === 'notifications/tools/list_changed';
        const answer = a.answer;
        a.answer = () => undefined;
        const pair = a.call('pair', {});
        const first = await a.until(asked);
        await a.until(changed);
        a.answer = answer;
        a.send({ id: first.id, ...answer(first) });
        assert.equal(textOf(await pair), 'Name1 Name2');
        a.answer = () => undefined;
        a.told.length = 0;
        a.call('pair', {});
        await a.until(changed);
        assert.equal(a.told.filter(asked).length, 1);
        assert.match(textOf(await b.call('ask', {})), /^refused: several clients/);
        assert.ok(!b.told.some(asked));
        await Promise.all([a.end(), b.end()]);
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
    },

    async 'nothing is started before it is needed, and what was listed is there the next time'() {
        const path = settings({ a: server('legacy', 'a_', { env: { SECRET: 'hush-hush' } }), b: server('modern', 'b_'), c: server('legacy', 'c_', { start: 'eager' }) });
        const folder = `${path}.state/servers`;
        // Nobody knows what they have: a call that names no tool asks them all.
        let client = serve(path);
        await client.legacy();
        while (fixtures().length < 1) {
            await new Promise((done) => setTimeout(done, 20));
        }
        assert.match(readFileSync(`/proc/${fixtures()[0]}/cmdline`, 'utf8'), /c_/);
        assert.equal(fixtures().length, 1);
        assert.equal(textOf(await client.call('b_mirror', { k: 1 })).includes('"k":1'), true);
        assert.equal(fixtures().length, 3);
        const listed = (await client.names()).length;
        assert.equal(listed, 39);
        await client.end();
        assert.deepEqual(await gone(), []);
        const files = readdirSync(folder);
        assert.equal(files.length, 2); // c is asked each time
        for (const file of files) {
            assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
            assert.ok(!readFileSync(join(folder, file), 'utf8').includes('hush'));
        }
        assert.equal(statSync(folder).mode & 0o777, 0o700);
        // Somebody knows: lists start nothing, a call its own server.
        settings({ a: server('legacy', 'a_', { env: { SECRET: 'hush-hush' } }), b: server('modern', 'b_') }, path);
        client = serve(path);
        await client.legacy();
        assert.equal((await client.names()).length, 26);
        assert.equal((await client.names('resources/list', 'resources', 'uri')).length, 2);
        assert.equal(fixtures().length, 0);
        assert.equal(textOf(await client.call('a_mirror', { k: 2 })).includes('"k":2'), true);
        assert.equal(fixtures().length, 1);
        assert.equal((await client.names()).length, 26);
        assert.deepEqual(client.told, []); // what it has is what it had
        await client.end();
        // Another secret is another server.
        settings({ a: server('legacy', 'a_', { env: { SECRET: 'other' } }), b: server('modern', 'b_') }, path);
        client = serve(path);
        await client.legacy();
        assert.equal((await client.names()).length, 26);
        assert.equal(fixtures().length, 1);
        // What it lists now is other than what was kept.
        client.told.length = 0;
        await client.call('b_grow', {});
        await client.until((m) => m.method === 'notifications/tools/list_changed');
        assert.equal((await client.names()).length, 27);
        await client.end();
        client = serve(path);
        await client.legacy();
        assert.ok((await client.names()).includes('b_grown'));
        await client.call('b_mirror', {});
        await client.until((m) => m.method === 'notifications/tools/list_changed');
        assert.ok(!(await client.names()).includes('b_grown'));
        await client.end();
        assert.deepEqual(await gone(), []);
    },

    async 'an idle server is no dead one'() {
        const path = settings({ s: server('legacy') }, undefined, { http: '127.0.0.1:0', queue: 'off' });
        const hub = new Client(['up', '--config', path, '--no-toolkit']);
        const { line } = await hub.until((m) => m.method === 'hub' && /http:/.test(m.line));
        const [url] = line.match(/http:[^\s/]*\/\/[^\s/]+/);
        assert.match(await (await fetch(`${url}/metrics`)).text(), /toolwire_server_up\{server="s"\} 1[^]*toolwire_server_starts_total\{server="s"\} 0/);
        assert.match(await (await fetch(`${url}/`)).text(), /s \(idle\)/);
        assert.deepEqual(fixtures(), []);
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
    },

    async 'jobs over HTTP wait for what has yet to be started'() {
        for (const ask of [
            async (url) => (await fetch(`${url}/rpc/mirror?waitMs=10000`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"k":"job"}' })).text(),
            async (url) => (await fetch(`${url}/docs/openrpc.json`)).text(),
            async (url) => (await fetch(`${url}/rpc/nobody_has_it`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' })).text(),
        ]) {
            const path = settings({ s: server('legacy') }, undefined, { http: '127.0.0.1:0' });
            const hub = new Client(['up', '--config', path, '--no-toolkit']);
            const { line } = await hub.until((m) => m.method === 'hub' && /http:/.test(m.line));
            const [url] = line.match(/http:[^\s/]*\/\/[^\s/]+/);
            const text = await ask(url);
            assert.match(text, /"k\\*":\\*"job|"name":"mirror"|UNKNOWN_COMMAND/);
            assert.equal(fixtures().length, 1);
            hub.child.kill('SIGTERM');
            assert.equal(await hub.ended, 0);
        }
    },

    async 'a job that waits has the server of its tool started'() {
        const path = settings({ s: server('legacy') }, undefined, { http: '127.0.0.1:0' });
        const begin = async () => {
            const hub = new Client(['up', '--config', path, '--no-toolkit']);
            const { line } = await hub.until((m) => m.method === 'hub' && /http:/.test(m.line));
            return { hub, url: line.match(/http:[^\s/]*\/\/[^\s/]+/)[0] };
        };
        const first = await begin();
        const body = JSON.stringify({ method: 'mirror', params: { k: 'later' }, delayMs: 1500 });
        const { jobId } = await (await fetch(`${first.url}/enqueue`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).json();
        first.hub.child.kill('SIGTERM');
        assert.equal(await first.hub.ended, 0);
        rmSync(`${path}.state/servers`, { recursive: true });
        // Nobody lists anything, and nobody knows what the server has.
        const second = await begin();
        const result = await (await fetch(`${second.url}/get_result?jobId=${jobId}&waitMs=20000`)).text();
        assert.match(result, /later/);
        second.hub.child.kill('SIGTERM');
        assert.equal(await second.hub.ended, 0);
    },

    async 'a fault in the settings of a server costs that server'() {
        const more = { http: '127.0.0.1:0', queue: 'off' };
        const good = server('legacy', 'good_');
        const unset = server('legacy', 'bad_', { env: { K: '${TW_TEST_UNSET}' } });
        const path = settings({ good, bad: unset, typo: { comand: 'x' } }, undefined, more);
        const hub = new Client(['up', '--config', path, '--state', join(work, 'state'), '--no-toolkit']);
        const { line } = await hub.until((m) => m.method === 'hub' && /http:/.test(m.line));
        const [url] = line.match(/http:[^\s/]*\/\/[^\s/]+/);
        const front = new Client(['serve', '--config', path, '--state', join(work, 'state')]);
        await front.legacy();
        const list = async () => {
            const { tools, _meta } = (await front.start('tools/list', {})).result;
            return { names: tools.map((tool) => tool.name), states: Object.fromEntries((_meta?.['toolwire/servers'] ?? []).map(({ name, state, why }) => [name, `${state} ${why}`])) };
        };
        let { names, states } = await list();
        assert.ok(names.includes('good_exact') && !names.some((name) => name.startsWith('bad_')), String(names));
        assert.match(states.bad, /^disabled .*settings\d+\.json:1: mcpServers\.bad\.env\.K: \$\{TW_TEST_UNSET\} is not set/);
        assert.match(states.typo, /^disabled .*mcpServers\.typo\.comand: unknown key; did you mean 'command'/);
        assert.match(hub.errors, /bad is not used: .*TW_TEST_UNSET/);
        assert.match(await (await fetch(`${url}/`)).text(), /bad \(disabled\)[^]*bad: .*TW_TEST_UNSET/);
        // A server that was well and is not any more: all stays as it is. One that is mended comes.
        settings({ good: { ...good, cwd: 7 }, bad: server('legacy', 'bad_') }, path, more);
        while (!/the new settings are not used: .*mcpServers\.good\.cwd: expected a string/.test(hub.errors)) {
            await new Promise((done) => setTimeout(done, 20));
        }
        ({ names, states } = await list());
        assert.ok(names.includes('good_exact') && /^disabled/.test(states.bad), String(names));
        settings({ good, bad: server('legacy', 'bad_'), typo: { comand: 'x' }, worse: 7 }, path, more);
        while (!({ names, states } = await list()).names.includes('bad_exact')) {
            await new Promise((done) => setTimeout(done, 20));
        }
        assert.deepEqual([states.bad, states.worse?.slice(0, 9)], [undefined, 'disabled '], JSON.stringify(states));
        assert.ok(textOf(await front.call('bad_mirror', { d: 4 })).includes('"d":4'));
        await front.end();
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
        // What is wrong with the whole is an error of the file.
        settings({ 'a\nb': good }, path, more);
        const none = new Client(['up', '--config', path, '--state', join(work, 'state'), '--no-toolkit']);
        assert.equal(await none.ended, 2);
        assert.match(none.errors, /mcpServers: a name with a control character/);
    },

    async 'a reload touches only what has changed'() {
        const path = settings({ stay: server('legacy', 'stay_'), leave: server('legacy', 'leave_') }, undefined, { http: 'off', queue: 'off' });
        const hub = new Client(['up', '--config', path, '--state', join(work, 'state'), '--no-toolkit']);
        await hub.until((m) => m.method === 'hub');
        const front = new Client(['serve', '--config', path, '--state', join(work, 'state')]);
        await front.legacy();
        let names = await front.names();
        assert.ok(names.includes('stay_exact') && names.includes('leave_exact'), String(names));
        const before = fixtures();
        const kept = before.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('stay_'));
        front.told.length = 0;
        settings({ stay: server('legacy', 'stay_'), come: server('modern', 'come_') }, path, { http: 'off', queue: 'off' });
        for (;;) {
            await front.until((m) => m.method === 'notifications/tools/list_changed');
            front.told.length = 0;
            names = await front.names();
            if (names.includes('come_exact')) {
                break;
            }
        }
        assert.ok(names.includes('stay_exact') && !names.includes('leave_exact'), String(names));
        assert.ok(fixtures().includes(kept));
        assert.equal(textOf(await front.call('come_mirror', { c: 3 })).includes('"c":3'), true);
        await front.end();
        hub.child.kill('SIGTERM');
        assert.equal(await hub.ended, 0);
        assert.deepEqual(await gone(), []);
    },
};

for (const [name, test] of Object.entries(tests)) {
    if (process.argv[3] === undefined || name.includes(process.argv[3])) {
        await test();
        console.log(`ok: ${name}`);
    }
}
process.exit(0);
