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

// What a macro is called with, as a list of {text, span} and {list, brackets, span}; text is a word or one of the names
// that rustc has for punctuation, in capitals: "AndAnd".
function tokensOf(stream) {
    const tokens = [];
    for (const one of stream?.kids?.[0]?.kids ?? []) {
        if (one.type === "Delimited") {
            tokens.push({ list: tokensOf(one.kids[3]), brackets: one.kids[2].type, span: child(one.kids[0], "open")?.type });
            continue;
        }
        const kind = child(one.kids[0], "kind");
        if (kind.type === "DocComment") {
            continue;
        }
        const word = kind.type === "Ident" && kind.kids[1]?.type !== "Yes" ? kind.kids[0].type.slice(1, -1) : null;
        tokens.push({ text: word ?? kind.type, is: word === null ? kind.type : "Ident", span: child(one.kids[0], "span")?.type });
    }
    return tokens;
}

const QUOTES = new Set(["quote", "quote_spanned", "parse_quote", "parse_quote_spanned"]);
const BLOCK_WORDS = new Set(["if", "match", "loop", "while", "for", "unsafe", "Lifetime"]);
const ENDS = new Set(["Comma", "Semi", "FatArrow"]);
// Words behind which there is no value yet.
const WORDS = new Set(["if", "else", "match", "while", "for", "loop", "in", "let", "return", "break", "continue", "move", "static",
    "ref", "dyn", "as", "unsafe", "async", "const", "impl", "yield", "_"]);

const isBlock = (token) => token?.brackets === "Brace";
const isValue = (token) => token !== undefined && !token.isEnd &&
    (token.list ? !token.isBody : ["Literal", "Question"].includes(token.text) || (token.is === "Ident" && !WORDS.has(token.text)));

// The place of the block of the word before `from`; -1: it has none.
function blockAfter(tokens, from) {
    let inPattern = tokens[from - 1].text === "for";
    for (let i = from; i < tokens.length; i++) {
        const { text } = tokens[i];
        if (ENDS.has(text)) {
            return -1;
        }
        inPattern = (inPattern && text !== "in" && text !== "Eq") || text === "let";
        if (isBlock(tokens[i]) && !inPattern && !["unsafe", "async", "const", "Bang"].includes(tokens[i - 1].text) &&
            !(tokens[i - 1].text === "move" && tokens[i - 2].text === "async")) {
            return i;
        }
    }
    return -1;
}

