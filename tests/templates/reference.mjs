// The nine templates that are known by name elsewhere, and the faults that their first implementation had:
//   reference.mjs TEMPLATE_PROBE
import { check, everything, find, finish, probe, request, required, sourceOf, templates } from "./support.mjs";

// Name, then parameters: [name, type, default]; a missing default is undefined, "!" marks a required one.
const nine = {
  "makefile/rust/cli": ["Rust CLI Makefile", [["project_name", "string", "!"], ["has_tests", "boolean", true],
    ["has_benchmarks", "boolean", false], ["target", "string"], ["features", "array", []], ["default_args", "string"]]],
  "readme/rust/cli": ["Rust CLI README", [["project_name", "string", "!"], ["description", "string", "!"],
    ["features", "array", []], ["rust_version", "string", "1.75"],
    ["install_command", "string", "cargo install --path ."], ["usage_example", "string"],
    ["prerequisites", "array", ["Rust 1.75 or later", "GNU Make (optional)"]], ["build_command", "string", "make build"],
    ["test_command", "string", "make test"], ["license", "string", "MIT"], ["author", "string"]]],
  "gitignore/rust/cli": ["Rust CLI .gitignore", [["project_type", "string", "Rust CLI Application"], ["ide_files", "array", 2],
    ["build_artifacts", "array", 1], ["language_specific", "array", 2], ["os_specific", "array", 2],
    ["custom_patterns", "array", 2], ["embedded_targets", "array", 2]]],
  "makefile/deno/cli": ["Deno TypeScript CLI Application Makefile", [["project_name", "string", "!"],
    ["has_tests", "boolean", true], ["entry_point", "string", "main.ts"],
    ["permissions", "array", ["--allow-read", "--allow-write"]]]],
  "readme/deno/cli": ["Deno CLI Application README", [["project_name", "string", "!"], ["description", "string"],
    ["author_name", "string"]]],
  "gitignore/deno/cli": ["Deno CLI Application .gitignore", []],
  "makefile/python-uv/cli": ["Python UV CLI Application Makefile", [["project_name", "string", "!"],
    ["has_tests", "boolean", true], ["python_version", "string", "3.12"], ["entry_point", "string", "main"]]],
  "readme/python-uv/cli": ["Python UV CLI Application README", [["project_name", "string", "!"], ["description", "string"],
    ["author_name", "string"]]],
  "gitignore/python-uv/cli": ["Python UV CLI Application .gitignore", []],
};

function checkNine() {
  for (const [uri, [name, parameters]] of Object.entries(nine)) {
    const template = find(`template://${uri}`);

    check(template.name === name && template.version === "1.0.0", `${uri}: name and version`);
    check(template.parameters.map((p) => p.name).join() === parameters.map(([n]) => n).join(), `${uri}: parameters`);
    for (const [i, [parameter, type, value]] of parameters.entries()) {
      const p = template.parameters[i];

      check(p.type === type, `${uri}: type of ${parameter}`);
      check((p.required === true) === (value === "!"), `${uri}: ${parameter} is required, or not`);
      if (typeof value === "number") {
        check(p.default.length >= value, `${uri}: ${parameter} has default patterns`);
      } else if (value !== "!") {
        check(JSON.stringify(p.default) === JSON.stringify(value), `${uri}: default of ${parameter}`);
      }
    }
  }
}

const targetsOf = {
  rust: "all check format lint test bench build build-release run clean install help",
  deno: "all fmt lint type-check test coverage clean run dev bundle help",
  "python-uv": "all install dev-install format lint type-check test coverage clean run help",
};

const answer = (uri, parameters) => probe([request(find(`template://${uri}`), parameters)])[0];
const text = (uri, parameters) => answer(uri, parameters).files[0].content;
const codes = ({ files, failures }) =>
  files.length === 0 && failures.length === 1 ? failures[0].faults.map((f) => `${f.parameter} ${f.code}`).join() : "made";

function checkTargets() {
  for (const [toolchain, targets] of Object.entries(targetsOf)) {
    const makefile = text(`makefile/${toolchain}/cli`, { project_name: "x", ...(toolchain === "rust" && { has_benchmarks: true }) });

    for (const target of targets.split(" ")) {
      check(new RegExp(`^${target}:`, "m").test(makefile), `${toolchain}: the Makefile has ${target}`);
    }
    check(!/^test:/m.test(text(`makefile/${toolchain}/cli`, { project_name: "x", has_tests: false })), `${toolchain}: no tests, no target`);
  }
  for (const section of ["Features", "Installation", "Usage", "Development", "Project Structure", "Configuration", "Author", "License"]) {
    check(text("readme/rust/cli", everything(find("template://readme/rust/cli"))).includes(`\n## ${section}\n`), `README has ${section}`);
  }
}

// Defaults were not applied.
function checkDefaults() {
  const deno = text("makefile/deno/cli", { project_name: "x" });
  const readme = text("readme/rust/cli", { project_name: "x", description: "Does it." });

  check(deno.includes("main.ts") && deno.includes("--allow-read --allow-write") && /^test:/m.test(deno), "Deno Makefile has its defaults");
  check(text("makefile/python-uv/cli", { project_name: "x" }).includes("python -m main"), "uv Makefile has its defaults");
  for (const words of ["MIT", "cargo install --path .", "- Rust 1.75 or later\n- GNU Make (optional)\n", "make build\nmake test\n"]) {
    check(readme.includes(words), `Rust README has its default ${JSON.stringify(words)}`);
  }
}

