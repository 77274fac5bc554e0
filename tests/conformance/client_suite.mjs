// The official conformance suites against a client over HTTP: one line of counts for each run of a suite, and what failed.
//
//   node client_suite.mjs -- CLIENT       CLIENT: fixture_client.c; client_host.mjs tells it what to do
//
// The status is 0 if every run passed as its suite sees it and had as many scenarios as that version of the suite has, and
// the client failed where it must, and nowhere else: the suites do not look at that.
import path from 'node:path';

import { here, report, runsOf } from './suite_runs.mjs';

const RUNS = runsOf({ all: 48, old: 26, required: { '2026-07-28': 32, '2025-11-25': 18 } });

/** The scenarios of a run start all at once. */
const SCENARIO_TIMEOUT_MS = 60_000;

/** How long after the server's wish the client is back. */
const MEASURING = ['sse-retry'];

/** The servers of these are not to be trusted. */
const REFUSED = [
    /^auth\/(resource-mismatch|metadata-issuer-mismatch|scope-retry-limit)$/,
    /^auth\/iss-(supported-missing|wrong-issuer|unexpected|normalized)$/,
    /^sep-2640-client-verify-/,
];

function faultOf(name, { complaint = '' } = {}) {
    const isRefused = REFUSED.some((pattern) => pattern.test(name));
    if (isRefused === (complaint !== '')) return undefined;
    return isRefused ? 'the client did not refuse' : `the client failed: ${complaint.slice(0, 400)}`;
}

const client = path.resolve(process.argv[process.argv.indexOf('--') + 1]);
const command = [process.execPath, here('client_host.mjs'), client].join(' ');
const args = ['--command', command, '--timeout', String(SCENARIO_TIMEOUT_MS)];
let good = true;
for (const run of RUNS) {
    good = await report(run, { side: 'client', args, measuring: MEASURING, faultOf }) && good;
}
process.exit(good ? 0 : 1);
