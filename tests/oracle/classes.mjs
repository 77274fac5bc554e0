// Why two tools may say different things of one function: each class is something that the other tool does otherwise,
// or that we cannot know, and that docs/analysis.md explains. What fits no class is a defect until somebody has looked.
import { readFileSync } from "node:fs";

const texts = new Map();

function linesOf(file) {
    if (!texts.has(file)) {
        texts.set(file, readFileSync(file, "latin1").split("\n"));
    }
    return texts.get(file);
}

// The text of a function; theirs has no end, so it is its first line.
function textOf({ file, line, last_line: last }) {
    return linesOf(file).slice(line - 1, last ?? line).join("\n");
}

// C's conditional lines: which lines are in a branch that a compiler or pmccabe may pass over.
const regions = new Map();

function regionsOf(file) {
    if (regions.has(file)) {
        return regions.get(file);
    }
    const inside = [];
    const open = [];
    for (const line of linesOf(file)) {
        const directive = line.match(/^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*)/);
        if (directive && directive[1].startsWith("if")) {
            open.push({ first: directive[2].trim() !== "0", guard: /^_*[A-Z0-9_]+_H(PP)?_*/.test(directive[2]) });
        } else if (directive && directive[1].startsWith("el") && open.length > 0) {
            open.at(-1).first = false;
        } else if (directive && open.length > 0) {
            open.pop();
        }
        inside.push({ any: open.some((one) => !one.guard), other: open.some((one) => !one.first) });
    }
    regions.set(file, inside);
    return inside;
}

const hasIf = (mine) => /^\s*#\s*(if|elif|else)/m.test(textOf(mine));

const KIND = /^(else\s+if|if|else|for|foreach|while|do|switch|catch|goto|break|continue|&&|\|\||\?\?|\?)(?!\w)/;

// What a value is made of: our increments and their points as lists of [kind, amount].
function kindAt(file, [line, column]) {
    // An operator's place is what follows its left side, be it a bracket.
    const text = linesOf(file).slice(line - 1, line + 1).join("\n").slice(column - 1).replace(/^[)\s]+/, "");
    return text.match(KIND)?.[1] ?? "";
}

const OPERATORS = new Set(["&&", "||", "and", "or", "??"]);

// What is left of both when equal points are struck out.
function leftOver(mine, other) {
    const ours = (mine.increments ?? []).map(([, , kind, amount]) => [kind === "?:" ? "" : kind, amount]);
    const theirs = [];
    for (const point of other.points ?? []) {
        let kind = point[2] || kindAt(other.file, point);
        kind = kind === "?" ? "" : kind;
        const same = ours.findIndex(([one, amount]) => amount === point[3] &&
            (one === kind || (kind === "if" && one === "else if")));
        if (same >= 0) {
            ours.splice(same, 1);
        } else {
            theirs.push([kind, point[3]]);
        }
    }
    return { ours, theirs };
}

// Is all that they count among what we count, if perhaps at another level? Without macros they can only lose points,
// but for one that is the whole body of an if, which has no word of C where it stands.
function hasAllOf(mine, other) {
    const { ours, theirs } = leftOver(mine, other);
    const rest = ours.map(([kind]) => kind.replace("else if", "if"));
    return theirs.every(([kind]) => {
        const same = rest.indexOf(kind.replace(/^else\s+if/, "if"));
        rest.splice(same, same >= 0 ? 1 : 0);
        return same >= 0 || kind === "" || OPERATORS.has(kind);
    });
}

function ofC({ tool, mine, other }) {
    if (mine && other?.expanded !== undefined && other.expanded !== other.value && hasAllOf(mine, other)) {
        return "macros: we count what is written, clang-tidy what it expands to, or nothing of it";
    }
    if (mine?.error) {
        return "the parser did not understand something in it (marked as such)";
    }
    const region = mine ? regionsOf(mine.file)[mine.line - 1] : null;
    if (mine && hasIf(mine)) {
        return "#if inside: we count all branches, the other tool those that it takes";
    }
    if (!other && tool === "pmccabe" && region.other) {
        return "in an #else, #elif or #if 0, which pmccabe passes over";
    }
    if (tool === "clang_tidy" && (!other || other.listed === false) && region.any) {
        return "in an #if, which the compiler passes over";
    }
    return null;
}

