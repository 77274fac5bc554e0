// What keeps a model's context small: tools that are found by search, results that are shortened.
//
//   context.mjs TOOLWIRE
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { assert, Checks } from '../interop/checks.mjs';
import { messagesOf, modernRequest, send } from '../interop/http.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('context');
const work = mkdtempSync(path.join(os.tmpdir(), 'tw-context-'));
const env = { PATH: process.env.PATH, HOME: work, XDG_RUNTIME_DIR: work, XDG_STATE_HOME: work, TMPDIR: work };
process.setMaxListeners(0); // each program that is started has one
process.once('exit', () => rmSync(work, { recursive: true, force: true }));

const MODERN = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'context', version: '1' } };

/** One server on stdio; answers by id, notifications in a list. */
class Wire {
    #waiting = new Map();
    #id = 0;

    constructor(args) {
        this.told = [];
        this.child = spawn(toolwire, args, { cwd: work, env, stdio: ['pipe', 'pipe', 'inherit'] });
        process.once('exit', () => this.child.kill('SIGKILL'));
        readline.createInterface({ input: this.child.stdout }).on('line', (line) => {
            const message = JSON.parse(line);
            const done = this.#waiting.get(message.id);
            if (done === undefined) {
                this.told.push(message);
                this.onTold?.(message);
            } else {
                done(message);
            }
        });
    }

    send(message) {
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    }

    /** Gives the id and the promise of the answer. */
    begin(method, params = {}) {
        const id = ++this.#id;
        const answer = new Promise((done) => this.#waiting.set(id, done));
        this.send({ id, method, params });
        return { id, answer };
    }

    async ask(method, params) {
        const { error, result } = await this.begin(method, params).answer;
        assert.equal(error, undefined, JSON.stringify(error));
        return result;
    }

    call(name, args, more = {}) {
        return this.ask('tools/call', { name, arguments: args, ...more });
    }

    async hello(protocolVersion) {
        await this.ask('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'context', version: '1' } });
        this.send({ method: 'notifications/initialized' });
        return this;
    }

    async end() {
        this.child.stdin.end();
        await once(this.child, 'exit');
    }
}

/** The same questions over HTTP: of a session, or each for itself. */
class Web {
    #id = 0;
    #session = {};

    constructor(url) {
        this.url = url;
    }

    async #post({ headers, body }) {
        const answer = await send(this.url, { headers: { ...this.#session, ...headers }, body });
        const messages = [];
        for await (const message of messagesOf(answer)) {
            messages.push(message);
        }
        return { answer, message: messages.find(({ id }) => id === body.id) };
    }

    async ask(method, params = {}) {
        const id = ++this.#id;
        const { message } = await this.#post(params._meta === MODERN ? modernRequest(id, method, params)
            : { body: { jsonrpc: '2.0', id, method, params } });
        assert.equal(message.error, undefined, JSON.stringify(message.error));
        return message.result;
    }

    call(name, args, more = {}) {
        return this.ask('tools/call', { name, arguments: args, ...more });
    }

    async hello(protocolVersion) {
        const { answer } = await this.#post({ body: { jsonrpc: '2.0', id: 'hello', method: 'initialize',
            params: { protocolVersion, capabilities: {}, clientInfo: { name: 'context', version: '1' } } } });
        this.#session = { 'mcp-session-id': answer.headers['mcp-session-id'], 'mcp-protocol-version': protocolVersion };
        await this.#post({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
        return this;
    }

    end() {
    }
}

const text = (result) => result.content.map((block) => block.text ?? '').join('\n');
const names = ({ tools }) => tools.map(({ name }) => name);
const LAZY = ['serve', '--alone', '--config', path.join(work, 'lazy.json'), '--no-toolkit', '--diagnostics'];
const THREE = ['search_tools', 'describe_tool', 'call_tool'];

writeFileSync(path.join(work, 'lazy.json'), JSON.stringify({ lazy_tools: { always: ['ech*'] } }));

