// C and C++: cyclomatic complexity, both variants.
// A line of pmccabe: modified, traditional, statements, first line, lines, FILE(LINE): NAME
import { files, output, pieces, row } from "./support.mjs";

for (const some of pieces(files())) {
    for (const line of output(process.env.PMCCABE ?? "pmccabe", some).split("\n")) {
        const found = line.match(/^(\d+)\t(\d+)\t\d+\t(\d+)\t(\d+)\t(.*)\((\d+)\): (.*)$/);
        if (found) {
            const [, modified, traditional, first, lines, file, named, name] = found;
            const where = { file, line: Number(named), last_line: Number(first) + Number(lines) - 1, name };
            row({ ...where, metric: "cyclomatic", value: Number(traditional) });
            row({ ...where, metric: "cyclomatic_modified", value: Number(modified) });
        }
    }
}
