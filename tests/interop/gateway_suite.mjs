// What a client must be able to do with the servers of gateway_servers.mjs through a hub; `peer` as suite.mjs has it.
// In this order: what `everything` keeps for the session that all clients share (roots, toggles) is used once.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { assert, Inbox, rejectsWith } from './checks.mjs';
import { until } from './gateway_servers.mjs';
import { textOf } from './suite.mjs';

const POLL_MS = 10;
/** Both copies of server-everything have these; the settings say that their names are prefixed, whoever is there first. */
const TWICE = [
    'echo', 'get-annotated-message', 'get-env', 'get-resource-links', 'get-resource-reference', 'get-structured-content',
    'get-sum', 'get-tiny-image', 'gzip-file-as-resource', 'toggle-simulated-logging', 'toggle-subscriber-updates',
    'trigger-long-running-operation', 'simulate-research-query',
];
/** It has these for a client that can be asked, as we are and mcp-proxy is not. */
const ASKING = ['get-roots-list', 'trigger-elicitation-request', 'trigger-sampling-request', 'trigger-url-elicitation']
    .map((name) => `everything__${name}`);
const FILES = [
    'create_directory', 'directory_tree', 'edit_file', 'get_file_info', 'list_allowed_directories', 'list_directory',
    'list_directory_with_sizes', 'move_file', 'read_file', 'read_media_file', 'read_multiple_files', 'read_text_file',
    'search_files', 'write_file',
];
const FIXTURE = [
    'add', 'progress', 'slow', 'cancelled_count', 'ask_name', 'ask_url', 'ask_twice', 'sample', 'roots', 'image', 'audio', 'link',
    'embedded', 'failing', 'own_error', 'log', 'add_tool', 'update',
];
/** A server that is ready may have yet to list. */
export const ONE_OF_EACH = ['everything__echo', 'proxied__echo', 'read_file', 'add'];
const PROMPTS = ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'];
const DOCUMENTS = ['architecture', 'extension', 'features', 'how-it-works', 'instructions', 'startup', 'structure']
    .map((name) => `demo://resource/static/document/${name}.md`);
const echoOf = (server) => server === 'fixture' ? 'echo' : `${server}__echo`;
const both = (names) => names.flatMap((name) => [`everything__${name}`, `proxied__${name}`]);

export async function runGatewaySuite(checks, peer, servers) {
    await lists(checks, peer);
    await roots(checks, peer);
    await calls(checks, peer);
    await files(checks, peer, servers);
    await resources(checks, peer);
    await prompts(checks, peer);
    await progress(checks, peer);
    await cancellation(checks, peer);
    await questionsOfLegacy(checks, peer);
    await questionsOfModern(checks, peer);
    await logging(checks, peer);
    await changes(checks, peer);
    await errors(checks, peer);
    await load(checks, peer);
}

/** Nothing waits for a server longer than some seconds, and on a busy machine they take longer: until none is missing. */
export async function untilAllThere({ list, wire }) {
    await until('all servers', async () => {
        await list('tools', { fresh: true });
        const { result } = wire.results().filter(({ request }) => request?.method === 'tools/list').at(-1).message;
        const absent = (result._meta?.['toolwire/servers'] ?? []).filter(({ state }) => state !== 'ready');
        return absent.length === 0 && ONE_OF_EACH.every((one) => result.tools.some(({ name }) => name === one));
    });
}

