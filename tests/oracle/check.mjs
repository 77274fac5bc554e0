// Our numbers for the files in fixtures/ against what the tools said of them when they were asked (record), and the
// comparison itself: a wrong number, a missing and an invented function must be found.
//
//   check.mjs PROBE
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { compare } from "./compare.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const fixtures = join(here, "fixtures");
const probe = resolve(process.argv[2]);
process.chdir(fixtures);
const endings = {
    c: "c", cpp: "cc", go: "go", java: "java", javascript: "js", lua: "lua", php: "php", python: "py", ruby: "rb", rust: "rs",
    typescript: "ts",
};
const folder = mkdtempSync(join(tmpdir(), "oracle-"));
let failures = 0;

function measured(language) {
    const list = `shapes.${endings[language]}\n`;
    writeFileSync(join(folder, "files"), list);
    return execFileSync(probe, ["-i"], { input: list, encoding: "utf8", stdio: "pipe" });
}

// {unexplained, said}
function compared(language, tool, ours) {
    let said = "";
    writeFileSync(join(folder, "ours"), ours);
    const unexplained = compare([language, tool, join(folder, "ours"), join(fixtures, "said", language, tool),
        join(folder, "files")], (line) => {
        said += `${line}\n`;
    });
    return { unexplained, said };
}

function expect(what, is, shown) {
    if (!is) {
        failures++;
        console.log(`FAILED: ${what}\n${shown}`);
    }
}

// The function with the most branches, changed, taken away, or there twice, must not go unnoticed.
function broken(ours) {
    const lines = ours.trim().split("\n");
    const rank = (line) => JSON.parse(line).cognitive ?? -1;
    const at = lines.reduce((best, line, i) => (rank(line) > rank(lines[best]) ? i : best), 0);
    const row = JSON.parse(lines[at]);
    const changed = { ...row, cyclomatic: row.cyclomatic + 40, cognitive: row.cognitive + 40,
        increments: [...row.increments, [row.line, 1, "if", 40]] };
    const other = { ...row, line: row.line + 1, name: "invented", cyclomatic: 7, cognitive: 7 };
    return {
        "a changed number": [...lines.slice(0, at), JSON.stringify(changed), ...lines.slice(at + 1)],
        "a missing function": [...lines.slice(0, at), ...lines.slice(at + 1)],
        "an invented function": [...lines, JSON.stringify(other)],
    };
}

const recorded = readdirSync(join(fixtures, "said")).flatMap((language) =>
    readdirSync(join(fixtures, "said", language)).map((tool) => [language, tool]));
for (const [language, tool] of recorded) {
    const ours = measured(language);
    const done = compared(language, tool, ours);
    const equal = Number(done.said.match(/equal (\d+)/)?.[1] ?? 0);
    console.log(`${language} ${tool}: ${done.said.split("\n").filter((line) => /^\w/.test(line)).join("; ")}`);
    expect(`${tool} of ${language}: every difference has a class`, done.unexplained === 0, done.said);
    expect(`${tool} of ${language}: most functions are equal`, equal >= 3, done.said);
    for (const [what, lines] of Object.entries(broken(ours))) {
        const found = tool !== "ctags" || what !== "a changed number";
        expect(`${tool} of ${language}: ${what} is found`,
            !found || compared(language, tool, `${lines.join("\n")}\n`).said !== done.said, done.said);
    }
}
rmSync(folder, { recursive: true });
console.log(`${recorded.length} records, ${failures} failures`);
process.exitCode = recorded.length > 0 && failures === 0 ? 0 : 1;
