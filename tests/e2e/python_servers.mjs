// Servers of the Python SDK (tests/support/python_server.mjs) behind `toolwire up` and as `--server URL`: four HTTP modes, each era, and
// refusals whose error names any id. The hub goes on, answers others meanwhile, rests when it has nothing to do, and ends by SIGTERM.
//
//   python_servers.mjs TOOLWIRE
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { startHub } from '../interop/hub.mjs';
import { modernRequest } from '../interop/http.mjs';
import { PythonServer } from '../support/python_server.mjs';

const toolwire = resolve(process.argv[2]);
const timer = setTimeout(() => { console.log('it hangs'); process.exit(1); }, 100_000);

const MODES = [{}, { json: true }, { stateless: true }, { stateless: true, json: true }];
// 1 is the id of the refused question itself, 2 that of the next.
const IDS = {
    own: undefined, number: '"id":99,', one: '"id":1,', null: '"id":null,', absent: '', float: '"id":1.5,', negative: '"id":-1,',
    object: '"id":{"a":1},', text: '"id":"1",', next: '"id":2,',
};

/** The program with these arguments: its status (KILL: it had to be killed), and what it printed. */
function run(args) {
    return new Promise((done) => {
        execFile(toolwire, args, { timeout: 20_000, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
            done({ status: error === null ? 0 : error.code ?? error.signal, stdout, stderr });
        });
    });
}

async function started(options) {
    const server = new PythonServer(options);
    await server.start();
    return server;
}

// ---- as --server ----

async function asServer(mode, refusalId) {
    const server = await started({ ...mode, refusalId });
    const where = ['--server', server.url];
    const name = JSON.stringify([mode, refusalId]);

    for (const era of ['auto', 'legacy']) {
        const list = await run(['tools', ...where, '--era', era]);
        assert.deepEqual([list.status, list.stderr], [0, ''], `${era} ${name}`);
        assert.match(list.stdout, /^add {4}Adds two numbers\.\nfail {3}Fails\.\nsteps {2}Reports its progress\.\n$/);
        assert.deepEqual(await run(['call', ...where, '--era', era, 'add', '{"a":2,"b":3}']),
                         { status: 0, stdout: '5\n', stderr: '' }, `${era} ${name}`);
    }
    const failed = await run(['call', ...where, 'fail', '{}']);
    assert.equal(failed.status, 1, failed.stderr);
    assert.match(failed.stdout + failed.stderr, /Error executing tool fail: it broke/);
    for (const era of ['modern', 'assume']) { // it is not of that era, and says so
        const list = await run(['tools', ...where, '--era', era]);
        assert.equal(list.status, 1, `${era} ${name} ${list.stderr}`);
        assert.match(list.stderr, mode.stateless ? /Unsupported protocol version: 2026-07-28/ : /Missing session ID/);
    }
    await server.stop();
}

for (const mode of MODES) {
    await asServer(mode);
}
for (const id of Object.values(IDS)) {
    await asServer({}, id);
}

// An answer to server/discover that is a stream of events, and in it no answer to that: as with JSON, the server is of the older era.
const BY_EVENTS = [
    ...Object.values(IDS).flatMap((refusalId) => ['events', 'open events'].map((refusesBy) => ({ refusalId, refusesBy }))),
    { refusalId: '"id":99,', refusesBy: 'result events' }, { refusesBy: 'no events' },
];
for (const options of BY_EVENTS) {
    const server = await started(options);
    assert.deepEqual(await run(['call', '--server', server.url, 'add', '{"a":2,"b":3}']),
                     { status: 0, stdout: '5\n', stderr: '' }, JSON.stringify(options));
    assert.equal(server.refusals, 1);
    await server.stop();
}

// ---- behind a hub ----

let id = 0;

async function ask(hub, method, params) {
    const { headers, body } = modernRequest(++id, method, params);
    const answer = await fetch(hub.url, {
        method: 'POST', body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers } });
    const said = await answer.text();
    return JSON.parse(said.startsWith('{') ? said : said.slice(said.lastIndexOf('data: ') + 6)).result;
}

/** Clock ticks that the process has run. */
async function ticks(pid) {
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
    return Number(fields[11]) + Number(fields[12]);
}

const servers = {};
const settings = {};
for (const [m, mode] of MODES.entries()) {
    for (const [form, refusalId] of Object.entries(IDS)) {
        for (const era of form === 'own' ? ['auto', 'legacy', 'modern'] : ['auto']) {
            const name = `m${m}-${form}-${era}`;
            servers[name] = await started({ ...mode, refusalId });
            settings[name] = { url: servers[name].url, era, prefix: true, start: 'eager' };
        }
    }
}
servers['old-auto'] = await started({ isOld: true });
for (const refusesBy of ['events', 'open events']) {
    const name = refusesBy.replace(' ', '-');
    servers[name] = await started({ refusalId: '"id":99,', refusesBy });
    settings[name] = { url: servers[name].url, prefix: true, start: 'eager' };
}
settings['old-auto'] = { url: servers['old-auto'].url, prefix: true, start: 'eager' };
const hub = await startHub(toolwire, settings);
const healthy = async () => {
    const answer = await fetch(new URL('/healthz', hub.url), { signal: AbortSignal.timeout(20_000) });
    assert.equal(answer.status, 200);
};
await healthy();

const usable = Object.keys(servers).filter((name) => !name.endsWith('-modern'));
for (;;) {
    const { tools } = await ask(hub, 'tools/list');
    await healthy();
    if (usable.every((name) => tools.some((tool) => tool.name === `${name}__add`))) {
        assert.equal(tools.length, usable.length * 3);
        break;
    }
}
for (const name of usable) {
    const result = await ask(hub, 'tools/call', { name: `${name}__add`, arguments: { a: 20, b: 22 } });
    assert.deepEqual([result.isError ?? false, result.content[0].text], [false, '42'], name);
    assert.ok(servers[name].refusals > 0 || name.endsWith('-legacy'), `${name} was never asked in the modern way`);
}
await healthy();

// A server that was started again knows no session: it is begun anew, and the call runs.
for (const name of usable) {
    servers[name].forget();
    const result = await ask(hub, 'tools/call', { name: `${name}__steps`, arguments: {} });
    assert.deepEqual([result.isError ?? false, result.content[0].text], [false, 'done'], name);
}

// Nothing is asked, and nothing runs: a process that turned round and round would use all of the time.
for (let busy = Infinity, before = await ticks(hub.pid); busy >= 50;) {
    await new Promise((done) => setTimeout(done, 1000));
    const now = await ticks(hub.pid);
    busy = now - before;
    before = now;
}
await healthy();
await hub.stop();
await Promise.all(Object.values(servers).map((server) => server.stop()));
clearTimeout(timer);
console.log(`ok: ${usable.length} servers behind a hub, ${MODES.length + Object.keys(IDS).length + BY_EVENTS.length} alone`);
