// toolwire.exe under Wine, as its user sees it: arguments, lines, exit status.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { assert } from '../interop/checks.mjs';

/** How long anything may take: programs start slowly under Wine, on a busy machine. */
const WITHIN_MS = 40_000;

export const toolwire = process.argv[2];
export const tool = process.argv[3];
export const libraryAddin = process.argv[4];

const running = new Set();
const folders = [];
let nNames = 0;

/** What is left at the end, whatever happened. */
process.on('exit', () => {
    for (const child of running) {
        child.kill('SIGKILL');
    }
    for (const folder of folders) {
        rmSync(folder, { recursive: true, force: true });
    }
});

/** A path of this machine as Windows programs name it. */
export const windowsPath = (file) => `Z:${file.replaceAll('/', '\\')}`;

/** A pipe name that nobody else has. */
export const pipeName = () => `toolwire-test-${process.pid}-${++nNames}`;

/** A new folder with these files in it: name to content, objects as JSON. */
export function folderWith(files) {
    const folder = mkdtempSync(path.join(tmpdir(), 'toolwire-windows-'));

    folders.push(folder);
    for (const [name, content] of Object.entries(files)) {
        writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content), {
            mode: 0o600, // a schema file that others can read is refused
        });
    }
    return folder;
}

/** An entry of a tools file that runs the test's command. */
export const toolEntry = (name, args, more = {}) => ({
    name,
    description: `Runs ${args[0]}.`,
    input_schema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
    command: [windowsPath(tool), ...args],
    ...more,
});

/** what: a function, since what is worth saying is known only at the end. */
function within(promise, what) {
    let late;
    const timeout = new Promise((resolve, reject) => {
        late = setTimeout(() => reject(new Error(`${what()} did not come within ${WITHIN_MS} ms`)), WITHIN_MS);
    });
    return Promise.race([promise, timeout]).finally(() => clearTimeout(late));
}

/** Collects a stream, and wakes those who wait for something in it. */
class Text {
    all = '';
    #watchers = new Set();

    constructor(stream) {
        stream.setEncoding('utf8');
        stream.on('data', (part) => {
            this.all += part;
            this.#watchers.forEach((look) => look());
        });
    }

    /** The text, as soon as it has the pattern in it, at or behind `from`. */
    has(pattern, from = 0) {
        return within(new Promise((resolve) => {
            const look = () => {
                if (this.all.slice(from).match(pattern)) {
                    this.#watchers.delete(look);
                    resolve(this.all);
                }
            };
            this.#watchers.add(look);
            look();
        }), () => `${pattern} (so far: ${this.all.slice(-300)})`);
    }
}

/** One process. */
export class Program {
    #child;
    #exit;
    #waiting = new Map();
    #nextId = 1;
    #rest = [];
    notifications = [];

    constructor(args, { cwd, env, program = toolwire } = {}) {
        this.#child = spawn('wine', [program, ...args], { cwd, env: { ...process.env, ...env } });
        running.add(this.#child);
        this.#exit = new Promise((resolve) => {
            this.#child.once('close', (code, signal) => {
                running.delete(this.#child);
                resolve({ code, signal });
            });
        });
        this.#child.stdin.on('error', () => {}); // it may have gone; the exit tells
        this.stdout = new Text(this.#child.stdout);
        this.stderr = new Text(this.#child.stderr);
        this.#child.stdout.on('data', (part) => this.#takeLines(part));
    }

    #takeLines(part) {
        this.#rest.push(part);
        if (!part.includes('\n')) {
            return; // looking through a long line with every part of it would take for ever
        }
        const lines = this.#rest.join('').split('\n');

        this.#rest = [lines.pop()];
        for (const line of lines) {
            let message;
            try {
                message = JSON.parse(line);
            } catch {
                continue; // output of a command, no protocol
            }
            if (message.id !== undefined && message.method === undefined) {
                this.#waiting.get(message.id)?.(message);
            } else {
                this.notifications.push(message);
            }
        }
    }

    write(text) {
        this.#child.stdin.write(text);
    }

    /** The whole answer to an MCP request. */
    ask(method, params = {}) {
        const id = this.#nextId++;
        const answer = new Promise((resolve) => { this.#waiting.set(id, resolve); });

        this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        return within(Promise.race([answer, this.#noAnswer(method)]), () => `an answer to ${method}`);
    }

    /** Rejects when the process ends: nobody will answer then. */
    async #noAnswer(method) {
        const { code } = await this.#exit;
        throw new Error(`no answer to ${method}: exit ${code}, ${this.stderr.all.slice(-300)}`);
    }

    async initialize() {
        const answer = await this.ask('initialize', {
            protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' },
        });

        this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
        return answer.result;
    }

    call(name, args = {}) {
        return this.ask('tools/call', { name, arguments: args });
    }

    /** The names of the tools, sorted. */
    async tools() {
        const answer = await this.ask('tools/list');
        return answer.result.tools.map((entry) => entry.name).sort();
    }

    /** Asks again and again until the tool is there (or gone): add-ins come and go by themselves. */
    async untilTool(name, isThere = true) {
        const end = Date.now() + WITHIN_MS;

        while ((await this.tools()).includes(name) !== isThere) {
            assert.ok(Date.now() < end, `${name} is ${isThere ? 'not there' : 'still there'}`);
            await new Promise((resolve) => { setTimeout(resolve, 50); });
        }
    }

    endInput() {
        this.#child.stdin.end();
    }

    exit() {
        return within(this.#exit, () => `the exit (stderr: ${this.stderr.all.slice(-300)})`);
    }

    /** At once, as a program that crashed. */
    kill() {
        this.#child.kill('SIGKILL');
        return this.exit();
    }

    /** By the end of its input, as clients do. */
    async leave() {
        this.endInput();
        assert.deepEqual(await this.exit(), { code: 0, signal: null });
    }
}

/** A command that ends by itself: { code, stdout, stderr }. */
export async function run(args, { input = '', ...options } = {}) {
    const program = new Program(args, options);

    program.write(input);
    program.endInput();
    const { code } = await program.exit();
    return { code, stdout: program.stdout.all, stderr: program.stderr.all };
}

export const textOf = (answer) => answer.result.content.map((part) => part.text).join('');
