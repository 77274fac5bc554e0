// C and C++: cognitive complexity. Run twice, since macros count by default as what they expand to: `value` is
// without them, `expanded` with them.
// CLANG_TIDY: the command; CLANG_FLAGS: the compiler's flags, with blanks between.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { files, output, row } from "./support.mjs";

const list = files();
const wanted = new Set(list);
const flags = (process.env.CLANG_FLAGS ?? "").split(/\s+/).filter((flag) => flag !== "");
const failed = new Set();
const found = new Map();

function look(file, ignore) {
    const config = `{CheckOptions: [{key: readability-function-cognitive-complexity.Threshold, value: 0}, ` +
        `{key: readability-function-cognitive-complexity.DescribeBasicIncrements, value: true}, ` +
        `{key: readability-function-cognitive-complexity.IgnoreMacros, value: ${ignore}}]}`;
    const printed = output(process.env.CLANG_TIDY ?? "clang-tidy", ["--quiet", "--header-filter=.*",
        "--checks=-*,readability-function-cognitive-complexity", `--config=${config}`, file, "--", "-w", ...flags],
    { which: "stdout" });
    let now = null;
    for (const line of printed.split("\n")) {
        const head = line.match(/^(.*?):(\d+):(\d+): warning: (?:function '(.*)'|(lambda)) has cognitive complexity of (\d+)/);
        const note = line.match(/^(.*?):(\d+):(\d+): note: \+(\d+)/);
        if (/: error: .*\[clang-diagnostic-error\]$/.test(line)) {
            failed.add(file);
        } else if (head) {
            const [, path, first, column, name, lambda, value] = head;
            now = `${resolve(path)}:${first}:${column}`;
            const known = found.get(now) ?? {
                file: resolve(path), line: Number(first), column: Number(column), name: name ?? "", lambda: lambda !== undefined,
                metric: "cognitive", value: 0, expanded: 0, points: [],
            };
            known[ignore ? "value" : "expanded"] = Number(value);
            found.set(now, known);
            now = ignore && known.points.length === 0 ? known : null;
        } else if (note && now) {
            now.points.push([Number(note[2]), Number(note[3]), "", Number(note[4])]);
        }
    }
}

// Headers are seen from where they are included.
const sources = list.filter((file) => !/\.(h|hh|hpp|hxx|inl)$/.test(file) && existsSync(file));
for (const file of sources) {
    look(file, true);
    look(file, false);
}
for (const one of found.values()) {
    if (wanted.has(one.file) && !failed.has(one.file)) {
        row(one);
    }
}
for (const file of sources) {
    // A function of complexity 0 is not listed.
    row(failed.has(file) ? { file, failed: "does not compile here" } : { file, metric: "cognitive", absent: 0 });
}
