// Every built-in template, rendered by the program's own engine with only what it requires and with everything:
//   content.mjs TEMPLATE_PROBE
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  check, everything, filesOf, find, finish, folders, has, must, probe, request, required, run, scratch, skip,
  sourceOf, templates, toolchains, writeFiles,
} from "./support.mjs";

const folder = scratch();
const hasTomllib = run(folder, "python3", ["-c", "import tomllib"]).status === 0;
const yaml = await import("yaml").catch(() => null);

function checkManifests() {
  const categories = ["makefile", "readme", "gitignore", "ci", "dockerfile", "editorconfig", "license", "contributing"];

  check(templates.length >= 40, `${templates.length} templates`);
  check(new Set(templates.map((t) => t.uri)).size === templates.length, "every URI is there once");
  for (const toolchain of toolchains) {
    for (const category of [...categories, "source", "tests"]) {
      check(find(`template://${category}/${toolchain}/cli`), `there is template://${category}/${toolchain}/cli`);
    }
  }
  for (const name of folders) {
    const named = new Set(templates.filter((t) => t.folder === name).map((t) => t.file));

    check(filesOf(name).every((file) => file === "manifest.json" || named.has(file)), `${name}: a file without a template`);
  }
  for (const template of templates) {
    for (const p of template.parameters) {
      check(p.description?.length > 0, `${template.uri}: ${p.name} has a description`);
      check(!(p.required && "default" in p), `${template.uri}: ${p.name} is required and has a default`);
    }
  }
}

// A project is made with one set of values: a name means the same in every template of a toolchain.
function checkSharedNames() {
  for (const toolchain of toolchains) {
    const seen = new Map();

    for (const template of templates.filter((t) => t.toolchain === toolchain)) {
      for (const p of template.parameters) {
        const other = seen.get(p.name) ?? p;

        seen.set(p.name, "default" in other ? other : p);
        check(p.type === other.type, `${template.uri}: ${p.name} has another type elsewhere`);
        check(
          !("default" in p) || !("default" in other) || JSON.stringify(p.default) === JSON.stringify(other.default) ||
            (p.name === "description" && p.default === ""),
          `${template.uri}: ${p.name} has another default elsewhere`,
        );
      }
    }
  }
}

