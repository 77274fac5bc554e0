// The official conformance suites against a server over HTTP: one line of counts for each run of a suite, and
// what failed.
//
//   node suite.mjs -- SERVER [ARG…]       SERVER is started with --http ADDRESS behind its arguments
//
// The status is 0 if every run passed as its suite sees it and had as many scenarios as that version of the suite has, and
// the server ended by itself when it was told to.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const NEW = 'conformance-0-2';
const OLD = 'conformance-0-1';
const REVISIONS = { '2026-07-28': 37, '2025-11-25': 30 };

/** Far above what a run takes on a busy machine. */
const RUN_TIMEOUT_MS = 300_000;
const END_TIMEOUT_MS = 60_000;

/** The scenarios of the baseline file; the suite itself reads what it means. */
async function expectedToFail() {
    return [...(await readFile(here('baseline.yml'), 'utf8')).matchAll(/^ +- ([^\s:]+)/gm)].map(([, name]) => name);
}

/** Scenarios: how many count in a run. A suite that runs fewer says that all is well, too. */
const RUNS = [
    { suite: NEW, args: ['--suite', 'all', '--expected-failures', here('baseline.yml')], what: 'suite all', scenarios: 65,
        expected: await expectedToFail() },
    ...Object.entries(REVISIONS).map(([revision, scenarios]) =>
        ({ suite: NEW, args: ['--requirements', revision], what: `required by ${revision}`, scenarios, revision })),
    { suite: OLD, args: ['--suite', 'all'], what: 'suite all', scenarios: 32 },
];

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

/** Runs a suite; gives its status and what it printed. */
function runSuite(suite, args) {
    const program = here(`node_modules/${suite}/dist/index.js`);
    const child = spawn(process.execPath, [program, 'server', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    return new Promise((resolve) => {
        child.once('close', (code, signal) => {
            clearTimeout(timer);
            resolve({ status: code ?? signal, output });
        });
    });
}

/** Every check of every scenario, by the name of the scenario. */
async function readChecks(folder) {
    const checks = new Map();
    for (const entry of await readdir(folder)) {
        const [, name] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(entry);
        const text = await readFile(path.join(folder, entry, 'checks.json'), 'utf8').catch(() => '[]');
        checks.set(name, JSON.parse(text));
    }
    return checks;
}

/** The scenarios that a suite says it ran, and whether each passed. */
function readSummary(output) {
    return [...output.matchAll(/^([✓✗]) (\S+): \d+ passed, \d+ failed$/gm)]
        .map(([, mark, name]) => ({ name, passed: mark === '✓' }));
}

/** The names that a revision requires; the others of such a run do not count. */
async function requiredNames(revision) {
    const text = await readFile(here(`node_modules/${NEW}/requirements/${revision}.yaml`), 'utf8');
    const [, list] = /^server:\n((?: +- .*\n)+)/m.exec(text);
    return list.trim().split('\n').map((line) => line.replace(/^ *- */, ''));
}

async function versionOf(suite) {
    return JSON.parse(await readFile(here(`node_modules/${suite}/package.json`), 'utf8')).version;
}

function tellFailure(name, checks) {
    const bad = (checks.get(name) ?? []).filter((one) => one.status === 'FAILURE');
    console.log(`  failed: ${name}`);
    bad.forEach((one) => console.log(`    ${one.id}: ${String(one.errorMessage).slice(0, 400)}`));
}

/** How a part of what ran ended: the names that failed, and the checks by their status. */
function countUp(ran, checks) {
    const all = ran.flatMap(({ name }) => checks.get(name) ?? []);
    const of = (status) => all.filter((one) => one.status === status);
    const failed = ran.filter((one) => !one.passed).map(({ name }) => name);
    const isEmpty = ({ name }) => !(checks.get(name) ?? []).some((one) => ['SUCCESS', 'FAILURE'].includes(one.status));
    return { failed, nEmpty: ran.filter(isEmpty).length, ratio: `${ran.length - failed.length}/${ran.length}`, warnings: of('WARNING'),
        words: `${of('SUCCESS').length} checks passed, ${of('FAILURE').length} failed, ${of('WARNING').length} warnings` };
}

/** One run, one line; gives whether it passed. */
async function report({ suite, args, what, scenarios, revision, expected = [] }, url) {
    const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
    const { status, output } = await runSuite(suite, ['--url', url, '-o', folder, ...args]);
    const checks = await readChecks(folder);
    await rm(folder, { recursive: true, force: true });
    const required = revision === undefined ? undefined : await requiredNames(revision);
    const isScored = ({ name }) => required === undefined || required.includes(name);
    const ran = readSummary(output);
    const scored = countUp(ran.filter(isScored), checks);
    const unscored = countUp(ran.filter((one) => !isScored(one)), checks);
    const names = new Set(ran.filter(isScored).map(({ name }) => name));
    const isComplete = names.size === scenarios && (required ?? []).every((name) => names.has(name));
    const notes = [`${await versionOf(suite)}, ${scored.words}`,
        ...(scored.nEmpty === 0 ? [] : [`${scored.nEmpty} had nothing to check here`]),
        ...(required === undefined ? [] : [`beside them, unscored: ${unscored.ratio}`]),
        ...(expected.length === 0 ? [] : [`baseline.yml expects ${expected.length} to fail`])];
    console.log(`server: ${scored.ratio} scenarios, ${what} (${notes.join('; ')})`);
    scored.failed.filter((name) => !expected.includes(name)).forEach((name) => tellFailure(name, checks));
    scored.warnings.forEach((one) => console.log(`  warning: ${one.id}: ${String(one.errorMessage).slice(0, 400)}`));
    if (!isComplete) {
        console.log(`  incomplete: ${scenarios} scenarios were to run, and ${names.size} did`);
    }
    if (status !== 0 || !isComplete) {
        console.log(`  the suite ended with status ${status}; its last words:`);
        console.log(output.trim().split('\n').slice(-12).map((line) => `    ${line}`).join('\n'));
    }
    return status === 0 && isComplete;
}

const server = startServer(process.argv.slice(process.argv.indexOf('--') + 1));
let good = true;
try {
    const url = await server.ready;
    for (const run of RUNS) {
        good = await report(run, url) && good;
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
