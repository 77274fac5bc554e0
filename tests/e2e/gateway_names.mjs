// Names of tools and prompts of MCP servers do not move: through settings that change, restarts, servers that are away,
// and several processes with one state folder.
//
//   gateway_names.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const toolwire = resolve(process.argv[2]);
const fixture = join(dirname(fileURLToPath(import.meta.url)), 'names_server.mjs');
const work = mkdtempSync(join(tmpdir(), 'tw-names-'));
const children = [];
process.on('exit', () => {
    children.forEach((child) => child.exitCode ?? child.kill('SIGKILL'));
    rmSync(work, { recursive: true, force: true });
});

let nPlaces = 0;
// Settings and a state folder of their own.
class Place {
    constructor() {
        this.folder = join(work, `place${++nPlaces}`);
        this.config = join(this.folder, 'toolwire.json');
        this.state = join(this.folder, 'state');
        mkdirSync(this.folder);
    }

    write(mcpServers, more = {}) {
        writeFileSync(this.config, JSON.stringify({ http: 'off', queue: 'off', state: this.state, mcpServers, ...more }));
        return this;
    }

    tools(...names) {
        const path = join(this.folder, 'tools.json');
        writeFileSync(path, JSON.stringify(names.map((name) => ({ name, description: 'd', input_schema: { type: 'object' }, command: ['echo', 'ours'] }))));
        return { tools: path };
    }

    get names() {
        const folder = join(this.state, 'names');
        const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
        assert.ok(files.length <= 1, String(files));
        return files.length === 0 ? undefined : join(folder, files[0]);
    }

    remembered() {
        return this.names === undefined ? {} : JSON.parse(readFileSync(this.names, 'utf8')).servers;
    }
}

const server = (label, tools, prompts = '', gate = '', more = {}) => ({ command: process.execPath, args: [fixture, label, tools, prompts, gate], era: 'legacy', ...more });

class Program {
    constructor(args, env = { HOME: work, XDG_STATE_HOME: work }) {
        this.errors = '';
        this.n = 0;
        this.waiting = new Map();
        this.told = [];
        this.child = spawn(toolwire, args, { cwd: work, env: { ...process.env, XDG_STATE_HOME: '', ...env, XDG_RUNTIME_DIR: work } });
        children.push(this.child);
        this.ended = new Promise((done) => { this.child.on('exit', (code, signal) => done(signal ?? code)); });
        this.child.stderr.on('data', (data) => { this.errors += data; });
        createInterface({ input: this.child.stdout }).on('line', (line) => {
            const message = line.startsWith('{"jsonrpc"') ? JSON.parse(line) : { method: 'hub' };
            if (message.method !== undefined) {
                this.told.push(message.method);
            } else {
                this.waiting.get(message.id)?.(message);
            }
        });
    }

    ask(method, params = {}) {
        const id = ++this.n;
        const answer = new Promise((done) => { this.waiting.set(id, done); });
        this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        return answer;
    }

    async hello() {
        await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } });
        this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
        return this;
    }

    async list(what = 'tools') {
        return (await this.ask(`${what}/list`)).result[what].map(({ name }) => name).sort();
    }

    // What answers to the name: LABEL:TOOL; or the error.
    async call(name) {
        const { result, error } = await this.ask('tools/call', { name, arguments: {} });
        return error === undefined ? result.content[0].text.trim() : error.message;
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
        assert.ok(Date.now() < end, `waited in vain: ${typeof what === 'function' ? what() : what}`);
        await new Promise((done) => { setTimeout(done, 10); });
    }
}

// A hub, and a client of it that stays.
async function up(place, more = []) {
    const hub = new Program(['up', '--config', place.config, ...more]);
    await until('the hub', () => {
        assert.equal(hub.child.exitCode, null, hub.errors);
        return hub.told.includes('hub');
    });
    const client = await new Program(['serve', '--config', place.config]).hello();
    return { hub, client, async end() { await client.end(); assert.equal(await hub.end(), 0, hub.errors); } };
}

const serve = (place, more = []) => new Program(['serve', '--alone', '--config', place.config, ...more]).hello();

// The list becomes that; the client is told so.
async function becomes(client, expected, what = 'tools') {
    client.told.length = 0;
    let got;
    await until(() => `${expected} instead of ${got}`, async () => {
        got = await client.list(what);
        return String(got) === String(expected);
    });
}

async function isTold(client, method = 'notifications/tools/list_changed') {
    await until(method, () => client.told.includes(method));
}

const A = server('A', 'search,alone', 'hello');
const B = server('B', 'search,find', 'hello');
const BOTH = ['B__search', 'alone', 'find', 'search'];

