// The scenarios of the official conformance suites about authorization, against a client on the public library: one line of
// counts for each run of a suite, and what failed.
//
//   node auth_suite.mjs CLIENT        CLIENT: fixture_auth_client.c
//
// The status is 0 if all passed and each run had as many of them as that version of the suite has.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const client = path.resolve(process.argv[2]);

/** Far above what a run takes on a busy machine. */
const RUN_TIMEOUT_MS = 300_000;

/** Scenarios: how many of the run are about authorization. A suite that runs fewer says that all is well, too. */
const RUNS = [
    { suite: 'conformance-0-2', args: ['--suite', 'all'], what: 'suite all', scenarios: 33 },
    { suite: 'conformance-0-2', args: ['--requirements', '2026-07-28'], what: 'required by 2026-07-28', scenarios: 31 },
    { suite: 'conformance-0-1', args: ['--suite', 'all'], what: 'suite all', scenarios: 22 },
];

function runSuite({ suite, args }, folder) {
    const command = [process.execPath, here('auth_client.mjs'), client].join(' ');
    const child = spawn(process.execPath, [here(`node_modules/${suite}/dist/index.js`), 'client', '--command', command, ...args],
        { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    return new Promise((resolve) => {
        child.once('close', () => {
            clearTimeout(timer);
            resolve(output);
        });
    });
}

let status = 0;
for (const run of RUNS) {
    if (!existsSync(here(`node_modules/${run.suite}/dist/index.js`))) {
        console.log('SKIPPED: the npm package @modelcontextprotocol/conformance is not installed; run scripts/setup test');
        process.exit(77);
    }
    const folder = await mkdtemp(path.join(tmpdir(), 'tw-conformance-'));
    const output = await runSuite(run, folder);
    await rm(folder, { recursive: true });
    const results = [...output.matchAll(/^(\S+) (auth\/\S+): (\d+ passed, (\d+) failed.*)$/gm)]
        .map(([, mark, name, words, failed]) => ({ name, words, passed: mark === '✓' && failed === '0' }));
    const passed = results.filter((result) => result.passed).length;
    console.log(`client, authorization, ${run.suite}, ${run.what}: ${passed} of ${run.scenarios} scenarios`);
    for (const { name, words } of results.filter((result) => !result.passed)) {
        console.log(`  failed: ${name}: ${words}`);
    }
    if (passed !== run.scenarios || results.length !== run.scenarios) {
        status = 1;
    }
}
process.exit(status);
