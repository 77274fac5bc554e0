// SARIF against the schema that OASIS publishes, by a validator that is not ours.
//
//   node sarif_schema.mjs REPORT_PROBE SCHEMA
import { existsSync, readFileSync } from "node:fs";
import { check, finish, probe, skip } from "./support.mjs";

const file = process.argv[3];

if (!existsSync(file)) {
  skip(`there is no ${file} (CMake's TOOLWIRE_SARIF_SCHEMA names it)`);
}
const { Ajv } = await import("ajv").catch(() => skip("npm packages are not installed"));

// Of draft 4 it has nothing that later ones read otherwise, but for the name of its identifier.
const { $schema, id, ...schema } = JSON.parse(readFileSync(file, "utf8"));
check(/draft-0[47]/.test($schema) && JSON.stringify(schema).includes('"toolComponent"'), `${file} is the schema`);
check(!/"exclusiveM(?:in|ax)imum":(?:true|false)/.test(JSON.stringify(schema)), "nothing of draft 4 alone is used");
const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);

for (const args of [[], [1], [3, 2], [1000, 1000]]) {
  const log = JSON.parse(probe("sarif", ...args).toString("utf8"));

  check(validate(log), `sarif ${args}: ${JSON.stringify(validate.errors?.slice(0, 3))}`);
  log.runs[0].tool.driver.rules[0].nonsense = 1;
  check(!validate(log), "a member that the standard does not know is found");
}
finish();
