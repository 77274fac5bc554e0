// Tasks over standard input and output: what the suite's scenarios want of the extension over HTTP, the news of a
// subscription, which it does not look at, and the tasks of 2025-11-25, for which it has no scenarios.
import assert from 'node:assert/strict';
import { PREFIX, RpcError } from './stdio_peer.mjs';

const TASKS = `${PREFIX}tasks`;
const DECLARED = { [`${PREFIX}clientCapabilities`]: { elicitation: {}, extensions: { [TASKS]: {} } } };
const BARE = { [`${PREFIX}clientCapabilities`]: {} };
const form = (content) => ({ action: 'accept', content });

async function fails(promise, code) {
    const error = await promise.then(() => assert.fail('it did not fail'), (e) => e);
    assert.ok(error instanceof RpcError, String(error));
    assert.equal(error.code, code, error.message);
    return error;
}

// ---- 2026-07-28 ----

const call = (peer, name, args = {}, more = {}) =>
    peer.request('tools/call', { name, arguments: args, _meta: DECLARED, ...more });
const about = (peer, method, taskId, more = {}) => peer.request(`tasks/${method}`, { taskId, _meta: DECLARED, ...more });

async function make(peer, name, args) {
    const made = await call(peer, name, args);
    assert.equal(made.resultType, 'task');
    assert.equal(typeof made.taskId, 'string');
    return made.taskId;
}

/** A subscription to the news of a task; gives a function of a status that waits for that one, and gives all. */
async function listen(peer, taskId, id) {
    const on = (m) => m.params?._meta?.[`${PREFIX}subscriptionId`] === id;
    const acknowledged = peer.next(on, 'the acknowledgement');
    peer.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen',
        params: { notifications: { taskIds: [taskId] }, _meta: peer.meta(DECLARED) } });
    assert.deepEqual((await acknowledged).params.notifications, { taskIds: [taskId] });
    return async (status) => {
        const has = (m) => on(m) && m.params.status === status;
        if (!peer.received.some(has)) {
            await peer.next(has, `news that the task is ${status}`);
        }
        return peer.notifications('notifications/tasks').filter(on).map(({ params }) => params);
    };
}

export const modern = {
    async 'a task is made, read, and cancelled once'(peer) {
        const { capabilities } = await peer.request('server/discover', { _meta: BARE });
        assert.deepEqual(capabilities.extensions, { [TASKS]: {} });
        const taskId = await make(peer, 'slow_compute', { seconds: 3600 });
        const working = await about(peer, 'get', taskId);
        assert.equal(working.status, 'working');
        assert.ok(Number.isInteger(working.ttlMs) && Number.isInteger(working.pollIntervalMs));
        const { resultType, _meta, ...rest } = await about(peer, 'cancel', taskId);
        assert.equal(resultType, 'complete');
        assert.deepEqual(rest, {});
        assert.equal((await about(peer, 'get', taskId)).status, 'cancelled');
        await about(peer, 'cancel', taskId);
        await fails(about(peer, 'get', 'nobody'), -32602);
    },
    async 'news of a task are whole'(peer) {
        const taskId = await make(peer, 'confirm_delete', { filename: 'x' });
        const news = await listen(peer, taskId, 'L');
        for (let task = await about(peer, 'get', taskId); task.status !== 'input_required'; task = await about(peer, 'get', taskId)) {
            assert.equal(task.status, 'working');
        }
        await about(peer, 'update', taskId, { inputResponses: { confirm: form({ confirm: true }) } });
        const told = await news('completed');
        assert.deepEqual(told.slice(-2).map((one) => one.status), ['working', 'completed']);
        assert.equal(told.at(-1).result.content[0].text, 'x deleted');
        assert.deepEqual((await about(peer, 'get', taskId)).result, told.at(-1).result);
    },
    async 'questions come before the task, or are its own'(peer) {
        const asked = await call(peer, 'test_tool_with_task');
        assert.equal(asked.resultType, 'input_required');
        const made = await call(peer, 'test_tool_with_task', {},
            { inputResponses: { user_name: form({ name: 'Ann' }) }, requestState: asked.requestState });
        assert.equal(made.resultType, 'task');
        const news = await listen(peer, made.taskId, 'Q');
        const task = await about(peer, 'get', made.taskId);
        const ended = task.status === 'completed' ? task : (await news('completed')).at(-1);
        assert.equal(ended.result.content[0].text, 'Hello, Ann!');
    },
    async 'who takes no tasks has none'(peer) {
        const now = await peer.request('tools/call', { name: 'slow_compute', arguments: { seconds: 0 }, _meta: BARE });
        assert.equal(now.resultType, 'complete');
        const error = await fails(peer.request('tools/call', { name: 'failing_job', arguments: {}, _meta: BARE }), -32021);
        assert.deepEqual(error.data.requiredCapabilities, { extensions: { [TASKS]: {} } });
        await fails(peer.request('tasks/get', { taskId: 'x', _meta: BARE }), -32021);
        await fails(about(peer, 'list', undefined), -32601);
        await fails(about(peer, 'result', 'x'), -32601);
    },
};