// Parameters were declared and not used, used and not declared, or misspelt.
function checkNames() {
  check(text("readme/deno/cli", { project_name: "x", author_name: "Ada L." }).includes("Ada L."), "Deno README has the author");
  check(text("readme/python-uv/cli", { project_name: "x", author_name: "Ada L." }).includes("Ada L."), "uv README has the author");
  check(!/\{\{#?(if )?configuration/.test(sourceOf(find("template://readme/rust/cli"))), "Rust README has no undeclared name");
  check(text("readme/rust/cli", { project_name: "x", description: "d", rust_version: "1.99" }).includes("1.99"), "rust_version is used");
  check(text("makefile/python-uv/cli", { project_name: "x", python_version: "3.99" }).includes("3.99"), "python_version is used");
  check(!/^\/?(\*\*\/)?Cargo\.lock$/m.test(text("gitignore/rust/cli", {})), "Cargo.lock is not ignored");
}

// Values came out as HTML.
function checkRaw() {
  const words = `R&D's "best" <tool> = \`fast\``;

  for (const toolchain of ["rust", "deno", "python-uv", "c", "cpp", "go", "node", "python"]) {
    check(text(`readme/${toolchain}/cli`, { project_name: "x", description: words }).includes(words), `${toolchain}: README as given`);
  }
  check(text("makefile/rust/cli", { project_name: "x", default_args: "--a='b&c' \"<in\"" }).includes("ARGS ?= --a='b&c' \"<in\"\n"), "Makefile as given");
  check(text("gitignore/rust/cli", { custom_patterns: ["a&b", "it's=1"] }).endsWith("a&b\nit's=1\n"), ".gitignore as given");
}

// Types were not checked, unknown keys and names with paths went through.
function checkRefusals() {
  const makefile = (more) => codes(answer("makefile/rust/cli", { project_name: "x", ...more }));

  check(makefile({ has_tests: "no" }) === "has_tests type", `a string for a boolean: ${makefile({ has_tests: "no" })}`);
  check(makefile({ features: "x" }) === "features type", "a string for an array");
  check(makefile({ features: ["ok", 1] }) === "features[1] type", `a number in an array: ${makefile({ features: ["ok", 1] })}`);
  check(makefile({ features: ["ok", "a b"] }) === "features[1] pattern", "an element that is no feature");
  check(makefile({ has_test: true }) === "has_test unknown", "an unknown key");
  check(answer("makefile/rust/cli", { project_name: "x", has_test: true }).failures[0].faults[0].expected.includes("has_tests"), "the nearest key");
  // What lands in a Makefile must not run there.
  for (const args of ["$(shell id)", "$HOME", "'$(shell id)'", "a; id", "a | id", "`id`", '"`id`"', "a & b", "a\nb", "<in", "a\\", " a", "a ", "'a", "#"]) {
    check(makefile({ default_args: args }) === "default_args pattern", `refuses the arguments ${args}`);
  }
  check(makefile({ default_args: "" }) === "made" && makefile({ default_args: "-v --to=a,b:c ./x @y '(a; b)' \"it's\"" }) === "made",
    "takes arguments that are words");
  check(codes(answer("readme/rust/cli", {})) === "project_name missing,description missing", "all that is missing");
  const named = templates.filter((t) => t.parameters.some((p) => p.name === "project_name"));
  const bad = ["", ".", "..", "../up", "a/b", "/abs", "a\\b", "a b", "a\nb", "-rf", "$(id)", "x;y", "é", "con", "NUL", "Com1"];
  const asked = named.flatMap((t) => bad.map((name) => [t, name]));
  const answers = probe(asked.map(([t, name]) => request(t, { ...required(t), project_name: name })));

  for (const [i, [template, name]] of asked.entries()) {
    check(codes(answers[i]).startsWith("project_name "), `${template.uri}: refuses the name ${JSON.stringify(name)}`);
  }
  // A name is taken also where no template has it, since it is the folder's.
  const others = templates.filter((t) => !t.parameters.some((p) => p.name === "project_name"));

  check(others.length > 20, "templates without a name");
  for (const template of others) {
    const [{ files, failures }] = probe([request(template, { ...required(template), project_name: "My Tool" })]);

    check(files[0]?.filename === `My Tool/${files[0]?.path}`, `${template.uri}: takes a name: ${JSON.stringify(failures)}`);
    check(codes(answer(template.uri.slice("template://".length), { ...required(template), project_name: "../up" })) === "project_name unsafe_name",
      `${template.uri}: an unsafe name`);
  }
  for (const name of ["../main.ts", "/main.ts", "a/../../main.ts", "x/./y.ts"]) {
    check(answer("source/deno/cli", { project_name: "x", entry_point: name }).files.length === 0, `refuses the path ${name}`);
  }
}

// URIs were looked up by a part of them.
function checkUris() {
  for (const uri of ["template://x/makefile/rust/cli/y", "template://makefile/rust/cli/", "template://makefile/rust",
    "template://makefile/rust/cl", "template://../../etc/passwd", "template://makefile/rust/%2e%2e", "TEMPLATE://makefile/rust/cli"]) {
    const [{ files, failures }] = probe([{ toolchain: "rust", names: [uri], parameters: { project_name: "x" } }]);

    check(files.length === 0 && failures.length === 1, `there is no ${uri}`);
  }
}

checkNine();
checkTargets();
checkDefaults();
checkNames();
checkRaw();
checkRefusals();
checkUris();
finish("templates.reference");
