// A service of models for tests: OpenAI's chat completions and Anthropic's messages over real HTTP, with real streams.
//
//   node tests/support/fake_model.mjs [--key KEY] [--models A,B] [--port N]
//
// Prints its port as one line, and ends when stdin does. What it answers is said by the newest message of the user: a
// word and its arguments, on one line. A message may begin with styles, each a word before the others: `odd` (the stream
// arrives in pieces of 1 to 7 bytes), `ollama` (calls whole, index 0), `bare` (no ids), `same` (in every
// answer the same ids), `nodone` (no mark of the end).
//
//   say TEXT             the text, word by word        call TOOL {json}   calls it; then says "result: …"
//   tokens N [MS]        t0 t1 …, MS apart             calls TOOL N       calls it N times in one answer
//   stamps N [MS]        tokens that are the time of   loop TOOL          calls it in every round
//                        their sending, µs since 1970  bad TOOL           calls it with what is no JSON
//   fail STATUS N [S]    N attempts are refused with   cut N              N tokens, then the connection breaks
//                        the status, and Retry-After   stall [N]          N tokens, then silence
//                        S if it is given; then "ok"   broken N           N tokens, then an error in the stream
//   flaky N              N attempts: an error in the   whole TEXT         no stream but one JSON message
//                        stream before any token       page               an HTML page
//   describe             what was asked, as JSON       length             is cut at max_tokens
//
// `dated` behind them: fail asks for an hour, as a date.
// What follows the arguments of fail and flaky tells one such message from another: attempts are counted by the text.
// Anything else is answered like say.
import http from 'node:http';
import { parseArgs } from 'node:util';

import { anthropic } from './fake_model_anthropic.mjs';
import { openai } from './fake_model_openai.mjs';

const { values: options } = parseArgs({
    options: { key: { type: 'string' }, models: { type: 'string', default: 'fake-1' }, port: { type: 'string', default: '0' } },
});
const STYLES = ['odd', 'ollama', 'bare', 'same', 'nodone'];
/** Attempts of messages that are to fail at first, by their text. */
const attempts = new Map();

const nowUs = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const pause = (ms) => new Promise((done) => (ms > 0 ? setTimeout(done, ms) : setImmediate(done)));

/** Writes the stream of one answer; the pieces are odd if they are to be. */
class Wire {
    constructor(res, styles) {
        this.res = res;
        this.odd = styles.has('odd');
        this.n = 0;
    }

    head(type = 'text/event-stream; charset=utf-8') {
        this.res.writeHead(200, { 'Content-Type': type });
        this.res.socket?.setNoDelay(true);
    }

    async write(text) {
        if (!this.odd) {
            this.res.write(text);
            return;
        }
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length && !this.res.destroyed;) {
            const size = 1 + (this.n++ % 7);
            this.res.write(bytes.subarray(at, at + size));
            at += size;
            if (this.n % 11 === 0) await pause(0);
        }
    }
}

async function tokens(dialect, wire, n, ms, make) {
    for (let i = 0; i < n && !wire.res.destroyed; i++) {
        if (i > 0 && ms > 0) await pause(ms);
        await wire.write(dialect.text(make(i)));
    }
}

function words(text) {
    return text.match(/\s*\S+\s*/g) ?? [];
}

/** True, n times for one text: the attempt is to fail. */
function fails(text, n) {
    const seen = attempts.get(text) ?? 0;
    attempts.set(text, seen + 1);
    return seen < n;
}

const plain = (i) => `t${i} `;

