// Scenarios of the official server suite that both eras have, and those that only the older one has.
import assert from 'node:assert/strict';

const call = (peer, name, args, more) =>
    peer.request('tools/call', { name, ...(args === undefined ? {} : { arguments: args }), ...more });
const blockOf = (content, type) => {
    const block = content.find((one) => one.type === type);
    assert.ok(block, `there is no ${type}`);
    return block;
};
const getPrompt = async (peer, name, args) => {
    const { messages } = await peer.request('prompts/get', { name, ...(args === undefined ? {} : { arguments: args }) });
    assert.ok(Array.isArray(messages) && messages.length > 0, 'no messages');
    for (const message of messages) {
        assert.ok(message.role && message.content, 'a message without role or content');
    }
    return messages;
};
const readOne = async (peer, uri) => {
    const { contents } = await peer.request('resources/read', { uri });
    assert.ok(Array.isArray(contents) && contents.length > 0, 'no contents');
    assert.ok(contents[0].uri && contents[0].mimeType, 'a content without uri or mimeType');
    return contents[0];
};

export const both = {
    'completion-complete': async (peer) => {
        const { completion } = await peer.request('completion/complete', {
            ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
            argument: { name: 'arg1', value: 'test' },
        });
        assert.ok(Array.isArray(completion.values));
    },
    'tools-list': async (peer) => {
        const { tools } = await peer.request('tools/list');
        assert.ok(tools.length > 0);
        for (const tool of tools) {
            assert.match(tool.name, /^[A-Za-z0-9_./-]{1,64}$/);
            assert.ok(tool.description && tool.inputSchema, `${tool.name} lacks a description or an inputSchema`);
        }
    },
    'tools-call-simple-text': async (peer) => {
        const { content } = await call(peer, 'test_simple_text');
        assert.equal(blockOf(content, 'text').text, 'This is a simple text response for testing.');
    },
    'tools-call-image': async (peer) => {
        const image = blockOf((await call(peer, 'test_image_content', {})).content, 'image');
        assert.ok(image.data);
        assert.equal(image.mimeType, 'image/png');
    },
    'tools-call-audio': async (peer) => {
        const audio = blockOf((await call(peer, 'test_audio_content', {})).content, 'audio');
        assert.ok(audio.data);
        assert.equal(audio.mimeType, 'audio/wav');
    },
    'tools-call-embedded-resource': async (peer) => {
        const { resource } = blockOf((await call(peer, 'test_embedded_resource', {})).content, 'resource');
        assert.equal(resource.uri, 'test://embedded-resource');
        assert.equal(resource.mimeType, 'text/plain');
        assert.ok(resource.text);
    },
    'tools-call-mixed-content': async (peer) => {
        const { content } = await call(peer, 'test_multiple_content_types', {});
        ['text', 'image', 'resource'].forEach((type) => blockOf(content, type));
    },
    'tools-call-error': async (peer) => {
        const result = await call(peer, 'test_error_handling', {});
        assert.equal(result.isError, true);
        assert.ok(blockOf(result.content, 'text').text);
    },
    'tools-call-with-progress': async (peer) => {
        await call(peer, 'test_tool_with_progress', {}, { _meta: { progressToken: 'progress-test-1' } });
        const reports = peer.notifications('notifications/progress').map((m) => m.params);
        assert.deepEqual(reports.map((p) => [p.progressToken, p.progress, p.total]),
            [0, 50, 100].map((progress) => ['progress-test-1', progress, 100]));
    },
    'server-sse-multiple-streams': async (peer) => {
        const answers = await Promise.all([1, 2, 3].map(() => peer.request('tools/list', {})));
        answers.forEach(({ tools }) => assert.ok(tools.length > 0));
    },
    'resources-list': async (peer) => {
        const { resources } = await peer.request('resources/list');
        assert.ok(resources.length > 0);
        resources.forEach((one) => assert.ok(one.uri && one.name && one.description));
    },
    'resources-read-text': async (peer) => {
        assert.ok((await readOne(peer, 'test://static-text')).text);
    },
    'resources-read-binary': async (peer) => {
        const content = await readOne(peer, 'test://static-binary');
        assert.ok(content.blob);
        assert.equal(content.mimeType, 'image/png');
    },
    'resources-templates-read': async (peer) => {
        const { text } = await readOne(peer, 'test://template/123/data');
        assert.deepEqual(JSON.parse(text), { id: '123', templateTest: true, data: 'Data for ID: 123' });
    },
    'prompts-list': async (peer) => {
        const { prompts } = await peer.request('prompts/list');
        assert.ok(prompts.length > 0);
        prompts.forEach((one) => assert.ok(one.name && one.description));
    },
    'prompts-get-simple': async (peer) => {
        await getPrompt(peer, 'test_simple_prompt');
    },
    'prompts-get-with-args': async (peer) => {
        const messages = await getPrompt(peer, 'test_prompt_with_arguments', { arg1: 'testValue1', arg2: 'testValue2' });
        assert.match(messages[0].content.text, /testValue1.*testValue2/);
    },
    'prompts-get-embedded-resource': async (peer) => {
        const messages = await getPrompt(peer, 'test_prompt_with_embedded_resource', { resourceUri: 'test://example-resource' });
        const { resource } = blockOf(messages.map((m) => m.content), 'resource');
        assert.equal(resource.uri, 'test://example-resource');
    },
    'prompts-get-with-image': async (peer) => {
        const messages = await getPrompt(peer, 'test_prompt_with_image');
        assert.equal(blockOf(messages.map((m) => m.content), 'image').mimeType, 'image/png');
    },
};

