// What a client must be able to do with the fixture (fixture_server.c), whatever library it is written
// with. `peer` hides how the libraries spell it:
//
//   client, wire, era ('legacy' or 'modern')
//   call(name, args, options)      a tool; options: onprogress, signal, meta
//   list(what)                     every page of tools, prompts, resources or resourceTemplates
//   request(method, params)        any request
//   on(method, fn), handle(method, fn)    notifications, requests of the server
//   subscribe(filter), unsubscribe()      the era's way to be told of changes; gives when it is in force
//   overHttp                       requests go over connections of their own, and may overtake one another
//   fromUs                         the server is ours: also hold it to what the TypeScript one leaves open
import { setTimeout as later } from 'node:timers/promises';
import { assert, Inbox, rejectsWith } from './checks.mjs';
import { checkSchemas, schemasMissing } from './schema.mjs';

const POLL_MS = 10;
const TOOLS = [
    'echo', 'add', 'progress', 'slow', 'cancelled_count', 'ask_name', 'ask_url', 'ask_twice', 'sample', 'roots',
    'image', 'audio', 'link', 'embedded', 'failing', 'own_error', 'log', 'add_tool', 'update',
];

/** The one text block of a result. */
export function textOf(result) {
    assert.equal(result.content.length, 1, JSON.stringify(result));
    assert.equal(result.content[0].type, 'text');
    return result.content[0].text;
}

export async function runSuite(checks, peer) {
    await introduction(checks, peer);
    await lists(checks, peer);
    await tools(checks, peer);
    await content(checks, peer);
    await resources(checks, peer);
    await prompts(checks, peer);
    await progress(checks, peer);
    await cancellation(checks, peer);
    await questions(checks, peer);
    await logging(checks, peer);
    await changes(checks, peer);
    await errors(checks, peer);
    await load(checks, peer);
    await wireRules(checks, peer, peer.client.getNegotiatedProtocolVersion?.() ?? '2025-11-25');
}

/** What holds for all that went over the wire so far. */
export async function wireRules(checks, peer, revision) {
    await checks.check('every request has its answer', () => peer.wire.checkPairs());
    if (schemasMissing() !== undefined) {
        console.log(`SKIPPED: messages against the schema: ${schemasMissing()}`);
    } else {
        await checks.check(`every message against the schema of ${revision}`, () => {
            assert.ok(checkSchemas(peer.wire, revision) > 0);
        });
    }
    await checks.check(`nothing on the wire breaks the rules of the ${peer.era} era`, () =>
        peer.era === 'modern' ? peer.wire.checkModern(peer.client.getServerVersion()) : peer.wire.checkLegacy());
}

async function introduction(checks, { client, era, wire }) {
    await checks.check('the server says who it is and what it has', async () => {
        assert.equal(client.getServerVersion().name, 'fixture');
        assert.equal(client.getServerVersion().version, '1.0.0');
        assert.equal(client.getInstructions(), 'Call echo.');
        const { tools, resources, prompts, completions, logging } = client.getServerCapabilities();
        assert.equal(tools.listChanged, true);
        assert.equal(prompts.listChanged, true);
        assert.equal(resources.listChanged, true);
        assert.equal(resources.subscribe, true);
        assert.deepEqual(completions, {});
        assert.deepEqual(logging, {});
    });
    if (era === 'legacy') {
        await checks.check('ping', async () => assert.deepEqual(await client.ping(), {}));
    } else {
        await checks.check('server/discover', async () => {
            const found = await client.discover();
            assert.ok(found.supportedVersions.includes('2026-07-28'), JSON.stringify(found));
            assert.equal(found.instructions, 'Call echo.');
        });
        await checks.check('what the modern era has not', async () => {
            const { _meta } = wire.requests('server/discover').at(-1).params;
            for (const method of ['ping', 'logging/setLevel', 'resources/subscribe']) {
                const { error } = await wire.ask({ method, params: { _meta, level: 'info', uri: 'test://static' } });
                assert.equal(error?.code, -32601, method);
            }
        });
    }
}