/** One function for each word. They get the dialect's writer, the wire, the arguments as text, and what was asked. */
const answers = {
    async say(d, wire, rest) {
        wire.head();
        await wire.write(d.begin());
        for (const word of words(rest)) await wire.write(d.text(word));
        await wire.write(d.end('stop'));
    },
    async tokens(d, wire, rest) {
        const [n, ms] = rest.split(' ').map(Number);
        wire.head();
        await wire.write(d.begin());
        await tokens(d, wire, n, ms, plain);
        await wire.write(d.end('stop'));
    },
    async stamps(d, wire, rest) {
        const [n, ms] = rest.split(' ').map(Number);
        wire.head();
        await wire.write(d.begin());
        await tokens(d, wire, n, ms, () => `${nowUs()} `);
        await wire.write(d.end('stop'));
    },
    async call(d, wire, rest, asked) {
        if (asked.results.length > 0) return answers.say(d, wire, `result: ${asked.results.join(' | ')}`);
        const [, tool, input] = rest.match(/^(\S+)\s*(.*)$/s) ?? [];
        wire.head();
        await wire.write(d.begin() + d.text('Calling. '));
        await wire.write(d.call(0, tool, input || '{}'));
        await wire.write(d.end('tools'));
    },
    async calls(d, wire, rest, asked) {
        if (asked.results.length > 0) return answers.say(d, wire, `result: ${asked.results.join(' | ')}`);
        const [tool, n] = rest.split(' ');
        wire.head();
        await wire.write(d.begin());
        for (let i = 0; i < Number(n); i++) await wire.write(d.call(i, tool, `{"n": ${i}}`));
        await wire.write(d.end('tools'));
    },
    async loop(d, wire, rest) {
        wire.head();
        await wire.write(d.begin() + d.call(0, rest, '{}') + d.end('tools'));
    },
    async bad(d, wire, rest, asked) {
        if (asked.results.length > 0) return answers.say(d, wire, `result: ${asked.results.join(' | ')}`);
        wire.head();
        await wire.write(d.begin() + d.call(0, rest, '{"path": "a') + d.end('tools'));
    },
    async fail(d, wire, rest, asked) {
        const [status, n, after] = rest.split(' ').map(Number);
        if (!fails(asked.text, n)) return answers.say(d, wire, 'ok');
        const fields = { 'Content-Type': 'application/json' };
        if (Number.isFinite(after)) fields['Retry-After'] = String(after);
        if (rest.includes(' dated')) {
            fields['Date'] = new Date(1e12).toUTCString();
            fields['Retry-After'] = new Date(1e12 + 3_600_000).toUTCString();
        }
        wire.res.writeHead(status, fields);
        wire.res.write(d.error(status, `status ${status} was asked for`));
    },
    async flaky(d, wire, rest, asked) {
        if (!fails(asked.text, parseInt(rest, 10))) return answers.say(d, wire, 'ok');
        wire.head();
        await wire.write(d.begin() + d.broken('overloaded_error', 'Overloaded'));
    },
    async cut(d, wire, rest) {
        wire.head();
        await wire.write(d.begin());
        await tokens(d, wire, Number(rest), 0, plain);
        await pause(20); // what is written has left
        wire.res.destroy();
    },
    async stall(d, wire, rest) {
        wire.head();
        await wire.write(d.begin());
        await tokens(d, wire, Number(rest || 0), 0, plain);
        await new Promise((gone) => wire.res.on('close', gone));
    },
    async broken(d, wire, rest) {
        wire.head();
        await wire.write(d.begin());
        await tokens(d, wire, Number(rest), 0, plain);
        await wire.write(d.broken('api_error', 'it broke'));
    },
    async whole(d, wire, rest) {
        wire.head('application/json');
        wire.res.write(d.whole(rest));
    },
    async page(d, wire) {
        wire.head('text/html');
        wire.res.write('<html>\n<body>hello</body>\n</html>\n');
    },
    async length(d, wire) {
        wire.head();
        await wire.write(d.begin() + d.text('and so') + d.end('length'));
    },
    async describe(d, wire, rest, asked) {
        const { model, roles, tools, images, system, max } = asked;
        return answers.say(d, wire, JSON.stringify({ model, roles, tools, images, system, max }));
    },
};

/** What the message says: styles, the word, its arguments. */
function read(text) {
    const styles = new Set();
    let rest = text.split('\n')[0];
    for (let first; STYLES.includes((first = rest.split(' ')[0]));) {
        styles.add(first);
        rest = rest.slice(first.length).trimStart();
    }
    const word = rest.split(' ')[0];
    return Object.hasOwn(answers, word)
        ? { styles, word, rest: rest.slice(word.length).trim() }
        : { styles, word: 'say', rest };
}

function refuse(res, status, body) {
    res.writeHead(status, { 'Content-Type': 'application/json' });
    res.end(body);
}

async function answer(dialect, req, res, body) {
    let json;
    try {
        json = JSON.parse(body);
    } catch (error) {
        return refuse(res, 400, dialect.error(400, `not JSON: ${error.message}`));
    }
    const wrong = dialect.check(json, req.headers);
    if (wrong) return refuse(res, 400, dialect.error(400, wrong));
    const asked = dialect.asked(json);
    const { styles, word, rest } = read(asked.text);
    await answers[word](dialect.writer(styles), new Wire(res, styles), rest, asked);
    res.end();
}

function route(req, res, body) {
    const at = req.url.split('?')[0];
    const dialect = at === '/v1/messages' ? anthropic : openai;
    if (options.key !== undefined && dialect.key(req.headers) !== options.key && req.headers['x-api-key'] !== options.key) {
        return refuse(res, 401, dialect.error(401, `wrong key: ${dialect.key(req.headers)}`));
    }
    if (req.method === 'GET' && at === '/v1/models') {
        const data = options.models.split(',').filter(Boolean).map((id) => ({ id, object: 'model' }));
        return refuse(res, 200, JSON.stringify({ object: 'list', data }));
    }
    if (req.method === 'POST' && (at === '/v1/messages' || at === '/v1/chat/completions')) {
        return answer(dialect, req, res, body);
    }
    return refuse(res, 404, dialect.error(404, `nothing is at ${req.method} ${req.url}`));
}

const server = http.createServer((req, res) => {
    const parts = [];
    req.on('data', (part) => parts.push(part));
    req.on('end', () => Promise.resolve(route(req, res, Buffer.concat(parts).toString())).catch((error) => {
        console.error(error);
        res.destroy();
    }));
});
server.listen(Number(options.port), '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
