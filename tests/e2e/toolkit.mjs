// The toolkit (templates, code analysis) is offered by `serve`, `up` and `agent` where nothing else is configured, and
// beside other tools only where it is asked for.
//
//   toolkit.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const toolwire = resolve(process.argv[2]);
const fixture = join(dirname(fileURLToPath(import.meta.url)), 'names_server.mjs');
const work = mkdtempSync(join(tmpdir(), 'tw-toolkit-'));
const children = [];
process.on('exit', () => {
    children.forEach((child) => child.exitCode ?? child.kill('SIGKILL'));
    rmSync(work, { recursive: true, force: true });
});

// A program that speaks MCP on its stdio, or a hub that says when it serves.
class Program {
    constructor(args) {
        this.errors = '';
        this.waiting = new Map();
        this.told = [];
        this.n = 0;
        const env = { ...process.env, HOME: work, XDG_STATE_HOME: work, XDG_RUNTIME_DIR: work, XDG_CONFIG_HOME: work };
        this.child = spawn(toolwire, args, { cwd: work, env });
        children.push(this.child);
        this.ended = new Promise((done) => { this.child.on('exit', (code, signal) => done(signal ?? code)); });
        this.child.stderr.on('data', (data) => { this.errors += data; });
        createInterface({ input: this.child.stdout }).on('line', (line) => {
            const message = line.startsWith('{"jsonrpc"') ? JSON.parse(line) : { method: 'line', line };
            message.method === undefined ? this.waiting.get(message.id)?.(message) : this.told.push(message.method);
        });
    }

    ask(method, params = {}) {
        const id = ++this.n;
        const answer = new Promise((done, fail) => {
            this.waiting.set(id, done);
            this.ended.then((status) => fail(new Error(`it ended (${status}): ${this.errors}`)));
        });
        answer.catch(() => {});
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        return answer;
    }

    async hello() {
        const { result } = await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } });
        this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
        this.capabilities = result.capabilities;
        return this;
    }

    async tools() {
        return ((await this.ask('tools/list')).result?.tools ?? []).map(({ name }) => name); // without tools there is no list
    }

    async end() {
        this.child.stdin.end();
        this.child.kill('SIGTERM');
        return this.ended;
    }
}

async function until(what, fn) {
    for (const end = Date.now() + 60_000; ;) {
        const value = await fn();
        if (value) {
            return value;
        }
        assert.ok(Date.now() < end, `waited in vain: ${what}`);
        await new Promise((done) => { setTimeout(done, 10); });
    }
}

const TOOLS = join(work, 'tools.json');
const SCHEMA = join(work, 'parent.json');
const TEMPLATES = join(work, 'templates');
writeFileSync(TOOLS, JSON.stringify([{ name: 'mine', description: 'd', input_schema: { type: 'object' }, command: ['true'] }]));
writeFileSync(SCHEMA, '[]', { mode: 0o600 });
mkdirSync(TEMPLATES);
const mcpServers = { s: { command: process.execPath, args: [fixture, 's', 'theirs'], era: 'legacy' } };
let nFiles = 0;
const settings = (content, path = join(work, `settings${++nFiles}.json`)) => {
    writeFileSync(path, JSON.stringify({ http: 'off', queue: 'off', state: `${path}.state`, ...content }));
    return path;
};
const has = (names) => ['generate_template', 'analyze_complexity'].map((name) => names.includes(name));
const ON = [true, true];
const OFF = [false, false];

