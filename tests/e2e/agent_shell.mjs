// The shell's side of `toolwire agent` for tests: starts it, writes requests, gathers responses by id.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What never comes must not hang the run; far above what anything takes on a busy machine. */
const LATE_MS = 60_000;

// Each shell and each workplace has one.
process.setMaxListeners(0);

const ENDS = new Set(['done', 'error', 'status']);

/** A folder with a root, a state folder and a runtime folder, gone when the process ends. */
export function workplace() {
    const work = mkdtempSync(path.join(tmpdir(), 'agent-'));
    for (const name of ['root', 'state', 'run', 'home']) {
        mkdirSync(path.join(work, name));
        chmodSync(path.join(work, name), 0o700);
    }
    process.once('exit', () => rmSync(work, { recursive: true, force: true }));
    return work;
}

/** Writes steps of the script model to a file; gives the model's name. */
export function script(work, name, steps) {
    const file = path.join(work, name);
    writeFileSync(file, steps.map((step) => JSON.stringify(step)).join('\n') + '\n');
    return `script:${file}`;
}

export class Shell {
    messages = [];
    stderr = '';
    #waiting = [];
    #rest = '';
    #n = 0;

    /** args: of `toolwire agent`; env: beside a short one of our own. */
    constructor(toolwire, work, args, env = {}) {
        const config = args.includes('--config') ? [] : ['--config', 'none'];
        this.child = spawn(toolwire, ['agent', ...config, '--state', path.join(work, 'state'), ...args], {
            cwd: path.join(work, 'root'),
            env: { PATH: process.env.PATH, HOME: path.join(work, 'home'), XDG_RUNTIME_DIR: path.join(work, 'run'),
                   TMPDIR: work, ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', TSAN_OPTIONS: process.env.TSAN_OPTIONS ?? '',
                   ...env },
        });
        this.exit = once(this.child, 'exit');
        this.closed = once(this.child, 'close');
        this.child.stdin.on('error', () => {}); // an agent that ended before it read
        this.child.stdout.setEncoding('utf8');
        this.child.stdout.on('data', (text) => this.#take(text));
        this.child.stderr.setEncoding('utf8');
        this.child.stderr.on('data', (text) => { this.stderr += text; this.#tell(); });
        this.kill = () => this.child.kill('SIGKILL');
        process.once('exit', this.kill);
    }

    #take(text) {
        const lines = (this.#rest + text).split('\n');
        this.#rest = lines.pop();
        for (const line of lines) {
            const message = JSON.parse(line); // every line is one: stdout carries nothing else
            message.at = performance.now();
            this.messages.push(message);
        }
        this.#tell();
    }

    #tell() {
        this.#waiting = this.#waiting.filter((waiting) => !waiting());
    }

    /** Waits until find() gives something. */
    until(find, what = 'what was waited for') {
        return new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`${what} did not come: ${JSON.stringify(this.messages.slice(-5))} ` +
                                                          `stderr: ${this.stderr.slice(-500)}`)), LATE_MS);
            const look = () => {
                const found = find();
                if (found === undefined || found === false) {
                    return false;
                }
                clearTimeout(late);
                resolve(found);
                return true;
            };
            if (!look()) {
                this.#waiting.push(look);
            }
        });
    }

    ready() {
        return this.until(() => this.messages.find(({ type }) => type === 'ready'), 'ready');
    }

    line(text) {
        this.child.stdin.write(text + '\n');
    }

    /** Sends a request; gives its id. */
    send(request) {
        const id = request.id ?? `q${++this.#n}`;
        this.line(JSON.stringify({ id, ...request }));
        return id;
    }

    /** The responses to id so far. */
    of(id) {
        return this.messages.filter((message) => message.id === id);
    }

    /** All responses to id, when the last has come. */
    async answer(id) {
        await this.until(() => this.of(id).some(({ type }) => ENDS.has(type)), `the end of ${id}`);
        return this.of(id);
    }

    /** Sends a request and gives all its responses. */
    ask(request) {
        return this.answer(this.send(request));
    }

    say(message, more = {}) {
        return this.ask({ kind: 'user_message', message, ...more });
    }

    /** The first response to id of that type. */
    first(id, type) {
        return this.until(() => this.of(id).find((message) => message.type === type), `${type} of ${id}`);
    }

    /** Closes its input; gives [status, signal] when it has ended and all was read. */
    async close() {
        this.child.stdin.end();
        return this.ended();
    }

    async ended() {
        await this.closed;
        process.removeListener('exit', this.kill);
        return this.exit;
    }
}

/** What the model said, in one piece. */
export const text = (messages) => messages.filter(({ type }) => type === 'token').map(({ token }) => token).join('');

/** Types without tokens: 'tool_use tool_result done'. */
export const types = (messages) => messages.map(({ type }) => type).filter((type) => type !== 'token').join(' ');

export const last = (messages) => messages[messages.length - 1];