async function lists(checks, peer) {
    const names = async (what, key = 'name') => (await peer.list(what, { fresh: true })).map((entry) => entry[key]);

    await checks.check('all servers come', () => untilAllThere(peer));
    await checks.check('the tools of all, with prefixes where the settings say so', async () => {
        const expected = [...both(TWICE), ...ASKING, ...FILES, 'echo', ...FIXTURE];
        assert.deepEqual((await names('tools')).sort(), expected.sort());
        assert.deepEqual((await names('tools')).sort(), expected, 'the same again');
    });
    await checks.check('a tool is described as its server does it', async () => {
        const all = await peer.list('tools');
        const [one, other] = ['everything', 'proxied'].map((server) => all.find(({ name }) => name === `${server}__get-structured-content`));
        assert.deepEqual({ ...one, name: 'x' }, { ...other, name: 'x' });
        assert.equal(one.title, 'Get Structured Content Tool');
        assert.deepEqual(one.outputSchema.required, ['temperature', 'conditions', 'humidity']);
        assert.deepEqual(one.inputSchema.properties.location.enum, ['New York', 'Chicago', 'Los Angeles']);
        assert.equal(all.find(({ name }) => name === 'write_file').annotations.destructiveHint, true);
    });
    await checks.check('prompts', async () =>
        assert.deepEqual((await names('prompts')).sort(), [...both(PROMPTS), 'greet', 'simple'].sort()));
    await checks.check('resources, each URI once', async () =>
        assert.deepEqual((await names('resources', 'uri')).sort(), [...DOCUMENTS, 'test://blob', 'test://static', 'test://watched']));
    await checks.check('templates, each once', async () =>
        assert.deepEqual((await names('resourceTemplates', 'uriTemplate')).sort(),
            ['demo://resource/dynamic/blob/{resourceId}', 'demo://resource/dynamic/text/{resourceId}', 'test://item/{id}']));
    await checks.check('what they can do is announced', () => {
        const { tools, resources: resource, prompts: prompt, completions, logging: logs } = peer.client.getServerCapabilities();
        assert.deepEqual([tools, prompt, resource], [{ listChanged: true }, { listChanged: true }, { listChanged: true, subscribe: true }]);
        assert.deepEqual([completions, logs], [{}, {}]);
    });
}

/** It asks by itself, too, 350 ms after it was greeted: whoever has a call there then is asked. */
async function roots(checks, { call, handle }) {
    handle('roots/list', async () => ({ roots: [{ uri: 'file:///srv/a', name: 'A' }, { uri: 'file:///srv/b' }] }));
    await checks.check('roots, which a legacy server asks for in a call', async () => {
        const said = textOf(await call('everything__get-roots-list'));
        assert.match(said, /\(2 total\):\n\n1\. A\n {3}URI: file:\/\/\/srv\/a\n\n2\. Unnamed Root\n {3}URI: file:\/\/\/srv\/b\n/);
    });
    await checks.check('roots, which a modern server asks for', async () =>
        assert.equal(textOf(await call('roots')), 'file:///srv/a file:///srv/b'));
}

async function calls(checks, { call }) {
    await checks.check('three tools called echo', async () => {
        for (const [server, answer] of [['everything', 'Echo: ä€😀\n'], ['proxied', 'Echo: ä€😀\n'], ['fixture', 'ä€😀\n']]) {
            assert.equal(textOf(await call(echoOf(server), { message: 'ä€😀\n' })), answer);
        }
    });
    await checks.check('structured results, which the client checks', async () => {
        const weather = { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 };
        for (const server of ['everything', 'proxied']) {
            const result = await call(`${server}__get-structured-content`, { location: 'Chicago' });
            assert.deepEqual(result.structuredContent, weather);
            assert.deepEqual(JSON.parse(textOf(result)), weather);
        }
        assert.deepEqual((await call('add', { a: 0.1, b: 2 })).structuredContent, { sum: 2.1 });
    });
    await checks.check('an image, the same by both ways', async () => {
        const [one, other] = await Promise.all(['everything', 'proxied'].map((server) => call(`${server}__get-tiny-image`)));
        const [, image] = one.content;
        assert.equal(image.type, 'image');
        assert.equal(image.mimeType, 'image/png');
        assert.deepEqual([...Buffer.from(image.data, 'base64').subarray(1, 4)], [...Buffer.from('PNG')]);
        assert.deepEqual(other.content, one.content);
    });
    await checks.check('audio, links, embedded resources, annotations', async () => {
        assert.deepEqual((await call('audio')).content, [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }]);
        const [, ...links] = (await call('everything__get-resource-links', { count: 2 })).content;
        assert.deepEqual(links.map(({ type, uri }) => [type, uri]),
            [['resource_link', 'demo://resource/dynamic/blob/1'], ['resource_link', 'demo://resource/dynamic/text/2']]);
        const [, embedded] = (await call('proxied__get-resource-reference', { resourceType: 'Text', resourceId: 3 })).content;
        assert.equal(embedded.type, 'resource');
        assert.match(embedded.resource.text, /^Resource 3: /);
        const [noted] = (await call('everything__get-annotated-message', { messageType: 'error' })).content;
        assert.deepEqual(noted.annotations, { priority: 1, audience: ['user', 'assistant'] });
    });
}

