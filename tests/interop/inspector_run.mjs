// The command line of the MCP Inspector, at one server and in one of its three eras.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { assert } from './checks.mjs';

const PROGRAM = path.join(
    path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
    'clients/launcher/build/index.js');

/** `target` is a command with its arguments, or `{ url }`. */
export async function newInspector(era, target) {
    const home = await mkdtemp(path.join(tmpdir(), 'inspector-')); // it writes there
    const where = target.url === undefined ? [target.command, ...target.args] : [target.url.href, '--transport', 'http'];

    /** One run: exit status, the JSON of stdout, and stderr. */
    function inspect(...words) {
        const own = ['--cli', ...where, '--format', 'json', '--quiet', '--protocol-era', era, ...words];
        return new Promise((resolve, reject) => {
            const child = spawn(process.execPath, [PROGRAM, ...own], {
                env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'],
            });
            let stdout = '';
            let stderr = '';
            child.stdout.on('data', (chunk) => { stdout += chunk; });
            child.stderr.on('data', (chunk) => { stderr += chunk; });
            child.on('error', reject);
            child.on('close', (status) => {
                try {
                    resolve({ status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout).result });
                } catch (error) {
                    reject(new Error(`${error.message}: ${stdout} ${stderr}`));
                }
            });
        });
    }

    return {
        inspect,
        async succeeds(...words) {
            const { status, result, stderr } = await inspect(...words);
            assert.equal(status, 0, stderr);
            return result;
        },
        remove: () => rm(home, { recursive: true, force: true }),
    };
}

/** The words of a call. */
export const call = (name, ...words) => ['--method', 'tools/call', '--tool-name', name, ...words];

/** All tests: each run starts programs, so two at a time keep a small machine busy. */
export async function runTests(checks, tests) {
    const queue = [...tests];
    const worker = async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
            await checks.check(...next);
        }
    };
    await Promise.all([worker(), worker()]);
}
