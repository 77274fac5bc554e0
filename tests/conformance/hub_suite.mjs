// What each revision requires, asked of `toolwire up` with a server behind it on standard input and output.
//
//   node hub_suite.mjs TOOLWIRE legacy|modern -- SERVER [ARG…]
//
// The era is the one that the hub speaks with SERVER. The status is 0 if all passed but what the baseline names, and the hub
// ended by itself when it was told to.
import path from 'node:path';
import { serverCommand } from '../interop/checks.mjs';
import { startHub } from '../interop/hub.mjs';
import { report, runsOf } from './suite_runs.mjs';

const END_TIMEOUT_MS = 60_000;
const { command, args, options: [toolwire, era] } = serverCommand();
const script = args.find((word) => word.endsWith('.mjs')) ?? command;
const title = `server through the hub (${path.basename(script)}, ${era})`;
/** The keys of questions are those of the modern era. */
const RUNS = runsOf({ required: { '2026-07-28': 37, '2025-11-25': 30 } }).filter(({ revision }) => revision !== undefined).map((run) =>
    ({ ...run, ...(era === 'legacy' && run.revision === '2026-07-28' && { baseline: 'baseline_legacy.yml' }) }));

/** One that does not end is killed when this process does. */
function ended(hub) {
    const late = new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error('the hub does not end')), END_TIMEOUT_MS).unref();
    });
    return Promise.race([hub.stop(), late]);
}

let good = true;
try {
    const hub = await startHub(toolwire, { fixture: { command, args, era } });
    for (const run of RUNS) {
        good = await report(run, { side: 'server', title, args: ['--url', hub.url.href] }) && good;
    }
    await ended(hub);
} catch (error) {
    console.log(`conformance: ${error.message}`);
    good = false;
}
process.exit(good ? 0 : 1);
