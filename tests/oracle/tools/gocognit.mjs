// Go: cognitive complexity.
import { files, output, pieces, row } from "./support.mjs";

for (const some of pieces(files())) {
    const printed = output(process.env.GOCOGNIT ?? "gocognit", ["-json", "-test", "-d", ...some]);
    for (const one of JSON.parse(printed) ?? []) {
        row({
            file: one.Pos.Filename, line: one.Pos.Line, column: one.Pos.Column, name: one.FuncName, metric: "cognitive",
            value: one.Complexity,
            points: one.Diagnostics?.map((d) => [d.Pos.Line, d.Pos.Column, d.Text, d.Inc]),
        });
    }
    // A function of complexity 0 is not listed.
    some.forEach((file) => row({ file, metric: "cognitive", absent: 0 }));
}
