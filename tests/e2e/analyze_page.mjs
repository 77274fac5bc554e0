// The pictures of `toolwire analyze`, opened in Chromium from their files: what is drawn, what the keyboard and the
// mouse show, that nothing is asked of a network, and that both schemes of colour show something.
//
//   analyze_page.mjs TOOLWIRE
//
// Exit 77, with the reason, where Chromium or playwright-core is missing: the test is skipped, not passed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inflateSync } from 'node:zlib';

function skip(why) {
    console.log(`SKIPPED: ${why}`);
    process.exit(77);
}

const toolwire = resolve(process.argv[2]);
const { chromium } = await import('playwright-core').catch(() => skip('the npm package playwright-core is not installed; run scripts/setup test'));
const browserPath = (process.env.PATH ?? '').split(':').flatMap((folder) => ['chromium', 'chromium-browser'].map((name) => join(folder, name)))
    .find((path) => {
        try {
            accessSync(path, constants.X_OK);
            return true;
        } catch {
            return false;
        }
    }) ?? skip('there is no chromium on PATH; run scripts/setup test');

let passed = 0;
let failed = 0;
function check(what, is, detail = '') {
    if (is) {
        passed++;
    } else {
        failed++;
        console.log(`FAILED: ${what} ${detail}`);
    }
}

// ---- a project whose names would like to be something else ----

const dir = mkdtempSync(join(tmpdir(), 'tw-page-'));
const project = join(dir, 'project');
const files = {
    'src/large.c': 60,
    'src/middle.c': 30,
    'src/io/small.c': 10,
    'src/io/<script>window.hacked = 1<%2Fscript>.c': 20,
    "src/it's \"quoted\" & <b>bold<%2Fb>.c": 20,
    'new\nline.c': 20,
    '日本語/ファイル.c': 20,
    '\u202Eright.c': 20,
    'img/<img src=x onerror=window.hacked=1>.c': 20,
};
const git = (date, ...words) => execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
    cwd: project,
    env: { ...process.env, HOME: dir, GIT_CONFIG_NOSYSTEM: '1', GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
});
// n lines of code, the more the deeper.
function code(n) {
    const inner = Array.from({ length: n - 4 }, (_, i) => `    if (a > ${i}) { a++; }`);
    return ['int f(int a)', '{', ...inner, '    return a;', '}', ''].join('\n');
}
mkdirSync(project);
git('2026-03-01T00:00Z', 'init', '-q');
for (const [name, n] of Object.entries(files)) {
    mkdirSync(join(project, name, '..'), { recursive: true });
    writeFileSync(join(project, name), code(n));
}
git('2026-03-01T00:00Z', 'add', '.');
git('2026-03-01T00:00Z', 'commit', '-qm', 'first');
writeFileSync(join(project, 'src/middle.c'), `${code(30)}/* more */\n`);
git('2026-03-02T00:00Z', 'commit', '-qam', 'second');

const analyze = (...words) => execFileSync(toolwire, ['analyze', ...words], {
    cwd: dir, env: { ...process.env, HOME: dir, XDG_STATE_HOME: join(dir, 'state') }, stdio: ['ignore', 'pipe', 'inherit'],
});
analyze('complexity', 'project', '--svg', 'complexity.svg', '--html', 'complexity.html');
analyze('churn', 'project', '--days', '0', '--html', 'churn.html');
analyze('hotspots', 'project', '--days', '0', '--svg', 'hotspots.svg', '--html', 'hotspots.html');

// ---- what a picture must be ----

// As it is shown: names keep to one line, and read as they are stored.
const shown = (name) => name.replace('\n', '\\x0a').replace('\u202E', '\\u202e');

// The colours of a screenshot's pixels: PNG of 8 bits, RGB or RGBA, as Chromium writes it.
function coloursOf(png) {
    let at = 8;
    let width = 0;
    let channels = 0;
    const parts = [];
    while (at < png.length) {
        const length = png.readUInt32BE(at);
        const kind = png.toString('latin1', at + 4, at + 8);
        const data = png.subarray(at + 8, at + 8 + length);
        if (kind === 'IHDR') {
            width = data.readUInt32BE(0);
            channels = data[9] === 6 ? 4 : 3;
        } else if (kind === 'IDAT') {
            parts.push(data);
        }
        at += length + 12;
    }
    const raw = inflateSync(Buffer.concat(parts));
    const stride = width * channels;
    const colours = new Map();
    let before = Buffer.alloc(stride);
    for (let row = 0; row * (stride + 1) < raw.length; row++) {
        const filter = raw[row * (stride + 1)];
        const line = Buffer.from(raw.subarray(row * (stride + 1) + 1, (row + 1) * (stride + 1)));
        for (let i = 0; i < stride; i++) {
            const a = i >= channels ? line[i - channels] : 0;
            const b = before[i];
            const c = i >= channels ? before[i - channels] : 0;
            const p = a + b - c;
            const nearest = Math.abs(p - a) <= Math.abs(p - b) && Math.abs(p - a) <= Math.abs(p - c) ? a : Math.abs(p - b) <= Math.abs(p - c) ? b : c;
            line[i] += [0, a, b, (a + b) >> 1, nearest][filter];
        }
        for (let i = 0; i < stride; i += channels) {
            const colour = (line[i] << 16) | (line[i + 1] << 8) | line[i + 2];
            colours.set(colour, (colours.get(colour) ?? 0) + 1);
        }
        before = line;
    }
    return colours;
}

