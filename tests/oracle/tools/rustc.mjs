// Rust: cyclomatic and cognitive complexity counted on the tree of rustc's own parser, which it prints for us. There
// is no tool with our rules for Rust, so the rules are written down here a second time; what is foreign is the parser.
// RUSTC: the command; RUST_EDITION: 2021 unless said.
import { spawnSync } from "node:child_process";
import { basename } from "node:path";
import { files, row } from "./support.mjs";

// The dump has a value a line, and what it holds between brackets, deeper. Gives {key, type, kids}; leaves have no kids.
function parse(text) {
    const root = { key: "", type: "", kids: [] };
    const open = [root];
    for (let at = 0; at < text.length;) {
        const end = text.indexOf("\n", at);
        const line = text.slice(at, end < 0 ? text.length : end).trim();
        at = end < 0 ? text.length : end + 1;
        if (/^[\])}]+,?$/.test(line)) {
            open.pop();
            continue;
        }
        const found = line.match(/^(?:([a-z_0-9]+): )?(.*?)( ?[[({])?,?$/s);
        const node = { key: found[1] ?? "", type: found[2], kids: null };
        open.at(-1).kids.push(node);
        if (found[3]) {
            node.kids = [];
            open.push(node);
        }
    }
    return root;
}

const child = (node, key) => node.kids?.find((one) => one.key === key);

class Counter {
    constructor() {
        this.cyclomatic = 1;
        this.cognitive = 0;
        this.points = [];
    }

    add(amount, construct, node) {
        const span = child(node, "span")?.type.match(/:(\d+):(\d+): /);
        this.cognitive += amount;
        this.points.push([Number(span?.[1]), Number(span?.[2]), construct, amount]);
    }

    all(nodes, level) {
        for (const node of nodes ?? []) {
            this.visit(node, level);
        }
    }

    conditional(node, kind, level) {
        const [condition, then, other] = kind.kids;
        this.cyclomatic++;
        // Conditions are as deep as bodies.
        this.visit(condition, level + 1);
        this.visit(then, level + 1);
        const otherwise = other.kids?.[0];
        const otherKind = otherwise && child(otherwise, "kind");
        if (otherKind?.type === "If") {
            this.add(1, "else if", otherwise);
            this.conditional(otherwise, otherKind, level);
        } else if (otherwise) {
            this.add(1, "else", otherwise);
            this.visit(otherwise, level + 1);
        }
    }

    // The operators of an expression, in the order of the text; what is no part of the run is looked at by itself.
    operators(node, level) {
        const kind = child(node, "kind");
        if (kind?.type === "Paren") {
            return this.operators(kind.kids[0], level);
        }
        const operator = kind?.type === "Binary" ? child(kind.kids[0], "node").type : "";
        if (operator !== "And" && operator !== "Or") {
            this.visit(node, level);
            return [];
        }
        return [...this.operators(kind.kids[1], level), operator, ...this.operators(kind.kids[2], level)];
    }

    binary(node, level) {
        const operators = this.operators(node, level);
        this.cyclomatic += operators.length;
        operators.forEach((operator, i) => {
            if (operator !== operators[i - 1]) {
                this.add(1, operator, node);
            }
        });
    }

    jump(node, kind) {
        if (kind.kids.some((one) => one.kids?.[0]?.type === "Label" || one.kids?.some((kid) => /^label/.test(kid.type)))) {
            this.add(1, kind.type.toLowerCase(), node);
        }
    }

    match(node, kind, level) {
        this.add(1 + level, "match", node);
        this.visit(kind.kids[0], level + 1);
        for (const arm of kind.kids[1].kids) {
            const pattern = child(child(arm, "pat"), "kind");
            this.cyclomatic += (pattern.type !== "Wild") + (child(arm, "guard").type === "Some");
            this.all(arm.kids, level + 1);
        }
    }

    expression(node, kind, level) {
        switch (kind.type) {
        case "If":
            this.add(1 + level, "if", node);
            return this.conditional(node, kind, level);
        case "While": case "ForLoop": case "Loop":
            this.cyclomatic++;
            this.add(1 + level, kind.type, node);
            return this.all(kind.kids, level + 1);
        case "Match":
            return this.match(node, kind, level);
        case "Binary":
            return /^(And|Or)$/.test(child(kind.kids[0], "node").type) ? this.binary(node, level) : this.all(kind.kids, level);
        case "Break": case "Continue":
            this.jump(node, kind);
            return this.all(kind.kids, level);
        case "Closure":
            return this.all(kind.kids, level + 1);
        case "Try":
            this.cyclomatic++;
            return this.all(kind.kids, level);
        case "MacCall":
            return undefined;
        default:
            return this.all(kind.kids, level);
        }
    }

    visit(node, level) {
        const kind = node.kids && child(node, "kind");
        if (node.type === "Expr" && kind?.kids) {
            this.all(child(node, "attrs")?.kids, level);
            this.expression(node, kind, level);
        } else if (node.type === "Item" && kind?.type === "Fn") {
            this.all(kind.kids, level + 1);
        } else if (node.type === "MacCall" || node.type === "MacCallStmt") {
            return;
        } else {
            if (node.type === "InitElse") {
                this.cyclomatic++;
            }
            this.all(node.kids, level);
        }
    }
}

function rows(file, node) {
    const kind = node.type === "Item" ? child(node, "kind") : null;
    if (kind?.type === "Fn") {
        const what = kind.kids.find((one) => one.type === "Fn");
        const body = child(what, "body");
        if (body.kids) {
            const [, line, column] = child(node, "span").type.match(/:(\d+):(\d+): /);
            const where = { file, line: Number(line), column: Number(column), name: child(what, "ident").type.replace(/#\d+$/, "") };
            const counter = new Counter();
            counter.all(what.kids, 0);
            row({ ...where, metric: "cyclomatic", value: counter.cyclomatic });
            row({ ...where, metric: "cognitive", value: counter.cognitive, points: counter.points });
        }
    }
    for (const one of node.kids ?? []) {
        rows(file, one);
    }
}

for (const file of files()) {
    const done = spawnSync(process.env.RUSTC ?? "rustc",
        ["--edition", process.env.RUST_EDITION ?? "2021", "-Zunpretty=ast-tree", basename(file)],
        { cwd: file.slice(0, -basename(file).length), encoding: "utf8", maxBuffer: 1 << 30,
          env: { ...process.env, RUSTC_BOOTSTRAP: "1" } });
    if (done.error || done.stdout === "") {
        row({ file, failed: done.error?.message ?? done.stderr.split("\n")[0] });
    } else {
        rows(file, parse(done.stdout));
    }
}
