// Measures compiled Ajv on the files of bench/data/. Prints one line per case and round:
//   case ns_per_validation_of_a_parsed_value ns_per_parse_and_validation
// Called by bench_schema, which prints the comparison.
//   node bench/schema_ajv.mjs DATA_FOLDER MILLISECONDS CASE...
import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";

const [folder, milliseconds, ...cases] = process.argv.slice(2);
const budget = BigInt(milliseconds) * 1_000_000n;
let sink = 0;

// Runs batches until the budget is used up; the best batch counts, as it does on the C side.
function measure(body) {
  const batch = 2000;
  let best = Infinity;
  const start = process.hrtime.bigint();
  for (let now = start; now - start < budget; ) {
    const before = process.hrtime.bigint();
    for (let i = 0; i < batch; i++) {
      sink += body() ? 1 : 0;
    }
    now = process.hrtime.bigint();
    best = Math.min(best, Number(now - before) / batch);
  }
  return best;
}

for (const name of cases) {
  const schema = JSON.parse(readFileSync(`${folder}/schema_${name}.schema.json`, "utf8"));
  const text = readFileSync(`${folder}/schema_${name}.json`, "utf8");
  const Ajv = Ajv2020.default ?? Ajv2020;
  const validate = new Ajv({ strict: false }).compile(schema);
  const value = JSON.parse(text);
  if (!validate(value)) {
    throw new Error(`${name}: ${JSON.stringify(validate.errors)}`);
  }
  // V8 compiles hot code in steps; these runs are over long before the budget is.
  for (let i = 0; i < 200000; i++) {
    sink += validate(value) ? 1 : 0;
  }
  const indexed = measure(() => validate(value));
  const parsed = measure(() => validate(JSON.parse(text)));
  console.log(`${name} ${indexed.toFixed(1)} ${parsed.toFixed(1)}`);
}
if (sink === 0) {
  console.error("nothing ran");
}