function ofClangTidy({ language, mine, other, listed }) {
    if (!mine) {
        if (other.lambda) {
            return "a lambda has a row in clang-tidy";
        }
        const near = linesOf(other.file).slice(other.line - 1, other.line + 1).join(" ");
        return near.includes(`${other.name}(`) || near.includes(`${other.name} (`) ? null : "made by a macro";
    }
    if (!other && mine.cognitive === 0) {
        return "value 0 in a header: clang-tidy lists no such functions";
    }
    if (!other) {
        if (!listed.has(mine.file)) {
            return "in a header that nothing here includes, or of which it lists nothing";
        }
        if (language === "c") {
            return "in a header that only files include that do not compile here";
        }
        return mine.increments.every(([, , kind]) => OPERATORS.has(kind))
            ? "operators of types that define them: clang-tidy knows types, we do not" : null;
    }
    return ofClangPoints(mine, other);
}

// What clang-tidy passes over where it is the whole of an if's condition or of its body without braces.
const PASSED_OVER = new Set(["goto", "for", "while", "do", "switch", ""]);

function ofClangPoints(mine, other) {
    const { ours, theirs } = leftOver(mine, other);
    const text = textOf(mine);
    const why = [];
    const rest = ours.map(([kind]) => kind);
    for (const [kind] of theirs) {
        const same = rest.indexOf(kind);
        if (same >= 0) {
            rest.splice(same, 1); // the same, at another level: what is around it was passed over
        } else if (!OPERATORS.has(kind)) {
            return null;
        }
    }
    if (rest.includes("") && /\?\s*:/.test(text)) {
        why.push("GNU's a ?: b is no condition for clang-tidy");
    } else if (rest.some((kind) => PASSED_OVER.has(kind))) {
        why.push("`if (a) goto x`: clang-tidy passes over a loop, jump or ?: that is all of an if's condition or body");
    }
    if ([...ours, ...theirs].some(([kind]) => OPERATORS.has(kind))) {
        why.push("runs of operators across parentheses or behind a negation");
    }
    return rest.every((kind) => PASSED_OVER.has(kind) || OPERATORS.has(kind)) ? why.join("; ") || null : null;
}

// What the two tools that read C++ without a parser do.
function ofTextTools({ tool, mine, other }) {
    const text = textOf(mine);
    if (/\n\s*(class|struct)\b[^;]*\{/.test(text)) {
        return `a class in the function: its functions count in it; ${tool} loses its way`;
    }
    if (tool === "pmccabe" && /\bcatch\b/.test(text)) {
        return "catch: pmccabe does not count it";
    }
    const head = text.slice(0, text.search(/\n\s*(if|for|while|switch|return)\b/));
    if (mine.cyclomatic > other.value && /\)[^{;]*:[^:]/.test(head)) {
        return `initialisers of a constructor: ${tool} does not look at them`;
    }
    if (mine.cyclomatic < other.value && /&&\s*(\.\.\.|[A-Za-z_)>,]|$)/m.test(text)) {
        return `T &&x: ${tool} counts the && of a reference`;
    }
    if (tool === "lizard" && /\bwhile\s*\(.*\)\s*;/.test(text)) {
        return "while (a); : lizard takes it for the end of a do";
    }
    return null;
}

function ofCtags({ mine, other, witness }) {
    if (!other && witness?.(mine)) {
        return "ctags does not find it, pmccabe does";
    }
    if (!mine && /^__anon/.test(other.name)) {
        return "a lambda has a row in ctags";
    }
    return mine && !other && regionsOf(mine.file)[mine.line - 1].other
        ? "in an #else, #elif or #if 0, which ctags passes over" : null;
}

function ofPmccabe({ tool, language, mine, other, witness }) {
    if (!other && witness?.(mine)) {
        return `${tool} does not find it, ctags does`;
    }
    if (!mine && witness && !witness(other)) {
        return `${tool} takes something for a function, ctags does not`;
    }
    return mine && other && language === "cpp" ? ofTextTools({ tool, mine, other }) : null;
}

