// The official conformance suites against a server over HTTP: one line of counts for each run of a suite, and
// what failed.
//
//   node suite.mjs -- SERVER [ARG…]       SERVER is started with --http ADDRESS behind its arguments
//
// The status is 0 if every run passed as its suite sees it and had as many scenarios as that version of the suite has, and
// the server ended by itself when it was told to.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { report, runsOf } from './suite_runs.mjs';

const RUNS = runsOf({ all: 65, old: 32, required: { '2026-07-28': 37, '2025-11-25': 30 } });
const END_TIMEOUT_MS = 60_000;

function startServer(command) {
    const child = spawn(command[0], [...command.slice(1), '--http', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = new Promise((resolve) => { child.once('exit', (code, signal) => resolve({ code, signal })); });
    const ready = new Promise((resolve, reject) => {
        createInterface({ input: child.stdout }).once('line', resolve);
        exit.then(({ code, signal }) => reject(new Error(`the server ended before it was ready (${code ?? signal})`)));
        child.once('error', reject);
    });
    return { child, exit, ready };
}

const server = startServer(process.argv.slice(process.argv.indexOf('--') + 1));
let good = true;
try {
    const url = await server.ready;
    for (const run of RUNS) {
        good = await report(run, { side: 'server', args: ['--url', url] }) && good;
    }
} catch (error) {
    console.log(`conformance: ${error.message}`);
    good = false;
}
server.child.kill('SIGTERM');
const timer = setTimeout(() => server.child.kill('SIGKILL'), END_TIMEOUT_MS);
const { code, signal } = await server.exit;
clearTimeout(timer);
if (code !== 0) {
    console.log(`conformance: the server ended with ${code ?? signal}`);
    good = false;
}
process.exit(good ? 0 : 1);
