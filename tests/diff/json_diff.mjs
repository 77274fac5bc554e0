// Compares the JSON reader and number writer of toolwire with those of JavaScript.
//
//   node json_diff.mjs PROBE [TEXTS [SEED [DOUBLES]]]
//
// PROBE is the program of json_probe.c. Texts come from a generator with a fixed seed: valid documents,
// documents with one grammatical fault, documents with damaged bytes. The other opinion is
// TextDecoder (fatal) for UTF-8 and JSON.parse for the rest. Where the two readers differ on purpose,
// the table `listed` says so; everything else is a disagreement, and the exit status is 1.

import { spawn } from 'node:child_process';

const [probePath, textsArg = '30000', seedArg = '1', doublesArg = '20000'] =
    process.argv.slice(2);
const nTexts = Number(textsArg);
const nDoubles = Number(doublesArg);
const MAX_DEPTH = 512;
const BATCH_TEXTS = 2000;

// --- randomness: the same on every machine ------------------------------------------------------

let state = Number(seedArg) >>> 0;

function random32() {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
}

const below = (n) => random32() % n;
const oneOf = (list) => list[below(list.length)];
const chance = (percent) => below(100) < percent;

// --- generator ----------------------------------------------------------------------------------

const hex4 = (unit) => {
    const text = unit.toString(16).padStart(4, '0');
    return chance(50) ? text : text.toUpperCase();
};

function randomCodePoint() {
    switch (below(8)) {
    case 0: return below(0x20);
    case 1: return 0x80 + below(0x780);
    case 2: return 0x800 + below(0xd000);
    case 3: return 0xe000 + below(0x2000);
    case 4: return 0x10000 + below(0x100000);
    case 5: return oneOf([0x22, 0x5c, 0x2f, 0x7f, 0x2028, 0x2029, 0xfeff, 0xffff, 0xfffd]);
    default: return 0x20 + below(0x5f);
    }
}

const simpleEscapes = {
    0x22: '\\"', 0x5c: '\\\\', 0x2f: '\\/', 8: '\\b', 12: '\\f', 10: '\\n', 13: '\\r', 9: '\\t',
};

function spellCodePoint(code) {
    const mustEscape = code < 0x20 || code === 0x22 || code === 0x5c;
    if (!mustEscape && chance(80)) {
        return String.fromCodePoint(code);
    }
    if (simpleEscapes[code] !== undefined && chance(70)) {
        return simpleEscapes[code];
    }
    const text = String.fromCodePoint(code);
    return [...Array(text.length).keys()].map((i) => '\\u' + hex4(text.charCodeAt(i))).join('');
}

function randomString() {
    const n = chance(80) ? below(12) : below(80);
    let text = '';
    if (chance(60)) {
        for (let i = 0; i < n; i++) {
            text += String.fromCharCode(0x61 + below(26));
        }
        return '"' + text + '"';
    }
    for (let i = 0; i < n; i++) {
        text += spellCodePoint(randomCodePoint());
    }
    return '"' + text + '"';
}

function randomDigits(n) {
    let text = '';
    for (let i = 0; i < n; i++) {
        text += below(10);
    }
    return text;
}

function randomNumber() {
    let text = chance(30) ? '-' : '';
    if (chance(10)) {
        // Spellings around the edges of doubles and integers.
        return text + oneOf(['9007199254740993', '1.7976931348623157e308', '1.7976931348623159e308',
            '2.4703282292062327e-324', '2.4703282292062328e-324', '2.2250738585072011e-308', '5e-324',
            '1e400', '1e-400', '18446744073709551616', '0', '0.0', '1e23', '8.5e22',
            '123456789012345678', '0.1']);
    }
    text += chance(20) ? '0'
        : String(1 + below(9)) + randomDigits(chance(85) ? below(6) : below(40));
    if (chance(40)) {
        text += '.' + randomDigits(1 + (chance(85) ? below(6) : below(40)));
    }
    if (chance(25)) {
        text += oneOf(['e', 'E']) + oneOf(['', '+', '-']);
        text += String(chance(90) ? below(30) : below(400));
    }
    return text;
}