for (const era of ['2024-11-05', '2025-11-25', '2026-07-28']) {
    const wire = new Wire(LAZY);
    const meta = era === '2026-07-28' ? { _meta: MODERN } : {};
    if (era !== '2026-07-28') {
        await wire.hello(era);
    }
    await checks.check(`${era}: the list holds the three tools, and what is always shown`, async () => {
        assert.deepEqual(names(await wire.ask('tools/list', meta)), [...THREE, 'echo']);
    });
    await checks.check(`${era}: a tool is found, described and called`, async () => {
        assert.match(text(await wire.call('search_tools', { query: 'wait some milliseconds' }, meta)), /\n- sleep\(ms\)/);
        assert.equal(JSON.parse(text(await wire.call('describe_tool', { name: 'sleep' }, meta))).name, 'sleep');
        assert.equal(text(await wire.call('call_tool', { name: 'sleep', arguments: { ms: 1 } }, meta)), 'slept 1 ms');
        assert.equal(text(await wire.call('sleep', { ms: 2 }, meta)), 'slept 2 ms');
    });
    await checks.check(`${era}: its arguments and errors are its own`, async () => {
        const direct = await wire.begin('tools/call', { name: 'sleep', arguments: { ms: 'x' }, ...meta }).answer;
        const through = await wire.begin('tools/call',
            { name: 'call_tool', arguments: { name: 'sleep', arguments: { ms: 'x' } }, ...meta }).answer;
        assert.deepEqual({ ...through, id: 0 }, { ...direct, id: 0 });
        const failed = await wire.begin('tools/call',
            { name: 'call_tool', arguments: { name: 'fail', arguments: { code: -7, message: 'no' } }, ...meta }).answer;
        assert.match(JSON.stringify(failed), /-7/);
        const unknown = await wire.call('call_tool', { name: 'slep', arguments: {} }, meta);
        assert.equal(unknown.isError, true);
        assert.match(text(unknown), /There is no tool slep\. Perhaps[^]*- sleep\(ms\)/);
    });
    await checks.check(`${era}: progress and cancel reach it`, async () => {
        const { id } = wire.begin('tools/call', { name: 'call_tool', arguments: { name: 'sleep', arguments: { ms: 60000 } },
            _meta: { ...meta._meta, progressToken: 'p' } });
        wire.send({ method: 'notifications/cancelled', params: { requestId: id, ...meta } });
        const running = wire.begin('tools/call', { name: 'call_tool', arguments: { name: 'sleep', arguments: { ms: 60 } },
            _meta: { ...meta._meta, progressToken: 'q' } });
        assert.equal(text((await running.answer).result), 'slept 60 ms');
        assert.ok(wire.told.some(({ method, params }) => method === 'notifications/progress' && params.progressToken === 'q'));
    });
    await wire.end(); /* at once: the cancelled call does not hold it up for a minute */
}