async function files(checks, { call }, { allowed, outside }) {
    const at = (name) => path.join(allowed, name);

    await checks.check('files are listed, read and written', async () => {
        assert.deepEqual(textOf(await call('list_directory', { path: allowed })).split('\n').sort(), ['[FILE] note.txt', '[FILE] way-out']);
        const read = await call('read_text_file', { path: at('note.txt') });
        assert.equal(textOf(read), 'three small wörds');
        assert.deepEqual(read.structuredContent, { content: 'three small wörds' });
        const content = 'é\n'.repeat(1000);
        assert.match(textOf(await call('write_file', { path: at('new.txt'), content })), /^Successfully wrote to /);
        assert.equal(await readFile(at('new.txt'), 'utf8'), content);
        await call('edit_file', { path: at('note.txt'), edits: [{ oldText: 'small', newText: 'big' }] });
        assert.equal(await readFile(at('note.txt'), 'utf8'), 'three big wörds');
    });
    await checks.check('what is outside is refused in the words of the server', async () => {
        for (const [file, why] of [[outside, 'path outside allowed directories'], [at('way-out'), 'symlink target outside allowed directories']]) {
            const result = await call('read_text_file', { path: file });
            assert.equal(result.isError, true);
            assert.equal(textOf(result), `Access denied - ${why}: ${outside} not in ${allowed}`);
        }
        assert.equal((await call('write_file', { path: outside, content: 'x' })).isError, true);
        assert.equal((await stat(outside)).size, 'a secret'.length);
    });
    // A hub that said that it has roots, and gave an empty list, would take the folder away from the server.
    await checks.check('the folder is the one of the settings', async () =>
        assert.equal(textOf(await call('list_allowed_directories')), `Allowed directories:\n${allowed}`));
}

async function resources(checks, { client }) {
    const read = async (uri) => (await client.readResource({ uri })).contents;

    await checks.check('resources and those of templates', async () => {
        assert.match((await read(DOCUMENTS[2]))[0].text, /^# Everything Server - Features/);
        assert.match((await read('demo://resource/dynamic/text/7'))[0].text, /^Resource 7: /);
        assert.match(Buffer.from((await read('demo://resource/dynamic/blob/8'))[0].blob, 'base64').toString(), /^Resource 8: /);
        assert.deepEqual(await read('test://item/a%20b'), [{ uri: 'test://item/a%20b', mimeType: 'text/plain', text: 'item a b' }]);
    });
    await checks.check('a resource that a server does not have, and one that nobody has', async () => {
        await assert.rejects(() => read('demo://resource/dynamic/text/none'), /Unknown resource: demo:\/\/resource\/dynamic\/text\/none/);
        await assert.rejects(() => read('other://x'));
    });
}

async function prompts(checks, { client }) {
    const complete = async (ref, name, value, context) =>
        (await client.complete({ ref, argument: { name, value }, ...(context && { context: { arguments: context } }) })).completion.values;
    const team = (server) => ({ type: 'ref/prompt', name: `${server}__completable-prompt` });

    await checks.check('prompts of two servers', async () => {
        for (const server of ['everything', 'proxied']) {
            const { messages } = await client.getPrompt({ name: `${server}__args-prompt`, arguments: { city: 'Ulm', state: 'BW' } });
            assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: "What's weather in Ulm, BW?" } }]);
        }
        const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ann' } });
        assert.equal(messages[0].content.text, 'Greet Ann in a plain style');
    });
    await checks.check('completion', async () => {
        for (const server of ['everything', 'proxied']) {
            assert.deepEqual(await complete(team(server), 'department', 'S'), ['Sales', 'Support']);
            assert.deepEqual(await complete(team(server), 'name', '', { department: 'Sales' }), ['David', 'Eve', 'Frank']);
        }
        const item = { type: 'ref/resource', uri: 'test://item/{id}' };
        assert.deepEqual(await complete(item, 'id', 'al'), ['alpha', 'alps']);
        assert.deepEqual(await complete({ ...item, uri: 'demo://resource/dynamic/text/{resourceId}' }, 'resourceId', '7'), ['7']);
    });
}

