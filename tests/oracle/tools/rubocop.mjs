// Ruby: cyclomatic complexity (Metrics/CyclomaticComplexity). A method without a body is not listed: its value is 1.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { files, output, pieces, row } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "rubocop-"));
const config = join(folder, "rubocop.yml");
writeFileSync(config, `AllCops: { DisabledByDefault: true, SuggestExtensions: false, TargetRubyVersion: 3.1 }
Lint/Syntax: { Enabled: true }
Metrics/CyclomaticComplexity: { Enabled: true, Max: 0 }
`);
for (const some of pieces(files())) {
    const printed = output(process.env.RUBOCOP ?? "rubocop",
        ["--format", "json", "--cache", "false", "--ignore-disable-comments", "--config", config,
            ...some], { cwd: folder });
    for (const { path, offenses } of JSON.parse(printed).files) {
        const file = resolve(folder, path);
        row({ file, metric: "cyclomatic", absent: 1 });
        for (const { message, location } of offenses) {
            const found = message.match(/complexity for (.*) is too high\. \[(\d+)\//);
            if (found) {
                row({ file, line: location.start_line, column: location.start_column, last_line: location.last_line,
                    name: found[1], metric: "cyclomatic", value: Number(found[2]) });
            } else {
                row({ file, failed: message });
            }
        }
    }
}
rmSync(folder, { recursive: true });
