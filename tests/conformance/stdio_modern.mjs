// Scenarios of the official server suite that only 2026-07-28 has. What they say about HTTP (status codes,
// headers) has no place here; the rest is the same.
import assert from 'node:assert/strict';
import { PREFIX, RpcError } from './stdio_peer.mjs';

const BARE = { [`${PREFIX}clientCapabilities`]: {} };
const form = (content) => ({ action: 'accept', content });
const sample = (text) => ({ role: 'assistant', content: { type: 'text', text }, model: 'test-model', stopReason: 'endTurn' });
const ROOTS = { roots: [{ uri: 'file:///test/root', name: 'Test Root' }] };
const tool = (name) => `test_input_required_result_${name}`;
const call = (peer, name, more) => peer.request('tools/call', { name, arguments: {}, ...more });

/** A result that asks, with the method of every question. */
function asks(result, expected) {
    assert.equal(result.resultType, 'input_required');
    const seen = Object.fromEntries(Object.entries(result.inputRequests).map(([key, one]) => [key, one.method]));
    assert.deepEqual(seen, expected);
    return result;
}

/** What a retry carries: the answers, and the state if there was one. */
const retry = (result, inputResponses) =>
    ({ inputResponses, ...(result.requestState === undefined ? {} : { requestState: result.requestState }) });

function isComplete(result, text) {
    assert.equal(result.resultType, 'complete');
    assert.match(result.content[0].text, text);
}

async function fails(promise, code) {
    const error = await promise.then(() => assert.fail('it did not fail'), (e) => e);
    assert.ok(error instanceof RpcError, String(error));
    assert.equal(error.code, code, error.message);
    return error;
}

/** A subscription; gives a function that waits for the next notification on it. */
async function listen(peer, notifications, id) {
    const on = (m) => m.params?._meta?.[`${PREFIX}subscriptionId`] === id;
    const acknowledged = peer.next(on, 'the acknowledgement');
    peer.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta: peer.meta(BARE) } });
    assert.equal((await acknowledged).method, 'notifications/subscriptions/acknowledged');
    return () => peer.next(on, 'a notification on the subscription');
}

// ---- server-stateless, a part each ----

async function metaIsChecked(peer) {
    const whole = peer.meta(BARE);
    const without = (name) => Object.fromEntries(Object.entries(whole).filter(([key]) => key !== PREFIX + name));
    for (const params of [{}, { _meta: without('protocolVersion') }, { _meta: without('clientCapabilities') }]) {
        assert.equal((await peer.raw('server/discover', params)).error?.code, -32602, JSON.stringify(params));
    }
    assert.ok((await peer.raw('server/discover', { _meta: without('clientInfo') })).result, 'clientInfo is no must');
}

async function capabilitiesAreTrue(peer) {
    const found = await peer.request('server/discover', { _meta: BARE });
    assert.ok(found._meta[`${PREFIX}serverInfo`].name && found._meta[`${PREFIX}serverInfo`].version);
    assert.ok(found.capabilities.prompts.listChanged && found.capabilities.tools.listChanged);
    assert.ok((await peer.request('prompts/list', { _meta: BARE })).prompts.length > 0);
    assert.ok((await peer.request('tools/list', { _meta: BARE })).tools.length > 0);
    return found;
}

async function versionsAreChecked(peer, { supportedVersions }) {
    const { error } = await peer.raw('server/discover',
        { _meta: peer.meta({ ...BARE, [`${PREFIX}protocolVersion`]: 'v999.0.0' }) });
    assert.equal(error.code, -32022);
    assert.equal(error.data.requested, 'v999.0.0');
    assert.ok(error.data.supported.length > 0 && error.data.supported.every((one) => supportedVersions.includes(one)));
}

async function capabilitiesAreAsked(peer) {
    const error = await fails(call(peer, 'test_missing_capability', { _meta: BARE }), -32021);
    assert.deepEqual(error.data.requiredCapabilities, { sampling: {} });
}

async function methodsAreKnown(peer) {
    const removed = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];
    for (const method of [...removed, 'unknown/method']) {
        await fails(peer.request(method, { _meta: BARE }), -32601);
    }
}

async function nothingIsSentUnasked(peer) {
    const _meta = { [`${PREFIX}clientCapabilities`]: { elicitation: {} } };
    asks(await call(peer, 'test_streaming_elicitation', { _meta }), { form: 'elicitation/create' });
    await call(peer, 'test_logging_tool', { _meta: BARE });
    assert.equal(peer.notifications('notifications/message').length, 0);
    assert.deepEqual(peer.received.filter((m) => m.method !== undefined && m.id !== undefined), []);
}

async function changesReachWhoListens(peer) {
    const tools = await listen(peer, { toolsListChanged: true }, 'tools');
    const prompts = await listen(peer, { promptsListChanged: true }, 'prompts');
    const changes = [['test_trigger_tool_change', 'notifications/tools/list_changed', tools],
        ['test_trigger_prompt_change', 'notifications/prompts/list_changed', prompts]];
    for (const [name, method, heard] of changes) {
        const change = heard();
        await call(peer, name, { _meta: BARE });
        assert.equal((await change).method, method);
    }
    // Both have come; neither went to the subscription that did not ask for it.
    const heardBy = (id) => peer.received.filter((m) => m.params?._meta?.[`${PREFIX}subscriptionId`] === id)
        .map((m) => m.method);
    assert.deepEqual(heardBy('tools'), ['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed']);
    assert.deepEqual(heardBy('prompts'), ['notifications/subscriptions/acknowledged', 'notifications/prompts/list_changed']);
}

