// The required server scenarios of the official conformance suite, over standard input and output, which the
// suite itself cannot do: the same requests, and at least the same expectations.
//
//   node stdio.mjs -- SERVER [ARG…]
//
// Where the suite is installed, its own list of what is required is held against ours; where the schemas and
// a validator are there, every message of the server is held against the schema of its revision.
import { existsSync, readFileSync } from 'node:fs';
import { both, legacy } from './stdio_common.mjs';
import { modern } from './stdio_modern.mjs';
import { Peer } from './stdio_peer.mjs';
import * as tasks from './stdio_tasks.mjs';

/** Required, and about nothing but HTTP. */
const HTTP_ONLY = ['dns-rebinding-protection'];
const ERAS = { '2025-11-25': { ...legacy, ...both }, '2026-07-28': { ...modern, ...both } };
/** Not required of anybody; the core schema of the newer revision does not have them. */
const TASKS = { '2025-11-25': tasks.legacy, '2026-07-28': tasks.modern };
const SUITE = new URL('node_modules/conformance-0-2/requirements/', import.meta.url);

const command = process.argv.slice(process.argv.indexOf('--') + 1);
let failed = 0;

function fail(what, error) {
    failed++;
    console.log(`not ok ${what}: ${String(error?.message ?? error).trim().replaceAll('\n', ' | ').slice(0, 600)}`);
}

/** Runs one scenario against a server of its own; gives what was said, or undefined if it failed. */
async function runScenario(revision, name, scenario) {
    const peer = new Peer(command, revision);
    try {
        await scenario(peer, await peer.open());
        await peer.close();
        return peer;
    } catch (error) {
        peer.kill();
        fail(`stdio ${revision} ${name}`, error);
        return undefined;
    }
}

/** The names that the suite requires of a server, or undefined where it is not installed. */
function requiredBySuite(revision) {
    const file = new URL(`${revision}.yaml`, SUITE);
    if (!existsSync(file)) {
        return undefined;
    }
    const [, list] = /^server:\n((?: +- .*\n)+)/m.exec(readFileSync(file, 'utf8'));
    return list.trim().split('\n').map((line) => line.replace(/^ *- */, ''));
}

function compareNames(revision, ours) {
    const wanted = requiredBySuite(revision)?.filter((name) => !HTTP_ONLY.includes(name)).sort();
    if (wanted !== undefined && JSON.stringify(wanted) !== JSON.stringify([...ours].sort())) {
        fail(`stdio ${revision}`, `the suite requires ${wanted}, and we have ${[...ours].sort()}`);
    }
}

async function compareSchemas(revision, peers) {
    const { checkSchemas, schemasMissing } = await import('../interop/schema.mjs')
        .catch((error) => ({ schemasMissing: () => error.message }));
    const why = schemasMissing();
    if (why !== undefined) {
        console.log(`stdio ${revision}: not held against the schema: ${why}`);
        return;
    }
    try {
        const wire = { sent: peers.flatMap((peer) => peer.sent), received: peers.flatMap((peer) => peer.received) };
        console.log(`stdio ${revision}: ${checkSchemas(wire, revision)} messages fit the schema`);
    } catch (error) {
        fail(`stdio ${revision} schema`, error);
    }
}

/** Those that passed. */
async function runScenarios(revision, scenarios) {
    const passed = [];
    for (const [name, scenario] of Object.entries(scenarios)) {
        const peer = await runScenario(revision, name, scenario);
        if (peer !== undefined) {
            passed.push(peer);
        }
    }
    return passed;
}

for (const [revision, scenarios] of Object.entries(ERAS)) {
    const names = Object.keys(scenarios);
    compareNames(revision, names);
    const passed = await runScenarios(revision, scenarios);
    const withTasks = await runScenarios(revision, TASKS[revision]);
    await compareSchemas(revision, revision === '2025-11-25' ? [...passed, ...withTasks] : passed);
    console.log(`stdio ${revision}: ${withTasks.length}/${Object.keys(TASKS[revision]).length} conversations about tasks`);
    console.log(`conformance stdio ${revision}: ${passed.length}/${names.length} scenarios (without ${HTTP_ONLY}, which is about HTTP)`);
}
process.exit(failed === 0 ? 0 : 1);
