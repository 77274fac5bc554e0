// What the scripts of this folder share.
import { spawnSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";

// The names of the files to look at: one a line in the file that the first argument names.
export function files() {
    return readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line !== "");
}

let waiting = "";

function flush() {
    for (let rest = Buffer.from(waiting); rest.length > 0;) {
        rest = rest.subarray(writeSync(1, rest));
    }
    waiting = "";
}

process.on("exit", flush);

// One line: {file, line, name, metric, value}; more may be added (column, note, points).
export function row(what) {
    waiting += `${JSON.stringify(what)}\n`;
    if (waiting.length > 1 << 20) {
        flush();
    }
}

// Runs a program and gives what it printed. Programs that find something often end with a status, so that is
// not looked at; one that cannot be started is an error.
export function output(command, args, { which = "stdout", ...options } = {}) {
    const done = spawnSync(command, args, { encoding: "utf8", maxBuffer: 1 << 30, ...options });
    if (done.error) {
        console.error(`${command}: ${done.error.message}`);
        process.exit(2);
    }
    return which === "both" ? done.stdout + done.stderr : done[which];
}

// A list in pieces that a command line holds.
export function* pieces(list, n = 200) {
    for (let i = 0; i < list.length; i += n) {
        yield list.slice(i, i + n);
    }
}

// Where a byte offset of a text lies: line and column, both from 1.
export class Lines {
    constructor(buffer) {
        this.starts = [0];
        for (let at = buffer.indexOf(10); at >= 0; at = buffer.indexOf(10, at + 1)) {
            this.starts.push(at + 1);
        }
    }

    at(offset) {
        let low = 0;
        for (let high = this.starts.length; high - low > 1;) {
            const middle = (low + high) >> 1;
            if (this.starts[middle] <= offset) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return { line: low + 1, column: offset - this.starts[low] + 1 };
    }
}
