// Commands on a live document, from an MCP client to the floor-plan program and back, with the programs as they are: a
// token that is right and one that is stale, the failure gate and its four ways, each seen in the document, dry runs,
// confirm tokens, and what is told when nobody asked.
//
//   planner_safety.mjs TOOLWIRE PLANNER WHITELIST
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { assert, Checks, Inbox } from '../interop/checks.mjs';
import { startServer } from '../interop/http.mjs';

const [toolwire, planner, whitelist] = process.argv.slice(2).map((file) => path.resolve(file));
const checks = new Checks('planner_safety');
const work = mkdtempSync(path.join(tmpdir(), 'safety-'));
for (const name of ['tmp', 'run', 'state']) {
    mkdirSync(path.join(work, name));
    chmodSync(path.join(work, name), 0o700);
}
// Where pipes and sockets are made.
Object.assign(process.env, { TMPDIR: path.join(work, 'tmp'), XDG_RUNTIME_DIR: path.join(work, 'run'), HOME: work });
delete process.env.REVITMCP_FAILURE_WHITELIST_PATH;

/** What is to be ended, the last first. */
const ends = [];

// ---- the ways to the program ----

function addin(pipe, document) {
    startAddin(planner, ['--pipe', pipe, '--document', document, '--retry', '50', '--quiet', '--whitelist', whitelist]);
}

function startAddin(command, args) {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const exit = once(child, 'exit');

    process.once('exit', () => child.kill('SIGKILL'));
    ends.push(async () => {
        child.kill('SIGTERM');
        assert.deepEqual(await exit, [0, null], 'the add-in ends in good order');
    });
}

const stdio = (command, args) => new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });

/** Each gives a transport, once what it needs is there; the add-in comes when it comes. */
const WAYS = {
    'serve and the pipe': async (document) => {
        addin('Safety.serve', document);
        return stdio(toolwire, ['serve', '--no-toolkit', '--state', path.join(work, 'none'), '--pipe', 'Safety.serve']);
    },
    'up, HTTP and the pipe': async (document) => {
        const hub = await startServer({ command: toolwire,
            args: ['up', '--json', '--no-toolkit', '--state', path.join(work, 'state'), '--pipe', 'Safety.up'] });

        ends.push(() => hub.stop());
        addin('Safety.up', document);
        return new StreamableHTTPClientTransport(hub.url);
    },
    'the program alone': async (document) => stdio(planner, ['--stdio', '--quiet', '--document', document, '--whitelist', whitelist]),
};

// ---- one session ----

const STANDARD = ['ok', 'code', 'msg', 'warnings', 'nextActions', 'timings', 'context'];

/** What every answer of a command must be; gives its envelope. */
function envelopeOf(result) {
    const envelope = result.structuredContent;

    for (const name of STANDARD) {
        assert.ok(name in envelope, `no ${name} in ${JSON.stringify(envelope)}`);
    }
    assert.equal(typeof envelope.ok, 'boolean');
    assert.equal(typeof envelope.code, 'string');
    assert.equal(typeof envelope.msg, 'string');
    assert.equal(envelope.ok, envelope.code === 'OK');
    assert.ok(Array.isArray(envelope.warnings) && Array.isArray(envelope.nextActions));
    assert.equal(result.isError ?? false, !envelope.ok, 'isError is not ok');
    assert.deepEqual(JSON.parse(result.content[0].text), envelope, 'the text has the same facts');
    const { queueWaitMs, revitMs, transferMs, totalMs } = envelope.timings;

    assert.ok([queueWaitMs, revitMs, transferMs, totalMs].every((ms) => typeof ms === 'number' && ms >= 0));
    assert.ok(Math.abs(queueWaitMs + revitMs + transferMs - totalMs) < 0.002, JSON.stringify(envelope.timings));
    return envelope;
}

class Session {
    constructor(client) {
        this.client = client;
    }