function ofRadon({ mine, other }) {
    if (!other) {
        return "in a class inside a function or class: radon does not list it";
    }
    if (mine && /^\s*match\b.*:\s*(#.*)?$/m.test(textOf(mine))) {
        return "match: radon does not count its cases";
    }
    if (mine && /^\s*except\s*\*/m.test(textOf(mine))) {
        return "except*: radon does not count it";
    }
    return null;
}

// The same constructs, but deeper.
function onlyDeeper(mine, other) {
    const kinds = (list) => list.map(([kind]) => kind.replace("else if", "if")).sort().join(" ");
    const { ours, theirs } = leftOver(mine, other);
    const plain = (list) => list.filter(([kind]) => !OPERATORS.has(kind));
    return kinds(plain(ours)) === kinds(plain(theirs));
}

// `? x =>`, `: function`, with a comment between.
const FUNCTION_IN_BRANCH = /[?:]\s*(\/\/.*\s*)*\(?\s*(async\b|function\b|\(?[\w\s,{}:[\]]*\)?\s*=>)/;

function ofSonarJs({ metric, mine, other }) {
    if (!mine || !other || metric !== "cognitive") {
        return null;
    }
    const { ours, theirs } = leftOver(mine, other);
    const why = [];
    if (theirs.some(([kind]) => kind === "??")) {
        why.push("a ?? b: sonarjs counts it among the logical operators");
    }
    if (ours.some(([kind]) => kind === "||") || theirs.some(([kind]) => kind === "||")) {
        why.push("x = a || literal: no +1 in sonarjs");
    }
    if (ours.some(([kind]) => kind === "&&")) {
        why.push(/<\w|<>/.test(textOf(mine)) ? "a && <jsx>: no +1 in sonarjs" : "x = a || literal: no +1 in sonarjs");
    }
    if (![...ours, ...theirs].every(([kind]) => OPERATORS.has(kind))) {
        if (!onlyDeeper(mine, other) || !FUNCTION_IN_BRANCH.test(textOf(mine))) {
            return null;
        }
        why.push("a ternary with a function in a branch: sonarjs stays a level too deep behind it");
    }
    return [...new Set(why)].join("; ") || null;
}

// Overloads and abstract methods end where a body would begin.
function hasNoBody({ file, line, column }) {
    const text = linesOf(file).slice(line - 1, line + 60).join("\n").slice(column - 1);
    let depth = 0;
    for (const [mark] of text.matchAll(/[()[\]{};]|\n(?=\s*(export |declare |function |\}|[\w[]+.*\())/g)) {
        if (depth === 0 && (mark === ";" || mark === "\n" || mark === "}")) {
            return true;
        }
        depth += "([{".includes(mark) ? 1 : ")]}".includes(mark) ? -1 : 0;
    }
    return false;
}

function ofOxlint({ mine, other, witness }) {
    if (!mine && other.value === 1 && (hasNoBody(other) || (witness && !witness(other)))) {
        return "a declaration without a body, which oxlint lists";
    }
    return mine && !other && /(eslint|oxlint)-disable/.test(linesOf(mine.file).join("\n"))
        ? "a comment in the file turns rules off, which oxlint heeds" : null;
}

// What we list though it is in no function: the other tool does not look there.
function ofClosure({ tool, mine, other }) {
    const text = mine && linesOf(mine.file)[mine.line - 1].slice(mine.column - 1);
    return mine && (!other || other.listed === false) && /^(func\b|\[(?!\[)|\||move\b|async\b)/.test(text)
        ? `a closure in no function: ${tool} does not list it` : null;
}

function ofGocognit({ mine, other }) {
    if (!mine || !other) {
        return null;
    }
    if (other.listed === false && !/^func\b/.test(linesOf(mine.file)[mine.line - 1])) {
        return "a variable that is a function: gocognit lists declarations only";
    }
    const left = leftOver(mine, other);
    const calls = left.theirs.filter(([kind]) => mine.name.split(".").at(-1) === kind);
    const theirs = left.theirs.filter((one) => !calls.includes(one));
    const why = calls.length > 0 ? ["a function that calls itself: gocognit adds 1 a call"] : [];
    if ([...left.ours, ...theirs].some(([kind]) => OPERATORS.has(kind))) {
        why.push("runs of operators across parentheses or behind a negation");
    }
    const plain = (list) => list.filter(([kind]) => !OPERATORS.has(kind));
    const kinds = (list) => plain(list).map(([kind]) => kind).sort().join(" ");
    if (kinds(left.ours) !== kinds(theirs)) {
        return null;
    }
    if (plain(theirs).length > 0) {
        why.push("else: gocognit does not nest what is in it");
    }
    return why.join("; ") || null;
}

// A declaration in an interface, or an abstract method: a semicolon comes before any brace.
function isDeclaration({ file, line, column = 1 }) {
    const text = [linesOf(file)[line - 1].slice(column - 1), ...linesOf(file).slice(line, line + 40)].join("\n");
    // Annotations have braces of their own.
    return /^[^{;]*;/.test(text.replace(/\/\*[^]*?\*\/|\/\/.*|@[\w.]+\s*(\([^()]*(\([^()]*\)[^()]*)*\))?/g, ""));
}

function ofJava({ tool, mine, other }) {
    if (!mine && other.value === 1 && isDeclaration(other)) {
        return `a method without a body, which ${tool} lists`;
    }
    return mine && !other && /\(closure\)|->/.test(`${mine.name} ${textOf(mine)}`) && !/\)\s*(throws[^{]*)?\{/.test(linesOf(mine.file)[mine.line - 1].slice(0, mine.column - 1))
        ? `a closure in no function: ${tool} does not list it` : null;
}

function ofPhpmd({ mine, other }) {
    if (!mine && other.value === 1 && isDeclaration(other)) {
        return "a method without a body, which phpmd lists";
    }
    if (mine && !other) {
        return /class@anonymous/.test(mine.name) ? "in a class without a name: phpmd does not list it"
            : /^(static\s+)?(fn|function)\s*&?\s*\(/.test(linesOf(mine.file)[mine.line - 1].slice(mine.column - 1))
                ? "a closure in no function: phpmd does not list it" : null;
    }
    return mine && other && mine.cyclomatic > other.value && /\bmatch\s*\(/.test(textOf(mine))
        ? "match: phpmd does not count its arms" : null;
}

// What a closure has counts in the function around it: all of it, or the difference is another.
function ofLuacheck({ mine, other, closures, isClosure }) {
    if (!mine) {
        return isClosure(other) ? "a closure in a function has a row in luacheck" : null;
    }
    const inside = closures(mine).reduce((sum, one) => sum + one.value - 1, 0);
    if (other && inside > 0 && mine.cyclomatic === other.value + inside) {
        return "closures count in the function around them";
    }
    const text = textOf(mine).replace(/--.*|"[^"\n]*"|'[^'\n]*'/g, "");
    const count = (words) => text.match(words)?.length ?? 0;
    if (other && mine.cyclomatic > other.value + inside && count(/\bdo\b/g) > count(/\b(for|while)\b/g)) {
        return "do … end: luacheck does not look inside";
    }
    if (/luacheck:/.test(linesOf(mine.file).join("\n")) && (!other || inside < mine.cyclomatic - other.value)) {
        return "a comment in the file turns warnings off, which luacheck heeds";
    }
    return other && mine.cyclomatic > other.value + inside && /[[(][^\n=]*\b(and|or)\b[^\n=]*[\])][^\n=]*=[^=]/.test(text)
        ? "t[a or b] = c: luacheck does not look at what is assigned to" : null;
}

function ofRubocop({ mine, other }) {
    if (!mine || !other) {
        return null;
    }
    const text = textOf(mine);
    if (other.listed === false && !/^def\b/.test(linesOf(mine.file)[mine.line - 1].slice(mine.column - 1))) {
        return "a block in no method, or given to define_method with a name that is made: RuboCop lists methods";
    }
    if (mine.cyclomatic > other.value && /\{[^{}]*\b_[1-9]\b/.test(text)) {
        return "a block with numbered parameters: RuboCop does not count it";
    }
    const asked = [...text.matchAll(/(\b[a-z_]\w*)&\./g)].map(([, name]) => name);
    if (mine.cyclomatic > other.value && new Set(asked).size < asked.length) {
        return "a&.b and again a&.c: RuboCop counts the first";
    }
    if (mine.cyclomatic > other.value && /\bend (while|until)\b/.test(text)) {
        return "begin … end while: RuboCop does not count it";
    }
    return mine.cyclomatic > other.value && /^def\b[^\n]*(=|:)[^\n]*(\?|&\.|&&|\|\|)/.test(text.trimStart())
        ? "default values: RuboCop does not look at them" : null;
}

const byTool = {
    rubocop: ofRubocop,
    luacheck: ofLuacheck,
    checkstyle: ofJava, phpmd: ofPhpmd,
    clang_tidy: ofClangTidy, ctags: ofCtags, pmccabe: ofPmccabe, lizard: ofPmccabe, radon: ofRadon, eslint: ofSonarJs,
    oxlint: ofOxlint, gocognit: ofGocognit,
};

export function classify(what) {
    if ((what.mine ?? what.other).file.match(/\.(c|h|cc|cpp|hpp|cxx|hh)$/)) {
        const found = ofC(what);
        if (found) {
            return found;
        }
    }
    if (what.mine?.error) {
        return "the parser did not understand something in it (marked as such)";
    }
    return byTool[what.tool]?.(what) ?? ofClosure(what);
}