async function progress(checks, { call, wire }) {
    const reportsOf = (token) => wire.notifications('notifications/progress')
        .filter(({ params }) => params.progressToken === token).map(({ params }) => [params.progress, params.total]);

    for (const server of ['everything', 'proxied', 'fixture']) {
        await checks.check(`progress of ${server}`, async () => {
            const [name, args] = server === 'fixture' ? ['progress', { steps: 4 }]
                : [`${server}__trigger-long-running-operation`, { duration: 0.2, steps: 4 }];
            const result = await call(name, args, { onprogress: () => {} });
            assert.match(textOf(result), /^(done 4|Long running operation completed)/);
            const { params } = wire.requests('tools/call').at(-1);
            const reports = reportsOf(params._meta.progressToken);
            const expected = [[1, 4], [2, 4], [3, 4], [4, 4]];
            // mcp-proxy does not wait for its last report before it answers.
            assert.deepEqual(reports, server === 'proxied' ? expected.slice(0, Math.max(3, reports.length)) : expected);
        });
    }
}

async function cancellation(checks, { call, wire }) {
    const nCancelled = async () => Number(textOf(await call('cancelled_count')));

    await checks.check('cancelling reaches the server', async () => {
        const before = await nCancelled();
        const abort = new AbortController();
        const started = new Inbox();
        const outcome = call('slow', {}, { signal: abort.signal, onprogress: (report) => started.push(report) })
            .then(() => 'answered', () => 'abandoned');
        await started.nth(1);
        abort.abort('enough');
        assert.equal(await outcome, 'abandoned');
        while (await nCancelled() === before) {
            await later(POLL_MS);
        }
        assert.equal(await nCancelled(), before + 1);
    });
    await checks.check('a cancelled call holds up neither its server nor its client', async () => {
        for (const server of ['everything', 'proxied']) {
            const abort = new AbortController();
            const started = new Inbox();
            const outcome = call(`${server}__trigger-long-running-operation`, { duration: 30, steps: 600 },
                { signal: abort.signal, onprogress: (report) => started.push(report) }).then(() => 'answered', () => 'abandoned');
            await started.nth(1);
            abort.abort('enough');
            assert.equal(await outcome, 'abandoned');
            assert.equal(textOf(await call(echoOf(server), { message: 'next' })), 'Echo: next');
            const { id } = wire.requests('tools/call').filter(({ params }) => params.name.endsWith('long-running-operation')).at(-1);
            assert.deepEqual(wire.answersTo(id), []);
        }
    });
}

/** A server that sends requests, to a client of either era. */
async function questionsOfLegacy(checks, { call, handle, era }) {
    const asked = [];
    const answers = [];
    const words = ({ content }) => content.map(({ text }) => text).join('\n');
    handle('elicitation/create', async ({ params }) => {
        asked.push(params);
        return answers.shift();
    });
    handle('sampling/createMessage', async ({ params }) => ({
        model: 'none', role: 'assistant', stopReason: 'endTurn',
        content: { type: 'text', text: `${params.systemPrompt} ${params.messages[0].content.text} ${params.maxTokens} ${params.temperature}` },
    }));

    await checks.check('a form of a legacy server that is filled in', async () => {
        answers.push({ action: 'accept', content: { name: 'Ann', check: true, integer: 7, number: 2.5, untitledMultipleSelectEnum: ['Piano'] } });
        const said = words(await call('everything__trigger-elicitation-request'));
        assert.match(said, /- Name: Ann\n- Agreed to terms: true\n- Favorite Integer: 7\n- Favorite Number: 2\.5/);
        assert.match(said, /"Piano"/);
        const { message, requestedSchema } = asked.at(-1);
        assert.equal(message, 'Please provide inputs for the following fields:');
        assert.equal(Object.keys(requestedSchema.properties).length, 13);
        assert.deepEqual(requestedSchema.properties.titledSingleSelectEnum.oneOf[2], { const: 'hero-3', title: 'Wonder Woman' });
        assert.deepEqual(requestedSchema.required, ['name']);
    });
    await checks.check('one that is declined, and one that is dismissed', async () => {
        answers.push({ action: 'decline' }, { action: 'cancel' });
        assert.match(words(await call('everything__trigger-elicitation-request')), /User declined/);
        assert.match(words(await call('everything__trigger-elicitation-request')), /User cancelled/);
    });
    await checks.check('a page of a legacy server', async () => {
        answers.push({ action: 'accept' });
        const said = words(await call('everything__trigger-url-elicitation', { url: 'https://example.test/a?b=c', message: 'please' }));
        assert.match(said, /completed the URL elicitation flow/);
        const { mode, url, message } = asked.at(-1);
        assert.deepEqual([mode, url, message], ['url', 'https://example.test/a?b=c', 'please']);
    });
    // The modern era has no such number: its clients are asked in another way, and find the error whole in the data.
    await checks.check('an error that wants a page opened', async () => {
        const args = { url: 'https://example.test/', message: 'please', errorPath: true };
        const { message, data } = await rejectsWith(era === 'legacy' ? -32042 : -32603, () => call('everything__trigger-url-elicitation', args));
        const inner = era === 'legacy' ? data : data.data;
        assert.equal(inner.elicitations[0].url, 'https://modelcontextprotocol.io');
        assert.match(message, /This request requires browser-based authorization\.$/);
    });
    await checks.check('sampling for a legacy server', async () => {
        const said = textOf(await call('everything__trigger-sampling-request', { prompt: 'why', maxTokens: 12 }));
        const result = JSON.parse(said.slice(said.indexOf('{')));
        assert.equal(result.content.text, 'You are a helpful test server. Resource trigger-sampling-request context: why 12 0.7');
        assert.equal(result.stopReason, 'endTurn');
    });
}