async function lists(checks, { list }) {
    const names = async (what) => (await list(what)).map((entry) => entry.name);

    await checks.check('tools/list, in the order of registration', async () => assert.deepEqual(await names('tools'), TOOLS));
    await checks.check('a tool with all that describes it', async () => {
        const all = await list('tools');
        const echo = all.find((tool) => tool.name === 'echo');
        assert.equal(echo.title, 'Echo');
        assert.deepEqual(echo.annotations, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false });
        assert.deepEqual(echo.inputSchema.required, ['message']);
        assert.equal(echo.inputSchema.type, 'object');
        assert.equal(all.find((tool) => tool.name === 'add').outputSchema.properties.sum.type, 'number');
    });
    await checks.check('prompts/list', async () => {
        assert.deepEqual(await names('prompts'), ['simple', 'greet']);
        const required = (await list('prompts'))[1].arguments.map(({ name, required: must }) => [name, must ?? false]);
        assert.deepEqual(required, [['name', true], ['style', false]]);
    });
    await checks.check('resources/list', async () => {
        const uris = (await list('resources')).map((entry) => entry.uri);
        assert.deepEqual(uris, ['test://static', 'test://blob', 'test://watched']);
    });
    await checks.check('resources/templates/list', async () => {
        const [template, ...others] = await list('resourceTemplates');
        assert.deepEqual(others, []);
        assert.equal(template.uriTemplate, 'test://item/{id}');
        assert.equal(template.mimeType, 'text/plain');
    });
}

async function tools(checks, { call }) {
    await checks.check('tools/call', async () => assert.equal(textOf(await call('echo', { message: 'hi' })), 'hi'));
    await checks.check('text of every kind comes back as it was', async () => {
        const message = 'ä€😀 \u2028\u2029 "quoted" \\ \t\n\r \u0001 \ufeff <end>';
        assert.equal(textOf(await call('echo', { message })), message);
    });
    await checks.check('a structured result, checked by the client against the output schema', async () => {
        const result = await call('add', { a: 0.1, b: 2 });
        assert.deepEqual(result.structuredContent, { sum: 2.1 });
        assert.deepEqual(JSON.parse(textOf(result)), { sum: 2.1 });
    });
    await checks.check('a tool that fails', async () => {
        const result = await call('failing');
        assert.equal(result.isError, true);
        assert.equal(textOf(result), 'it failed');
    });
}

async function content(checks, { call }) {
    const only = async (name) => (await call(name)).content;

    await checks.check('an image', async () => assert.deepEqual(await only('image'), [{ type: 'image', data: 'iVBORw==', mimeType: 'image/png' }]));
    await checks.check('audio', async () => assert.deepEqual(await only('audio'), [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }]));
    await checks.check('a link to a resource', async () => assert.deepEqual(await only('link'),
        [{ type: 'resource_link', uri: 'test://static', name: 'static', mimeType: 'text/plain' }]));
    await checks.check('an embedded resource', async () => assert.deepEqual(await only('embedded'),
        [{ type: 'resource', resource: { uri: 'test://static', mimeType: 'text/plain', text: 'static text' } }]));
}

async function resources(checks, { client, wire, era, fromUs }) {
    const read = async (uri) => (await client.readResource({ uri })).contents;

    await checks.check('a text resource', async () => assert.deepEqual(await read('test://static'),
        [{ uri: 'test://static', mimeType: 'text/plain', text: 'static text' }]));
    await checks.check('a binary resource', async () => assert.deepEqual(await read('test://blob'),
        [{ uri: 'test://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==' }]));
    await checks.check('a resource of a template', async () => assert.deepEqual(await read('test://item/a%20b'),
        [{ uri: 'test://item/a%20b', mimeType: 'text/plain', text: 'item a b' }]));
    await checks.check('a resource that is not there', async () => {
        await assert.rejects(() => read('test://none'));
        // Version 2 of the client shows its users the modern code in either era.
        const { code, data } = wire.received.at(-1).error;
        assert.equal(code, era === 'legacy' && fromUs ? -32002 : -32602);
        assert.equal(data?.uri, 'test://none');
    });
}