export const modern = {
    'server-stateless': async (peer) => {
        await metaIsChecked(peer);
        const found = await capabilitiesAreTrue(peer);
        await versionsAreChecked(peer, found);
        await capabilitiesAreAsked(peer);
        await methodsAreKnown(peer);
        await nothingIsSentUnasked(peer);
        await changesReachWhoListens(peer);
    },
    'sep-2164-resource-not-found': async (peer) => {
        const uri = 'test://nonexistent-resource-for-conformance-testing';
        const error = await fails(peer.request('resources/read', { uri }), -32602);
        assert.equal(error.data.uri, uri);
    },
    'caching': async (peer) => {
        const { resources } = await peer.request('resources/list');
        const results = [];
        for (const kind of ['tools', 'prompts', 'resources', 'resources/templates']) {
            results.push(await peer.request(`${kind}/list`));
        }
        results.push(await peer.request('resources/read', { uri: resources[0].uri }));
        for (const { ttlMs, cacheScope } of results) {
            assert.ok(Number.isInteger(ttlMs) && ttlMs >= 0, `ttlMs ${ttlMs}`);
            assert.ok(['public', 'private'].includes(cacheScope), `cacheScope ${cacheScope}`);
        }
    },
    'input-required-result-basic-elicitation': async (peer) => {
        const first = asks(await call(peer, tool('elicitation')), { user_name: 'elicitation/create' });
        isComplete(await call(peer, tool('elicitation'), retry(first, { user_name: form({ name: 'Alice' }) })), /Hello, Alice!/);
    },
    'input-required-result-basic-sampling': async (peer) => {
        const first = asks(await call(peer, tool('sampling')), { capital_question: 'sampling/createMessage' });
        const answers = { capital_question: sample('The capital of France is Paris.') };
        isComplete(await call(peer, tool('sampling'), retry(first, answers)), /Paris/);
    },
    'input-required-result-basic-list-roots': async (peer) => {
        const first = asks(await call(peer, tool('list_roots')), { client_roots: 'roots/list' });
        isComplete(await call(peer, tool('list_roots'), retry(first, { client_roots: ROOTS })), /test.root/);
    },
    'input-required-result-request-state': async (peer) => {
        const first = asks(await call(peer, tool('request_state')), { confirm: 'elicitation/create' });
        assert.equal(typeof first.requestState, 'string');
        isComplete(await call(peer, tool('request_state'), retry(first, { confirm: form({ ok: true }) })), /state-ok/);
    },
    'input-required-result-multiple-input-requests': async (peer) => {
        const first = asks(await call(peer, tool('multiple_inputs')),
            { user_name: 'elicitation/create', greeting: 'sampling/createMessage', client_roots: 'roots/list' });
        assert.ok(first.requestState);
        const answers = { user_name: form({ name: 'Alice' }), greeting: sample('Hello there!'), client_roots: ROOTS };
        isComplete(await call(peer, tool('multiple_inputs'), retry(first, answers)), /Hello there!.*Alice/);
    },
    'input-required-result-multi-round': async (peer) => {
        const first = asks(await call(peer, tool('multi_round')), { step1: 'elicitation/create' });
        const second = asks(await call(peer, tool('multi_round'), retry(first, { step1: form({ name: 'Alice' }) })),
            { step2: 'elicitation/create' });
        assert.ok(first.requestState && second.requestState && first.requestState !== second.requestState);
        isComplete(await call(peer, tool('multi_round'), retry(second, { step2: form({ color: 'blue' }) })), /Alice.*blue/);
    },
    'input-required-result-missing-input-response': async (peer) => {
        asks(await call(peer, tool('elicitation'), { inputResponses: { wrong_key: form({ data: 'wrong' }) } }),
            { user_name: 'elicitation/create' });
    },
    'input-required-result-non-tool-request': async (peer) => {
        const name = tool('prompt');
        const first = asks(await peer.request('prompts/get', { name }), { user_context: 'elicitation/create' });
        const result = await peer.request('prompts/get', { name, ...retry(first, { user_context: form({ context: 'test context' }) }) });
        assert.match(result.messages[0].content.text, /test context/);
    },
    'input-required-result-result-type': async (peer) => {
        assert.equal((await call(peer, tool('elicitation'))).resultType, 'input_required');
    },
    'input-required-result-unsupported-methods': async (peer) => {
        for (const method of ['tools/list', 'prompts/list']) {
            assert.equal((await peer.request(method, {})).resultType, 'complete');
        }
    },
    'input-required-result-tampered-state': async (peer) => {
        const first = asks(await call(peer, tool('tampered_state')), { confirm: 'elicitation/create' });
        assert.ok(first.requestState);
        await fails(call(peer, tool('tampered_state'),
            { inputResponses: { confirm: form({ ok: true }) }, requestState: `${first.requestState}-TAMPERED` }), -32602);
    },
    'input-required-result-capability-check': async (peer) => {
        const _meta = { [`${PREFIX}clientCapabilities`]: { sampling: {} } };
        asks(await call(peer, tool('capabilities'), { _meta }), { greeting: 'sampling/createMessage' });
    },
    'input-required-result-ignore-extra-params': async (peer) => {
        const inputResponses = { user_name: form({ name: 'Alice' }), unknown_extra_key: form({ foo: 'bar' }),
            another_unexpected: form({ baz: 123 }) };
        isComplete(await call(peer, tool('elicitation'), { inputResponses }), /Alice/);
    },
    'input-required-result-validate-input': async (peer) => {
        for (const inputResponses of [{ user_name: 12345 }, null]) {
            const { result } = await peer.answer('tools/call', { name: tool('elicitation'), arguments: {}, inputResponses });
            assert.notEqual(result?.resultType, 'complete', JSON.stringify(inputResponses));
        }
    },
};
