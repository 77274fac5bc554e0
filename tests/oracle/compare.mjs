// Joins our functions with another tool's and prints what differs.
//
//   compare.mjs LANGUAGE TOOL OURS THEIRS FILES
//
// Prints a line a metric (functions in both, equal, different, only ours, only theirs) and the differences by class
// (classes.mjs); ORACLE_LIST is how many of a class are shown, 3 by default, all of those that nobody has explained.
// Exit 1 if there are any of those.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { classify } from "./classes.mjs";

function* jsonLines(path) {
    for (const line of readFileSync(path, "utf8").split("\n")) {
        if (line !== "") {
            yield JSON.parse(line);
        }
    }
}

// "std::vector<int>::~vector() const" → "vector": what two tools most likely agree on.
export function baseName(name) {
    const bare = name.replace(/\(.*\)[^)]*$/, "").replace(/<.*>/, "");
    return bare.match(/[\p{L}\p{N}_$]+(?=[^\p{L}\p{N}_$]*$)/u)?.[0] ?? "";
}

const BEFORE_LINES = 8;

const near = (a, b) => Math.abs((a.column ?? 0) - (b.column ?? 0));

// Of the free ones among ours, the one that theirs is about: on the same line (of that name, if there is one), else
// around that line and of that name, the shortest.
export function partner(ours, theirs, taken) {
    const name = baseName(theirs.name);
    const free = ours.filter((one) => !taken.has(one));
    const here = free.filter((one) => one.line === theirs.line);
    const named = here.filter((one) => baseName(one.name) === name);
    const best = (some) => some.reduce((a, b) => (near(b, theirs) < near(a, theirs) ? b : a));
    if (named.length > 0) {
        return best(named);
    }
    // Some tools begin a function at the macro or comment in front of it.
    const around = free.filter((one) => baseName(one.name) === name && name !== "" &&
        one.line - BEFORE_LINES <= theirs.line && theirs.line <= one.last_line);
    if (around.length > 0) {
        return around.reduce((a, b) => (b.last_line - b.line < a.last_line - a.line ? b : a));
    }
    if (here.length > 0) {
        return best(here);
    }
    // Or take it for the name. Or begin it behind a name that is no plain word.
    if (/^(if|for|while|switch|catch|return)$/.test(name)) {
        return null;
    }
    return theirs.last_line === undefined
        ? free.filter((one) => name === "" && one.line <= theirs.line && theirs.line <= one.last_line).at(-1) ?? null
        : free.find((one) => Math.abs(one.line - theirs.line) <= BEFORE_LINES &&
            one.last_line - one.line > 1 && Math.abs(one.last_line - theirs.last_line) <= 1) ?? null;
}

function group(rows, key) {
    const groups = new Map();
    for (const one of rows) {
        if (!groups.has(one[key])) {
            groups.set(one[key], []);
        }
        groups.get(one[key]).push(one);
    }
    return groups;
}

function joinFile(metric, ours, theirs, absent, put) {
    const taken = new Set();
    const later = [];
    // Those that say exactly where go first, so that a guess takes nobody else's place.
    const exact = (one) => ours.some((mine) => mine.line === one.line && baseName(mine.name) === baseName(one.name));
    for (const one of [...theirs].sort((a, b) => exact(b) - exact(a))) {
        const mine = partner(ours, one, taken);
        if (mine) {
            taken.add(mine);
            put(mine, one);
        } else {
            later.push(one);
        }
    }
    later.forEach((one) => put(null, one));
    for (const mine of ours.filter((one) => !taken.has(one))) {
        put(mine, absent === undefined ? null : { ...mine, value: absent, listed: false });
    }
}

// Another tool's word, where one misses or invents a function: what the first of these found that is there,
// or null.
function witnessOf(theirsPath, tool) {
    const others = ["ctags", "eslint", "pmccabe"].filter((name) => name !== tool);
    const path = others.map((name) => join(dirname(theirsPath), name)).find((one) => existsSync(one));
    if (!path) {
        return null;
    }
    const key = ({ file, name }) => `${file} ${baseName(name ?? "")}`;
    const seen = new Map();
    for (const one of jsonLines(path)) {
        seen.set(key(one), [...(seen.get(key(one)) ?? []), one.line]);
    }
    // Near the line, since tools begin a function here or there.
    return (one) => (seen.get(key(one)) ?? []).some((line) => Math.abs(line - one.line) <= BEFORE_LINES);
}