// What the settings and the options say, and whether it is offered.
const CASES = [
    ['nothing but limits and such', { limits: { max_in_flight: 7 }, audit: join(work, 'calls.jsonl') }, [], ON],
    ['nothing, and told not to', {}, ['--no-toolkit'], OFF],
    ['nothing, and the settings say no', { toolkit: false }, [], OFF],
    ['no servers', { mcpServers: {} }, [], ON],
    ['only echo and its like', {}, ['--diagnostics'], ON],
    ['a server', { mcpServers }, [], OFF],
    ['a server that is switched off', { mcpServers: { s: { ...mcpServers.s, disabled: true } } }, [], OFF],
    ['a server, and asked for', { mcpServers, toolkit: true }, [], ON],
    ['a server, and asked for by the option', { mcpServers }, ['--toolkit'], ON],
    ['the option before the settings', { mcpServers, toolkit: true }, ['--no-toolkit'], OFF],
    ['and the other way', { mcpServers, toolkit: false }, ['--toolkit'], ON],
    ['a tools file', { tools: TOOLS }, [], OFF],
    ['a tools file by its option', {}, ['--tools', TOOLS], OFF],
    ['a parent', { call_socket: { connect: join(work, 'parent.sock'), schema: SCHEMA } }, [], OFF],
    ['a pipe', { pipe: join(work, 'pipe') }, [], OFF],
    ['folders of templates, which are part of it', { tools: TOOLS, templates: TEMPLATES }, [], ON],
    ['and a folder that they are written to', { tools: TOOLS, write_root: work }, [], ON],
    ['unless told not to', { tools: TOOLS, templates: TEMPLATES, toolkit: false }, [], OFF],
];

const tests = {
    async 'what serve offers'() {
        for (const [name, content, options, expected] of CASES) {
            const client = await new Program(['serve', '--alone', '--config', settings(content), ...options]).hello();
            assert.deepEqual(has(await client.tools()), expected, name);
            await client.end();
        }
        // Without any settings: the embedded ones.
        const client = await new Program(['serve', '--alone', '--config', 'none']).hello();
        assert.deepEqual(has(await client.tools()), ON);
        await client.end();
    },

    async 'what up offers'() {
        for (const [name, content, options, expected] of CASES) {
            const config = settings(content);
            const hub = new Program(['up', '--config', config, ...options]);
            await until('the hub', () => {
                assert.equal(hub.child.exitCode, null, hub.errors);
                return hub.told.length > 0;
            });
            const client = await new Program(['serve', '--config', config]).hello();
            assert.deepEqual(has(await client.tools()), expected, name);
            await client.end();
            assert.equal(await hub.end(), 0);
        }
        // The pipe that a hub without settings has is no choice of its user.
        for (const [options, expected] of [[[], ON], [['--tools', TOOLS], OFF]]) {
            const state = join(work, 'bare');
            const hub = new Program(['up', '--config', 'none', '--http', 'off', '--queue', 'off', '--state', state, ...options]);
            await until('the hub', () => hub.told.length > 0);
            const client = await new Program(['serve', '--config', 'none', '--state', state]).hello();
            assert.deepEqual(has(await client.tools()), expected);
            await client.end();
            assert.equal(await hub.end(), 0);
        }
    },

    async 'it goes when the first server is configured, and the log says how it comes back'() {
        const config = settings({});
        const hub = new Program(['up', '--config', config]);
        await until('the hub', () => hub.told.length > 0);
        const client = await new Program(['serve', '--config', config]).hello();
        assert.deepEqual(has(await client.tools()), ON);
        settings({ mcpServers }, config);
        await until('the server', async () => (await client.tools()).includes('theirs'));
        assert.deepEqual(has(await client.tools()), OFF);
        assert.ok(client.told.includes('notifications/tools/list_changed'));
        assert.match(hub.errors, /the toolkit \(templates, code analysis\) is offered no more, since the settings name other tools now; "toolkit": true offers it/);
        settings({ mcpServers, toolkit: true }, config);
        await until('it is back', async () => has(await client.tools())[0]);
        assert.ok((await client.tools()).includes('theirs'));
        await client.end();
        assert.equal(await hub.end(), 0);
    },

    async 'settings that say something else are refused, with the place'() {
        const refused = new Program(['serve', '--alone', '--config', settings({ toolkit: 'yes' })]);
        assert.equal(await refused.ended, 2);
        assert.match(refused.errors, /settings\d+\.json:1: toolkit: expected true or false/);
    },
};

for (const [name, test] of Object.entries(tests)) {
    if (process.argv[3] === undefined || name.includes(process.argv[3])) {
        await test();
        console.log(`ok: ${name}`);
    }
}
process.exit(0);
