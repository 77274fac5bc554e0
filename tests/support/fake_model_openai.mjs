// OpenAI's side of fake_model.mjs: what a request says, and the pieces of a stream of chat completions.

const content = (message) =>
    typeof message.content === 'string' ? message.content : (message.content ?? []).map((part) => part.text ?? '').join('');

function check(json) {
    if (json.stream !== true) return 'stream is not true';
    if (!Array.isArray(json.messages) || json.messages.length === 0) return 'no messages';
    let open = [];
    for (const message of json.messages) {
        if (message.role === 'tool') {
            if (!open.includes(message.tool_call_id)) return `a result without its call: ${message.tool_call_id}`;
            open = open.filter((id) => id !== message.tool_call_id);
            continue;
        }
        if (open.length > 0) return `a call without its result: ${open}`;
        open = (message.tool_calls ?? []).map((call) => call.id);
        for (const call of message.tool_calls ?? []) {
            if (typeof call.function?.arguments !== 'string') return 'arguments are no text';
        }
    }
    for (const tool of json.tools ?? []) {
        if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.function?.name)) return `a bad name: ${tool.function?.name}`;
        if (typeof tool.function.parameters !== 'object') return 'no parameters';
    }
    return open.length > 0 ? `a call without its result: ${open}` : null;
}

function asked(json) {
    const messages = json.messages;
    const last = messages.findLastIndex((message) => message.role === 'user');
    return {
        model: json.model,
        max: json.max_tokens ?? json.max_completion_tokens,
        system: messages.filter((message) => message.role === 'system').map(content).join(' '),
        roles: messages.map((message) => message.role).join(' '),
        text: last < 0 ? '' : content(messages[last]),
        results: messages.slice(last + 1).filter((message) => message.role === 'tool').map(content),
        tools: (json.tools ?? []).map((tool) => tool.function.name),
        images: messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
            .filter((part) => part.type === 'image_url').map((part) => part.image_url.url.slice(0, 30)),
    };
}

const event = (json) => `data: ${JSON.stringify(json)}\n\n`;
const chunk = (delta, finish_reason = null) =>
    event({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] });
const REASONS = { stop: 'stop', tools: 'tool_calls', length: 'length' };

function writer(styles) {
    let n = 0;
    const id = () => (styles.has('bare') ? {} : styles.has('same') ? { id: `call_${n++}` } : { id: `call_${Date.now().toString(36)}_${n++}` });
    return {
        begin: () => chunk({ role: 'assistant', content: '' }),
        text: (text) => chunk({ content: text }),
        call(index, name, input) {
            if (styles.has('ollama') || styles.has('bare')) {
                return chunk({ tool_calls: [{ index: 0, ...id(), type: 'function', function: { name, arguments: input } }] });
            }
            const half = Math.ceil(input.length / 2);
            const more = (part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] });
            return chunk({ tool_calls: [{ index, ...id(), type: 'function', function: { name, arguments: '' } }] })
                + more(input.slice(0, half)) + more(input.slice(half));
        },
        end: (why) => chunk({}, styles.has('ollama') && why === 'tools' ? 'stop' : REASONS[why])
            + event({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } })
            + (styles.has('nodone') ? '' : 'data: [DONE]\n\n'),
        broken: (type, message) => event({ error: { type, message } }),
        whole: (text) => JSON.stringify({
            choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }] }),
        error,
    };
}

const error = (status, message) => JSON.stringify({ error: { message, type: 'fake_error', code: null } });

export const openai = { check, asked, writer, error, key: (headers) => headers.authorization?.replace(/^Bearer /, '') };
