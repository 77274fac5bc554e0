// Anthropic's side of fake_model.mjs: what a request says, and the pieces of a stream of messages.

const blocks = (message) =>
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content ?? [];
const texts = (message) => blocks(message).filter((block) => block.type === 'text').map((block) => block.text).join('');

/** What the real service refuses, too. */
function check(json, headers) {
    if (headers['anthropic-version'] !== '2023-06-01') return 'anthropic-version: header is required';
    if (json.stream !== true) return 'stream is not true';
    if (!(json.max_tokens > 0)) return 'max_tokens: Field required';
    if (json.messages?.[0]?.role !== 'user') return 'messages: first message must use the "user" role';
    let open = [];
    for (const message of json.messages) {
        const list = blocks(message);
        if (list.length === 0) return 'messages: content must not be empty';
        for (const block of list) {
            if (block.type === 'text' && block.text.trim() === '') return 'text content blocks must contain non-whitespace text';
            if (block.type === 'tool_use' && (typeof block.input !== 'object' || !/^[a-zA-Z0-9_-]+$/.test(block.id))) return 'a bad tool_use';
            if (block.type === 'tool_result' && !open.includes(block.tool_use_id)) return `unexpected tool_use_id ${block.tool_use_id}`;
        }
        const results = list.filter((block) => block.type === 'tool_result').map((block) => block.tool_use_id);
        if (open.some((id) => !results.includes(id))) return `tool_use ids were found without tool_result blocks: ${open}`;
        if (results.length > 0 && list.slice(0, results.length).some((block) => block.type !== 'tool_result')) return 'tool_result blocks must come first';
        open = list.filter((block) => block.type === 'tool_use').map((block) => block.id);
    }
    for (const tool of json.tools ?? []) {
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) return `a bad name: ${tool.name}`;
        if (typeof tool.input_schema !== 'object') return 'tools: input_schema: Field required';
    }
    return open.length > 0 ? `tool_use ids were found without tool_result blocks: ${open}` : null;
}

function asked(json) {
    const messages = json.messages;
    const last = messages.findLastIndex((message) => message.role === 'user' && texts(message) !== '');
    const all = messages.flatMap(blocks);
    return {
        model: json.model,
        max: json.max_tokens,
        system: json.system ?? '',
        roles: messages.map((message) => message.role).join(' '),
        text: last < 0 ? '' : texts(messages[last]),
        results: messages.slice(last + 1).flatMap(blocks).filter((block) => block.type === 'tool_result')
            .map((block) => (block.is_error ? 'error: ' : '') + block.content),
        tools: (json.tools ?? []).map((tool) => tool.name),
        images: all.filter((block) => block.type === 'image')
            .map((block) => `data:${block.source.media_type};base64,${block.source.data}`.slice(0, 30)),
    };
}

const event = (type, json) => `event: ${type}\ndata: ${JSON.stringify({ type, ...json })}\n\n`;
const REASONS = { stop: 'end_turn', tools: 'tool_use', length: 'max_tokens' };

function writer(styles) {
    let index = -1;
    let isText = false;
    const close = () => (index >= 0 ? event('content_block_stop', { index }) : '');
    const open = (content_block) => {
        const closed = close();
        index++;
        isText = content_block.type === 'text';
        return closed + event('content_block_start', { index, content_block });
    };
    const delta = (part) => event('content_block_delta', { index, delta: part });
    return {
        begin: () => event('message_start', { message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: 11, output_tokens: 1 } } })
            + event('ping', {}),
        text: (text) => (isText ? '' : open({ type: 'text', text: '' })) + delta({ type: 'text_delta', text }),
        call(n, name, input) {
            const half = Math.ceil(input.length / 2);
            const id = styles.has('bare') ? {} : styles.has('same') ? { id: `toolu_${n}` } : { id: `toolu_${Date.now().toString(36)}_${n}` };
            const json = (partial_json) => delta({ type: 'input_json_delta', partial_json });
            return open({ type: 'tool_use', ...id, name, input: {} }) + json('') + json(input.slice(0, half)) + json(input.slice(half));
        },
        end: (why) => close() + event('message_delta', { delta: { stop_reason: REASONS[why], stop_sequence: null }, usage: { output_tokens: 7 } })
            + (styles.has('nodone') ? '' : event('message_stop', {})),
        broken: (type, message) => event('error', { error: { type, message } }),
        whole: (text) => JSON.stringify({ type: 'message', content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
        error,
    };
}

const TYPES = { 400: 'invalid_request_error', 401: 'authentication_error', 404: 'not_found_error', 429: 'rate_limit_error', 529: 'overloaded_error' };
const error = (status, message) => JSON.stringify({ type: 'error', error: { type: TYPES[status] ?? 'api_error', message } });

export const anthropic = { check, asked, writer, error, key: (headers) => headers['x-api-key'] };
