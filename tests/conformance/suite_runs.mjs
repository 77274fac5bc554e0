// Runs of the official conformance suites, of either side: one line of counts for each run, and what failed.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const NEW = 'conformance-0-2';
const OLD = 'conformance-0-1';

/** Far above what a run takes on a busy machine. */
const RUN_TIMEOUT_MS = 300_000;

/** The scenarios of one side in a baseline file; the suite itself reads what it means. */
async function expectedToFail(side, baseline) {
    const [, list] = new RegExp(`^${side}:[^\\n]*\\n((?: .*\\n)*)`, 'm').exec(await readFile(here(baseline), 'utf8')) ?? [undefined, ''];
    return [...list.matchAll(/^ +- ([^\s:]+)/gm)].map(([, name]) => name);
}

/**
 * What is run for one side: { all, old, required: { REVISION: n } } are how many scenarios count in each run. A suite that runs
 * fewer says that all is well, too.
 */
export function runsOf({ all, old, required }) {
    return [
        { suite: NEW, args: ['--suite', 'all'], what: 'suite all', scenarios: all, baseline: 'baseline.yml' },
        ...Object.entries(required).map(([revision, scenarios]) =>
            ({ suite: NEW, args: ['--requirements', revision], what: `required by ${revision}`, scenarios, revision })),
        { suite: OLD, args: ['--suite', 'all'], what: 'suite all', scenarios: old },
    ];
}

/** By the name of the scenario: every check, and what the client complained of. */
async function readResults(folder) {
    const results = new Map();
    for (const entry of await readdir(folder, { recursive: true })) {
        const [, name] = /^(?:server-)?(.*)-\d{4}-\d\d-\d\dT[^/]*$/.exec(entry) ?? [];
        if (name === undefined) continue;
        const read = (file, otherwise) => readFile(path.join(folder, entry, file), 'utf8').catch(() => otherwise);
        results.set(name, { checks: JSON.parse(await read('checks.json', '[]')), complaint: (await read('stderr.txt', '')).trim() });
    }
    return results;
}