async function prompts(checks, { client }) {
    const messages = async (params) => (await client.getPrompt(params)).messages;
    const said = (role, text) => ({ role, content: { type: 'text', text } });

    await checks.check('a prompt', async () => {
        const result = await client.getPrompt({ name: 'simple' });
        assert.equal(result.description, 'Always the same');
        assert.deepEqual(result.messages, [said('user', 'A simple prompt')]);
    });
    await checks.check('a prompt with arguments', async () => assert.deepEqual(
        await messages({ name: 'greet', arguments: { name: 'Ann', style: 'formal' } }),
        [said('user', 'Greet Ann in a formal style'), said('assistant', 'Hello, Ann')]));
    await checks.check('a prompt without an argument that it needs', () =>
        rejectsWith(-32602, () => client.getPrompt({ name: 'greet', arguments: {} })));
    await checks.check('completion of a prompt argument', async () => {
        const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'style', value: 'f' } });
        assert.deepEqual(completion.values, ['formal', 'friendly', 'funny']);
    });
    await checks.check('completion that knows the other arguments', async () => {
        const { completion } = await client.complete({
            ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'style', value: 'fr' }, context: { arguments: { name: 'Bob' } },
        });
        assert.deepEqual(completion.values, ['friendly', 'fraternal']);
    });
    await checks.check('completion of a template variable', async () => {
        const { completion } = await client.complete({ ref: { type: 'ref/resource', uri: 'test://item/{id}' }, argument: { name: 'id', value: 'al' } });
        assert.deepEqual(completion.values, ['alpha', 'alps']);
    });
}

async function progress(checks, { call, wire }) {
    await checks.check('progress', async () => {
        const heard = [];
        const result = await call('progress', { steps: 5 }, { onprogress: (report) => heard.push(report) });
        assert.equal(textOf(result), 'done 5');
        const expected = [1, 2, 3, 4, 5].map((i) => ({ progress: i, total: 5, message: `step ${i} of 5` }));
        const { id, params: { _meta: { progressToken } } } = wire.requests('tools/call').at(-1);
        const sent = wire.notifications('notifications/progress').filter(({ params }) => params.progressToken === progressToken);
        assert.deepEqual(sent.map(({ params: { progressToken: unused, _meta, ...report } }) => report), expected);
        assert.ok(wire.received.indexOf(sent.at(-1)) < wire.received.indexOf(wire.answersTo(id)[0]), 'progress after the answer');
        // Version 2 of the client drops reports that it reads together with the answer; `slow` shows that it hears some.
        assert.deepEqual(heard, expected.slice(0, heard.length));
    });
    await checks.check('no progress for those who did not ask', async () => {
        const before = wire.notifications('notifications/progress').length;
        assert.equal(textOf(await call('progress', { steps: 5 })), 'done 5');
        assert.equal(wire.notifications('notifications/progress').length, before);
    });
}

async function cancellation(checks, { call, list, wire, overHttp }) {
    const nCancelled = async () => Number(textOf(await call('cancelled_count')));

    await checks.check('cancelling stops the work', async () => {
        const before = await nCancelled();
        await abandon(call);
        while (overHttp && await nCancelled() === before) {
            await later(POLL_MS);
        }
        assert.equal(await nCancelled(), before + 1);
    });
    await checks.check('a cancelled request is not answered', async () => {
        const { id } = wire.requests('tools/call').filter((request) => request.params.name === 'slow').at(-1);
        assert.deepEqual(wire.answersTo(id), []);
    });
    await checks.check('a slow call holds up neither lists nor other calls', async () => {
        await abandon(call, async () => {
            assert.ok((await list('tools')).length >= TOOLS.length);
            assert.equal(textOf(await call('echo', { message: 'meanwhile' })), 'meanwhile');
        });
    });
}