    async call(name, args = {}) {
        return envelopeOf(await this.client.callTool({ name, arguments: args }));
    }

    async good(name, args) {
        const envelope = await this.call(name, args);

        assert.equal(envelope.code, 'OK', JSON.stringify(envelope));
        return envelope;
    }

    async bad(code, name, args) {
        const envelope = await this.call(name, args);

        assert.equal(envelope.code, code, JSON.stringify(envelope));
        return envelope;
    }

    /** What is in the document. */
    async look() {
        const { revision, counts } = await this.good('plan.get_document');
        const { elements } = await this.good('plan.list_elements', { category: 'Walls' });
        const { document_warnings: warnings } = await this.good('plan.get_warnings');

        return { revision, counts, warnings, walls: elements.map(({ element_id }) => element_id), marks: elements.map(({ mark }) => mark ?? '') };
    }

    async token() {
        return (await this.good('get_context')).data.contextToken;
    }
}

async function connect(transport, wanted = 'revit.create_wall') {
    const client = new Client({ name: 'safety', version: '1.0' });
    const changes = new Inbox();

    client.setNotificationHandler(ToolListChangedNotificationSchema, (notification) => changes.push(notification));
    await client.connect(transport);
    for (let n = 1; ; n++) {
        const { tools } = await client.listTools();

        if (tools.some(({ name }) => name === wanted)) {
            return { client, tools };
        }
        await changes.nth(n);
    }
}

const line = (y, x = 10) => ({ start: [0, y, 0], end: [x, y, 0] });
const actions = (envelope) => envelope.failureHandling.issues.failures.map(({ action }) => action);

// ---- what must be true ----

async function descriptions(check, tools) {
    const find = (wanted) => tools.find(({ name }) => name === wanted);

    await check('outputSchema: the envelope, and the tool\'s own output in it', () => {
        const { outputSchema } = find('revit.create_wall');

        assert.deepEqual(STANDARD.filter((name) => !(name in outputSchema.properties)), []);
        assert.deepEqual(STANDARD.filter((name) => !outputSchema.required.includes(name)), []);
        assert.deepEqual(outputSchema.properties.element_id.type, ['integer', 'null']);
        assert.ok(!outputSchema.required.includes('element_id'), 'a failure has none');
        assert.ok(JSON.stringify(outputSchema.then).includes('element_id'));
    });
    await check('inputSchema: what every command takes, and what destructive ones take besides', () => {
        const properties = (name) => Object.keys(find(name).inputSchema.properties);

        for (const name of ['expectedContextToken', 'failureHandling']) {
            assert.ok(properties('plan.copy_elements').includes(name), name);
        }
        for (const name of ['dryRun', 'confirmToken', 'requireConfirmToken']) {
            assert.ok(properties('revit.delete_elements').includes(name), name);
            assert.ok(!properties('plan.copy_elements').includes(name), name);
        }
    });
    await check('get_context comes by itself, under both names', () => {
        assert.ok(find('get_context') && find('help.get_context'));
    });
}