// What the other tool says of functions that have a row of theirs in it, and none in ours: closures. A row of ours that
// is inside another has its own.
function closuresOf(joined) {
    const rows = group(joined.filter(([mine]) => mine).map(([mine]) => mine), "file");
    const within = new Map();
    for (const [, other] of joined.filter(([mine]) => !mine)) {
        const around = (rows.get(other.file) ?? []).filter((one) => one.line <= other.line && other.line <= one.last_line);
        if (around.length > 0) {
            const mine = around.reduce((a, b) => (b.last_line - b.line <= a.last_line - a.line ? b : a));
            within.set(mine, [...(within.get(mine) ?? []), other]);
        }
    }
    return within;
}

function report(language, tool, metric, joined, n_failed, witness, say) {
    const listed = new Set(joined.filter(([, other]) => other).map(([, other]) => other.file));
    const count = { both: 0, equal: 0, different: 0, onlyOurs: 0, onlyTheirs: 0 };
    const classes = new Map();
    const within = closuresOf(joined);
    const closures = (mine) => within.get(mine) ?? [];
    const isClosure = (other) => [...within.values()].some((some) => some.includes(other));
    for (const [mine, other] of joined) {
        count.both += mine && other ? 1 : 0;
        if (mine && other && (metric === "exists" || mine[metric] === other.value)) {
            count.equal++;
            continue;
        }
        count[mine && other ? "different" : mine ? "onlyOurs" : "onlyTheirs"]++;
        const kind = !other ? "only ours" : !mine ? "only theirs" : "different";
        const name = `${kind}: ${classify({ language, tool, metric, mine, other, witness, listed, closures, isClosure }) ?? "UNEXPLAINED"}`;
        classes.set(name, [...(classes.get(name) ?? []), [mine, other]]);
    }
    const failed = n_failed > 0 ? `; ${n_failed} files that it cannot read` : "";
    say(`${tool} ${metric}: both ${count.both}, equal ${count.equal}, different ${count.different}, only ours ` +
        `${count.onlyOurs}, only theirs ${count.onlyTheirs}${failed}`);
    let unexplained = 0;
    for (const [name, some] of [...classes].sort((a, b) => b[1].length - a[1].length)) {
        const bad = name.endsWith("UNEXPLAINED");
        unexplained += bad ? some.length : 0;
        say(`  ${some.length} ${name}`);
        for (const [mine, other] of some.slice(0, Number(process.env.ORACLE_LIST ?? (bad ? Infinity : 3)))) {
            const { file, line } = mine ?? other;
            const name = (mine ?? other).name || "(anonymous)";
            say(`    ${file}:${line} ${name} ours ${mine ? mine[metric] ?? "yes" : "-"} theirs ${other ? other.value : "-"}${other?.note ? ` (${other.note})` : ""}`);
        }
    }
    return unexplained;
}

// How many differences have no class; `say` is given the lines of the report.
export function compare([language, tool, oursPath, theirsPath, filesPath], say) {
    const lines = [...jsonLines(oursPath)];
    const ours = group(lines.filter((one) => one.name !== undefined), "file");
    const theirs = [...jsonLines(theirsPath)];
    const failed = new Set(theirs.filter((one) => one.failed !== undefined).map((one) => one.file));
    const files = readFileSync(filesPath, "utf8").split("\n");
    let unexplained = 0;
    for (const [metric, rows] of group(theirs.filter((one) => one.metric !== undefined), "metric")) {
        const byFile = group(rows, "file");
        const joined = [];
        for (const file of files.filter((name) => name !== "" && !failed.has(name))) {
            const some = byFile.get(file) ?? [];
            const absent = some.find((one) => one.absent !== undefined)?.absent;
            joinFile(metric, ours.get(file) ?? [], some.filter((one) => one.absent === undefined), absent,
                (mine, other) => joined.push([mine, other]));
        }
        unexplained += report(language, tool, metric, joined, failed.size, witnessOf(theirsPath, tool), say);
    }
    return unexplained;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    process.exitCode = compare(process.argv.slice(2), (line) => console.log(line)) > 0 ? 1 : 0;
}
