// C and C++: which functions there are.
import { files, output, pieces, row } from "./support.mjs";

for (const some of pieces(files())) {
    const printed = output(process.env.CTAGS ?? "ctags", ["-x", "--_xformat=%n\t%{end}\t%N\t%F", "--languages=C,C++",
        "--langmap=C++:+.h", "--kinds-C=f", "--kinds-C++=f", ...some]);
    for (const line of printed.split("\n").filter((one) => one !== "")) {
        const [first, last, name, file] = line.split("\t");
        row({ file, line: Number(first), last_line: Number(last) || undefined, name, metric: "exists", value: 1 });
    }
}
