// Compares the template engine of toolwire with Handlebars, byte for byte.
//
//   node templates_diff.mjs PROBE [TEMPLATES [SEED]]
//
// PROBE is the program of template_probe.c. First the cases of templates/cases.json, then random
// templates with random values, a third of them damaged. What one refuses the other must refuse, too,
// except where `listed` says otherwise.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [probePath, templatesArg = '4000', seedArg = '1'] = process.argv.slice(2);
const folder = fileURLToPath(new URL('.', import.meta.url));
if (!existsSync(folder + '../../node_modules/handlebars')) {
    console.log('SKIPPED: handlebars is not installed (scripts/setup test)');
    process.exit(77);
}
const { plain, render } = await import('./templates/handlebars.mjs');
const { Random, damage, template, values } = await import('./templates/generate.mjs');

// What we refuse on purpose though Handlebars renders it. `template_compile` says each with its place.
const listed = [
    ['a helper that is not there, where the text never comes to it', /^there is no (block )?helper '/],
    ['a block helper used as a value, where the text never comes to it', / begins a block: write /],
    ['a helper with too few or too many arguments, likewise', / takes \d+ arguments?, found \d+$/],
    ['named arguments', /^named arguments are not supported$/],
    ['the helpers lookup and log', /^the helper '(lookup|log)' is not supported$/],
    ['a helper that prints in the place of a block', / is a helper, and begins no block$/],
    ['block parameters of blocks that set none', /^block parameters belong to /],
    ['block parameters in brackets', /^a block parameter is a name without brackets$/],
    ['raw blocks, partials, decorators', / are not supported$/],
    ['calls and blocks nested too deeply', / nested deeper than \d+$/],
];
const counts = { cases: 0, random: 0, rendered: 0, refused: 0, disagreements: 0, listed: listed.map(() => 0) };

function report(question, ours, theirs) {
    counts.disagreements++;
    if (counts.disagreements <= 10) {
        console.log(`disagreement${question.name === undefined ? '' : ': ' + question.name}`);
        console.log(`  template: ${JSON.stringify(question.template)}`);
        console.log(`  values: ${question.json ?? JSON.stringify(question.values)}`);
        console.log(`  ours: ${JSON.stringify(ours)}`);
        console.log(`  theirs: ${JSON.stringify(theirs)}`);
    }
}

function compare(question, line) {
    const theirs = render(question.template, question.values ?? JSON.parse(question.json));
    const [, kind, rest] = /^(\S+) ?(.*)$/s.exec(line);
    if (kind === 'ok') {
        counts.rendered++;
        const text = Buffer.from(rest, 'hex');
        if ((question.text !== undefined && question.text !== text.toString()) || theirs.text === undefined || Buffer.compare(text, Buffer.from(theirs.text)) !== 0) {
            report(question, text.toString(), theirs);
        }
        return;
    }
    counts.refused++;
    const message = rest.replace(/^\d+ \d+ /, '');
    if (question.error !== undefined) {
        if (line !== question.error) {
            report(question, line, question.error);
        }
    }
    if (theirs.error === undefined) {
        const i = kind === 'syntax' ? listed.findIndex(([, pattern]) => pattern.test(message)) : -1;
        if (i < 0) {
            report(question, line, theirs);
        } else {
            counts.listed[i]++;
        }
    } else if (question.name !== undefined && question.error === undefined) {
        report(question, line, theirs);
    }
}

async function ask(questions) {
    const probe = spawn(probePath, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    const chunks = [];
    let answers = '';
    for (const { template: text, values: object, json } of questions) {
        const bytes = Buffer.from(JSON.stringify({ template: text, values: object, json }));
        const head = Buffer.alloc(4);
        head.writeUInt32LE(bytes.length);
        chunks.push(head, bytes);
    }
    probe.stdin.on('error', () => {});
    probe.stdin.end(Buffer.concat(chunks));
    probe.stdout.setEncoding('utf8');
    for await (const chunk of probe.stdout) {
        answers += chunk;
    }
    const lines = answers.split('\n');
    lines.pop();
    if (lines.length !== questions.length) {
        console.log(`the probe answered ${lines.length} of ${questions.length} questions`);
        process.exit(1);
    }
    lines.forEach((line, i) => compare(questions[i], line));
}

const file = JSON.parse(readFileSync(folder + 'templates/cases.json', 'utf8'));
const cases = file.cases.map((one) => (one.json === undefined ? { values: file.values, ...one } : one));
await ask(cases);
counts.cases = cases.length;

const random = new Random(Number(seedArg));
for (let left = Number(templatesArg); left > 0;) {
    const batch = [];
    for (; left > 0 && batch.length < 1000; left--) {
        const text = template(random);
        batch.push({ template: random.chance(33) ? damage(random, text) : text, values: values(random) });
    }
    await ask(batch);
    counts.random += batch.length;
}

// Why handlebars.mjs changes one thing; should Handlebars mend it, the change can go.
const sum = plain.compile('{{a}}{{b}}', { noEscape: true })({ a: 1, b: 2 });
console.log(`${counts.cases} cases, ${counts.random} random templates: ${counts.rendered} rendered, ` +
    `${counts.refused} refused, ${counts.disagreements} disagreements`);
counts.listed.forEach((n, i) => console.log(`  listed: ${n} ${listed[i][0]}`));
console.log(`  (Handlebars adds numbers: {{a}}{{b}} of 1 and 2 is ${sum})`);
process.exit(counts.disagreements === 0 ? 0 : 1);