async function tokens(check, session) {
    let stale;
    let walls;

    await check('a write with the right token runs, and the token is another one then', async () => {
        const { data } = await session.good('get_context');

        assert.match(data.contextToken, /^ctx-[0-9a-f]{32}$/);
        assert.equal(data.tokenVersion, 'ctx.v1');
        stale = data.contextToken;
        const made = await session.good('flow.create_walls_from_lines',
            { height: 9, lines: [0, 1, 2, 3, 4].map((y) => line(10 * y)), expectedContextToken: stale });

        walls = made.element_ids;
        assert.equal(walls.length, 5);
        assert.notEqual(made.context.contextToken, stale);
        assert.ok(made.context.contextRevision > data.revision);
        assert.equal(await session.token(), made.context.contextToken);
    });
    await check('a stale token: both tokens, what changed, and nothing happens', async () => {
        const before = await session.look();
        const refused = await session.bad('PRECONDITION_FAILED', 'revit.create_wall',
            { start_point: [0, 90, 0], end_point: [9, 90, 0], height: 9, expectedContextToken: stale });

        assert.equal(refused.data.expectedContextToken, stale);
        assert.equal(refused.data.actualContextToken, await session.token());
        assert.ok(JSON.stringify(refused.data.changed).length > 2, JSON.stringify(refused.data.changed));
        assert.deepEqual(refused.nextActions.map(({ method }) => method), ['help.get_context', 'get_context', 'revit.create_wall']);
        assert.deepEqual(await session.look(), before);
    });
    await check('it is said that the selection changed', async () => {
        const seen = await session.token();

        await session.good('revit.set_selection', { element_ids: [walls[0]] });
        const refused = await session.bad('PRECONDITION_FAILED', 'plan.get_document', { expectedContextToken: seen });

        assert.match(JSON.stringify(refused.data.changed), /selection/);
        assert.equal(refused.data.selectionCount, 1);
        await session.good('plan.get_document', { expectedContextToken: (await session.token()).toUpperCase() });
    });
    await check('another spelling of the token, and another place, are understood', async () => {
        for (const args of [{ __expectedContextToken: stale }, { expected_context_token: stale }, { params: { expectedContextToken: stale } },
            { meta: { expectedContextToken: stale } }, { _meta: { __expectedContextToken: stale } }]) {
            await session.bad('PRECONDITION_FAILED', 'plan.get_document', args);
        }
        await session.bad('INVALID_PARAMS', 'plan.get_document', { params: { category: 'Walls' } });
    });
    await check('a token in the request\'s own _meta; of several each must be right', async () => {
        const wall = { start_point: [0, 95, 0], end_point: [9, 95, 0], height: 9 };
        const before = await session.look();
        const now = await session.token();
        const ask = async (args, meta) => envelopeOf(await session.client.callTool({ name: 'revit.create_wall', arguments: args, _meta: meta }));

        for (const [args, meta] of [[wall, { expectedContextToken: stale }], [wall, { __expectedContextToken: stale, expectedContextToken: now }],
            [{ ...wall, expectedContextToken: now }, { expectedContextToken: stale }], [{ ...wall, expectedContextToken: stale }, { expectedContextToken: now }],
            [{ ...wall, expectedContextToken: now, __expectedContextToken: now, expected_context_token: now }, { expectedContextToken: stale }]]) {
            assert.equal((await ask(args, meta)).code, 'PRECONDITION_FAILED', JSON.stringify(meta));
        }
        assert.deepEqual(await session.look(), before);
        const made = await ask(wall, { expectedContextToken: now });

        assert.equal(made.code, 'OK', JSON.stringify(made));
        await session.good('revit.delete_elements', { element_ids: [made.element_id] });
    });
    return walls;
}

