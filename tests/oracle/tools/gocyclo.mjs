// Go: cyclomatic complexity. A line of gocyclo: value, package, function, FILE:LINE:COLUMN
import { files, output, pieces, row } from "./support.mjs";

for (const some of pieces(files())) {
    for (const line of output(process.env.GOCYCLO ?? "gocyclo", some).split("\n")) {
        const found = line.match(/^(\d+) \S+ (.+) (\S.*):(\d+):(\d+)$/);
        if (found) {
            const [, value, name, file, first, column] = found;
            row({
                file, line: Number(first), column: Number(column), name, metric: "cyclomatic", value: Number(value),
            });
        }
    }
}