const brightness = (colour) => (colour >> 16) + ((colour >> 8) & 255) + (colour & 255);

async function checkPicture(browser, file, scheme, hasScatter) {
    const name = `${file} (${scheme})`;
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, colorScheme: scheme });
    const said = [];
    const asked = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    page.on('request', (request) => asked.push(request.url()));
    const url = pathToFileURL(join(dir, file)).href;
    await page.goto(url);

    const marks = await page.evaluate(() => Array.from(document.querySelectorAll('.map .m'), (mark) => {
        const rect = mark.querySelector('rect');
        const number = (key) => Number(rect.getAttribute(key));
        return { title: mark.querySelector('title').textContent, label: mark.querySelector('text')?.textContent ?? '',
                 x: number('x'), y: number('y'), w: number('width'), h: number('height') };
    }));
    check(`${name}: every file is a rectangle`, marks.length === Object.keys(files).length, String(marks.length));
    const total = Object.values(files).reduce((a, b) => a + b, 0);
    for (const [path, lines] of Object.entries(files)) {
        const mark = marks.find((one) => one.title.startsWith(`${shown(path)}\n`));
        check(`${name}: ${shown(path)} is there`, mark !== undefined, JSON.stringify(marks.map((one) => one.title)));
        if (mark) {
            const wanted = 1200 * 720 * lines / total;
            check(`${name}: ${shown(path)} is as large as its lines`, Math.abs(mark.w * mark.h - wanted) < 25, `${mark.w * mark.h} for ${wanted}`);
            check(`${name}: ${shown(path)} tells its figures`, mark.title.includes(`code lines ${lines}`), mark.title);
        }
    }
    check(`${name}: a large file has its name on it`, marks.some((one) => one.label === 'large.c'));
    const overlap = (a, b) => a.x + 0.02 < b.x + b.w && b.x + 0.02 < a.x + a.w && a.y + 0.02 < b.y + b.h && b.y + 0.02 < a.y + a.h;
    check(`${name}: nothing overlaps`, !marks.some((a, i) => marks.some((b, j) => i < j && overlap(a, b))));
    check(`${name}: all is on the map`, marks.every((one) => one.x >= 0 && one.y >= 0 && one.x + one.w <= 1200.01 && one.y + one.h <= 720.01));
    check(`${name}: folders have their names`, (await page.locator('.chip text').allTextContents()).includes('src'));
    // Text must not leave the rectangle that it is on.
    check(`${name}: labels are inside`, await page.evaluate(() => Array.from(document.querySelectorAll('.map .m text')).every((text) => {
        const inner = text.getBoundingClientRect();
        const outer = text.parentNode.querySelector('rect').getBoundingClientRect();
        return inner.left >= outer.left - 1 && inner.right <= outer.right + 1 && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
    })));
    const circles = await page.locator('.scatter circle').count();
    check(`${name}: points`, circles === (hasScatter ? marks.length : 0), String(circles));

    // The keyboard: Tab reaches the first file, arrows the next one, Home the first again.
    const detail = page.locator('#detail');
    await page.keyboard.press('Tab');
    const first = await detail.textContent();
    check(`${name}: the focus shows a file`, marks.some((one) => first === one.title.replace('\n', ' \u2014 ')), first);
    await page.keyboard.press('End');
    const last = await detail.textContent();
    check(`${name}: End shows another`, last !== first && last.includes('code lines'), last);
    await page.keyboard.press('Home');
    check(`${name}: Home goes back`, (await detail.textContent()) === first);
    const seen = new Set();
    for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp']) {
        await page.keyboard.press(key);
        seen.add(await detail.textContent());
    }
    check(`${name}: arrows move`, seen.size >= 2, JSON.stringify([...seen]));
    await page.locator('.map .m').filter({ hasText: 'src/middle.c' }).locator('rect').hover();
    check(`${name}: the mouse shows a file`, (await detail.textContent()).startsWith('src/middle.c \u2014 '));

    check(`${name}: nothing of a name runs`, await page.evaluate(() => window.hacked === undefined && document.querySelectorAll('script').length === 1 && document.querySelectorAll('b, img').length === 0));
    check(`${name}: nothing is said on the console`, said.length === 0, said.join('; '));
    check(`${name}: nothing is asked of a network`, asked.length === 1 && asked[0] === url, asked.join(' '));

    const colours = coloursOf(await page.screenshot({ path: join(dir, `${file}.${scheme}.png`) }));
    const commonest = [...colours].sort((a, b) => b[1] - a[1]);
    const ground = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--ground').trim());
    const wantedGround = scheme === 'dark' ? 0x121416 : 0xffffff;
    check(`${name}: the ground is ${scheme}`, (colours.get(wantedGround) ?? 0) > 1000, `${ground} ${commonest.slice(0, 4)}`);
    check(`${name}: it is not blank`, colours.size > 50 && commonest[0][1] < 1280 * 1000 * 0.9, String(colours.size));
    const dark = commonest.filter(([colour]) => brightness(colour) < 384).reduce((sum, [, n]) => sum + n, 0);
    check(`${name}: the scheme is followed`, scheme === 'dark' ? dark > 1280 * 1000 / 4 : dark < 1280 * 1000 / 4 * 3, String(dark));
    await page.close();
    return colours;
}

