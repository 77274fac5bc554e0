// Python: cyclomatic complexity.
import { files, output, pieces, row } from "./support.mjs";

function rows(file, blocks) {
    for (const block of blocks) {
        if (block.type === "class") {
            rows(file, block.methods);
        } else {
            row({ file, line: block.lineno, name: block.name, metric: "cyclomatic", value: block.complexity });
            rows(file, block.closures ?? []);
        }
    }
}

for (const some of pieces(files())) {
    const report = JSON.parse(output(process.env.RADON ?? "radon", ["cc", "-j", ...some]));
    for (const [file, blocks] of Object.entries(report)) {
        if (Array.isArray(blocks)) {
            // Methods are listed beside their class too.
            rows(file, blocks.filter((block) => block.type !== "method"));
        } else {
            row({ file, failed: blocks.error ?? "no report" });
        }
    }
}