// ---- 2025-11-25 ----

const wish = (peer, name, args = {}, task = {}) => peer.request('tools/call', { name, arguments: args, task });

export const legacy = {
    async 'the result of a task is waited for'(peer, { capabilities }) {
        assert.deepEqual(capabilities.tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
        const { tools } = await peer.request('tools/list');
        const support = (name) => tools.find((tool) => tool.name === name).execution?.taskSupport;
        assert.deepEqual(['greet', 'slow_compute', 'failing_job'].map(support), [undefined, 'optional', 'required']);
        const { task } = await wish(peer, 'slow_compute', { seconds: 0.2 }, { ttl: 60000 });
        assert.equal(task.ttl, 60000);
        const result = await peer.request('tasks/result', { taskId: task.taskId });
        assert.match(result.content[0].text, /computed/);
        assert.deepEqual(result._meta, { [`${PREFIX}related-task`]: { taskId: task.taskId } });
        assert.equal((await peer.request('tasks/get', { taskId: task.taskId })).status, 'completed');
        const { tasks } = await peer.request('tasks/list');
        assert.deepEqual(tasks.map((one) => one.taskId), [task.taskId]);
        const told = () => peer.notifications('notifications/tasks/status');
        if (told().length === 0) {
            await peer.next((m) => m.method === 'notifications/tasks/status', 'the status of the task');
        }
        assert.deepEqual(told().map(({ params }) => [params.taskId, params.status]), [[task.taskId, 'completed']]);
    },
    async 'a task asks while its result is waited for'(peer) {
        const asked = [];
        peer.handlers.set('elicitation/create', (params) => {
            asked.push(params._meta[`${PREFIX}related-task`].taskId);
            return form({ confirm: true });
        });
        const { task } = await wish(peer, 'confirm_delete', { filename: 'x' });
        const result = await peer.request('tasks/result', { taskId: task.taskId });
        assert.equal(result.content[0].text, 'x deleted');
        assert.deepEqual(asked, [task.taskId]);
    },
    async 'a task is cancelled once, and a tool that failed fails its task'(peer) {
        const { task } = await wish(peer, 'slow_compute', { seconds: 3600 });
        assert.equal((await peer.request('tasks/cancel', { taskId: task.taskId })).status, 'cancelled');
        await fails(peer.request('tasks/cancel', { taskId: task.taskId }), -32602);
        const failing = (await wish(peer, 'failing_job')).task;
        assert.equal((await peer.request('tasks/result', { taskId: failing.taskId })).isError, true);
        assert.equal((await peer.request('tasks/get', { taskId: failing.taskId })).status, 'failed');
        await fails(wish(peer, 'greet', { name: 'x' }), -32601);
        await fails(peer.request('tools/call', { name: 'failing_job', arguments: {} }), -32601);
        await fails(peer.request('tasks/get', { taskId: 'nobody' }), -32602);
    },
};