// The place behind an expression that is one with a block.
function behindBlock(tokens, from) {
    let at = isBlock(tokens[from]) ? from : blockAfter(tokens, from + (tokens[from].text === "Lifetime" ? 3 : 1));
    if (tokens[from].text === "unsafe") {
        at = from + 1;
    }
    while (at >= 0 && tokens[at + 1]?.text === "else") {
        at = isBlock(tokens[at + 2]) ? at + 2 : blockAfter(tokens, at + 3);
    }
    return at < 0 ? tokens.length : at + 1;
}

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
        default:
            return this.all(kind.kids, level);
        }
    }

    // The tokens of a macro call, by the words among them. run: that of the logical operators around.
    tokens(tokens, level, run = { operator: "" }) {
        let closures = 0;
        let inItem = false;
        const fresh = () => { run.operator = ""; };
        for (let i = 0; i < tokens.length; i++) {
            const token = tokens[i];
            const before = tokens[i - 1];
            const at = { kids: [{ key: "span", type: token.span ?? "" }] };
            const deep = level + closures;
            if (token.list) {
                const isQuote = before?.text === "Bang" && QUOTES.has(tokens[i - 2]?.text);
                const shares = token.brackets === "Parenthesis" && !isValue(before) && !(before && before.is !== "Ident" &&
                    !["AndAnd", "OrOr", "Comma", "Semi", "Eq", "FatArrow", "Or"].includes(before.text) && !before.isBody);
                if (!isQuote) {
                    this.tokens(token.list, deep, shares ? run : undefined);
                }
                if (isBlock(token)) {
                    fresh();
                    token.isBody = !isValue(before) || inItem;
                    inItem = false;
                }
                if (shares && tokens[i + 1] && !["AndAnd", "OrOr", "Comma", "Semi"].includes(tokens[i + 1].text)) {
                    fresh();
                }
                continue;
            }
            switch (token.text) {
            case "if": case "while": case "loop": case "for": case "match": {
                if (token.text === "for" && (inItem || tokens[i + 1]?.text === "Lt")) {
                    break;
                }
                fresh();
                const block = blockAfter(tokens, i + 1);
                this.cyclomatic += token.text !== "match";
                if (block < 0) {
                    break;
                }
                this.add(1 + deep, token.text, at);
                i = this.blocks(tokens, i, block, deep);
                break;
            }
            case "else":
                this.cyclomatic += isBlock(tokens[i + 1]);
                break;
            case "break": case "continue":
                if (tokens[i + 1]?.text === "Lifetime") {
                    this.add(1, token.text, at);
                }
                break;
            case "Question":
                this.cyclomatic += isValue(before);
                break;
            case "AndAnd": case "OrOr":
                if (!isValue(before)) {
                    closures += token.text === "OrOr";
                    token.isEnd = true;
                    break;
                }
                this.cyclomatic++;
                if (run.operator !== token.text) {
                    run.operator = token.text;
                    this.add(1, token.text.slice(0, -3 + (token.text === "OrOr")), at);
                }
                break;
            case "Or":
                if (!isValue(before)) {
                    const end = tokens.findIndex((one, k) => k > i && one.text === "Or");
                    i = end < 0 ? i : end;
                    closures++;
                }
                break;
            case "impl":
                inItem = true;
                break;
            case "Comma": case "Semi": case "FatArrow":
                closures = 0;
                inItem = false;
                fresh();
                break;
            case "Eq": case "let":
                fresh();
                break;
            default:
                break;
            }
        }
    }

    // What is between a word and the end of its blocks; gives the place of the last one.
    blocks(tokens, word, block, level) {
        tokens[block].isBody = true;
        this.tokens(tokens.slice(word + 1, block), level + 1);
        if (tokens[word].text === "match") {
            this.arms(tokens[block].list, level + 1);
            return block;
        }
        this.tokens(tokens[block].list, level + 1);
        const other = tokens[block + 1];
        if (tokens[word].text !== "if" || other?.text !== "else") {
            return block;
        }
        const at = { kids: [{ key: "span", type: other.span }] };
        if (tokens[block + 2]?.text === "if") {
            this.cyclomatic++;
            this.add(1, "else if", at);
            return this.blocks(tokens, block + 2, blockAfter(tokens, block + 3), level);
        }
        this.add(1, "else", at);
        tokens[block + 2].isBody = true;
        this.tokens(tokens[block + 2].list, level + 1);
        return block + 2;
    }

    arms(tokens, level) {
        for (let i = 0; i < tokens.length;) {
            const arrow = tokens.findIndex((one, k) => k >= i && one.text === "FatArrow");
            if (arrow < 0) {
                return;
            }
            const head = tokens.slice(i, arrow);
            const guard = head.findIndex((one) => one.text === "if");
            const pattern = guard < 0 ? head : head.slice(0, guard);
            this.cyclomatic += (pattern.length !== 1 || pattern[0].text !== "_") + (guard >= 0);
            this.tokens(guard < 0 ? [] : head.slice(guard + 1), level);
            let end = arrow + 1;
            if (isBlock(tokens[end]) || BLOCK_WORDS.has(tokens[end]?.text)) {
                end = behindBlock(tokens, end);
            } else {
                for (let bars = 0; end < tokens.length && (tokens[end].text !== "Comma" || bars % 2 === 1); end++) {
                    bars += tokens[end].text === "Or" && (bars > 0 || !isValue(tokens[end - 1]));
                }
            }
            this.tokens(tokens.slice(arrow + 1, end), level);
            i = end + (tokens[end]?.text === "Comma");
        }
    }

    macro(node, level) {
        const name = child(child(node, "path"), "segments").kids.at(-1);
        if (!QUOTES.has(child(name, "ident").type.replace(/#\d+$/, ""))) {
            this.tokens(tokensOf(child(child(node, "args"), "tokens")), level);
        }
    }

    visit(node, level) {
        const kind = node.kids && child(node, "kind");
        if (node.type === "Expr" && kind?.kids) {
            this.all(child(node, "attrs")?.kids, level);
            this.expression(node, kind, level);
        } else if (node.type === "Item" && kind?.type === "Fn") {
            this.all(kind.kids, level + 1);
        } else if (node.type === "MacCall" && child(node, "path")) {
            this.macro(node, level);
        } else if (node.type === "Item" && kind?.type === "MacroDef") {
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
