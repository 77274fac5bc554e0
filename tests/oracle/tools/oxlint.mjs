// JavaScript and TypeScript: cyclomatic complexity. OXLINT: the command.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Lines, files, output, pieces, row } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "oracle-"));
const config = join(folder, "oxlintrc.json");
writeFileSync(config, JSON.stringify({
    categories: { correctness: "off" }, rules: { complexity: ["error", { max: 0 }] },
}));
const lines = new Map();

for (const some of pieces(files(), 100)) {
    const report = JSON.parse(output(process.env.OXLINT ?? "oxlint",
        ["-c", config, "--no-ignore", "--format", "json", ...some]));
    for (const { message, filename, labels } of report.diagnostics) {
        const file = resolve(filename);
        const found = message.match(/^(.*) has a complexity of (\d+)\./);
        // Class fields and static blocks are no functions of ours.
        if (found && !message.startsWith("class ")) {
            if (!lines.has(file)) {
                lines.set(file, new Lines(readFileSync(file)));
            }
            const name = found[1].match(/[`'"](.*)[`'"]/)?.[1] ?? "";
            row({
                file, ...lines.get(file).at(labels[0].span.offset), name, metric: "cyclomatic", value: Number(found[2]),
            });
        }
    }
}
rmSync(folder, { recursive: true });