const spaces = ['', '', '', '', ' ', '  ', '\n', '\t', '\r\n', '                    '];
const keys = ['"a"', '"b"', '"id"', '"name"', '"\\u0061"', '"__proto__"', '"constructor"', '"toString"',
    '""', '"0"', '"10"'];

function randomValue(depth) {
    const kind = depth > 5 ? below(5) : below(9);
    const gap = () => oneOf(spaces);
    if (kind < 2) {
        return randomString();
    }
    if (kind < 4) {
        return randomNumber();
    }
    if (kind === 4) {
        return oneOf(['true', 'false', 'null']);
    }
    const n = chance(20) ? 0 : below(6);
    const parts = [];
    for (let i = 0; i < n; i++) {
        const value = gap() + randomValue(depth + 1) + gap();
        const key = kind < 7 ? '' : gap() + (chance(50) ? oneOf(keys) : randomString()) + gap() + ':';
        parts.push(key + value);
    }
    const inside = n === 0 ? gap() : parts.join(',');
    return kind < 7 ? '[' + inside + ']' : '{' + inside + '}';
}

function randomDocument() {
    if (chance(1)) {
        // Around the depth limit.
        const n = MAX_DEPTH - 2 + below(6);
        return chance(50) ? '['.repeat(n) + ']'.repeat(n) : '{"a":'.repeat(n) + '1' + '}'.repeat(n);
    }
    return oneOf(spaces) + randomValue(chance(60) ? 0 : 4) + oneOf(spaces);
}

const faults = [',', ':', '{', '}', '[', ']', '"', '\\', '\\u', '\\ud800', '\\udc00', '\\x', '0', '-', '+',
    '.', 'e', 'tru', 'nul', 'NaN', 'Infinity', "'", '/*x*/', '//', '\0', '\u0001', '\u00a0', '\ufeff',
    '\u2028', ' ', '\v', '\f', '01', '1.', '.5'];

// A token put in, taken out, doubled or exchanged: near misses of the grammar.
function grammarFault(text) {
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[-+.0-9eE]+|[a-z]+|\s+|./gsu) ?? [''];
    const at = below(tokens.length);
    switch (below(5)) {
    case 0: tokens.splice(at, 1); break;
    case 1: tokens.splice(at, 0, oneOf(faults)); break;
    case 2: tokens.splice(at, 0, tokens[at]); break;
    case 3: tokens[at] = oneOf(faults); break;
    default: {
        const other = below(tokens.length);
        [tokens[at], tokens[other]] = [tokens[other], tokens[at]];
    }
    }
    return tokens.join('');
}

const badBytes = [[0x80], [0xc0, 0x80], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
    [0xe0, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80],
    [0xff], [0xfe], [0xef, 0xbb, 0xbf]];

function insert(bytes, at, more) {
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(more), bytes.subarray(at)]);
}

function byteFault(bytes) {
    const at = below(bytes.length + 1);
    switch (below(5)) {
    case 0: return bytes.subarray(0, at);
    case 1: return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    case 2: return insert(bytes, at, [below(256)]);
    case 3: return insert(bytes, at, oneOf(badBytes));
    default: {
        const copy = Buffer.from(bytes);
        if (copy.length > 0) {
            copy[at % copy.length] ^= 1 << below(8);
        }
        return copy;
    }
    }
}

function randomText() {
    const document = randomDocument();
    const dice = below(10);
    if (dice < 4) {
        return Buffer.from(document);
    }
    if (dice < 7) {
        return Buffer.from(grammarFault(chance(30) ? grammarFault(document) : document));
    }
    const bytes = byteFault(Buffer.from(document));
    return chance(20) ? byteFault(bytes) : bytes;
}

// --- the other opinion --------------------------------------------------------------------------

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const bitsView = new DataView(new ArrayBuffer(8));