await checks.check('a hub counts and records the tool that was meant, and lists what its settings say', async () => {
    const config = path.join(work, 'hub.json');
    const audit = path.join(work, 'audit.jsonl');
    writeFileSync(config, JSON.stringify({ lazy_tools: true, http: 'off', queue: 'off', audit, state: path.join(work, 'state') }));
    const hub = spawn(toolwire, ['up', '--config', config, '--json', '--diagnostics', '--no-toolkit'],
        { cwd: work, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const kill = () => hub.kill('SIGKILL');
    process.once('exit', kill);
    await once(hub.stdout, 'data');
    const wire = await new Wire(['serve', '--config', config]).hello('2025-11-25');
    assert.deepEqual(names(await wire.ask('tools/list')), THREE);
    assert.equal(text(await wire.call('call_tool', { name: 'echo', arguments: { message: 'm' } })), 'm');
    // The settings change while it serves.
    const changed = new Promise((done) => { wire.onTold = ({ method }) => method === 'notifications/tools/list_changed' && done(); });
    writeFileSync(config, JSON.stringify({ http: 'off', queue: 'off', audit, state: path.join(work, 'state') }));
    hub.kill('SIGHUP');
    await changed;
    assert.deepEqual(names(await wire.ask('tools/list')), ['echo', 'sleep', 'fail']);
    await wire.end();
    hub.kill('SIGTERM');
    await once(hub, 'exit');
    process.removeListener('exit', kill);
    // The record is written behind the answers; now it is whole.
    const lines = readFileSync(audit, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(lines.filter(({ target }) => target === 'echo').length, 1, JSON.stringify(lines));
    assert.ok(!lines.some(({ target }) => target === 'call_tool'));
});

const LONG = 'The quick brown fox jumps over the lazy d\u00f6g. '.repeat(2000);
const shortConfig = path.join(work, 'short.json');
writeFileSync(shortConfig, JSON.stringify({ limits: { result_bytes: '4KiB' }, http: '127.0.0.1:0', queue: 'off', state: path.join(work, 'short') }));
const shortHub = spawn(toolwire, ['up', '--config', shortConfig, '--json', '--diagnostics', '--no-toolkit', '--pipe', path.join(work, 'short-pipe')],
    { cwd: work, env, stdio: ['ignore', 'pipe', 'inherit'] });
process.once('exit', () => shortHub.kill('SIGKILL'));
const { http: { url: shortUrl } } = JSON.parse((await once(shortHub.stdout, 'data'))[0]);
const DOORS = {
    stdio: () => new Wire(['serve', '--alone', '--config', 'none', '--no-toolkit', '--diagnostics', '--max-result', '4KiB']),
    front: () => new Wire(['serve', '--config', shortConfig]),
    http: () => new Web(shortUrl),
};
for (const [door, era] of Object.keys(DOORS).flatMap((name) => ['2024-11-05', '2025-11-25', '2026-07-28'].map((year) => [name, year]))) {
    if (door === 'http' && era === '2024-11-05') {
        continue; // it had another transport
    }
    const wire = DOORS[door]();
    const meta = era === '2026-07-28' ? { _meta: MODERN } : {};
    if (era !== '2026-07-28') {
        await wire.hello(era);
    }
    await checks.check(`${door}, ${era}: a long result is shortened, and can be read to its end`, async () => {
        const result = await wire.call('echo', { message: LONG }, meta);
        assert.ok(JSON.stringify(result).length < 6000);
        const [, id, offset] = /"id":"([0-9a-f]{32})","offset":(\d+)/.exec(text(result));
        const uri = `toolwire://results/${id}`;
        if (era === '2024-11-05') {
            assert.match(text(result), new RegExp(`\\[resource link: ${uri}`)); // there are no links in that revision
        } else {
            assert.equal(result.content.find(({ type }) => type === 'resource_link').uri, uri);
        }
        let whole = result.content[0].text;
        assert.equal(Buffer.byteLength(whole), Number(offset));
        while (Buffer.byteLength(whole) < Buffer.byteLength(LONG)) {
            const { contents } = await wire.ask('resources/read', { uri: `${uri}?offset=${Buffer.byteLength(whole)}&length=30001`, ...meta });
            assert.notEqual(contents[0].text, '');
            whole += contents[0].text;
        }
        assert.equal(whole, LONG);
        assert.equal((await wire.ask('resources/read', { uri, ...meta })).contents[0].text, LONG);
        const more = await wire.call('read_result', { id, offset: Number(offset), length: 10 }, meta);
        assert.equal(more.content[0].text, LONG.slice(result.content[0].text.length).slice(0, 10));
        assert.equal((await wire.call('echo', { message: 'short' }, meta)).content.length, 1);
    });
    await wire.end();
}
shortHub.kill('SIGTERM');
await once(shortHub, 'exit');

await checks.check('what each server costs is known from where its tools are, not from their names', async () => {
    const config = path.join(work, 'origins.json');
    const child = (more) => ({ command: toolwire, args: ['serve', '--alone', '--config', 'none', '--no-toolkit', ...more] });
    const tools = path.join(work, 'tools.json');
    writeFileSync(tools, JSON.stringify(['odd__name', '____31m'].map((name) => ({ name, description: 'd', input_schema: { type: 'object' }, command: ['true'] }))));
    writeFileSync(config, JSON.stringify({ mcpServers: { plain: child(['--diagnostics']), odd: child(['--tools', tools]) },
        limits: { page_size: 2 }, http: 'off', queue: 'off', state: path.join(work, 'origins') }));
    const serve = `${toolwire} serve --alone --config ${config} --no-toolkit`;
    for (const era of ['legacy', 'modern']) {
        const said = JSON.parse(execFileSync(toolwire, ['tools', '--tokens', '--json', '--era', era, '--server', serve], { env, cwd: work }));
        assert.deepEqual(said.servers.map(({ server, tools: n }) => `${server} ${n}`).sort(), ['odd 2', 'plain 3'], JSON.stringify(said.servers));
        assert.equal(said.servers.reduce((sum, { tokens }) => sum + tokens, 0), said.total.tokens);
        assert.equal(said.tools.find(({ name }) => name === 'odd__name').server, 'odd');
    }
    assert.match(String(execFileSync(toolwire, ['tools', '--tokens', '--server', serve], { env, cwd: work })), /^plain +3 /m);
    // Who does not ask is not told.
    const wire = await new Wire(['serve', '--alone', '--config', config, '--no-toolkit']).hello('2025-11-25');
    assert.doesNotMatch(JSON.stringify(await wire.ask('tools/list')), /origins/);
    await wire.end();
});

await checks.check('settings that make no sense are refused by name', async () => {
    const bad = path.join(work, 'bad.json');
    for (const [settings, wanted] of [[{ lazy_tools: 7 }, /lazy_tools: expected true, false or an object/],
        [{ lazy_tools: { allways: [] } }, /lazy_tools\.allways: unknown key; did you mean 'always'/],
        [{ limits: { result_bytes: 1 } }, /limits\.result_bytes: 1 is not between 256/],
        [{ lazy_tools: { always: [1] } }, /lazy_tools\.always\[0\]: expected a string/]]) {
        writeFileSync(bad, JSON.stringify(settings));
        try {
            execFileSync(toolwire, ['serve', '--alone', '--config', bad], { env, stdio: ['ignore', 'pipe', 'pipe'] });
            assert.fail('it served');
        } catch (error) {
            assert.match(String(error.stderr), wanted);
        }
    }
});

checks.finish();
