// Java: cyclomatic complexity of methods and constructors. It says where, and no name: that is read there.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { files, output, pieces, row } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "checkstyle-"));
const config = join(folder, "checks.xml");
writeFileSync(config, `<?xml version="1.0"?>
<!DOCTYPE module PUBLIC "-//Checkstyle//DTD Checkstyle Configuration 1.3//EN"
    "https://checkstyle.org/dtds/configuration_1_3.dtd">
<module name="Checker"><property name="severity" value="warning"/><property name="tabWidth" value="1"/>
<property name="haltOnException" value="false"/><module name="TreeWalker">
<module name="CyclomaticComplexity"><property name="max" value="0"/></module></module></module>
`);

const words = { amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'" };
const plain = (text) => text.replace(/&(\w+);/g, (all, word) => words[word] ?? all);

// The name of a method that begins at a line and column, behind its annotations and comments.
function named(lines, line, column) {
    const text = [lines[line - 1].slice(column - 1), ...lines.slice(line, line + 40)].join("\n");
    const blank = (all) => all.replace(/[^\n]/g, " ");
    const bare = text.replace(/\/\*[^]*?\*\/|\/\/.*|"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'/g, blank)
        .replace(/@(?!interface)[\w.]+(\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?/g, blank);
    const found = bare.match(/([\p{L}\p{N}_$]+)\s*[({]/u);
    return found?.[1] ?? "";
}

for (const some of pieces(files(), 500)) {
    const printed = output(process.env.CHECKSTYLE ?? "checkstyle", ["-c", config, "-f", "xml", ...some]);
    for (const [, name, body] of printed.matchAll(/<file name="([^"]*)">([^]*?)<\/file>/g)) {
        const file = plain(name);
        const lines = readFileSync(file, "utf8").split("\n");
        if (body.includes("<exception>")) {
            row({ file, failed: "checkstyle gives up" });
        }
        for (const [, line, column, message] of body.matchAll(/<error line="(\d+)"(?: column="(\d+)")? severity="\w+" message="([^"]*)"/g)) {
            const value = message.match(/Cyclomatic Complexity is (\d+)/)?.[1];
            if (value === undefined) {
                row({ file, failed: plain(message).slice(0, 200) });
            } else {
                row({ file, line: Number(line), name: named(lines, Number(line), Number(column ?? 1)),
                    metric: "cyclomatic", value: Number(value) });
            }
        }
    }
}
rmSync(folder, { recursive: true });