/** A server that answers with what it wants to know, to a client of either era. */
async function questionsOfModern(checks, { call, handle }) {
    const asked = [];
    const answers = [];
    handle('elicitation/create', async ({ params }) => {
        asked.push(params);
        return answers.shift();
    });

    await checks.check('forms and pages of a modern server', async () => {
        answers.push({ action: 'accept', content: { name: 'Ann' } }, { action: 'decline' }, { action: 'accept' });
        assert.equal(textOf(await call('ask_name')), 'Hello, Ann!');
        assert.equal(textOf(await call('ask_name')), 'decline');
        assert.equal(textOf(await call('ask_url')), 'accept');
        assert.deepEqual(asked.map(({ message }) => message), ['What is your name?', 'What is your name?', 'Please open the page']);
        assert.equal(asked[2].url, 'https://example.test/consent');
    });
    await checks.check('two questions of a modern server', async () => {
        answers.push({ action: 'accept', content: { first: 'A' } }, { action: 'accept', content: { second: 'B' } });
        assert.equal(textOf(await call('ask_twice')), 'two A B');
    });
    await checks.check('sampling for a modern server', async () => {
        const said = textOf(await call('sample', { prompt: 'why' }));
        assert.equal(said, 'the model says: undefined why 100 undefined');
    });
}

async function logging(checks, { client, call, on, era, wire }) {
    const records = new Inbox();
    on('notifications/message', ({ params }) => records.push(params));
    const at = async (level) => {
        if (era === 'legacy') {
            await client.setLoggingLevel(level);
        }
        return era === 'legacy' ? undefined : { 'io.modelcontextprotocol/logLevel': level };
    };

    await checks.check('log records of a modern server', async () => {
        const meta = await at('warning');
        assert.equal(textOf(await call('log', {}, { meta })), 'logged');
        assert.deepEqual(records.items.map(({ level, logger, data }) => [level, logger, data]),
            ['warning', 'error'].map((level) => [level, 'fixture', `a record of level ${level}`]));
    });
    // Of a level that it draws: the lowest takes all.
    await checks.check('log records of a legacy server', async () => {
        records.clear();
        const meta = await at('debug');
        await call('everything__toggle-simulated-logging', {}, { meta });
        assert.match((await records.nth(1)).data, /^[A-Z][a-z]+[- ]level[- ]message$/);
        await call('everything__toggle-simulated-logging', {}, { meta });
    });
    await checks.check('no log records below the level', async () => {
        const meta = await at('emergency');
        const before = wire.notifications('notifications/message').length;
        await call('log', {}, { meta });
        assert.equal(wire.notifications('notifications/message').length, before);
    });
}

