// The fixture of fixture_server.c on the official TypeScript server, version 2, in both eras: what the
// drivers are tried out on, and a foreign server for our own client.
//
//   node server_v2.mjs [--era both|modern] [--http]        --http: prints the address, serves until its input ends
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { createMcpHandler, fromJsonSchema, inputRequired, inputResponse, McpServer, ProtocolError, ResourceTemplate }
    from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const modernOnly = process.argv.includes('--era') && process.argv[process.argv.indexOf('--era') + 1] === 'modern';
const text = (...parts) => ({ content: [{ type: 'text', text: parts.join('') }] });
const object = (properties, required = Object.keys(properties)) =>
    fromJsonSchema({ type: 'object', properties, required });
const string = { type: 'string' };
const number = { type: 'number' };
const integer = { type: 'integer' };

let nCancelled = 0;
let nUpdates = 0;
const subscribed = new Set(); // by clients of the legacy era; the modern one's subscriptions are the library's business

/** The first round asks, the next one has the answer under the same key. */
function asking(key, request, answered) {
    return async (args, ctx) => {
        const answer = ctx.mcpReq.inputResponses?.[key];
        if (answer === undefined) {
            return inputRequired({ inputRequests: { [key]: request(args) } });
        }
        return answered(answer, inputResponse(ctx.mcpReq.inputResponses, key));
    };
}

function form(message, field) {
    const requestedSchema = { type: 'object', properties: { [field]: string }, required: [field] };
    return inputRequired.elicit({ message, requestedSchema });
}

function addTools(server) {
    const add = (name, inputSchema, run, more = {}) =>
        server.registerTool(name, { description: name, inputSchema, ...more }, run);
    const none = object({});

    add('echo', object({ message: string }), async ({ message }) => text(message), {
        title: 'Echo', annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    });
    add('add', object({ a: number, b: number }), async ({ a, b }) => ({
        ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b },
    }), { outputSchema: object({ sum: number }) });
    add('progress', object({ steps: integer }), async ({ steps }, ctx) => {
        for (let i = 1; i <= steps; i++) {
            await progress(ctx, i, steps, `step ${i} of ${steps}`);
        }
        return text('done ', steps);
    });
    add('slow', none, (args, ctx) => new Promise((resolve) => {
        ctx.mcpReq.signal.addEventListener('abort', () => {
            nCancelled++;
            resolve(text('stopped'));
        });
        void progress(ctx, 1, undefined, 'started');
    }));
    add('cancelled_count', none, async () => text(nCancelled));
    add('ask_name', none, asking('who', () => form('What is your name?', 'name'), (answer) =>
        text(answer.action === 'accept' ? `Hello, ${answer.content.name}!` : answer.action)));
    add('ask_url', none, asking('page',
        () => inputRequired.elicitUrl({ message: 'Please open the page', url: 'https://example.test/consent' }),
        (answer) => text(answer.action)));
    add('ask_twice', none, async (args, ctx) => {
        const round = ctx.mcpReq.requestState();
        const answer = (key) => ctx.mcpReq.inputResponses?.[key]?.content?.[key];
        if (round === undefined) {
            return inputRequired({ inputRequests: { first: form('First?', 'first') }, requestState: 'one' });
        }
        if (!round.startsWith('two')) {
            return inputRequired({ inputRequests: { second: form('Second?', 'second') }, requestState: `two ${answer('first')}` });
        }
        return text(`${round} ${answer('second')}`);
    });
    add('sample', object({ prompt: string }), asking('said',
        ({ prompt }) => inputRequired.createMessage({
            messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100,
        }),
        (answer) => text('the model says: ', answer.content.text)));
    add('roots', none, asking('where', () => inputRequired.listRoots(), (answer) =>
        text(answer.roots.map((root) => root.uri).join(' '))));
    addContentTools(add, none);
    addChangingTools(server, add, none);
}

function addContentTools(add, none) {
    const block = (content) => async () => ({ content: [content] });
    add('image', none, block({ type: 'image', data: 'iVBORw==', mimeType: 'image/png' }));
    add('audio', none, block({ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }));
    add('link', none, block({ type: 'resource_link', uri: 'test://static', name: 'static', mimeType: 'text/plain' }));
    add('embedded', none, block({
        type: 'resource', resource: { uri: 'test://static', mimeType: 'text/plain', text: 'static text' },
    }));
    add('failing', none, async () => ({ ...text('it failed'), isError: true }));
    add('own_error', none, async () => {
        throw new ProtocolError(4242, 'an error of its own', { why: 'asked for' });
    });
    add('log', none, async (args, ctx) => {
        for (const level of ['debug', 'warning', 'error']) {
            await ctx.mcpReq.log(level, `a record of level ${level}`, 'fixture');
        }
        return text('logged');
    });
}