async function modes(check, session, walls) {
    const args = { element_ids: walls, translation: [0, 0] };
    const copies = { off: [], delete: [] };
    let ways = [];

    for (const [i, id] of walls.entries()) {
        await session.good('plan.set_mark', { element_ids: [id], mark: `W${i + 1}` });
    }
    const before = await session.look();
    const remove = async (ids) => {
        await session.good('revit.delete_elements', { element_ids: ids, failureHandling: true });
    };

    await check('five ids: refused, with what must be known to decide', async () => {
        const refused = await session.bad('FAILURE_HANDLING_CONFIRMATION_REQUIRED', 'plan.copy_elements', args);

        assert.equal(refused.data.targetCount, 5);
        assert.equal(refused.data.threshold, 5);
        assert.equal(refused.data.defaultMode, 'rollback');
        assert.equal(refused.data.whitelist.ok, true);
        assert.equal(refused.data.whitelist.path, whitelist);
        assert.match(refused.data.whitelist.version, /^[0-9a-f]{8}$/);
        assert.equal(refused.nextActions.length, 4);
        ways = refused.nextActions;
        assert.deepEqual(ways.map(({ params }) => params.failureHandling.mode ?? 'off'), ['off', 'rollback', 'delete', 'resolve']);
        assert.ok(ways.every(({ method, reason }) => method === 'plan.copy_elements' && reason));
        assert.deepEqual(await session.look(), before);
        assert.equal((await session.bad('PRECONDITION_FAILED', 'plan.get_document', { expectedContextToken: 'ctx-nodoc' })).ok, false);
    });
    await check('four ids need no word about failures', () =>
        session.good('plan.move_elements', { element_ids: walls.slice(0, 4), translation: [0, 0.5] }).then(() =>
            session.good('plan.move_elements', { element_ids: walls.slice(0, 4), translation: [0, -0.5] })));
    await check('rollback: nothing of it is left', async () => {
        const seen = await session.look();
        const undone = await session.bad('TX_NOT_COMMITTED', ways[1].method, { ...args, ...ways[1].params });
        const { failureHandling } = undone;

        assert.deepEqual(await session.look(), seen);
        assert.equal(failureHandling.mode, 'rollback');
        assert.equal(failureHandling.rollbackDetected, true);
        assert.equal(failureHandling.issues.failures.length, 10);
        assert.ok(actions(undone).every((action) => action === 'rollback'));
        assert.deepEqual(new Set(failureHandling.issues.failures.map(({ id }) => id)),
            new Set(['Planner.OverlappingWalls', 'Planner.DuplicateMark']));
        const [first] = failureHandling.issues.failures;

        assert.equal(first.severity, 'Warning');
        assert.match(first.idGuid, /^[0-9a-f-]{36}$/);
        assert.equal(first.elementIds.length, 2);
        assert.equal(first.whitelisted, true);
    });
    await check('off: the copies are there, and so are the warnings', async () => {
        const done = await session.good(ways[0].method, { ...args, ...ways[0].params });
        const after = await session.look();

        copies.off = done.element_ids;
        assert.equal(after.walls.length, 10);
        assert.equal(after.warnings.length, 10);
        assert.equal(done.failureHandling.enabled, false);
        assert.ok(actions(done).every((action) => action === 'capture_only'));
        await remove(copies.off);
        assert.deepEqual((await session.look()).walls, walls);
    });
    await check('delete: the copies are there, and the warnings are let go', async () => {
        const done = await session.good(ways[2].method, { ...args, ...ways[2].params });
        const after = await session.look();

        copies.delete = done.element_ids;
        assert.equal(after.walls.length, 10);
        assert.deepEqual(after.warnings, []);
        assert.equal(after.marks.filter((mark) => mark === 'W1').length, 2);
        assert.ok(actions(done).every((action) => action === 'delete_warning'));
        await remove(copies.delete);
    });
    await check('resolve: walls that stand there already go', async () => {
        const done = await session.good(ways[3].method, { ...args, ...ways[3].params });
        const after = await session.look();

        assert.deepEqual(after.walls, walls);
        assert.deepEqual(after.warnings, []);
        assert.ok(actions(done).every((action) => action === 'resolve'), actions(done).join());
        assert.deepEqual([done.element_ids, done.copied_count], [[], 0], 'only what is there is told');
        assert.equal(done.removed_ids.length, 5);
    });
    await check('resolve: marks become the next free ones', async () => {
        const done = await session.good('plan.copy_elements', { ...args, translation: [0, 200], ...ways[3].params });
        const after = await session.look();

        assert.equal(after.walls.length, 10);
        assert.deepEqual([...after.marks].sort(), ['W1', 'W10', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8', 'W9']);
        assert.deepEqual(after.warnings, []);
        await remove(done.element_ids);
    });
    await check('resolve: what cannot be mended is let go where the whitelist lets it', async () => {
        // Longer at both ends: it would have to become two walls.
        const done = await session.good('revit.create_wall',
            { start_point: [-5, 0, 0], end_point: [20, 0, 0], height: 9, failureHandling: { mode: 'resolve' } });

        assert.deepEqual(actions(done), ['resolve_failed|delete_warning']);
        assert.deepEqual((await session.look()).warnings, []);
        await remove([done.element_id]);
    });
}

async function errors(check, session, walls) {
    const nothing = { start_point: [5, 500, 0], end_point: [5, 500, 0], height: 9 };

    await check('a wall without length: undone, and told though nobody asked', async () => {
        const before = await session.look();
        const token = await session.token();
        const undone = await session.bad('TX_NOT_COMMITTED', 'revit.create_wall', nothing);

        assert.match(undone.msg, /no length/);
        assert.equal(undone.failureHandling.autoCaptured, true);
        assert.equal(undone.failureHandling.rollbackDetected, true);
        assert.equal(undone.failureHandling.issues.rollbackRequested, true);
        assert.equal(undone.failureHandling.issues.failures[0].id, 'Planner.ZeroLengthWall');
        assert.equal(undone.failureHandling.issues.failures[0].severity, 'Error');
        assert.ok(!('element_id' in undone));
        assert.deepEqual(await session.look(), before);
        assert.equal(await session.token(), token, 'the token that was seen is still good');
    });
    await check('off does not make an error one that can be committed', async () => {
        const undone = await session.bad('TX_NOT_COMMITTED', 'revit.create_wall', { ...nothing, failureHandling: { enabled: false } });

        assert.deepEqual(actions(undone), ['capture_only']);
        assert.equal(undone.failureHandling.mode, 'off');
    });
    await check('delete does not, either', async () => {
        const undone = await session.bad('TX_NOT_COMMITTED', 'revit.create_wall', { ...nothing, failureHandling: 'delete' });

        assert.deepEqual(actions(undone), ['rollback_error']);
    });
    await check('resolve: the whitelist lets it go', async () => {
        const before = await session.look();
        const done = await session.good('revit.create_wall', { ...nothing, failureHandling: { mode: 'auto_resolve' } });

        assert.deepEqual(actions(done), ['resolve']);
        assert.deepEqual((await session.look()).walls, before.walls);
        assert.equal(done.element_id, null);
        assert.equal(done.removed_ids.length, 1);
        assert.match(done.message, /removed/);
    });
    await check('a door that loses its wall is not on the whitelist', async () => {
        const door = await session.good('plan.create_door', { wall_id: walls[0], distance: 5 });
        const undone = await session.bad('TX_NOT_COMMITTED', 'plan.move_elements',
            { element_ids: [door.element_id], translation: [50, 0], failureHandling: { mode: 'resolve' } });

        assert.deepEqual(actions(undone), ['rollback_unwhitelisted']);
        assert.match(undone.failureHandling.rollbackReason, /DoorWithoutWall/);
        await session.good('revit.delete_elements', { element_ids: [door.element_id] });
    });
    await check('what is refused before it runs has the same form', async () => {
        const refused = await session.bad('INVALID_PARAMS', 'revit.create_wall', { end_point: [1, 0, 0], height: 9 });

        assert.match(JSON.stringify(refused), /start_point/);
    });
    await check('what the program itself refuses has its code', async () => {
        await session.bad('REVIT_API_ERROR', 'revit.create_wall', { ...nothing, end_point: [9, 500, 0], height: 0 });
        await session.bad('REVIT_TRANSACTION_FAILED', 'plan.fail', { mode: 'transaction' });
    });
}

async function confirmations(check, session, walls) {
    const name = 'revit.delete_elements';
    const args = { element_ids: walls, failureHandling: { enabled: true, mode: 'rollback' } };
    let dry;

    await check('a dry run gives a token, and changes nothing', async () => {
        const before = await session.look();
        const token = await session.token();

        dry = await session.good(name, { ...args, dryRun: true });
        assert.match(dry.confirmToken, /^ct-[0-9a-f]{32}$/);
        assert.equal(dry.confirmTokenTtlSec, 300);
        assert.equal(dry.confirmTokenMethod, name);
        assert.equal(dry.dryRun, true);
        assert.equal(dry.deleted_count, 5);
        assert.ok(dry.warnings.some((text) => /executed and undone/.test(text)));
        assert.deepEqual(await session.look(), before);
        assert.equal(await session.token(), token);
    });
    await check('required, and not there', () =>
        session.bad('CONFIRMATION_REQUIRED', name, { ...args, requireConfirmToken: true }));
    await check('for other parameters it is void', async () => {
        const other = await session.good(name, { ...args, dryRun: true });

        await session.bad('CONFIRMATION_INVALID', name,
            { ...args, element_ids: walls.slice(1), requireConfirmToken: true, confirmToken: other.confirmToken });
        assert.deepEqual((await session.look()).walls, walls);
    });
    await check('confirmed: it runs', async () => {
        const done = await session.good(name, { ...args, requireConfirmToken: true, confirmToken: dry.confirmToken });

        assert.equal(done.confirmTokenAccepted, true);
        assert.equal(done.deleted_count, 5);
        assert.deepEqual((await session.look()).walls, []);
    });
    await check('for the second time it is void', async () => {
        const refused = await session.bad('CONFIRMATION_INVALID', name, { ...args, requireConfirmToken: true, confirmToken: dry.confirmToken });

        assert.deepEqual(refused.nextActions.map(({ method, params }) => [method, params]), [[name, { dryRun: true }]]);
    });
    await check('there is no dry run of what only adds, by its schema', () =>
        session.bad('INVALID_PARAMS', 'revit.create_wall', { start_point: [0, 0, 0], end_point: [1, 0, 0], height: 9, dryRun: true }));
}

async function run(way, open) {
    const check = (name, fn) => checks.check(`${way}: ${name}`, fn);
    const document = path.join(work, `${way.replaceAll(/\W+/g, '-')}.plan`);
    const { client, tools } = await connect(await open(document));
    const session = new Session(client);

    await descriptions(check, tools);
    const walls = await tokens(check, session);

    await modes(check, session, walls);
    await errors(check, session, walls);
    await confirmations(check, session, walls);
    await client.close();
}

/** What was seen of a document by a process that has ended is stale if it has changed since. */
async function restarts() {
    const document = path.join(work, 'restart.plan');
    const open = async (more = []) => {
        const { client } = await connect(stdio(planner, ['--stdio', '--quiet', '--document', document, ...more]));

        return new Session(client);
    };
    const wall = { start_point: [0, 0, 0], end_point: [9, 0, 0], height: 9 };

    await checks.check('a token of a process before this one', async () => {
        const first = await open();
        const seen = await first.token();

        await first.client.close();
        const second = await open();

        assert.equal(await second.token(), seen, 'nothing has changed');
        await second.good('revit.create_wall', { ...wall, expectedContextToken: seen });
        await second.client.close();
        const third = await open();

        await third.bad('PRECONDITION_FAILED', 'plan.get_document', { expectedContextToken: seen });
        await third.client.close();
    });
    await checks.check('what another process does to the same file', async () => {
        const [one, other] = [await open(), await open()];
        const seen = await one.token();
        const before = (await other.look()).walls.length;
        const added = await other.good('revit.create_wall', { start_point: [0, 30, 0], end_point: [9, 30, 0], height: 9 });
        const line = { start_point: [0, 31, 0], end_point: [9, 31, 0], height: 9 };

        await one.bad('PRECONDITION_FAILED', 'revit.create_wall', { ...line, expectedContextToken: seen });
        assert.equal((await one.look()).walls.length, before + 1);
        await one.bad('PRECONDITION_FAILED', 'revit.create_wall', { ...line, expectedContextToken: seen });
        await one.good('revit.delete_elements', { element_ids: [added.element_id], expectedContextToken: await one.token() });
        await one.client.close();
        await other.client.close();
    });
    for (const [title, more, code] of [
        ['no whitelist', [], 'NOT_LOADED'],
        ['a whitelist that is not there', ['--whitelist', path.join(work, 'none.json')], 'FAILURE_WHITELIST_NOT_FOUND'],
        ['a whitelist that is none', ['--whitelist', document], 'FAILURE_WHITELIST_LOAD_FAILED'],
    ]) {
        await checks.check(`${title}: nothing is let go`, async () => {
            const session = await open(more);
            const undone = await session.bad('TX_NOT_COMMITTED', 'revit.create_wall', { ...wall, failureHandling: 'delete' });

            assert.deepEqual(actions(undone), ['rollback_unwhitelisted']);
            assert.equal(undone.failureHandling.whitelist.ok, false);
            assert.equal(undone.failureHandling.whitelist.code, code);
            await session.client.close();
        });
    }
}

/** The payload of a command over JSON-RPC, through the queue. */
async function rpc(url, method, params, more = {}) {
    const response = await fetch(new URL('/rpc', url), { method: 'POST', headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params, waitMs: 20000, ...more }) });
    const { result } = await response.json();

    return result.result;
}