// A telephone: the page keeps to its width: what is wider is moved by itself.
async function checkNarrow(browser, file) {
    for (const width of [360, 320]) {
        const page = await browser.newPage({ viewport: { width, height: 740 } });
        await page.goto(pathToFileURL(join(dir, file)).href);
        const seen = await page.evaluate(() => {
            const root = document.documentElement;
            window.scrollTo(1000, 0);
            const moved = window.scrollX;
            const frame = document.querySelector('.wide');
            frame.scrollLeft = 100000;
            const last = frame.querySelector('tbody td:last-child').getBoundingClientRect();
            return { width: root.scrollWidth, moved, last: last.right, name: frame.querySelector('tbody th').getBoundingClientRect().width,
                     outside: Array.from(document.querySelectorAll('h1, h2, p, svg, .wide')).filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5).length };
        });
        check(`${file}: nothing scrolls sideways at ${width} pixels`, seen.width <= width && seen.moved === 0 && seen.outside === 0, JSON.stringify(seen));
        check(`${file}: the table's last column is reached at ${width} pixels`, seen.last <= width, JSON.stringify(seen));
        check(`${file}: names stay readable at ${width} pixels`, seen.name >= 100, JSON.stringify(seen));
        await page.close();
    }
}

// The policy of a page lets run what it names by its hash, and nothing else.
function checkPolicy(file) {
    const text = readFileSync(join(dir, file), 'utf8');
    const script = text.match(/<script>([\s\S]*?)<\/script>/)[1];
    const hash = createHash('sha256').update(script).digest('base64');
    check(`${file}: the policy names the script`, text.includes(`script-src 'sha256-${hash}'`), hash);
    check(`${file}: and nothing else`, text.includes("default-src 'none'"));
}

let browser;
try {
    // Tests run as root in containers, where Chromium's own sandbox cannot be made; the pages are our own.
    browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
    for (const [file, hasScatter] of [['complexity.svg', false], ['complexity.html', false], ['churn.html', false], ['hotspots.svg', true], ['hotspots.html', true]]) {
        const light = await checkPicture(browser, file, 'light', hasScatter);
        const dark = await checkPicture(browser, file, 'dark', hasScatter);
        check(`${file}: the schemes differ`, (light.get(0x121416) ?? 0) < (dark.get(0x121416) ?? 0));
    }
    for (const file of ['complexity.html', 'churn.html', 'hotspots.html']) {
        checkPolicy(file);
        await checkNarrow(browser, file);
    }
    // A page in which somebody has put a script of his own does not run it.
    const page = await browser.newPage();
    writeFileSync(join(dir, 'other.html'), readFileSync(join(dir, 'complexity.html'), 'utf8').replace('</h1>', '</h1><script>window.hacked = 1</script>'));
    await page.goto(pathToFileURL(join(dir, 'other.html')).href);
    check('a script of somebody else does not run', await page.evaluate(() => window.hacked === undefined));
} finally {
    await browser?.close();
    if (process.env.TW_KEEP_PICTURES) {
        console.log(`pictures: ${dir}`);
    } else {
        rmSync(dir, { recursive: true, force: true });
    }
}
console.log(`pages: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