/** Starts `slow`, waits for its sign of life, does something else, and cancels it. */
async function abandon(call, meanwhile = async () => {}) {
    const abort = new AbortController();
    const started = new Inbox();
    const outcome = call('slow', {}, { signal: abort.signal, onprogress: (report) => started.push(report) })
        .then(() => 'answered', () => 'abandoned');
    try {
        assert.equal((await started.nth(1)).message, 'started');
        await meanwhile();
    } finally {
        abort.abort('enough');
    }
    assert.equal(await outcome, 'abandoned');
}

async function questions(checks, { call, handle, wire, era, fromUs }) {
    const asked = [];
    const answers = [];
    handle('elicitation/create', async ({ params }) => {
        asked.push(params);
        return answers.shift();
    });

    await checks.check('a form that is filled in', async () => {
        answers.push({ action: 'accept', content: { name: 'Ann' } });
        assert.equal(textOf(await call('ask_name')), 'Hello, Ann!');
        assert.equal(asked[0].message, 'What is your name?');
        assert.deepEqual(asked[0].requestedSchema.required, ['name']);
    });
    await checks.check('a form that is declined, and one that is dismissed', async () => {
        answers.push({ action: 'decline' }, { action: 'cancel' });
        assert.equal(textOf(await call('ask_name')), 'decline');
        assert.equal(textOf(await call('ask_name')), 'cancel');
    });
    await checks.check('a page to open', async () => {
        answers.push({ action: 'accept' });
        assert.equal(textOf(await call('ask_url')), 'accept');
        assert.equal(asked.at(-1).url, 'https://example.test/consent');
        assert.equal(asked.at(-1).mode, 'url');
    });
    await checks.check('two questions, one after the other', async () => {
        answers.push({ action: 'accept', content: { first: 'A' } }, { action: 'accept', content: { second: 'B' } });
        assert.equal(textOf(await call('ask_twice')), 'two A B');
    });
    await checks.check('sampling', async () => {
        handle('sampling/createMessage', async ({ params }) => ({
            model: 'none', role: 'assistant', stopReason: 'endTurn',
            content: { type: 'text', text: `${params.messages[0].content.text}, ${params.maxTokens}` },
        }));
        assert.equal(textOf(await call('sample', { prompt: 'why' })), 'the model says: why, 100');
    });
    await checks.check('roots', async () => {
        handle('roots/list', async () => ({ roots: [{ uri: 'file:///a', name: 'A' }, { uri: 'file:///b' }] }));
        assert.equal(textOf(await call('roots')), 'file:///a file:///b');
    });
    if (era === 'modern' && fromUs) {
        await checks.check('a state that was changed is refused', () => forgedState(wire, call));
    }
}

/** The library repeats a call with the state that it got; here it has the state of another tool, and ones that nobody gave. */
async function forgedState(wire, call) {
    const stateOf = (tool) => wire.results().find(({ request, message }) =>
        request.params?.name === tool && message.result.requestState !== undefined).message.result.requestState;
    const own = stateOf('ask_twice');
    const swapped = own[9] === 'A' ? 'B' : 'A';
    const states = [stateOf('ask_name'), `${own}x`, own.slice(0, -2), own.slice(0, 9) + swapped + own.slice(10), '', 'one'];
    for (const requestState of states) {
        const answer = { action: 'accept', content: { first: 'A', second: 'B' } };
        await rejectsWith(-32602, () => call('ask_twice', {}, { raw: { requestState, inputResponses: { first: answer } } }));
    }
}

async function logging(checks, { client, call, on, era, wire }) {
    const records = new Inbox();
    on('notifications/message', ({ params }) => records.push(params));

    await checks.check('log records from the level that was asked for', async () => {
        let meta;
        if (era === 'legacy') {
            await client.setLoggingLevel('warning');
        } else {
            meta = { 'io.modelcontextprotocol/logLevel': 'warning' };
        }
        assert.equal(textOf(await call('log', {}, { meta })), 'logged');
        assert.deepEqual(records.items.map(({ level, logger, data }) => [level, logger, data]),
            ['warning', 'error'].map((level) => [level, 'fixture', `a record of level ${level}`]));
    });
    await checks.check('no log records below the level, or without one', async () => {
        const before = wire.notifications('notifications/message').length;
        if (era === 'legacy') {
            await client.setLoggingLevel('emergency');
        }
        assert.equal(textOf(await call('log')), 'logged');
        assert.equal(wire.notifications('notifications/message').length, before);
    });
}

