// toolkit/ignore beside `git check-ignore`: the same .gitignore files, the same paths.
//
//   node ignore_diff.mjs PROBE ROUNDS [SEED]
//
// Each round makes a repository in a folder of its own, with .gitignore files of random patterns in some of its
// folders, and asks git and the probe which of its files and folders are ignored.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [probe, rounds = '60', seedText = '1'] = process.argv.slice(2);
if (spawnSync('git', ['--version']).status !== 0) {
    console.log('SKIPPED: no git on this machine');
    process.exit(77);
}

let seed = Number(seedText);
function random(n) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 4294967296) * n);
}
const pick = (list) => list[random(list.length)];

const names = ['a', 'b', 'ab', 'A', 'a.c', 'b.o', 'x y', 'a ', '#a', '!a', 'a\\b', '[a]', '*', 'foo', 'fool', 'BAR', 'bar.c', '-', '.h', 'é'];
const tokens = ['a', 'b', 'ab', 'foo', 'bar', 'A', 'BAR', '.c', '.o', '*', '*', '**', '**/', '/**', '/**/', '/', '/', '?', '[ab]', '[!a]',
    '[^b]', '[a-c]', '[A-C]', '[[:alpha:]]', '[[:upper:]]', '[[:punct:]]', '[]a]', '[a', '[', ']', '\\a', '\\A', '\\*', '\\ ', '\\\\', '\\', ' ',
    ' ', '#', '!', '-', '.', 'x y', '\t', '\r', 'é', '***', '\\/', '[a\\]]', '[[:x:]]', '[--a]', '[z-a]', '*/', '/*/'];

function pattern() {
    const kind = random(10);
    let text = kind === 0 ? '!' : kind === 1 ? '/' : '';
    if (kind === 2) {
        return pick(names) + pick(['', '/', ' ', '/*']);
    }
    for (let i = 1 + random(4); i > 0; i--) {
        text += pick(tokens);
    }
    return text + pick(['', '', '', '/', ' ', '\r']);
}

function ignoreFile() {
    let text = random(12) === 0 ? '\uFEFF' : '';
    for (let i = 1 + random(6); i > 0; i--) {
        text += pattern() + '\n';
    }
    return random(4) === 0 ? text.slice(0, -1) : text;
}

// Folders and files, as relative paths; folders end in a slash.
function makeTree(root) {
    const folders = [''];
    const paths = new Set();
    for (let i = 0; i < 60; i++) {
        const folder = pick(folders);
        const path = folder + pick(names);
        if (paths.has(path) || paths.has(`${path}/`)) {
            continue;
        }
        if (random(3) === 0 && folder.split('/').length < 5) {
            mkdirSync(join(root, path));
            folders.push(`${path}/`);
            paths.add(`${path}/`);
        } else {
            writeFileSync(join(root, path), '');
            paths.add(path);
        }
    }
    return { folders, paths: [...paths] };
}

function git(root, args, input = '') {
    return spawnSync('git', ['-C', root, ...args], {
        input,
        encoding: 'utf8',
        env: { ...process.env, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', HOME: root, XDG_CONFIG_HOME: root },
    });
}

let asked = 0;
let ignored = 0;
for (let round = 0; round < Number(rounds); round++) {
    const root = mkdtempSync(join(tmpdir(), 'tw-ignore-'));
    const start = seed;
    const noCase = random(4) === 0;
    try {
        const made = git(root, ['init', '-q']);
        if (made.status !== 0) {
            throw new Error(`git init: ${made.stderr}`);
        }
        git(root, ['config', 'core.ignorecase', String(noCase)]);
        rmSync(join(root, '.git/info/exclude'), { force: true });
        const { folders, paths } = makeTree(root);
        const files = [];
        for (const folder of folders) {
            if (folder === '' || random(3) === 0) {
                const text = ignoreFile();
                writeFileSync(join(root, folder, '.gitignore'), text);
                files.push([folder, Buffer.from(text)]);
            }
        }
        const byGit = git(root, ['check-ignore', '--no-index', '-z', '--stdin'], `${paths.map((p) => p.replace(/\/$/, '')).join('\0')}\0`);
        if (byGit.status > 1) {
            throw new Error(`git check-ignore: ${byGit.stderr}`);
        }
        const expected = new Set(byGit.stdout.split('\0').filter((p) => p !== ''));
        const input = Buffer.concat([
            Buffer.from(`I ${noCase ? 1 : 0}\n`),
            ...files.flatMap(([folder, text]) => [Buffer.from(`F ${text.length} ${folder.replace(/\/$/, '') || '.'}\n`), text]),
            Buffer.from(paths.map((p) => `P ${p}\n`).join('')),
        ]);
        const byUs = spawnSync(probe, { input, encoding: 'utf8' });
        if (byUs.status !== 0) {
            throw new Error(`probe: ${byUs.stderr}`);
        }
        const found = new Set(byUs.stdout.split('\n').slice(1, -1).map((p) => p.replace(/\/$/, '')));
        for (const path of paths.map((p) => p.replace(/\/$/, ''))) {
            asked++;
            ignored += expected.has(path) ? 1 : 0;
            if (expected.has(path) !== found.has(path)) {
                console.error(`seed ${start}, ignorecase ${noCase}: ${JSON.stringify(path)} is ${expected.has(path) ? '' : 'not '}ignored by git`);
                console.error(git(root, ['check-ignore', '--no-index', '-v', '-n', path]).stdout);
                for (const [folder, text] of files) {
                    console.error(`${folder}.gitignore: ${JSON.stringify(text.toString())}`);
                }
                process.exitCode = 1;
            }
        }
    } finally {
        rmSync(root, { recursive: true });
    }
    if (process.exitCode === 1) {
        break;
    }
}
console.log(`ignore_diff: ${asked} paths asked, ${ignored} ignored by git${process.exitCode === 1 ? '' : ', all alike'}`);
if (asked > 1000 && (ignored < asked / 20 || ignored > (asked * 19) / 20)) {
    console.error('ignore_diff: the patterns say nothing');
    process.exitCode = 1;
}
