// A project made of all templates of a toolchain is built, tested and run, without the network:
//   project.mjs TEMPLATE_PROBE TOOLCHAIN
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, has, must, probe, run, scratch, skip, templates, writeFiles } from "./support.mjs";

const toolchain = process.argv[3];
const names = [...new Set(templates.filter((t) => t.toolchain === toolchain).map((t) => t.category))];
const folder = scratch();
const project = join(folder, "sample-tool");

function makeFiles(more) {
  const parameters = { project_name: "sample-tool", description: "Greets & counts; it's 100% = fun", ...more };
  const [{ files, failures, skipped }] = probe([{ toolchain, names, parameters }]);

  check(failures.length === 0, `the project is made: ${JSON.stringify(failures)}`);
  check(files.length + skipped.length === names.length, "a file for each name");
  check(skipped.join() === (more.has_tests === false ? "tests" : ""), `${skipped} is not made`);
  return files;
}

// Names that are taken by the language, its library, its tools or the folders of the build; whatever is not refused must build.
const doubtful = {
  c: "src tests Tests sanitize build main Makefile test all cc",
  cpp: "tests Testing CMakeFiles Makefile sanitize edit_cache help RUN_TESTS Nightly depend CMAKE",
  rust: "build deps Examples incremental test core fn cli",
  go: "vendor v2 fmt main test internal go",
  deno: "dist main test",
  node: "node_modules favicon.ico test fs 1 src",
  python: "class Class import sys unittest tests Test-Main TestMain enum io build pip ruff src main match none json typing_extensions",
  "python-uv": "pytest pytest-cov mypy Ruff class sys main tests",
};
// Of these those that must be refused as reserved.
const refused = {
  c: "src tests Tests sanitize",
  cpp: "tests Testing CMakeFiles Makefile sanitize edit_cache help RUN_TESTS Nightly CMAKE",
  rust: "build deps Examples incremental",
  go: "vendor",
  deno: "",
  node: "node_modules favicon.ico",
  python: "class Class import sys unittest tests Test-Main TestMain enum io build pip ruff json typing_extensions",
  "python-uv": "pytest pytest-cov mypy Ruff",
};

// build(folder, name) builds and tests a project of that name, if the tools are there.
function checkNames(build) {
  const must_not = refused[toolchain].split(" ");

  for (const name of doubtful[toolchain].split(" ")) {
    const parameters = { project_name: name, description: "Greets" };
    const [{ files, failures }] = probe([{ toolchain, names: names.filter((n) => n !== "license"), parameters }]);
    const home = join(folder, "names", name);

    if (failures.length > 0) {
      const codes = new Set(failures.flatMap(({ faults }) => faults.map((fault) => `${fault.parameter} ${fault.code}`)));

      check(codes.size === 1 && [...codes][0] === `project_name ${must_not.includes(name) ? "reserved" : "pattern"}`,
        `${name} is refused by its rule: ${JSON.stringify(failures)}`);
      check(must_not.includes(name) || name === "v2", `${name} is refused`);
    } else if (check(!must_not.includes(name), `${name} is taken`) && build) {
      writeFiles(home, files);
      build(home, name);
    }
  }
}

// The same with another value: a project of its own.
function another(parameters) {
  const home = join(folder, `other-${Object.keys(parameters).join("-")}`);

  writeFiles(home, makeFiles(parameters));
  return home;
}

const text = (name) => readFileSync(join(project, name), "utf8");
const phony = () => /^\.PHONY: (.*)$/m.exec(text("Makefile"))[1].split(" ");

// target [VARIABLE=value…] with the words that its output must have.
function target(args, words = "", more = {}) {
  const done = must(project, "make", args.split(" "), more);

  check(done.stdout.includes(words), `make ${args}: "${words}" is not in ${done.stdout}`);
}