async function changes(checks, peer) {
    const { call, on, list, client, subscribe, unsubscribe, wire, era } = peer;
    const lists_changed = new Inbox();
    const updated = new Inbox();
    on('notifications/tools/list_changed', () => lists_changed.push(1));
    on('notifications/resources/updated', ({ params }) => updated.push(params.uri));

    if (era === 'modern') {
        await checks.check('nobody hears of changes without having asked', async () => {
            await call('add_tool', { name: 'unheard' });
            await call('update');
            assert.deepEqual(wire.notifications('notifications/tools/list_changed'), []);
            assert.deepEqual(wire.notifications('notifications/resources/updated'), []);
        });
    }
    await checks.check('a subscription', () => subscribe({ toolsListChanged: true, resourceSubscriptions: ['test://watched'] }));
    await checks.check('a new tool is announced, listed and callable', async () => {
        assert.equal(textOf(await call('add_tool', { name: 'new_one' })), 'added new_one');
        await lists_changed.nth(1);
        assert.equal((await list('tools', { fresh: true })).at(-1).name, 'new_one');
        assert.equal(textOf(await call('new_one')), 'this is new_one');
    });
    await checks.check('a resource that changed is announced', async () => {
        const version = textOf(await call('update'));
        assert.equal(await updated.nth(1), 'test://watched');
        const { contents } = await client.readResource({ uri: 'test://watched' }, { cacheMode: 'refresh' });
        assert.equal(contents[0].text, version);
    });
    await checks.check('silence after the subscription', async () => {
        await unsubscribe();
        const before = wire.notifications('notifications/resources/updated').length;
        await call('update');
        await call('echo', { message: 'behind it' });
        assert.equal(wire.notifications('notifications/resources/updated').length, before);
    });
}

async function errors(checks, { client, call, request, fromUs, era }) {
    await checks.check('an unknown tool', () => rejectsWith(-32602, () => call('no_such_tool')));
    await checks.check('an unknown prompt', () => rejectsWith(-32602, () => client.getPrompt({ name: 'no_such_prompt' })));
    await checks.check('an unknown method', () => rejectsWith(-32601, () => request('no/such/method')));
    await checks.check('arguments that the schema forbids', async () => {
        const result = await call('echo', { message: 5 });
        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /message/);
    });
    if (fromUs) {
        await checks.check('an error with a number of its own', async () => {
            const { isError, structuredContent } = await call('own_error');
            assert.equal(isError, true);
            assert.deepEqual(structuredContent.error, { code: 4242, message: 'an error of its own', data: { why: 'asked for' } });
        });
        const badCursor = () => request('tools/list', { cursor: 'not-a-cursor' });
        await checks.check('a cursor that the server did not give', () => rejectsWith(-32602, badCursor));
        if (era === 'modern') {
            const future = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
            await checks.check('a version that does not exist', async () => {
                const error = await rejectsWith(-32022, () => call('echo', { message: 'hi' }, { meta: future }));
                assert.equal(error.data.requested, '2099-01-01');
                assert.ok(error.data.supported.includes('2026-07-28'));
            });
        }
    }
}

async function load(checks, { call }) {
    await checks.check('100 calls at once, each with its own answer', async () => {
        const all = Array.from({ length: 100 }, (unused, i) => call('echo', { message: `call ${i}` }).then(textOf));
        assert.deepEqual(await Promise.all(all), all.map((unused, i) => `call ${i}`));
    });
    await checks.check('a message of half a MiB', async () => {
        const message = 'é0123456789abcde'.repeat(32 * 1024);
        assert.equal(textOf(await call('echo', { message })), message);
    });
}
