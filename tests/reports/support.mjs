// What the tests of the formats share: the probe, checks that are counted.
import { spawnSync } from "node:child_process";

let passed = 0;
let failed = 0;

export function check(condition, words) {
  if (condition) {
    passed++;
  } else {
    failed++;
    console.error(`FAILED: ${words}`);
  }
  return condition;
}

export const same = (got, expected, words) =>
  check(
    JSON.stringify(got) === JSON.stringify(expected),
    `${words}: ${JSON.stringify(got)?.slice(0, 300)} is not ${JSON.stringify(expected)?.slice(0, 300)}`,
  );

/** The bytes of the report in a format. */
export function probe(...args) {
  const run = spawnSync(process.argv[2], args.map(String), { maxBuffer: 1 << 28 });

  if (run.status !== 0) {
    throw new Error(`report_probe ${args}: status ${run.status}: ${run.stderr}`);
  }
  return run.stdout;
}

export function skip(words) {
  console.log(`SKIPPED: ${words}`);
  process.exit(77);
}

export function finish() {
  console.log(`${passed} checks passed, ${failed} failed`);
  process.exit(failed > 0 || passed === 0 ? 1 : 0);
}
