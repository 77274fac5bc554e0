// PHP: cyclomatic complexity of functions and methods (closures have no row).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { files, output, pieces, row } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "phpmd-"));
const rules = join(folder, "rules.xml");
writeFileSync(rules, `<?xml version="1.0"?>
<ruleset name="all" xmlns="http://pmd.sf.net/ruleset/1.0.0"><rule ref="rulesets/codesize.xml/CyclomaticComplexity">
<properties><property name="reportLevel" value="1"/></properties></rule></ruleset>
`);
for (const some of pieces(files())) {
    const report = JSON.parse(output(process.env.PHPMD ?? "phpmd", [some.join(","), "json", rules, "--strict"]));
    for (const { fileName } of report.errors ?? []) {
        row({ file: fileName, failed: "phpmd cannot read it" });
    }
    for (const { file, violations } of report.files) {
        for (const one of violations) {
            row({ file, line: one.beginLine, last_line: one.endLine, name: one.method ?? one.function, metric: "cyclomatic",
                value: Number(one.description.match(/Complexity of (\d+)/)[1]) });
        }
    }
}
rmSync(folder, { recursive: true });