const tests = {
    async 'a server that is added while clients use the hub is the one that is prefixed'() {
        for (const order of [['a', 'b'], ['b', 'a']]) {
            const place = new Place().write({ A });
            const { hub, client, end } = await up(place);
            assert.deepEqual(await client.list(), ['alone', 'search']);
            assert.equal(await client.call('search'), 'A:search');
            client.told.length = 0;
            place.write(order[0] === 'a' ? { A, B } : { B, A });
            await isTold(client);
            await until('both', async () => String(await client.list()) === String(BOTH));
            assert.equal(await client.call('search'), 'A:search');
            assert.equal(await client.call('B__search'), 'B:search');
            assert.deepEqual(await client.list('prompts'), ['B__hello', 'hello']);
            assert.match(hub.errors, /B: others have the names of 1 of its tools: search is B__search \(A has that name\)/);
            assert.match(hub.errors, /B: others have the names of 1 of its prompts: hello is B__hello \(A has that name\)/);
            assert.deepEqual(place.remembered().B.tools, { search: 'B__search', find: 'find' });
            // The newcomer goes: nothing else changes.
            place.write({ A });
            await becomes(client, ['alone', 'search']);
            assert.equal(await client.call('search'), 'A:search');
            await end();
        }
    },

    async 'a restart changes no name, wherever the servers stand in the settings'() {
        const place = new Place().write({ A });
        let client = await serve(place);
        assert.deepEqual(await client.list(), ['alone', 'search']);
        await client.end();
        for (const settings of [{ B, A }, { A, B }, { B, A }]) {
            client = await serve(place.write(settings));
            assert.deepEqual(await client.list(), BOTH);
            assert.equal(await client.call('search'), 'A:search');
            const prompt = await client.ask('prompts/get', { name: 'B__hello' });
            assert.equal(prompt.result.messages[0].content.text, 'B:hello');
            await client.end();
        }
        // Nor does it without the lists that are kept.
        rmSync(join(place.state, 'servers'), { recursive: true });
        client = await serve(place);
        assert.deepEqual(await client.list(), BOTH);
        assert.equal(await client.call('search'), 'A:search');
        await client.end();
    },

    async 'who calls a name that is gone is told of its own server, and of others only as a question'() {
        const [a, b, c] = ['a', 'b', 'c'].map((name) => server(name, 'read'));
        const place = new Place().write({ b, a, c });
        const { client, end } = await up(place);
        assert.deepEqual(await client.list(), ['a__read', 'c__read', 'read']);
        assert.match(await client.call('b__read'), /unknown tool: b__read; it is now called read$/i);
        place.write({ b: { ...b, disabled: true }, a, c });
        await becomes(client, ['a__read', 'c__read']);
        assert.match(await client.call('read'), /unknown tool: read; the server b, which has it, is disabled$/i);
        assert.match(await client.call('b__read'), /unknown tool: b__read; the server b is disabled$/i);
        place.write({ a, c });
        await until('b is removed', async () => /unknown tool: read; did you mean a__read, or c__read\?$/i.test(await client.call('read')));
        await end();
    },

    async 'a name stays when the server that had the plain one goes'() {
        const place = new Place().write({ A, B });
        const { client, end } = await up(place);
        assert.deepEqual(await client.list(), BOTH);
        place.write({ B });
        await becomes(client, ['B__search', 'find']);
        assert.equal(await client.call('B__search'), 'B:search');
        assert.match(await client.call('search'), /unknown tool: search; did you mean B__search\?/i);
        await end();
        const again = await serve(place);
        assert.deepEqual(await again.list(), ['B__search', 'find']);
        await again.end();
        // A third one may have what is free; the first is then a newcomer.
        const third = await serve(place.write({ B, C: server('C', 'search') }));
        assert.deepEqual(await third.list(), ['B__search', 'find', 'search']);
        assert.equal(await third.call('search'), 'C:search');
        await third.end();
        const back = await serve(place.write({ A, B, C: server('C', 'search') }));
        assert.deepEqual(await back.list(), ['A__search', 'B__search', 'alone', 'find', 'search']);
        assert.equal(await back.call('search'), 'C:search');
        await back.end();
    },

    async 'of two that are new at once the first in the settings has the name, whoever answers first'() {
        for (const slow of ['A', 'B']) {
            const place = new Place();
            const gate = join(place.folder, 'gate');
            const one = (label) => server(label, label === 'A' ? 'search,alone' : 'search,find', '', label === slow ? gate : '');
            const client = await serve(place.write({ A: one('A'), B: one('B') }));
            const list = client.list();
            // The quick one has answered, and the list waits for the other.
            await until('the quick one', () => existsSync(join(place.state, 'servers')));
            assert.equal(place.names, undefined);
            writeFileSync(gate, '');
            assert.deepEqual(await list, BOTH, slow);
            assert.equal(await client.call('search'), 'A:search');
            assert.deepEqual(place.remembered().A.tools, { search: 'search', alone: 'alone' });
            client.child.kill('SIGKILL'); // it is remembered at once
            await client.ended;
            const again = await serve(place.write({ B: one('B'), A: one('A') }));
            assert.deepEqual(await again.list(), BOTH);
            assert.equal(await again.call('search'), 'A:search');
            await again.end();
        }
    },

    async 'a server that is away, or switched off, keeps its names'() {
        const place = new Place().write({ A });
        let client = await serve(place);
        await client.list();
        await client.end();
        rmSync(join(place.state, 'servers'), { recursive: true });
        for (const away of [{ command: '/nonexistent/server' }, { ...A, disabled: true }]) {
            client = await serve(place.write({ B, A: away }));
            assert.deepEqual(await client.list(), ['B__search', 'find']);
            await client.end();
        }
        client = await serve(place.write({ B, A }));
        assert.deepEqual(await client.list(), BOTH);
        assert.equal(await client.call('search'), 'A:search');
        await client.end();
    },

    async 'tools of our own have their names, and what gave way stays where it is'() {
        const place = new Place();
        place.write({ A });
        const { hub, client, end } = await up(place);
        assert.deepEqual(await client.list(), ['alone', 'search']);
        client.told.length = 0;
        place.write({ A }, place.tools('search', 'mine'));
        await isTold(client);
        await until('ours', async () => String(await client.list()) === 'A__search,alone,mine,search');
        assert.equal(await client.call('search'), 'ours');
        assert.equal(await client.call('A__search'), 'A:search');
        assert.match(hub.errors, /A: others have the names of 1 of its tools: search is A__search \(the hub has that name\)/);
        place.write({ A });
        await becomes(client, ['A__search', 'alone']);
        await end();
        const again = await serve(place);
        assert.deepEqual(await again.list(), ['A__search', 'alone']);
        await again.end();
    },

    async 'prompts of our own have their names, too'() {
        const place = new Place().write({ A: server('A', 'search', 'scaffold-rust-project') }, { toolkit: true });
        const client = await serve(place);
        const names = await client.list('prompts');
        assert.ok(names.includes('A__scaffold-rust-project') && names.includes('scaffold-rust-project'), String(names));
        const prompt = await client.ask('prompts/get', { name: 'A__scaffold-rust-project' });
        assert.equal(prompt.result.messages[0].content.text, 'A:scaffold-rust-project');
        await client.end();
    },

    async 'a call goes on while the tools of our own are replaced'() {
        const place = new Place();
        const gate = join(place.folder, 'answer');
        const slow = { A: server(`wait ${gate} A`, 'search') };
        place.write(slow, place.tools('one'));
        const { client, end } = await up(place);
        assert.deepEqual(await client.list(), ['one', 'search']);
        const answer = client.call('search');
        place.write(slow, place.tools('two', 'search'));
        await until('the reload', async () => String(await client.list()) === 'A__search,search,two');
        writeFileSync(gate, '');
        assert.match(await answer, /A:search$/);
        await end();
    },

    async 'no server offers a name with the prefix of another'() {
        const place = new Place().write({ C: server('C', 'B__search,D__x'), B });
        const { hub, client, end } = await up(place);
        assert.deepEqual(await client.list(), ['C__B__search', 'D__x', 'find', 'search']);
        assert.match(hub.errors, /C: others have the names of 1 of its tools: B__search is C__B__search \(it begins as the names of B do\)/);
        assert.equal(await client.call('C__B__search'), 'C:B__search');
        // Not even one that it had before.
        place.write({ C: server('C', 'B__search,D__x'), B, D: server('D', 'x') });
        await becomes(client, ['C__B__search', 'C__D__x', 'find', 'search', 'x']);
        await end();
    },

    async 'several processes with one state folder give no name twice, and lose none'() {
        const place = new Place();
        const gate = join(place.folder, 'gate');
        const labels = ['E', 'F', 'G'];
        const all = Object.fromEntries(labels.map((label) => [label, server(label, `search,of_${label}`, '', gate)]));
        // The same servers, in another order each: whoever writes first decides for all.
        const order = (n) => Object.fromEntries(labels.map((unused, i) => labels[(i + n) % labels.length]).map((label) => [label, all[label]]));
        const clients = [];
        for (let i = 0; i < labels.length; i++) {
            clients.push(await serve(place.write(order(i))));
        }
        const begun = clients.map((client) => client.list());
        writeFileSync(gate, '');
        await Promise.all(begun);
        // A list waits some seconds at most, and many start here: until all are there.
        const [first, ...others] = await Promise.all(clients.map((client) => until('all', async () => {
            const list = await client.list();
            return list.length === 2 * labels.length && list;
        })));
        others.forEach((list) => assert.deepEqual(list, first));
        const told = await Promise.all(clients.map((client) => client.call('search')));
        assert.equal(new Set(told).size, 1, String(told));
        const given = Object.values(place.remembered()).flatMap(({ tools }) => Object.values(tools));
        assert.deepEqual(given.sort(), first);
        await Promise.all(clients.map((client) => client.end()));
    },

    async 'other settings in the same state folder have their own names'() {
        const place = new Place().write({ A });
        const client = await serve(place);
        await client.list();
        await client.end();
        const other = join(place.folder, 'other.json');
        writeFileSync(other, JSON.stringify({ state: place.state, mcpServers: { B } }));
        const second = await new Program(['serve', '--alone', '--config', other]).hello();
        assert.deepEqual(await second.list(), ['find', 'search']);
        await second.end();
        assert.equal(readdirSync(join(place.state, 'names')).filter((name) => name.endsWith('.json')).length, 2);
        const third = await serve(place.write({ B, A }));
        assert.equal(await third.list().then(String), String(BOTH));
        assert.equal(await third.call('search'), 'A:search');
        await third.end();
    },

    async 'without a place to remember them names hold for the run'() {
        const place = new Place().write({ A });
        mkdirSync(place.state, { mode: 0o700 });
        writeFileSync(join(place.state, 'names'), 'no folder');
        const { hub, client, end } = await up(place);
        assert.deepEqual(await client.list(), ['alone', 'search']);
        place.write({ B, A });
        await becomes(client, BOTH);
        assert.equal(await client.call('search'), 'A:search');
        assert.equal(hub.errors.match(/the names of tools are not remembered in .*\/names\/[0-9a-f]{32}\.json: /g)?.length, 1, hub.errors);
        await end();
    },

    async 'nor is a state folder needed at all'() {
        const place = new Place();
        writeFileSync(place.config, JSON.stringify({ mcpServers: { A, B } }));
        const client = await new Program(['serve', '--alone', '--config', place.config], { HOME: '/nonexistent' }).hello();
        assert.deepEqual(await client.list(), BOTH);
        assert.equal(await client.call('search'), 'A:search');
        assert.equal(await client.call('B__search'), 'B:search');
        client.child.stdin.end();
        assert.equal(await client.ended, 0, client.errors);
        assert.equal(existsSync(place.state), false);
    },

    async 'a file that is damaged is said to be, once, and replaced'() {
        const place = new Place().write({ A, B });
        let client = await serve(place);
        await client.list();
        await client.end();
        for (const bad of ['{"toolwire":"names","ver', '[1]', `{"toolwire":"names","version":1,"servers":${'['.repeat(5000)}`, 'x'.repeat(9 * 1024 * 1024)]) {
            writeFileSync(place.names, bad);
            client = await serve(place);
            assert.deepEqual(await client.list(), BOTH);
            await client.end();
            assert.equal(client.errors.match(/\/names\/[0-9a-f]{32}\.json is not used, and tools may get other names: it is/g)?.length, 1, client.errors);
            assert.equal(place.remembered().B.tools.search, 'B__search');
        }
        // What it says is no more than a wish.
        writeFileSync(place.names, JSON.stringify({ toolwire: 'names', version: 1, servers: {
            B: { tools: { search: 'alone', find: 'A__search' } }, A: { tools: { search: '../x', alone: 7 } }, Z: { tools: { search: 'search' } } } }));
        client = await serve(place);
        assert.deepEqual(await client.list(), BOTH);
        await client.end();
        assert.equal(place.remembered().Z, undefined);
        // Nor is one that others may write.
        chmodSync(place.names, 0o666);
        client = await serve(place);
        assert.deepEqual(await client.list(), BOTH);
        await client.end();
        assert.match(client.errors, /is not used, and tools may get other names/);
    },
};

for (const [name, test] of Object.entries(tests)) {
    if (process.argv[3] === undefined || name.includes(process.argv[3])) {
        await test();
        console.log(`ok: ${name}`);
    }
}
process.exit(0);
