// All languages that lizard knows: cyclomatic complexity.
// LIZARD: the command, by default "lizard"; a name that ends in .py is given to Python.
import { files, output, pieces, row } from "./support.mjs";

const lizard = process.env.LIZARD ?? "lizard";

// Fields in quotes may hold commas and, doubled, quotes.
function fields(line) {
    return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, field]) =>
        field.startsWith("\"") ? field.slice(1, -1).replaceAll("\"\"", "\"") : field);
}

for (const some of pieces(files())) {
    const printed = lizard.endsWith(".py")
        ? output(process.env.PYTHON ?? "python3", [lizard, "--csv", ...some])
        : output(lizard, ["--csv", ...some]);
    for (const line of printed.split("\n")) {
        const [, complexity, , , , , file, name, , first] = fields(line);
        if (first !== undefined) {
            row({ file, line: Number(first), name, metric: "cyclomatic", value: Number(complexity) });
        }
    }
}
