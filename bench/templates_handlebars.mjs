// Measures precompiled handlebars.js (noEscape) on the files of bench/data/. Prints
//   ns_per_rendering bytes_of_the_text
// Called by bench_templates, which prints the comparison.
//   node bench/templates_handlebars.mjs DATA_FOLDER MILLISECONDS
import { readFileSync } from "node:fs";
import Handlebars from "handlebars";

const [folder, milliseconds] = process.argv.slice(2);
const budget = BigInt(milliseconds) * 1_000_000n;
const text = readFileSync(`${folder}/templates_makefile.mk`, "utf8");
const values = JSON.parse(readFileSync(`${folder}/templates_makefile.json`, "utf8"));

Handlebars.registerHelper("snake_case", (s) =>
  s.replace(/(?<=[^A-Z])[A-Z]/g, (c) => `_${c}`).toLowerCase().replace(/[- ]/g, "_"));
Handlebars.registerHelper("join", (list, separator) => list.join(separator));

const options = { noEscape: true, knownHelpers: { snake_case: true, join: true } };
const spec = new Function(`return ${Handlebars.precompile(text, options)}`)();
const render = Handlebars.template(spec);
let sink = 0;

// V8 compiles hot code in steps; these runs are over long before the budget is.
for (let i = 0; i < 50000; i++) {
  sink += render(values).length;
}
const batch = 2000;
let best = Infinity;
const start = process.hrtime.bigint();
for (let now = start; now - start < budget; ) {
  const before = process.hrtime.bigint();
  for (let i = 0; i < batch; i++) {
    // Looking at a character makes V8 build the text, which it would otherwise only promise.
    sink += render(values).charCodeAt(100);
  }
  now = process.hrtime.bigint();
  best = Math.min(best, Number(now - before) / batch);
}
console.log(`${best.toFixed(1)} ${Buffer.byteLength(render(values))}`);
if (sink === 0) {
  console.error("nothing ran");
}