/** Calls a tool that asks for a form; gives the properties of its schema. */
async function formOf(peer, name, args, content) {
    let asked;
    peer.handlers.set('elicitation/create', (params) => {
        asked = params;
        return { action: 'accept', content };
    });
    const result = await call(peer, name, args);
    assert.ok(asked, 'nothing was asked');
    assert.ok(result.content.length > 0);
    return asked.requestedSchema.properties;
}

export const legacy = {
    'server-initialize': async (peer, opened) => {
        assert.equal(opened.protocolVersion, '2025-11-25');
        assert.ok(opened.serverInfo.name && opened.serverInfo.version && opened.capabilities);
    },
    'logging-set-level': async (peer) => {
        assert.deepEqual(await peer.request('logging/setLevel', { level: 'info' }), {});
    },
    'ping': async (peer) => {
        assert.deepEqual(await peer.request('ping'), {});
    },
    'tools-call-with-logging': async (peer) => {
        await peer.request('logging/setLevel', { level: 'debug' });
        await call(peer, 'test_tool_with_logging', {});
        const records = peer.notifications('notifications/message').map((m) => m.params);
        assert.deepEqual(records.map((one) => one.level), ['info', 'info', 'info']);
    },
    'tools-call-sampling': async (peer) => {
        let asked;
        peer.handlers.set('sampling/createMessage', (params) => {
            asked = params;
            return { role: 'assistant', content: { type: 'text', text: 'This is a test response from the client' },
                model: 'test-model', stopReason: 'endTurn' };
        });
        const { content } = await call(peer, 'test_sampling', { prompt: 'Test prompt for sampling' });
        assert.equal(asked.messages[0].content.text, 'Test prompt for sampling');
        assert.equal(content[0].text, 'LLM response: This is a test response from the client');
    },
    'tools-call-elicitation': async (peer) => {
        const properties = await formOf(peer, 'test_elicitation', { message: 'Please provide your information' },
            { username: 'testuser', email: 'test@example.com' });
        assert.deepEqual(Object.keys(properties), ['username', 'email']);
    },
    'elicitation-sep1034-defaults': async (peer) => {
        const properties = await formOf(peer, 'test_elicitation_sep1034_defaults', {},
            { name: 'Jane Smith', age: 25, score: 88, status: 'inactive', verified: false });
        const seen = Object.entries(properties).map(([name, one]) => [name, one.type, one.default]);
        assert.deepEqual(seen, [['name', 'string', 'John Doe'], ['age', 'integer', 30], ['score', 'number', 95.5],
            ['status', 'string', 'active'], ['verified', 'boolean', true]]);
        assert.ok(properties.status.enum.includes('active'));
    },
    'elicitation-sep1330-enums': async (peer) => {
        const properties = await formOf(peer, 'test_elicitation_sep1330_enums', {},
            { untitledSingle: 'option1', titledSingle: 'value1', legacyEnum: 'opt1',
                untitledMulti: ['option1', 'option2'], titledMulti: ['value1', 'value2'] });
        const titled = (list) => list.every((one) => typeof one.const === 'string' && typeof one.title === 'string');
        const { untitledSingle, titledSingle, legacyEnum, untitledMulti, titledMulti } = properties;
        assert.deepEqual(Object.keys(untitledSingle), ['type', 'enum']);
        assert.ok(titledSingle.type === 'string' && titledSingle.enum === undefined && titled(titledSingle.oneOf));
        assert.ok(legacyEnum.type === 'string' && legacyEnum.enum.length === legacyEnum.enumNames.length);
        assert.deepEqual([untitledMulti.type, Object.keys(untitledMulti.items)], ['array', ['type', 'enum']]);
        assert.ok(titledMulti.type === 'array' && titledMulti.items.enum === undefined && titled(titledMulti.items.anyOf));
    },
    'resources-subscribe': async (peer) => {
        assert.deepEqual(await peer.request('resources/subscribe', { uri: 'test://watched-resource' }), {});
    },
    'resources-unsubscribe': async (peer) => {
        await peer.request('resources/subscribe', { uri: 'test://watched-resource' });
        assert.deepEqual(await peer.request('resources/unsubscribe', { uri: 'test://watched-resource' }), {});
    },
};