// The words of the documents, the workflow and the Makefile must fit.
function checkWords() {
  const targets = phony();

  for (const name of targets) {
    must(project, "make", ["-n", name]);
  }
  for (const name of ["README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml"]) {
    const code = [...text(name).matchAll(/`([^`\n]+)`|^ *(?:- run: |- )?((?:sudo )?make\b[^#\n]*)/gm)].map((m) => m[1] ?? m[2]);

    for (const command of code.filter((words) => /^(sudo )?make\b/.test(words))) {
      const goals = command.split(/ #|&&/)[0].trim().replace(/^(sudo )?make */, "").split(" ");

      for (const goal of goals.filter((word) => /^[a-z][a-z-]*$/.test(word))) {
        check(targets.includes(goal), `${name}: there is no make ${goal} (${command})`);
      }
    }
  }
  check(must(project, "make", ["help"]).stdout.split("\n").length === targets.length + 1, "make help: a line for each target");
}

// Without tests there is neither a file nor a target nor a word of it.
function checkWithoutTests() {
  const files = makeFiles({ has_tests: false });
  const makefile = files.find((file) => file.path === "Makefile").content;

  check(!files.some((file) => /test/.test(file.path)), "no tests: no file");
  check(!/^(test|coverage|sanitize):/m.test(makefile), "no tests: no target");
  // The Rust README is told its commands.
  for (const file of files.filter(({ path }) => path === "CONTRIBUTING.md" || (path === "README.md" && toolchain !== "rust"))) {
    check(!/make (test|coverage|sanitize)/.test(file.content), `no tests: no word of them in ${file.path}`);
  }
  writeFiles(join(folder, "untested"), files);
  must(join(folder, "untested"), "make", ["-n", "all", "ci"]);
}

// "cargo 1.75.0 (…)" is 1.75 or later; a step that needs it, or says by name what it lacks.
function stepSince(program, option, major, minor, words, action) {
  const [, a, b] = /(\d+)\.(\d+)/.exec(has(program) ? run(folder, program, [option]).stdout : "0.0");

  if (Number(a) > major || (Number(a) === major && Number(b) >= minor)) {
    action();
  } else {
    skip(`${toolchain}: ${words}: no ${program} ${major}.${minor} or later on this machine`);
  }
}

// A step that needs a program, or says by name what it lacks.
function step(program, words, action) {
  if (has(program)) {
    action();
  } else {
    skip(`${toolchain}: ${words}: no ${program} on this machine`);
  }
}

// The program as every toolchain's first source has it.
function checkProgram(command, args, more) {
  const program = (...more_args) => run(project, command, [...args, ...more_args], more);

  check(program().stdout === "Hello, world!\n", `it greets the world: ${JSON.stringify(program())}`);
  check(program("Ada & Eve").stdout === "Hello, Ada & Eve!\n", "it greets by name");
  check(program("--help").status === 0 && /^usage: .*sample-tool/.test(program("--help").stdout), "it shows how it is used");
  check(program("--version").status === 0 && program("--version").stdout.startsWith("sample-tool "), "it says its version");
  check(program("--bad").status === 2 && program("--bad").stderr.includes("bad"), "an unknown option is an error of use");
  check(program("one", "two").status === 2, "so is a second argument");
}

const projects = {
  c() {
    step("cc", "build, test, run", () => {
      target("build");
      target("all", "tests/test_cli.sh");
      target("run ARGS=Ada", "Hello, Ada!");
      checkProgram(join(project, "build/sample-tool"), []);
      must(project, "make", ["sanitize", "CC=cc", "CFLAGS=-O2 -g -Werror"]);
      check(readFileSync(join(project, "build/sanitize/sample-tool"), "latin1").includes("__asan_"), "the sanitizers are in");
      must(another({ c_standard: "c11", libraries: ["m"] }), "make", []);
      target("install DESTDIR=../installed PREFIX=/usr");
      check(existsSync(join(folder, "installed/usr/bin/sample-tool")), "make install puts it there");
      target("uninstall DESTDIR=../installed PREFIX=/usr");
      check(!existsSync(join(folder, "installed/usr/bin/sample-tool")), "make uninstall takes it away");
      checkUnitTestsInC();
      checkNames((home, name) => {
        must(home, "make", ["all"]);
        check(run(home, join(home, "build", name)).stdout === "Hello, world!\n", `${name} greets`);
        must(home, "make", ["sanitize", "CC=cc"]);
      });
      target("clean");
      check(!existsSync(join(project, "build")), "make clean leaves nothing");
    });
    step("clang", "another compiler, warnings as errors", () => target("test CC=clang CFLAGS=-Werror"));
    step("clang-format", "format-check", () => target("format-check"));
    step("clang-tidy", "lint", () => target("lint"));
  },

  cpp() {
    step("cmake", "build, test, run", () => {
      target("all", "100% tests passed");
      target("run ARGS=Ada", "Hello, Ada!");
      checkProgram(join(project, "build/sample-tool"), []);
      target("sanitize", "100% tests passed");
      must(another({ cpp_standard: "17", build_type: "Debug", version: "1.2.3" }), "make", [], { CXXFLAGS: "-Werror" });
      target("install PREFIX=/usr", "", { DESTDIR: join(folder, "installed") });
      check(existsSync(join(folder, "installed/usr/bin/sample-tool")), "make install puts it there");
      step("clang-tidy", "lint", () => target("lint"));
      target("clean");
      check(!existsSync(join(project, "build")), "make clean leaves nothing");
      checkNames((home, name) => {
        must(home, "make", ["all"]);
        check(run(home, join(home, "build", name)).stdout === "Hello, world!\n", `${name} greets`);
        must(home, "make", ["sanitize"]);
      });
    });
    step("clang-format", "format-check", () => target("format-check"));
  },

  rust() {
    const offline = { CARGO_NET_OFFLINE: "true", CARGO_TERM_COLOR: "never", CARGO_TARGET_DIR: join(project, "target") };

    stepSince("cargo", "--version", 1, 75, "build, test, run, format-check, lint", () => {
      target("check", "", offline);
      target("test", "3 passed", offline);
      target("run ARGS=Ada", "Hello, Ada!", offline);
      checkProgram(join(project, "target/debug/sample-tool"), []);
      target("build-release", "", offline);
      const other = another({ features: ["alpha", "beta"], has_benchmarks: true, default_args: "Eve" });
      must(other, "make", ["-n", "bench"], offline);
      // The least and the most that is taken.
      must(another({ rust_version: "1.61", version: "999999999.999999999.0" }), "make", ["check"], offline);
      check(must(other, "make", ["run"], offline).stdout.includes("Hello, Eve!"), "features and default arguments");
      target("install", "", { ...offline, CARGO_INSTALL_ROOT: join(folder, "installed") });
      check(existsSync(join(folder, "installed/bin/sample-tool")), "make install puts it there");
      checkNames((home, name) => {
        const here = { ...offline, CARGO_TARGET_DIR: join(home, "target") };

        must(home, "make", ["test"], here);
        check(must(home, "make", ["run"], here).stdout.includes("Hello, world!"), `${name} greets`);
      });
      step("cargo-fmt", "format-check", () => target("format-check", "", offline));
      step("cargo-clippy", "lint", () => target("lint", "", offline));
    });
  },

  go() {
    const offline = { GOPROXY: "off", GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local", GOCACHE: join(folder, "cache") };

    step("go", "build, test, run, lint", () => {
      target("ci", "", offline);
      target("run ARGS=Ada", "Hello, Ada!", offline);
      checkProgram(join(project, "bin/sample-tool"), []);
      target("coverage", "total:", offline);
      for (const module_path of ["git.sr.ht/~ada/greet", "gopkg.in/greet.v3", "example.com/console", "example.com/_x", "example.com"]) {
        must(another({ module_path, go_version: "1.16" }), "make", ["test", "build"], offline);
      }
      checkNames((home) => must(home, "make", ["test", "build", "run"], offline));
    });
    if (!has("go")) {
      checkNames();
    }
  },

  deno() {
    stepSince("deno", "--version", 2, 0, "format, lint, types, test, run", () => {
      target("ci");
      target("run ARGS=Ada", "Hello, Ada!");
      checkProgram("deno", ["run", "main.ts"]);
      target("coverage");
      const other = another({ entry_point: "cli/app.ts", permissions: ["--allow-env=HOME"] });
      must(other, "make", ["ci"]);
      check(must(other, "make", ["run", "ARGS=Ada"]).stdout.includes("Hello, Ada!"), "another main module runs");
      checkNames((home) => must(home, "make", ["ci", "run"]));
    });
    if (!has("deno")) {
      checkNames();
    }
    skip("deno: bundle, compile: they fetch their parts from the network");
  },

  node() {
    target("test");
    target("run ARGS=Ada", "Hello, Ada!");
    checkProgram("node", ["src/main.js"]);
    checkProgram(join(project, "src/main.js"), []);
    step("npm", "pack", () => {
      target("pack", "", { npm_config_cache: join(folder, "cache"), npm_config_offline: "true" });
      check(existsSync(join(project, "sample-tool-0.1.0.tgz")), "make pack makes the package");
      checkNames((home) => must(home, "make", ["test", "run", "pack"],
        { npm_config_cache: join(folder, "cache"), npm_config_offline: "true" }));
    });
    step("biome", "lint", () => {
      // It is there already, so that make need not install it.
      mkdirSync(join(project, "node_modules"), { recursive: true });
      target("lint");
    });
  },

  python() {
    stepSince("python3", "--version", 3, 10, "test, run", () => {
      target("test");
      target("run ARGS=Ada", "Hello, Ada!");
      checkProgram("python3", ["-m", "sample_tool"], { PYTHONPATH: join(project, "src") });
      checkNames((home) => must(home, "make", ["test", "run"]));
    });
    skip("python: lint, format, type-check, build: their tools come from the network");
  },

  "python-uv"() {
    step("uv", "install, lint, test", () => skip("python-uv: install, lint, test: the tools come from the network"));
    stepSince("python3", "--version", 3, 10, "run", () => {
      const other = another({ entry_point: "app" });

      check(run(other, "python3", ["-m", "app", "Ada"]).stdout === "Hello, Ada!\n", "another main module runs");
      checkProgram("python3", ["-m", "main"]);
      for (const entry_point of ["class", "argparse", "pytest", "tests", "__main__"]) {
        const [{ failures }] = probe([{ toolchain, names, parameters: { project_name: "x", entry_point } }]);

        check(failures.length > 0 && failures.every(({ faults }) => faults[0].parameter === "entry_point"), `${entry_point} is refused`);
      }
      checkNames((home) => check(run(home, "python3", ["-m", "main"]).stdout === "Hello, world!\n", "it greets"));
      must(project, "python3", ["-m", "compileall", "-q", "main.py", "tests"]);
      if (run(project, "python3", ["-c", "import pytest"]).status === 0) {
        must(project, "python3", ["-m", "pytest"]);
      } else {
        skip("python-uv: test: no pytest on this machine");
      }
    });
  },
};

// The Makefile builds a program of each tests/test_*.c, and a failing one fails.
function checkUnitTestsInC() {
  const test = (value) => `#include "../src/sum.h"\nint main(void)\n{\n    return sum(1, 2) == ${value} ? 0 : 1;\n}\n`;

  writeFileSync(join(project, "src/sum.h"), "int sum(int a, int b);\n");
  writeFileSync(join(project, "src/sum.c"), '#include "sum.h"\nint sum(int a, int b)\n{\n    return a + b;\n}\n');
  writeFileSync(join(project, "tests/test_sum.c"), test(3));
  target("test", "build/tests/test_sum");
  writeFileSync(join(project, "tests/test_sum.c"), test(4));
  check(run(project, "make", ["test"]).status === 2, "a failing unit test fails make test");
  writeFileSync(join(project, "tests/test_sum.c"), test(3));
}

// Any Go will do for the program; what is asked for by default may be newer than what is here.
writeFiles(project, makeFiles(toolchain === "go" ? { go_version: "1.19" } : {}));
checkWords();
checkWithoutTests();
projects[toolchain]();
if (has("docker")) {
  skip(`${toolchain}: docker build: its images come from the network`);
} else {
  skip(`${toolchain}: docker build: no docker on this machine`);
}
finish(`templates.project_${toolchain}`);