/** Commands that check nothing themselves: of an add-in that says so of its tool, and of a tools file. */
async function unguarded() {
    const ran = path.join(work, 'ran');
    const command = ['sh', '-c', `echo x >> '${ran}'; printf '{"deleted":1}'`];
    const tool = { description: 'deletes', input_schema: { type: 'object' }, command };
    const file = (name, tools) => {
        writeFileSync(path.join(work, name), JSON.stringify(tools), { mode: 0o600 });
        return path.join(work, name);
    };
    const elementIds = Array.from({ length: 200 }, (_, i) => i + 1);
    const count = () => readFileSync(ran, 'utf8').length / 2;
    const hub = await startServer({ command: toolwire, args: ['up', '--json', '--no-toolkit', '--state', path.join(work, 'plain'), '--pipe', 'Safety.plain',
        '--tools', file('exec.json', [{ ...tool, name: 'remove_things', envelope: true }])] });

    ends.push(() => hub.stop());
    startAddin(toolwire, ['addin', '--pipe', 'Safety.plain', '--retry-ms', '50ms', '--log-level', 'error',
        '--tools', file('addin.json', [{ ...tool, name: 'delete_things', _meta: { 'toolwire/command': true } }])]);
    const { client, tools } = await connect(new StreamableHTTPClientTransport(hub.url), 'delete_things');
    const session = new Session(client);

    for (const name of ['delete_things', 'remove_things']) {
        await checks.check(`a provider without a desk: the hub has one: ${name}`, async () => {
            assert.equal((await session.good(name, { elementIds: [1] })).deleted, 1);
            const n = count();
            const refused = await session.bad('FAILURE_HANDLING_CONFIRMATION_REQUIRED', name, { elementIds });

            assert.equal(refused.data.targetCount, 200);
            assert.equal(refused.nextActions.length, 4);
            assert.equal((await rpc(hub.url, name, { elementIds })).code, 'FAILURE_HANDLING_CONFIRMATION_REQUIRED');
            await session.bad('PRECONDITION_FAILED', name, { elementIds: [1], expectedContextToken: 'ctx-stale' });
            await session.bad('CONFIRMATION_REQUIRED', name, { elementIds: [1], requireConfirmToken: true });
            await session.bad('CONFIRMATION_INVALID', name, { elementIds: [1], confirmToken: 'ct-0' });
            const { msg, nextActions } = await session.bad('INVALID_OPERATION', name, { elementIds: [1], dryRun: true });

            assert.match(msg, /cannot be undone/);
            assert.deepEqual(nextActions, []);
            const { properties } = tools.find((one) => one.name === name).inputSchema;

            assert.match(properties.dryRun.description, /cannot be undone/);
            assert.match(properties.failureHandling.description, /cannot be undone/);
            for (const meta of [{ meta: { expectedContextToken: 'ctx-stale' } }, { _meta: { expectedContextToken: 'ctx-stale' } }, { expectedContextToken: 'ctx-stale' }]) {
                assert.equal((await rpc(hub.url, name, { elementIds: [1] }, meta)).code, 'PRECONDITION_FAILED', JSON.stringify(meta));
            }
            assert.equal(count(), n, 'none of these ran');
            assert.equal((await session.good(name, { elementIds, ...refused.nextActions[1].params })).deleted, 1);
            assert.equal(count(), n + 1);
        });
    }
    await checks.check('OpenRPC: what a command takes and gives, as MCP has it', async () => {
        const { methods } = await (await fetch(new URL('/docs/openrpc.json', hub.url))).json();

        for (const { name, outputSchema } of tools) {
            assert.deepEqual(methods.find((method) => method.name === name).result.schema, outputSchema, name);
        }
    });
    await client.close();
}