async function changes(checks, { call, on, list, client, subscribe, unsubscribe, wire }) {
    const watched = DOCUMENTS[0];
    const listsChanged = new Inbox();
    const updated = new Inbox();
    on('notifications/tools/list_changed', () => listsChanged.push(1));
    on('notifications/resources/updated', ({ params }) => updated.push(params.uri));

    await checks.check('resources of two servers are watched', async () => {
        await subscribe({ toolsListChanged: true, resourceSubscriptions: [watched, 'test://watched'] });
        // It logs before it notes a subscription, and would tell the next 5 s later if it read both requests at once.
        await call('everything__echo', { message: 'noted' });
        await call('everything__toggle-subscriber-updates');
        assert.equal(await updated.nth(1), watched);
        const version = textOf(await call('update'));
        await until('the other update', () => updated.items.includes('test://watched'));
        const { contents } = await client.readResource({ uri: 'test://watched' }, { cacheMode: 'refresh' });
        assert.equal(contents[0].text, version);
    });
    await checks.check('a tool that a server gets later', async () => {
        const before = listsChanged.items.length;
        assert.equal(textOf(await call('add_tool', { name: 'later' })), 'added later');
        await listsChanged.nth(before + 1);
        await until('the new tool', async () => (await list('tools', { fresh: true })).some(({ name }) => name === 'later'));
        assert.equal(textOf(await call('later')), 'this is later');
    });
    await checks.check('silence after the subscription', async () => {
        await unsubscribe();
        await call('everything__toggle-subscriber-updates');
        const before = wire.notifications('notifications/resources/updated').length;
        await call('everything__toggle-subscriber-updates'); // tells all who watch, at once
        await call('update');
        await call('echo', { message: 'behind it' });
        assert.equal(wire.notifications('notifications/resources/updated').length, before);
        await call('everything__toggle-subscriber-updates');
    });
}

async function errors(checks, { client, call, era }) {
    await checks.check('each server refuses arguments in its own words', async () => {
        const old = 'MCP error -32602: Input validation error: Invalid arguments for tool echo: ' +
            'Invalid input: expected string, received number at message';
        for (const [server, why] of [['everything', old], ['proxied', old],
            ['fixture', 'Input validation error: Invalid arguments for tool echo: data/message must be string']]) {
            const result = await call(echoOf(server), { message: 5 });
            assert.deepEqual([result.isError, textOf(result)], [true, why]);
        }
    });
    await checks.check('tools that fail', async () => {
        for (const [name, why] of [['failing', 'it failed'], ['own_error', 'an error of its own']]) {
            const result = await call(name);
            assert.deepEqual([result.isError, textOf(result)], [true, why]);
        }
    });
    await checks.check('a tool that runs only as a task, and says so', async () => {
        const result = await call('proxied__simulate-research-query', { topic: 'x' }).catch((error) => error);
        assert.match(result.message ?? textOf(result), /requires task augmentation/);
    });
    await checks.check('a prompt without what it needs: the error of its server', async () => {
        const { message } = await rejectsWith(-32602, () => client.getPrompt({ name: 'everything__args-prompt', arguments: {} }));
        assert.match(message, /city/, era);
    });
    await checks.check('what nobody has', async () => {
        await rejectsWith(-32602, () => call('get-sum', { a: 1, b: 2 }));
        await rejectsWith(-32602, () => call('everything__no_such_tool'));
        await rejectsWith(-32602, () => client.getPrompt({ name: 'simple-prompt' }));
    });
}

async function load(checks, { call }) {
    await checks.check('90 calls at once at three servers, each with its own answer', async () => {
        const wanted = Array.from({ length: 90 }, (unused, i) => [['everything', 'Echo: '], ['proxied', 'Echo: '], ['fixture', '']][i % 3]);
        const all = wanted.map(([server], i) => call(echoOf(server), { message: `call ${i}` }).then(textOf));
        assert.deepEqual(await Promise.all(all), wanted.map(([, before], i) => `${before}call ${i}`));
    });
    await checks.check('a message of half a MiB to each', async () => {
        const message = 'é0123456789abcde'.repeat(32 * 1024);
        for (const [server, before] of [['everything', 'Echo: '], ['proxied', 'Echo: '], ['fixture', '']]) {
            assert.ok(textOf(await call(echoOf(server), { message })) === before + message, server);
        }
    });
}
