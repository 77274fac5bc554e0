// Lua: cyclomatic complexity (warning 561). The main chunk is no function of ours.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { files, output, pieces, row } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "luacheck-"));
const config = join(folder, "config.lua");
// Comments that turn warnings off are not heeded.
writeFileSync(config, 'inline = false\nmax_cyclomatic_complexity = 0\nonly = {"561"}\n');
const WARNING = /^(.*?):(\d+):(\d+)-\d+: \(W561\) cyclomatic complexity of (?:function|method)(?: '(.*)')? is too high \((\d+) > 0\)$/;
for (const some of pieces(files())) {
    const printed = output(process.env.LUACHECK ?? "luacheck",
        ["--config", config, "--no-cache", "--no-color", "--codes", "--ranges", "--formatter", "plain", "--", ...some]);
    for (const line of printed.split("\n")) {
        const failed = line.match(/^(.*?):\d+:\d+-\d+: \(E\d+\) (.*)$/);
        const found = line.match(WARNING);
        if (failed) {
            row({ file: failed[1], failed: failed[2] });
        } else if (found) {
            const [, file, first, column, name, value] = found;
            row({ file, line: Number(first), column: Number(column), name: name ?? "", metric: "cyclomatic", value: Number(value) });
        }
    }
}
rmSync(folder, { recursive: true });