function addChangingTools(server, add, none) {
    add('add_tool', object({ name: string }), async ({ name }) => {
        add(name, none, async () => text('this is ', name));
        return text('added ', name);
    });
    add('update', none, async (args, ctx) => {
        nUpdates++;
        if (ctx.mcpReq.envelope !== undefined || subscribed.has('test://watched')) {
            await server.server.sendResourceUpdated({ uri: 'test://watched' });
        }
        return text('version ', nUpdates);
    });
}

async function progress(ctx, value, total, message) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: value, total, message } });
    }
}

function addResources(server) {
    const plain = { mimeType: 'text/plain' };
    const contents = (uri, rest) => ({ contents: [{ uri: uri.href, ...rest }] });

    server.registerResource('static', 'test://static', plain, async (uri) => contents(uri, { ...plain, text: 'static text' }));
    server.registerResource('blob', 'test://blob', { mimeType: 'application/octet-stream' }, async (uri) =>
        contents(uri, { mimeType: 'application/octet-stream', blob: 'AAEC/w==' }));
    server.registerResource('watched', 'test://watched', plain, async (uri) =>
        contents(uri, { ...plain, text: `version ${nUpdates}` }));
    const complete = { id: (typed) => ['alpha', 'alps', 'beta'].filter((value) => value.startsWith(typed)) };
    server.registerResource('item', new ResourceTemplate('test://item/{id}', { list: undefined, complete }), plain,
        async (uri, { id }) => contents(uri, { ...plain, text: `item ${decodeURIComponent(id)}` }));
}

function addPrompts(server) {
    const message = (role, words) => ({ role, content: { type: 'text', text: words } });

    server.registerPrompt('simple', { description: 'Always the same' }, async () =>
        ({ description: 'Always the same', messages: [message('user', 'A simple prompt')] }));
    server.registerPrompt('greet', { description: 'Greets somebody', argsSchema: object({ name: string, style: string }, ['name']) },
        async ({ name, style }) => ({
            description: 'Greets somebody',
            messages: [message('user', `Greet ${name} in a ${style ?? 'plain'} style`), message('assistant', `Hello, ${name}`)],
        }));
}

/** Completion of both kinds, so that prompts need no schema library; and what legacy clients subscribe with. */
function addHandlers(server) {
    server.server.setRequestHandler('completion/complete', async ({ params }) => {
        const { ref, argument, context } = params;
        const known = {
            'greet style': ['formal', 'friendly', context?.arguments?.name === 'Bob' ? 'fraternal' : 'funny'],
            'test://item/{id} id': ['alpha', 'alps', 'beta'],
        }[`${ref.name ?? ref.uri} ${argument.name}`] ?? [];
        const values = known.filter((value) => value.startsWith(argument.value));
        return { completion: { values, total: values.length, hasMore: false } };
    });
    for (const [method, change] of [['resources/subscribe', 'add'], ['resources/unsubscribe', 'delete']]) {
        server.server.setRequestHandler(method, async ({ params }) => {
            subscribed[change](params.uri);
            return {};
        });
    }
}

function makeServer() {
    const server = new McpServer({ name: 'fixture', version: '1.0.0' }, {
        instructions: 'Call echo.',
        capabilities: {
            tools: { listChanged: true }, prompts: { listChanged: true }, completions: {}, logging: {},
            resources: { subscribe: true, listChanged: true },
        },
    });
    addTools(server);
    addResources(server);
    addPrompts(server);
    addHandlers(server);
    return server;
}

const onerror = (error) => console.error(error.message);

/** Node's requests as those of the web, and back. */
async function serveHttp() {
    const handler = createMcpHandler(makeServer, { legacy: modernOnly ? 'reject' : 'stateless', onerror });
    const server = createServer(async (request, response) => {
        const gone = new AbortController();
        response.on('close', () => gone.abort());
        const hasBody = request.method !== 'GET' && request.method !== 'DELETE';
        const answer = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, {
            method: request.method, headers: request.headers, body: hasBody ? Readable.toWeb(request) : undefined,
            duplex: 'half', signal: gone.signal,
        }));
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.flushHeaders();
        if (answer.body !== null) {
            Readable.fromWeb(answer.body).on('error', () => response.destroy()).pipe(response);
        } else {
            response.end();
        }
    });
    server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
    process.stdin.on('end', () => process.exit(0)).resume();
}

if (process.argv.includes('--http')) {
    await serveHttp();
} else {
    serveStdio(makeServer, { legacy: modernOnly ? 'reject' : 'serve', onerror });
}
