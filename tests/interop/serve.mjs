// `toolwire serve` as a client's configuration starts it, with both official clients in all their modes.
//
//   node serve.mjs -- TOOLWIRE
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { assert, Checks, Inbox, serverCommand } from './checks.mjs';
import { wireRules } from './suite.mjs';
import { Wire } from './wire.mjs';

const POLL_MS = 10;
const { command: toolwire } = serverCommand();
const checks = new Checks('serve');
const folder = await mkdtemp(path.join(tmpdir(), 'serve-'));

/** Tools that are commands: one with a structured result, one that fails, one that runs until it is stopped. */
async function writeTools() {
    const any = { type: 'object' };
    await writeFile(path.join(folder, 'sum.sh'), '#!/bin/sh\ntr -d "\\n" | wc -c | sed \'s/ *\\([0-9]*\\)/{"bytes":\\1}/\'\n');
    await writeFile(path.join(folder, 'wait.sh'), '#!/bin/sh\nsleep 1000 &\necho "$! $$" >pids.part\nmv pids.part pids\nwait\n');
    await chmod(path.join(folder, 'sum.sh'), 0o755);
    await chmod(path.join(folder, 'wait.sh'), 0o755);
    await writeFile(path.join(folder, 'tools.json'), JSON.stringify([
        { name: 'size', description: 'bytes of the arguments', input_schema: any, command: [path.join(folder, 'sum.sh')],
            output_schema: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] } },
        { name: 'broken', description: 'fails', input_schema: any, command: ['sh', '-c', 'echo no good >&2; exit 3'] },
        { name: 'wait', description: 'never ends', input_schema: any, command: ['sh', '-c', `cd '${folder}' && exec ./wait.sh`] },
    ]));
}

function newPeer(version, mode) {
    const serve = { command: toolwire, args: ['serve', '--no-toolkit', '--diagnostics', '--tools', path.join(folder, 'tools.json'), '--page-size', '2'] };
    const who = { name: 'interop', version: '1.0.0' };
    if (version === 1) {
        const transport = new TransportV1(serve);
        const client = new ClientV1(who);
        return { client, transport, call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options) };
    }
    const transport = new TransportV2(serve);
    const client = new ClientV2(who, { versionNegotiation: { mode } });
    return { client, transport, call: (name, args, options) => client.callTool({ name, arguments: args }, options) };
}

async function alive(pid) {
    try {
        process.kill(pid, 0);
        // A process that nobody has waited for yet is no more, although its number is taken.
        return !/^State:\s*Z/m.test(await readFile(`/proc/${pid}/status`, 'utf8'));
    } catch {
        return false;
    }
}

/** Until the file is there, whose writer renames it into place. */
async function contentOf(file) {
    for (;;) {
        const text = await readFile(file, 'utf8').catch(() => undefined);
        if (text !== undefined) {
            return text;
        }
        await later(POLL_MS);
    }
}

async function run(title, peer, era) {
    const { client, transport, call } = peer;
    const wire = new Wire(transport);
    const check = (name, fn) => checks.check(`${title}: ${name}`, fn);

    await check('connect', () => client.connect(transport));
    await check('nothing is announced that is not there', () => {
        assert.deepEqual(client.getServerCapabilities(), { tools: {} });
    });
    await check('lists', async () => {
        const names = [];
        let cursor;
        do {
            const page = await client.listTools(cursor === undefined ? undefined : { cursor });
            names.push(...page.tools.map(({ name }) => name));
            cursor = page.nextCursor;
        } while (cursor !== undefined);
        assert.deepEqual(names.sort(), ['broken', 'echo', 'fail', 'size', 'sleep', 'wait']);
        assert.ok(wire.requests('tools/list').length >= 3, 'the list has pages');
    });
    await check('a tool in the process', async () => {
        assert.deepEqual((await call('echo', { message: 'é\u2028\n' })).content, [{ type: 'text', text: 'é\u2028\n' }]);
    });
    await check('a tool that is a command', async () => {
        const { structuredContent } = await call('size', { text: 'abc' });
        assert.deepEqual(structuredContent, { bytes: '{"text":"abc"}'.length });
    });
    await check('a command that fails', async () => {
        const result = await call('broken', {});
        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /no good/);
    });
    await check('an error that the tool chose', async () => {
        const { isError, structuredContent } = await call('fail', { code: 4711, message: 'enough' });
        assert.equal(isError, true);
        assert.deepEqual(structuredContent, { error: { code: 4711, message: 'enough' } });
    });
    await check('progress', async () => {
        const reports = new Inbox();
        assert.equal((await call('sleep', { ms: 200 }, { onprogress: (report) => reports.push(report) })).content[0].text, 'slept 200 ms');
        assert.ok(reports.items.length > 0);
    });
    await check('cancelling ends a command and what it started', async () => {
        await rm(path.join(folder, 'pids'), { force: true });
        const abort = new AbortController();
        const outcome = call('wait', {}, { signal: abort.signal }).then(() => 'answered', () => 'abandoned');
        const pids = (await contentOf(path.join(folder, 'pids'))).trim().split(' ').map(Number);
        assert.equal(pids.length, 2);
        abort.abort('enough');
        assert.equal(await outcome, 'abandoned');
        while ((await Promise.all(pids.map(alive))).includes(true)) {
            await later(POLL_MS);
        }
    });
    await wireRules({ check }, { client, wire, era }, era === 'modern' ? '2026-07-28' : '2025-11-25');
    await check('the program ends when its client leaves', () => wire.leave(() => client.close()));
}

await writeTools();
await run('client v1', newPeer(1), 'legacy');
await run('client v2 legacy', newPeer(2, 'legacy'), 'legacy');
await run('client v2 auto', newPeer(2, 'auto'), 'modern');
await run('client v2 modern', newPeer(2, { pin: '2026-07-28' }), 'modern');
await rm(folder, { recursive: true, force: true });
checks.finish();