function checkText(what, { path, content, sha256, mime_type, executable }, template) {
  check(!/(^|[^$])\{\{/.test(content) && !path.includes("{{"), `${what}: {{ is left`);
  check(/[^\n]\n$/.test(content), `${what}: does not end in one newline`);
  check(!/[ \t]\n/.test(content), `${what}: blanks at the end of a line`);
  check(!/\n\n\n/.test(content) || mime_type === "text/x-python" || template.category === "license",
    `${what}: two empty lines`);
  check(!content.startsWith("\n") || template.category === "license", `${what}: begins with an empty line`);
  check(!content.includes("\r"), `${what}: a carriage return`);
  check(!/&(?:[a-z]+|#x?[0-9a-f]+);/i.test(content), `${what}: an HTML entity`);
  check(!content.includes("[object"), `${what}: a value that is no text`);
  check(createHash("sha256").update(content).digest("hex") === sha256, `${what}: checksum`);
  check(executable === content.startsWith("#!"), `${what}: executable, and begins with #!, or neither`);
}

const checkOf = {
  "application/json": (what, { content }) => {
    try {
      JSON.parse(content);
    } catch (error) {
      check(false, `${what}: ${error.message}`);
    }
  },
  "application/yaml": (what, { content }, template) => {
    check(!content.includes("\t"), `${what}: a tab`);
    if (yaml) {
      const value = yaml.parse(content, { strict: true });

      check(typeof value === "object", `${what}: a mapping`);
      if (template.category === "ci") {
        checkWorkflow(what, value);
      }
    }
  },
  "application/toml": (what, { content }) => {
    const code = "import sys, tomllib; tomllib.loads(sys.argv[1])";

    if (hasTomllib) {
      must(folder, "python3", ["-c", code, content]);
    }
  },
  "text/x-dockerfile": checkDockerfile,
  "text/x-makefile": checkMakefile,
  "application/x-sh": (what, file) => {
    writeFiles(folder, [file]);
    must(folder, "sh", ["-n", file.path]);
    if (has("shellcheck")) {
      must(folder, "shellcheck", [file.path]);
    }
  },
};

function checkWorkflow(what, workflow) {
  check(JSON.stringify(workflow.permissions) === '{"contents":"read"}', `${what}: may only read`);
  check(workflow.on.push.branches.length === 1 && "pull_request" in workflow.on, `${what}: when it runs`);
  for (const [name, job] of Object.entries(workflow.jobs)) {
    check(job["timeout-minutes"] > 0, `${what}: ${name} has a time limit`);
    for (const step of job.steps) {
      check(!step.uses || /^[\w-]+\/[\w-]+@v\d+$/.test(step.uses), `${what}: ${step.uses} is not pinned to a major version`);
      check(!step.uses?.startsWith("actions/checkout") || step.with["persist-credentials"] === false,
        `${what}: leaves credentials behind`);
    }
  }
}

function checkDockerfile(what, { content }) {
  const lines = content.replace(/\\\n/g, " ").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const stages = lines.filter((line) => line.startsWith("FROM "));
  const names = stages.map((line) => / AS (\S+)$/.exec(line)?.[1]);
  const last = lines.slice(lines.lastIndexOf(stages.at(-1)));

  check(lines.every((line) => /^(FROM|RUN|COPY|WORKDIR|ENV|ARG|USER|ENTRYPOINT) \S/.test(line)), `${what}: instructions`);
  check(stages.length >= 2, `${what}: has stages`);
  check(stages.every((line) => /^FROM [\w./-]+:[\w.-]+( AS \w+)?$/.test(line)), `${what}: images with a version`);
  for (const line of lines) {
    const from = /--from=(\S+)/.exec(line)?.[1];

    check(!from || names.includes(from), `${what}: there is no stage ${from}`);
  }
  check(last.some((line) => /^USER [1-9]\d*:[1-9]\d*$/.test(line)), `${what}: does not run as root`);
  check(/^ENTRYPOINT \["/.test(last.at(-1)) && JSON.parse(last.at(-1).slice("ENTRYPOINT ".length)), `${what}: entry point`);
}

function checkMakefile(what, file) {
  const phony = /^\.PHONY: (.*)$/m.exec(file.content)[1].split(" ");
  const targets = [...file.content.matchAll(/^([a-z][a-z-]*):(?!=)/gm)].map((match) => match[1]);
  const home = join(folder, what.replace(/\W+/g, "_"));

  check(targets.every((target) => phony.includes(target) || target.startsWith("node_modules")) &&
    phony.every((target) => targets.includes(target)), `${what}: .PHONY is [${phony}], targets are [${targets}]`);
  check(new Set(targets).size === targets.length, `${what}: a target twice`);
  check(!/^ +\S/m.test(file.content), `${what}: a recipe that begins with blanks`);
  writeFiles(home, [file]);
  // What a recipe depends on is not there: only that make can read it all.
  const help = must(home, "make", ["help"]).stdout;
  check(phony.every((target) => new RegExp(`^  ${target} +\\S`, "m").test(help)), `${what}: make help lists all targets`);
}

function checkAll() {
  const asked = templates.flatMap((t) => [["required", t, required(t)], ["everything", t, everything(t)]]);
  const answers = probe(asked.map(([, t, parameters]) => request(t, parameters)));

  for (const [i, [which, template]] of asked.entries()) {
    const what = `${template.uri} (${which})`;
    const { files, failures } = answers[i];

    if (check(files.length === 1 && failures.length === 0, `${what}: ${JSON.stringify(failures)}`)) {
      checkText(what, files[0], template);
      checkOf[files[0].mime_type]?.(what, files[0], template);
      check(files[0].mime_type !== "text/plain" || template.category === "license", `${what}: of what type?`);
    }
  }
}

// A parameter that changes nothing is a lie. Some stand back when another is given, so both are looked at: all others
// given, and only what is required.
function checkParametersAreUsed() {
  const asked = templates.flatMap((t) => t.parameters.filter((p) => p.name !== t.when).map((p) => [t, p]));
  const changed = (values, p) => ({ ...values, [p.name]: p.name === "project_name" ? "another-tool" : "Something else" });
  const without = (values, p) => Object.fromEntries(Object.entries(values).filter(([name]) => name !== p.name));
  const pairs = asked.flatMap(([t, p]) =>
    [everything(t), { ...required(t), [p.name]: everything(t)[p.name] }].flatMap((values) => [
      request(t, values),
      request(t, p.required ? changed(values, p) : without(values, p)),
    ]),
  );
  const answers = probe(pairs).map(({ files }) => files[0]);
  const differ = (a, b) => a && b && (a.content !== b.content || a.path !== b.path);

  for (const [i, [template, p]] of asked.entries()) {
    const [all, allOther, few, fewOther] = answers.slice(4 * i, 4 * i + 4);

    check(differ(all, allOther) || differ(few, fewOther), `${template.uri}: ${p.name} changes nothing`);
  }
}

// Where its condition is false there is no file, and that is no failure.
function checkConditions() {
  const asked = templates.filter((t) => t.when);
  const answers = probe(asked.map((t) => request(t, { ...required(t), [t.when]: false })));

  check(asked.filter((t) => t.category === "tests").length === toolchains.length, "every toolchain can go without tests");
  for (const [i, template] of asked.entries()) {
    const { files, failures, skipped } = answers[i];

    check(files.length === 0 && failures.length === 0 && skipped[0] === template.uri, `${template.uri}: made without ${template.when}`);
  }
}

// Values that look well and would not build; and their neighbours, which do.
function checkDoubtfulValues() {
  const versions = {
    bad: ["01.0.0", "1.00.0", "1.0.01", "1.0", "1.0.0-a", "1234567890.0.0", "1.0.99999999999999999999"],
    good: ["0.0.0", "10.20.30", "999999999.0.1"],
  };
  const control = { bad: ["a\u007f", "\u007f", "a\u0001b", "a\nb"], good: ["a b", "ä"] };
  const cases = [
    ...["rust", "node", "python", "python-uv", "cpp"].map((toolchain) => [`build/${toolchain}`, "version", versions]),
    ["source/c", "version", versions],
    ...["rust", "node", "python"].flatMap((t) => ["author", "description"].map((name) => [`build/${t}`, name, control])),
    ["build/python-uv", "description", control],
    ["license/go", "author", control],
    ["build/rust", "features", { bad: [["json", "json"], ["a", "b", "a"], ["a b"]], good: [["json", "JSON"], []] }],
    ["makefile/rust", "features", { bad: [["json", "json"]], good: [["json"]] }],
    // The edition needs 1.56, the program itself 1.61.
    ["build/rust", "rust_version", { bad: ["1.05", "1.9", "1.55", "1.60", "1.061", "1.75.00", "2.0"], good: ["1.61", "1.75.0", "1.100"] }],
    ["build/go", "go_version", { bad: ["1.05", "1.5", "1.15", "1.19.1", "1.21.01", "1.021"], good: ["1.16", "1.20", "1.21", "1.21.0"] }],
    ["build/node", "node_version", { bad: ["0", "022", "16"], good: ["18", "22", "100"] }],
    ["build/python", "python_version", { bad: ["3.010", "3.9", "3.1"], good: ["3.10", "3.14"] }],
    ["build/go", "module_path", {
      bad: ["std", "cmd", "fmt", "unicode/utf8", "greet", "a/b.", "example.com/a~1", "example.com/con", "example.com/NUL.x", "com1.example/x",
        "example.com/-x", "example.com/~", "example.com/~x", "-a.b/c", "example.com/", "example.com//a", "example.com/.x", "example..com"],
      good: ["example.com", "example.com/tools/greet", "git.sr.ht/~ada/greet", "example.com/x/v2", "example.com/console", "gopkg.in/yaml.v3",
        "example.com/_x", "example.com/a..b"],
    }],
  ].flatMap(([name, parameter, { bad, good }]) => {
    const template = find(`template://${name}/cli`);

    return [...bad.map((value) => [template, parameter, value, false]), ...good.map((value) => [template, parameter, value, true])];
  });
  const answers = probe(cases.map(([t, name, value]) => request(t, { ...required(t), [name]: value })));

  for (const [i, [template, name, value, isGood]] of cases.entries()) {
    const faults = answers[i].failures.flatMap((failure) => failure.faults);

    check(isGood ? answers[i].files.length === 1 : faults.length > 0 && faults.every((f) => f.parameter.split("[")[0] === name),
      `${template.uri}: ${name} ${JSON.stringify(value)} is ${isGood ? "refused" : "taken"}`);
  }
}

// An application commits its lock file.
function checkLockFilesAreNotIgnored() {
  const locks = {
    rust: "Cargo.lock", deno: "deno.lock", "python-uv": "uv.lock", go: "go.sum", node: "package-lock.json", python: "pyproject.toml",
    c: "Makefile", cpp: "CMakeLists.txt",
  };
  const built = {
    rust: "target/x", deno: "dist/x", "python-uv": ".venv/x", go: "bin/x", node: "node_modules/x", python: ".venv/x", c: "build/x",
    cpp: "build/x",
  };

  if (!has("git")) {
    return skip("git check-ignore: no git on this machine");
  }
  must(folder, "git", ["init", "--quiet", "."]);
  for (const toolchain of toolchains) {
    const [{ files }] = probe([request(find(`template://gitignore/${toolchain}/cli`), {})]);

    writeFiles(folder, files);
    check(run(folder, "git", ["check-ignore", "--quiet", locks[toolchain]]).status === 1, `${toolchain}: ignores ${locks[toolchain]}`);
    check(run(folder, "git", ["check-ignore", "--quiet", "src/main.c"]).status === 1, `${toolchain}: ignores sources`);
    check(run(folder, "git", ["check-ignore", "--quiet", built[toolchain]]).status === 0, `${toolchain}: does not ignore ${built[toolchain]}`);
    check(run(folder, "git", ["check-ignore", "--quiet", ".env"]).status === 0, `${toolchain}: does not ignore .env`);
  }
}

// Tabs only where the format wants them.
function checkSources() {
  for (const template of templates) {
    const tabs = ["makefile"].includes(template.category) || template.output.endsWith(".go");

    check(tabs || !sourceOf(template).includes("\t"), `${template.uri}: a tab`);
  }
}

checkManifests();
checkSharedNames();
checkSources();
checkAll();
checkParametersAreUsed();
checkConditions();
checkDoubtfulValues();
checkLockFilesAreNotIgnored();
if (!hasTomllib) {
  skip("TOML: no python3 with tomllib on this machine");
}
if (!yaml) {
  skip("YAML: the npm package yaml is not installed");
}
if (!has("shellcheck")) {
  skip("shellcheck: not on this machine");
}
finish("templates.content");