/** Runs a suite; gives its status, what it printed, and its results. */
async function runSuite(suite, args) {
    const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
    const program = here(`node_modules/${suite}/dist/index.js`);
    const child = spawn(process.execPath, [program, ...args, '-o', folder], { stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    child.stderr.on('data', (data) => { output += data; });
    const status = await new Promise((resolve) => { child.once('close', (code, signal) => resolve(code ?? signal)); });
    clearTimeout(timer);
    const results = await readResults(folder);
    await rm(folder, { recursive: true, force: true });
    return { status, output, results };
}

/** The scenarios that a suite says it ran, and whether each passed. */
function readSummary(output) {
    return [...output.matchAll(/^([✓✗]) (\S+): \d+ passed, \d+ failed(?:, \d+ warnings)?$/gm)]
        .map(([, mark, name]) => ({ name, passed: mark === '✓' }));
}

/** The names that a revision requires; the others of such a run do not count. */
async function requiredNames(side, revision) {
    const text = await readFile(here(`node_modules/${NEW}/requirements/${revision}.yaml`), 'utf8');
    const [, list] = new RegExp(`^${side}:\\n((?: +- .*\\n)+)`, 'm').exec(text);
    return list.trim().split('\n').map((line) => line.replace(/^ *- */, ''));
}

async function versionOf(suite) {
    return JSON.parse(await readFile(here(`node_modules/${suite}/package.json`), 'utf8')).version;
}

function tellFailure({ name, fault }, results) {
    const bad = (results.get(name)?.checks ?? []).filter((one) => one.status === 'FAILURE');
    console.log(`  failed: ${name}${fault === undefined ? '' : `: ${fault}`}`);
    bad.forEach((one) => console.log(`    ${one.id}: ${String(one.errorMessage).slice(0, 400)}`));
}

/** How a part of what ran ended: what failed, and the checks by their status. */
function countUp(ran, results) {
    const checksOf = ({ name }) => results.get(name)?.checks ?? [];
    const all = ran.flatMap(checksOf);
    const of = (status) => all.filter((one) => one.status === status);
    const failed = ran.filter((one) => !one.passed);
    const isEmpty = (one) => !checksOf(one).some((check) => ['SUCCESS', 'FAILURE'].includes(check.status));
    return { failed, nEmpty: ran.filter(isEmpty).length, ratio: `${ran.length - failed.length}/${ran.length}`, warnings: of('WARNING'),
        words: `${of('SUCCESS').length} checks passed, ${of('FAILURE').length} failed, ${of('WARNING').length} warnings` };
}

/** Runs those that failed and measure time once more, alone; gives the names of those that pass then. */
async function runAlone(side, suite, { args, measuring }, ran, results) {
    const better = [];
    for (const { name } of ran.filter((one) => !one.passed && measuring.includes(one.name))) {
        const again = await runSuite(suite, [side, ...args, '--scenario', name]);
        if (again.status === 0 && again.results.has(name)) {
            results.set(name, again.results.get(name));
            better.push(name);
        }
    }
    return better;
}

/**
 * One run, one line, which begins with the title; gives whether it passed. `side` is `server` or `client`, `args` are the suite's
 * about it. `measuring`: scenarios that measure time, and so may fail where all run at once. faultOf(name, { checks, complaint })
 * gives what is wrong with a scenario although the suite is content, or undefined.
 */
export async function report(run, { side, title = side, args, measuring = [], faultOf = () => undefined }) {
    const { suite, what, scenarios, revision, baseline } = run;
    const expected = baseline === undefined ? [] : await expectedToFail(side, baseline);
    const { status, output, results } = await runSuite(suite, [side, ...args, ...run.args,
        ...(baseline === undefined ? [] : ['--expected-failures', here(baseline)])]);
    const said = readSummary(output);
    const better = await runAlone(side, suite, { args, measuring }, said, results);
    const ran = said.map(({ name, passed }) => {
        const fault = faultOf(name, results.get(name));
        return { name, fault, passed: (passed || better.includes(name)) && fault === undefined };
    });
    const required = revision === undefined ? undefined : await requiredNames(side, revision);
    const isScored = ({ name }) => required === undefined || required.includes(name);
    const scored = countUp(ran.filter(isScored), results);
    const unscored = countUp(ran.filter((one) => !isScored(one)), results);
    const names = new Set(ran.filter(isScored).map(({ name }) => name));
    const isComplete = names.size === scenarios && (required ?? []).every((name) => names.has(name));
    const isContent = status === 0 || (better.length > 0 && scored.failed.length === 0);
    const notes = [`${await versionOf(suite)}, ${scored.words}`,
        ...(scored.nEmpty === 0 ? [] : [`${scored.nEmpty} had nothing to check here`]),
        ...(required === undefined ? [] : [`beside them, unscored: ${unscored.ratio}`]),
        ...(better.length === 0 ? [] : [`run again, alone, as it measures time: ${better.join(', ')}`]),
        ...(expected.length === 0 ? [] : [`${baseline} expects ${expected.length} to fail`])];
    console.log(`${title}: ${scored.ratio} scenarios, ${what} (${notes.join('; ')})`);
    scored.failed.filter(({ name }) => !expected.includes(name)).forEach((one) => tellFailure(one, results));
    scored.warnings.forEach((one) => console.log(`  warning: ${one.id}: ${String(one.errorMessage).slice(0, 400)}`));
    if (!isComplete) {
        console.log(`  incomplete: ${scenarios} scenarios were to run, and ${names.size} did`);
    }
    if (!isContent || !isComplete) {
        console.log(`  the suite ended with status ${status}; its last words:`);
        console.log(output.trim().split('\n').slice(-12).map((line) => `    ${line}`).join('\n'));
    }
    return isContent && isComplete && ran.every(({ fault }) => fault === undefined);
}
