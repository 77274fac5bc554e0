// Every message of a server against the official schema of its revision, by a validator that is not ours.
//
// The schemas are in the folder that the environment variable TW_MCP_SCHEMA names.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { assert } from './checks.mjs';

const RESULTS = {
    'initialize': 'InitializeResult',
    'server/discover': 'DiscoverResult',
    'tools/list': 'ListToolsResult',
    'tools/call': 'CallToolResult',
    'resources/list': 'ListResourcesResult',
    'resources/templates/list': 'ListResourceTemplatesResult',
    'resources/read': 'ReadResourceResult',
    'prompts/list': 'ListPromptsResult',
    'prompts/get': 'GetPromptResult',
    'completion/complete': 'CompleteResult',
    'subscriptions/listen': 'SubscriptionsListenResult',
    'ping': 'EmptyResult',
    'logging/setLevel': 'EmptyResult',
    'resources/subscribe': 'EmptyResult',
    'resources/unsubscribe': 'EmptyResult',
    'tasks/get': 'GetTaskResult',
    'tasks/result': 'CallToolResult',
    'tasks/cancel': 'CancelTaskResult',
    'tasks/list': 'ListTasksResult',
};

/** What the result of that method is, by what it says of itself. */
function resultName(method, result) {
    if (result.resultType === 'input_required') {
        return 'InputRequiredResult';
    }
    return method === 'tools/call' && result.task !== undefined ? 'CreateTaskResult' : RESULTS[method];
}

/** Why the schemas cannot be used, or undefined. */
export function schemasMissing() {
    const folder = process.env.TW_MCP_SCHEMA;
    return folder && existsSync(folder) ? undefined : `no folder of schemas: ${folder ?? 'TW_MCP_SCHEMA is not set'}`;
}

/** Fails with the first message of wire.received that its revision's schema forbids; gives how many there were. */
export function checkSchemas(wire, revision) {
    const schema = JSON.parse(readFileSync(path.join(process.env.TW_MCP_SCHEMA, revision, 'schema.json'), 'utf8'));
    const definitions = schema.$defs === undefined ? 'definitions' : '$defs';
    const ajv = new (definitions === '$defs' ? Ajv2020 : Ajv)({ strict: false, validateFormats: false });
    ajv.addSchema({ ...schema, $id: 'mcp' });
    const validate = (name, value, message) => {
        const valid = ajv.getSchema(`mcp#/${definitions}/${name}`);
        assert.ok(valid, `${revision} has no ${name}, for ${JSON.stringify(message)}`);
        assert.ok(valid(value), `${name}: ${ajv.errorsText(valid.errors)}: ${JSON.stringify(message)}`);
    };
    const requests = new Map(wire.sent.filter((m) => m.id !== undefined && m.method !== undefined).map((m) => [m.id, m.method]));

    for (const message of wire.received) {
        validate('JSONRPCMessage', message, message);
        if (message.method !== undefined) {
            validate(message.id === undefined ? 'ServerNotification' : 'ServerRequest', message, message);
        } else if (message.result !== undefined) {
            validate(resultName(requests.get(message.id), message.result), message.result, message);
        }
    }
    return wire.received.length;
}
