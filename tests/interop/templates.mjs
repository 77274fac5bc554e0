// The templates of `toolwire serve`, used with the official clients in every revision.
//
//   node templates.mjs -- TOOLWIRE
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { assert, Checks, serverCommand } from './checks.mjs';
import { wireRules } from './suite.mjs';
import { Wire } from './wire.mjs';

const URI = 'template://makefile/rust/cli';
const TEMPLATE = 'template://{category}/{toolchain}/{variant}';
const TOOLS = ['analyze_code_churn', 'analyze_complexity', 'analyze_hotspots', 'generate_template', 'list_templates', 'scaffold_project', 'search_templates', 'validate_template'];
const { command: toolwire } = serverCommand();
const checks = new Checks('templates');
const folder = await mkdtemp(path.join(tmpdir(), 'templates-'));

function newPeer(version, mode, revision) {
    const serve = {
        command: toolwire,
        args: ['serve', '--write-root', path.join(folder, 'root'), '--templates', path.join(folder, 'own'), '--page-size', '20'],
        env: { ...process.env, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder },
    };
    const who = { name: 'interop', version: '1.0.0' };
    if (version === 1) {
        return { client: new ClientV1(who), transport: new TransportV1(serve) };
    }
    const options = { versionNegotiation: { mode }, ...(revision && { supportedProtocolVersions: [revision] }) };
    return { client: new ClientV2(who, options), transport: new TransportV2(serve) };
}

