// What the tests of the templates share: the manifests, the program that makes projects, checks that are counted.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../templates/", import.meta.url));
export const toolchains = ["rust", "deno", "python-uv", "c", "cpp", "go", "node", "python"];

// Of every folder, in the order in which they are embedded.
export const folders = [...toolchains, "common"];
export const templates = folders.flatMap((folder) =>
  JSON.parse(readFileSync(join(root, folder, "manifest.json"), "utf8")).templates.map((template) => {
    const [category, toolchain, variant] = template.uri.slice("template://".length).split("/");

    return { ...template, folder, category, toolchain, variant };
  }),
);
export const find = (uri) => templates.find((template) => template.uri === uri);
export const sourceOf = (template) => readFileSync(join(root, template.folder, template.file), "utf8");
export const filesOf = (folder) => readdirSync(join(root, folder));

let passed = 0;
let failed = 0;
const skipped = [];

export function check(condition, words) {
  if (condition) {
    passed++;
  } else {
    failed++;
    console.error(`FAILED: ${words}`);
  }
  return condition;
}

export function skip(words) {
  skipped.push(words);
  console.log(`skipped: ${words}`);
}

export function finish(name) {
  console.log(`${name}: ${passed} of ${passed + failed} checks, ${skipped.length} skipped`);
  process.exit(failed > 0 ? 1 : passed > 0 ? 0 : 77);
}

// Answers of the probe to requests {toolchain, names, parameters}, in order.
export function probe(requests) {
  const run = spawnSync(process.argv[2], {
    input: requests.map((request) => JSON.stringify(request)).join("\n"),
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });

  if (run.status !== 0) {
    throw new Error(`the probe ended with ${run.status ?? run.error}: ${run.stderr}`);
  }
  return run.stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}
export const request = (template, parameters) => ({
  toolchain: template.toolchain,
  names: [template.uri],
  parameters,
});

// A value for every parameter, other than its default; what must be a valid one is.
const samples = {
  project_name: "sample-tool",
  description: "Counts & sorts <words>: it's 100% = 'fun'; $HOME, #1",
  author: "Ada & Grace <ada@example.com>",
  author_name: "Ada & Grace <ada@example.com>",
  license: "Apache-2.0 OR MIT",
  version: "3.2.1",
  default_branch: "release/2.x",
  target: "aarch64-unknown-linux-gnu",
  default_args: "--name 'Ada & Grace' --level=3",
  features: ["alpha", "beta"],
  prerequisites: ["a computer", "an hour"],
  install_command: "cargo install sample-tool && sample-tool --version",
  usage_example: "sample-tool <input.txt >output.txt\nsample-tool --help",
  build_command: "cargo build --release",
  test_command: "cargo test --workspace",
  project_type: "Firmware & tools",
  permissions: ["--allow-net=example.com:443", "-E"],
  libraries: ["m", "pthread"],
  compilers: ["gcc-13"],
  rust_version: "1.80",
  deno_version: "2.5.1",
  python_version: "3.13",
  go_version: "1.25",
  node_version: "24",
  module_path: "example.com/tools/sample-tool",
};
const entries = { deno: "cli/app.ts", "python-uv": "app" };

export function sample(template, parameter) {
  const { name, type } = parameter;

  if (name === "entry_point") {
    return entries[template.toolchain];
  }
  if (name === template.when) {
    return true; // without it there is no file
  }
  if (name in samples) {
    return samples[name];
  }
  switch (type) {
    case "boolean":
      return !parameter.default;
    case "integer":
      return parameter.minimum + (parameter.default === parameter.minimum ? 1 : 0);
    case "choice":
      return parameter.choices.find((choice) => choice !== parameter.default);
    case "array":
      return ["/one & two/", "*.three"];
    default:
      throw new Error(`${template.uri}: no sample for ${name}`);
  }
}

// Of the required parameters, and of all.
export const required = (template) =>
  Object.fromEntries(template.parameters.filter((p) => p.required).map((p) => [p.name, sample(template, p)]));
export const everything = (template) =>
  Object.fromEntries(template.parameters.map((p) => [p.name, sample(template, p)]));

// A folder of its own, gone at the end; with blanks in its path, as people have them.
export function scratch() {
  const top = mkdtempSync(join(tmpdir(), "toolwire-templates-"));
  const folder = join(top, "my projects");

  mkdirSync(folder);
  process.on("exit", () => rmSync(top, { recursive: true, force: true }));
  return folder;
}

export function writeFiles(folder, files) {
  for (const file of files) {
    const path = join(folder, file.path);

    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.content, { mode: file.executable ? 0o755 : 0o644 });
  }
}

// Without what the make or the git around us has set.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(MAKE|MFLAGS|GIT_|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)/.test(name)),
);

export function run(folder, command, args = [], more = {}) {
  const done = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...environment, LC_ALL: "C", NO_COLOR: "1", ...more },
    maxBuffer: 1 << 26,
  });

  return { status: done.status, stdout: done.stdout ?? "", stderr: done.stderr ?? String(done.error) };
}

// Fails with what the command said.
export function must(folder, command, args, more) {
  const done = run(folder, command, args, more);

  check(done.status === 0, `${[command, ...args].join(" ")}: status ${done.status}\n${done.stdout}${done.stderr}`);
  return done;
}

export const has = (program) =>
  spawnSync("sh", ["-c", 'command -v "$1" >/dev/null', "sh", program]).status === 0;