/** What the queue keeps of a request, and what becomes of it in the program behind the pipe. */
async function queued() {
    const hub = await startServer({ command: toolwire,
        args: ['up', '--json', '--no-toolkit', '--state', path.join(work, 'queued'), '--pipe', 'Safety.queued'] });

    ends.push(() => hub.stop());
    addin('Safety.queued', path.join(work, 'queued.plan'));
    const { client } = await connect(new StreamableHTTPClientTransport(hub.url));
    const session = new Session(client);
    const wall = { start_point: [0, 0, 0], end_point: [9, 0, 0], height: 9 };
    const seen = await session.token();
    const ask = (more, params = wall) => rpc(hub.url, 'revit.create_wall', params, more);

    await checks.check('a token beside the params gets to the program through the queue', async () => {
        assert.equal((await ask({ meta: { expectedContextToken: seen } })).code, 'OK');
        for (const more of [{ meta: { expectedContextToken: seen } }, { _meta: { __expectedContextToken: seen } }, { expectedContextToken: seen },
            { meta: { expectedContextToken: await session.token() }, _meta: { expectedContextToken: seen } }]) {
            assert.equal((await ask(more)).code, 'PRECONDITION_FAILED', JSON.stringify(more));
        }
        assert.equal((await ask({ meta: { expectedContextToken: seen } }, { ...wall, expectedContextToken: await session.token() })).code, 'PRECONDITION_FAILED');
        assert.equal((await session.look()).walls.length, 1);
    });
    await checks.check('wrong arguments have one code, and say what is wrong', async () => {
        const over = await ask({}, { start_point: 1 });
        const direct = await session.bad('INVALID_PARAMS', 'revit.create_wall', { start_point: 1 });

        assert.equal(over.code, 'INVALID_PARAMS', JSON.stringify(over));
        assert.match(JSON.stringify(over.data), /start_point/);
        assert.deepEqual(over.data, direct.data);
    });
    await checks.check('OpenRPC: the envelope around the command\'s own output', async () => {
        const { methods } = await (await fetch(new URL('/docs/openrpc.json', hub.url))).json();
        const { schema } = methods.find(({ name }) => name === 'revit.create_wall').result;

        assert.deepEqual(STANDARD.filter((name) => !schema.required.includes(name)), []);
        assert.ok('element_id' in schema.properties);
    });
    await client.close();
}

for (const [way, open] of Object.entries(WAYS)) {
    await checks.check(`${way}: to its end`, () => run(way, open));
}
await restarts();
await unguarded();
await queued();
for (const end of ends.reverse()) {
    await checks.check('the end', end);
}
rmSync(work, { recursive: true, force: true });
checks.finish();
