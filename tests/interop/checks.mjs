// One line for each check, a count at the end, and a status that says whether all held.
import assert from 'node:assert/strict';

export { assert };

/** Far above what a run takes on a busy machine: it only keeps a driver that hangs from hanging for ever. */
const OVERALL_TIMEOUT_MS = 150_000;

/** What fits on some lines of a terminal; whole lists of tools do not help. */
const WHY_CHARS = 600;

export class Checks {
    #passed = 0;
    #failed = 0;
    #title;

    constructor(title) {
        this.#title = title;
        this.guard = setTimeout(() => {
            console.log(`not ok ${title}: still running after ${OVERALL_TIMEOUT_MS} ms`);
            process.exit(1);
        }, OVERALL_TIMEOUT_MS);
    }

    /** Runs fn; what it throws fails the check and not the run. */
    async check(name, fn) {
        try {
            await fn();
            this.#passed++;
            console.log(`ok ${this.#title}: ${name}`);
        } catch (error) {
            this.#failed++;
            const why = String(error?.message ?? error).trim().replaceAll('\n', ' | ').slice(0, WHY_CHARS);
            console.log(`not ok ${this.#title}: ${name}: ${why}`);
        }
    }

    /** Prints the count and ends the process. A run without a single check is a failure. */
    finish() {
        clearTimeout(this.guard);
        const n = this.#passed + this.#failed;
        console.log(`${this.#title}: ${this.#passed}/${n} checks`);
        process.exit(this.#failed === 0 && n > 0 ? 0 : 1);
    }
}

/** Fails unless fn rejects with that JSON-RPC code; gives the error. */
export async function rejectsWith(code, fn) {
    const outcome = await fn().then((value) => ({ value }), (error) => ({ error }));
    assert.ok('error' in outcome, `expected error ${code}, got ${JSON.stringify(outcome.value)}`);
    assert.equal(outcome.error.code, code, outcome.error.message);
    return outcome.error;
}

/** What arrives, in order, and a promise for the n-th. */
export class Inbox {
    items = [];
    #waiting = [];

    push(item) {
        this.items.push(item);
        this.#waiting = this.#waiting.filter(({ n, resolve }) => {
            if (this.items.length < n) {
                return true;
            }
            resolve(this.items[n - 1]);
            return false;
        });
    }

    /** The n-th item from the beginning, counted from 1. A notification that never comes must not hang the run. */
    nth(n, withinMs = 10_000) {
        if (this.items.length >= n) {
            return Promise.resolve(this.items[n - 1]);
        }
        return new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(`item ${n} did not come, ${this.items.length} did`)), withinMs);
            this.#waiting.push({ n, resolve: (item) => { clearTimeout(late); resolve(item); } });
        });
    }

    clear() {
        this.items = [];
    }
}

/** `a b --c d` of the command line as { command, args }: everything behind `--`. */
export function serverCommand() {
    const at = process.argv.indexOf('--');
    assert.ok(at > 0 && process.argv.length > at + 1, 'usage: DRIVER [OPTION…] -- SERVER [ARG…]');
    return { command: process.argv[at + 1], args: process.argv.slice(at + 2), options: process.argv.slice(2, at) };
}
