// What the required scenarios of the official suite want to find, on the official TypeScript server, version 2, on
// standard input and output, in both eras.
import { createRequestStateCodec, fromJsonSchema, inputRequired, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { randomBytes } from 'node:crypto';
import { setTimeout as later } from 'node:timers/promises';

/** Between two reports. */
const STEP_MS = 50;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const MRTR = 'test_input_required_result_';

const codec = createRequestStateCodec({ key: randomBytes(32) });
const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const result = (...content) => ({ content });
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const none = object({});

const form = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const sample = (words) => inputRequired.createMessage({ messages: [{ role: 'user', content: text(words) }], maxTokens: 100 });

/** What a modern client said that it can do, or a legacy one when it began. */
function clientCan(server, ctx, capability) {
    const said = ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? server.server.getClientCapabilities();
    return said?.[capability] !== undefined;
}

/** Asks for all of `requests` until each has its answer. */
function asking(requests, answered) {
    return async (args, ctx) => {
        const answers = ctx.mcpReq.inputResponses ?? {};
        const open = Object.entries(requests(args)).filter(([key]) => answers[key] === undefined);
        return open.length === 0 ? result(text(answered(answers))) : inputRequired({ inputRequests: Object.fromEntries(open) });
    };
}

function addContent(add) {
    add('test_simple_text', none, async () => result(text('This is a simple text response for testing.')));
    add('test_image_content', none, async () => result(image));
    add('test_audio_content', none, async () => result({ type: 'audio', data: WAV, mimeType: 'audio/wav' }));
    add('test_embedded_resource', none, async () =>
        result(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')));
    add('test_multiple_content_types', none, async () => result(text('Multiple content types test:'), image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')));
    add('test_error_handling', none, async () =>
        ({ ...result(text('This tool intentionally returns an error for testing')), isError: true }));
    add('test_logging_tool', none, async (args, ctx) => {
        await ctx.mcpReq.log('info', 'a record of test_logging_tool');
        return result(text('logged'));
    });
    add('test_tool_with_logging', none, async (args, ctx) => {
        for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
            await ctx.mcpReq.log('info', words);
            await later(STEP_MS);
        }
        return result(text('Tool with logging executed successfully'));
    });
    add('test_tool_with_progress', none, async (args, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
            await ctx.mcpReq.notify({ method: 'notifications/progress',
                params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` } });
            await later(STEP_MS);
        }
        return result(text('Tool with progress executed successfully'));
    });
}

function addForms(add) {
    const filled = ({ form: { action, content } }) => `action=${action}, content=${JSON.stringify(content ?? {})}`;
    const addForm = (name, inputSchema, message, schema) =>
        add(name, inputSchema, asking((args) => ({ form: form(message ?? args.message, schema) }), filled));

    addForm('test_elicitation', object({ message: string }), undefined, object({ username: string, email: string }));
    addForm('test_elicitation_sep1034_defaults', none, 'Please review and update the form fields with defaults', object({
        name: { type: 'string', default: 'John Doe' }, age: { type: 'integer', default: 30 }, score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' }, verified: { type: 'boolean', default: true },
    }, []));
    const titled = (...rows) => rows.map(([value, title]) => ({ const: value, title }));
    addForm('test_elicitation_sep1330_enums', none, 'Please select options from the enum fields', object({
        untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
        titledSingle: { type: 'string', oneOf: titled(['value1', 'First Option'], ['value2', 'Second Option'], ['value3', 'Third Option']) },
        legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
        titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'First Choice'], ['value2', 'Second Choice'], ['value3', 'Third Choice']) } },
    }, []));
    addForm('test_streaming_elicitation', none, 'Go on?', object({ ok: { type: 'boolean' } }));
    add('test_sampling', object({ prompt: string }), asking(({ prompt }) => ({ said: sample(prompt) }),
        ({ said }) => `LLM response: ${said.content.text}`));
    add('test_missing_capability', none, asking(() => ({ said: sample('Hello') }), () => 'The client has a model.'));
}

function addRounds(server, add) {
    const name = () => form('What is your name?', object({ name: string }));

    add(`${MRTR}elicitation`, none, asking(() => ({ user_name: name() }), ({ user_name }) => `Hello, ${user_name.content?.name}!`));
    add(`${MRTR}sampling`, none, asking(() => ({ capital_question: sample('What is the capital of France?') }),
        ({ capital_question }) => capital_question.content.text));
    add(`${MRTR}list_roots`, none, asking(() => ({ client_roots: inputRequired.listRoots() }),
        ({ client_roots }) => `The first root is ${client_roots.roots[0]?.uri}`));
    add(`${MRTR}capabilities`, none, async (args, ctx) => asking(() => ({
        ...(clientCan(server, ctx, 'elicitation') && { user_name: name() }),
        ...(clientCan(server, ctx, 'sampling') && { greeting: sample('Generate a greeting') }),
    }), () => 'Nothing more to ask.')(args, ctx));
    add(`${MRTR}multiple_inputs`, none, async (args, ctx) => {
        const answers = ctx.mcpReq.inputResponses ?? {};
        if (['user_name', 'greeting', 'client_roots'].every((key) => answers[key] !== undefined)) {
            return result(text(`${answers.greeting.content.text}, ${answers.user_name.content?.name}!`));
        }
        return inputRequired({
            inputRequests: { user_name: name(), greeting: sample('Generate a greeting'), client_roots: inputRequired.listRoots() },
            requestState: await codec.mint('three questions'),
        });
    });
    for (const tool of ['request_state', 'tampered_state']) {
        add(`${MRTR}${tool}`, none, async (args, ctx) => {
            if (ctx.mcpReq.inputResponses?.confirm === undefined) {
                return inputRequired({ inputRequests: { confirm: form('Please confirm', object({ ok: { type: 'boolean' } })) },
                    requestState: await codec.mint('asked') });
            }
            return result(text(ctx.mcpReq.requestState() === 'asked' ? 'state-ok' : 'state-missing'));
        });
    }
    add(`${MRTR}multi_round`, none, async (args, ctx) => {
        const state = ctx.mcpReq.requestState();
        const { step1, step2 } = ctx.mcpReq.inputResponses ?? {};
        if (state !== undefined && step2 !== undefined) {
            return result(text(`${state}, color=${step2.content?.color}`));
        }
        if (state !== undefined && step1 !== undefined) {
            return inputRequired({ inputRequests: { step2: form('Step 2: What is your favorite color?', object({ color: string })) },
                requestState: await codec.mint(`name=${step1.content?.name}`) });
        }
        return inputRequired({ inputRequests: { step1: form('Step 1: What is your name?', object({ name: string })) },
            requestState: await codec.mint('step1') });
    });
}

/** A tool and a prompt that come and go by turns, so that each call is a change. */
function addChanges(server, add) {
    const toggle = (name, register) => {
        let there;
        add(name, none, async () => {
            there = there === undefined ? register() : void there.remove();
            return result(text('changed'));
        });
    };
    toggle('test_trigger_tool_change', () => add('test_dynamic_tool', none, async () => result(text('It comes and goes.'))));
    toggle('test_trigger_prompt_change', () => server.registerPrompt('test_dynamic_prompt', { description: 'Comes and goes' },
        async () => ({ messages: [{ role: 'user', content: text('It comes and goes.') }] })));
}

function addResources(server) {
    const add = (name, uri, mimeType, contents) => server.registerResource(name, uri, { mimeType }, async (at, variables) =>
        ({ contents: [{ uri: at.href, mimeType, ...contents(variables) }] }));

    add('Static Text Resource', 'test://static-text', 'text/plain', () => ({ text: 'This is the content of the static text resource.' }));
    add('Static Binary Resource', 'test://static-binary', 'image/png', () => ({ blob: PNG }));
    add('Watched Resource', 'test://watched-resource', 'text/plain', () => ({ text: 'Watched resource content' }));
    add('Resource Template', new ResourceTemplate('test://template/{id}/data', { list: undefined }), 'application/json',
        ({ id }) => ({ text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }));
}

function addPrompts(server) {
    const user = (content) => ({ role: 'user', content });
    const add = (name, argsSchema, run) => server.registerPrompt(name,
        { description: name, ...(argsSchema && { argsSchema: fromJsonSchema(argsSchema) }) }, run);

    add('test_simple_prompt', undefined, async () => ({ messages: [user(text('This is a simple prompt for testing.'))] }));
    add('test_prompt_with_arguments', object({ arg1: string, arg2: string }), async ({ arg1, arg2 }) =>
        ({ messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))] }));
    add('test_prompt_with_embedded_resource', object({ resourceUri: string }), async ({ resourceUri }) => ({ messages: [
        user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
        user(text('Please process the embedded resource above.'))] }));
    add('test_prompt_with_image', undefined, async () => ({ messages: [user(image), user(text('Please analyze the image above.'))] }));
    add(`${MRTR}prompt`, undefined, async (ctx) => {
        const answer = ctx.mcpReq.inputResponses?.user_context;
        return answer === undefined
            ? inputRequired({ inputRequests: { user_context: form('What context should the prompt use?', object({ context: string })) } })
            : { messages: [user(text(`Use this context: ${answer.content?.context}`))] };
    });
}

function addHandlers(server) {
    server.server.setRequestHandler('completion/complete', async ({ params: { argument } }) => {
        const values = ['testValue1', 'testValue2', 'paris', 'park', 'party'].filter((value) => value.startsWith(argument.value));
        return { completion: { values, total: values.length, hasMore: false } };
    });
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        server.server.setRequestHandler(method, async () => ({}));
    }
}

serveStdio(() => {
    const server = new McpServer({ name: 'conformance-v2', version: '1.0.0' }, {
        capabilities: {
            tools: { listChanged: true }, prompts: { listChanged: true }, completions: {}, logging: {},
            resources: { subscribe: true, listChanged: true },
        },
        requestState: { verify: codec.verify },
    });
    const add = (name, inputSchema, run) =>
        server.registerTool(name, { description: name, inputSchema: fromJsonSchema(inputSchema) }, run);
    addContent(add);
    addForms(add);
    addRounds(server, add);
    addChanges(server, add);
    addResources(server);
    addPrompts(server);
    addHandlers(server);
    return server;
}, { onerror: (error) => console.error(error.message) });