/** Every page of a list. */
async function all(client, what) {
    const method = `list${what[0].toUpperCase()}${what.slice(1)}`;
    const entries = [];
    let cursor;
    do {
        const page = await client[method](cursor === undefined ? undefined : { cursor });
        entries.push(...page[what]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return entries;
}

async function run(title, { client, transport }, revision) {
    const era = revision === '2026-07-28' ? 'modern' : 'legacy';
    const isStructured = revision >= '2025-06-18';
    const wire = new Wire(transport);
    const check = (name, fn) => checks.check(`${title}: ${name}`, fn);
    const call = (name, args) => client.callTool({ name, arguments: args });

    await check('connect', () => client.connect(transport));
    await check('lists', async () => {
        const names = (await all(client, 'tools')).map(({ name }) => name).sort();
        assert.deepEqual(names, TOOLS);
        const resources = await all(client, 'resources');
        assert.ok(resources.length >= 40);
        const { name, mimeType } = resources.find(({ uri }) => uri === URI);
        assert.deepEqual({ name, mimeType }, { name: 'Rust CLI Makefile', mimeType: 'text/x-makefile' });
        assert.ok(resources.some(({ uri }) => uri === 'template://notes/mine/plain'));
        assert.deepEqual((await all(client, 'resourceTemplates')).map(({ uriTemplate }) => uriTemplate), [TEMPLATE]);
        const prompts = (await all(client, 'prompts')).map((prompt) => prompt.name);
        assert.ok(prompts.includes('scaffold-rust-project') && prompts.includes('scaffold-mine-project'));
    });
    // Before 2025-03-26 no server can say that it completes, and the clients do not ask.
    if (revision >= '2025-03-26') {
        await check('completes', async () => {
            const ref = { type: 'ref/resource', uri: TEMPLATE };
            const { completion } = await client.complete({
                ref, argument: { name: 'toolchain', value: '' }, context: { arguments: { category: 'notes' } },
            });
            assert.deepEqual(completion.values, ['mine']);
            const prompt = await client.complete({
                ref: { type: 'ref/prompt', name: 'scaffold-rust-project' }, argument: { name: 'templates', value: 'make' },
            });
            assert.deepEqual(prompt.completion.values, ['makefile']);
        });
    }
    await check('reads', async () => {
        const { contents: [{ uri, mimeType, text }] } = await client.readResource({ uri: URI });
        assert.deepEqual({ uri, mimeType }, { uri: URI, mimeType: 'text/x-makefile' });
        assert.match(text, /\{\{project_name\}\}/);
    });
    await check('a URI that is none', () => assert.rejects(
        client.readResource({ uri: 'template://../../etc/passwd' }), /Invalid template URI: template:\/\/\.\.\/\.\.\/etc\/passwd/));
    await check('generates', async () => {
        const result = await call('generate_template', { resource_uri: URI, parameters: { project_name: 'my-project', has_tests: true } });
        assert.equal(result.content.length, 1);
        assert.match(result.content[0].text, /^# my-project/);
        if (isStructured) {
            const { structuredContent: { content, checksum, filename } } = result;
            assert.equal(content, result.content[0].text);
            assert.equal(filename, 'my-project/Makefile');
            assert.equal(checksum, createHash('sha256').update(content).digest('hex'));
        } else {
            /* The client keeps what stands beside the content. */
            assert.equal(result.filename, 'my-project/Makefile');
            assert.equal(result.checksum, createHash('sha256').update(result.content[0].text).digest('hex'));
        }
    });
    await check('every tool, against its own output schema', async () => {
        const parameters = { project_name: 'demo', description: 'd' };
        assert.match((await call('list_templates', { toolchain: 'rust' })).content[0].text, /^Found \d+ templates$/);
        assert.match((await call('search_templates', { query: 'notes' })).content[1].text, /template:\/\/notes\/mine\/plain/);
        assert.equal((await call('validate_template', { resource_uri: URI, parameters: { project_name: 'x' } })).content[0].text,
            'Template parameters are valid');
        const result = await call('scaffold_project',
            { toolchain: 'rust', templates: ['makefile', 'readme'], parameters, write_to: title.replaceAll(' ', '-') });
        assert.equal(result.content[0].text, 'Scaffolded 2 templates successfully, 0 errors');
        assert.match(await readFile(path.join(folder, 'root', title.replaceAll(' ', '-'), 'README.md'), 'utf8'), /demo/);
    });
    await check('the analyser, against its own output schema', async () => {
        const project_path = path.join(folder, 'code');
        for (const format of ['summary', 'json', 'sarif']) {
            const result = await call('analyze_complexity', { project_path, toolchain: 'deno', format, top_files: 1, no_cache: true });
            const report = isStructured ? result.structuredContent : result;
            assert.deepEqual([report.summary.total_functions, report.files_analyzed], [1, 1]);
            assert.equal(report.top_files.rankings[0].file, 'a.js');
            assert.equal(result.content[0].type, 'text');
        }
        const wrong = () => call('analyze_complexity', { project_path: path.join(folder, 'nowhere'), toolchain: 'auto' });
        if (isStructured) {
            assert.equal((await wrong()).structuredContent.error.code, -32000);
        } else {
            await assert.rejects(wrong(), (error) => error.code === -32000 && /Not found/.test(error.message));
        }
    });
    await check('errors in the form of the revision', async () => {
        const wrong = () => call('generate_template', { resource_uri: 'template://a/b/c', parameters: {} });
        if (isStructured) {
            const { isError, structuredContent } = await wrong();
            assert.equal(isError, true);
            assert.equal(structuredContent.error.code, -32000);
        } else {
            await assert.rejects(wrong(), (error) => error.code === -32000 && /Template not found: template:\/\/a\/b\/c/.test(error.message));
        }
    });
    await check('a prompt', async () => {
        const { messages } = await client.getPrompt({ name: 'scaffold-rust-project', arguments: { project_name: 'demo' } });
        assert.match(messages[0].content.text, /scaffold_project/);
    });
    await wireRules({ check }, { client, wire, era }, revision);
    await check('the program ends when its client leaves', () => wire.leave(() => client.close()));
}

await mkdir(path.join(folder, 'root'));
await mkdir(path.join(folder, 'own'));
await mkdir(path.join(folder, 'code'));
await writeFile(path.join(folder, 'code', 'a.js'), 'function f(a) { return a && 1; }\n');
await writeFile(path.join(folder, 'own', 'manifest.json'), JSON.stringify({ templates: [{
    uri: 'template://notes/mine/plain', name: 'Notes', description: 'notes', file: 'notes.hbs', output: 'NOTES',
    parameters: [{ name: 'project_name', type: 'string' }],
}] }));
await writeFile(path.join(folder, 'own', 'notes.hbs'), 'Notes of {{project_name}}\n');
await run('client v1', newPeer(1), '2025-11-25');
for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    await run(`client v2 ${revision}`, newPeer(2, 'legacy', revision), revision);
}
await run('client v2 modern', newPeer(2, { pin: '2026-07-28' }), '2026-07-28');
await rm(folder, { recursive: true, force: true });
checks.finish();