function dumpNumber(value) {
    if (!Number.isFinite(value)) {
        return '#INFINITE';
    }
    bitsView.setFloat64(0, value);
    return '#' + bitsView.getBigUint64(0).toString(16).padStart(16, '0');
}

// UTF-8, and half of a surrogate pair as the three bytes that it would have if it were a character.
function bytesOf(text) {
    if (!/\p{Surrogate}/u.test(text)) { // isWellFormed() is newer than node 18
        return Buffer.from(text);
    }
    return Buffer.concat(Array.from(text, (character) => {
        const code = character.codePointAt(0);
        return code >= 0xd800 && code <= 0xdfff
            ? Buffer.from([0xed, 0x80 | code >> 6 & 0x3f, 0x80 | code & 0x3f]) : Buffer.from(character);
    }));
}

const dumpString = (text) => '"' + bytesOf(text).toString('hex') + '"';

function dump(value) {
    if (value === null) {
        return 'n';
    }
    switch (typeof value) {
    case 'boolean': return value ? 't' : 'f';
    case 'number': return dumpNumber(value);
    case 'string': return dumpString(value);
    }
    if (Array.isArray(value)) {
        return '[' + value.map(dump).join(',') + ']';
    }
    // Object.entries sees own keys only, and JSON.parse makes even __proto__ an own one.
    const members = Object.entries(value).map(([key, member]) => [bytesOf(key), member]);
    members.sort((a, b) => Buffer.compare(a[0], b[0]));
    const dumps = members.map(([key, member]) => '"' + key.toString('hex') + '":' + dump(member));
    return '{' + dumps.join(',') + '}';
}

function depthOf(value) {
    let level = [value];
    let depth = 0;
    while ((level = level.filter((v) => v !== null && typeof v === 'object')).length > 0) {
        level = level.flatMap((v) => Object.values(v));
        depth++;
    }
    return depth;
}

// null if it is not UTF-8 or not JSON.
function otherOpinion(bytes) {
    try {
        const value = JSON.parse(decoder.decode(bytes));
        return { value };
    } catch {
        return null;
    }
}

// Each allowed disagreement and how it is known. docs/json.md has the same list for people.
const listed = [
    {
        name: 'nested deeper than 512 levels: we refuse it',
        applies: (ours, theirs) => !ours.accepted && ours.code === 2 && theirs !== null &&
            depthOf(theirs.value) > MAX_DEPTH,
    },
    {
        name: 'a number beyond the largest double: JavaScript reads Infinity, we say out of range',
        applies: (ours, theirs) => ours.accepted && theirs !== null && ours.dump.includes('#RANGE') &&
            ours.dump.replaceAll('#RANGE', '#INFINITE') === dump(theirs.value),
    },
];

// Two things that need no entry: a byte order mark, which with ignoreBOM reaches JSON.parse and is
// refused there as it is by us; and a __proto__ key, which JSON.parse makes an own property.

// --- the comparison -----------------------------------------------------------------------------

const counts = {
    texts: 0, accepted: 0, disagreements: 0, listed: listed.map(() => 0), doubles: 0, minusZeros: 0,
};

function parseAnswer(line) {
    if (line.startsWith('accepted ')) {
        return { accepted: true, dump: line.slice(9) };
    }
    const [, code, offset] = line.split(' ');
    return { accepted: false, code: Number(code), offset: Number(offset) };
}

function report(what, bytes, ours, theirs) {
    counts.disagreements++;
    if (counts.disagreements <= 10) {
        console.log(`disagreement: ${what}`);
        console.log(`  text: ${JSON.stringify(bytes.toString('latin1')).slice(0, 600)}`);
        console.log(`  ours: ${ours.slice(0, 300)}`);
        console.log(`  theirs: ${theirs.slice(0, 300)}`);
    }
}

function compareText(bytes, line) {
    const ours = parseAnswer(line);
    const theirs = otherOpinion(bytes);
    counts.texts++;
    counts.accepted += ours.accepted ? 1 : 0;
    if (!ours.accepted && theirs === null) {
        return;
    }
    const theirDump = theirs === null ? 'refused' : dump(theirs.value);
    if (ours.accepted && ours.dump === theirDump) {
        return;
    }
    const i = listed.findIndex((entry) => entry.applies(ours, theirs, bytes));
    if (i >= 0) {
        counts.listed[i]++;
        return;
    }
    report('text', bytes, line, theirDump);
}

function randomDouble() {
    const b = Buffer.alloc(8);
    switch (below(4)) {
    case 0: b.writeDoubleLE(Number(randomNumber())); break;
    case 1: b.writeDoubleLE(2 ** (below(2098) - 1074)); break;
    case 2:
        b.writeDoubleLE((random32() * 2 ** 21 + below(2 ** 21)) * oneOf([1, -1, 0.5, 4096, 1e-6]));
        break;
    default: b.writeUInt32LE(random32(), 0); b.writeUInt32LE(random32(), 4);
    }
    return Number.isFinite(b.readDoubleLE()) ? b : randomDouble();
}

function compareDouble(bytes, line) {
    const value = bytes.readDoubleLE();
    counts.doubles++;
    if (line === String(value)) {
        return;
    }
    if (Object.is(value, -0) && line === '-0') {
        // JavaScript writes 0; ours reads back as the same double.
        counts.minusZeros++;
        return;
    }
    report('double', bytes, line, String(value));
}

const probe = spawn(probePath, [], { stdio: ['pipe', 'pipe', 'inherit'] });
const pending = [];
let wake = null;
let rest = '';
let nAnswers = 0;

probe.stdout.setEncoding('latin1');
probe.stdout.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
        const { compare, bytes } = pending.shift();
        compare(bytes, line);
        nAnswers++;
    }
    if (pending.length === 0 && wake !== null) {
        wake();
    }
});

const ended = new Promise((resolve) => {
    probe.on('close', (status) => {
        resolve(status);
        // A probe that dies leaves questions open; do not wait for their answers.
        if (wake !== null) {
            wake();
        }
    });
});
let died = false;
ended.then(() => { died = true; });
probe.stdin.on('error', () => {});

async function ask(n, kind, make, compare) {
    for (let done = 0; done < n && !died; done += BATCH_TEXTS) {
        const chunks = [];
        for (let i = 0; i < Math.min(BATCH_TEXTS, n - done); i++) {
            const bytes = make();
            const head = Buffer.alloc(5);
            head[0] = kind.charCodeAt(0);
            head.writeUInt32LE(bytes.length, 1);
            chunks.push(head, bytes);
            pending.push({ compare, bytes });
        }
        chunks.push(Buffer.from('F\0\0\0\0', 'latin1'));
        const answered = new Promise((resolve) => { wake = resolve; });
        probe.stdin.write(Buffer.concat(chunks));
        await answered;
        wake = null;
    }
}

await ask(nTexts, 'J', randomText, compareText);
await ask(nDoubles, 'D', randomDouble, compareDouble);
probe.stdin.end();
const status = await ended;

const nListed = counts.listed.reduce((a, b) => a + b, 0) + counts.minusZeros;
listed.forEach((entry, i) => console.log(`listed: ${counts.listed[i]} × ${entry.name}`));
console.log(`listed: ${counts.minusZeros} × the double -0: we write -0, JavaScript 0`);
console.log(`accepted by us: ${counts.accepted} of ${counts.texts}; doubles written: ${counts.doubles}`);
console.log(`json differential: ${counts.texts} texts, ${counts.disagreements} disagreements, ` +
    `${nListed} listed`);
if (status !== 0 || counts.texts !== nTexts || counts.doubles !== nDoubles) {
    console.log(`the probe ended with ${status} after ${nAnswers} answers`);
    process.exit(1);
}
process.exit(counts.disagreements === 0 ? 0 : 1);
