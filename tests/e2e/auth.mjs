// `toolwire auth` with a real authorization server (support/auth_server.mjs): login, use, renewal, more scopes, logout, DPoP,
// and servers that lie.
//
//   auth.mjs TOOLWIRE
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { assert, Checks } from '../interop/checks.mjs';
import { AuthServer } from '../support/auth_server.mjs';

const toolwire = path.resolve(process.argv[2]);
const checks = new Checks('auth');

/** GET without following; resolves to the answer with its body. */
const get = (url, headers = {}) => new Promise((resolve, reject) => {
    request(url, { headers }, (res) => {
        let body = '';
        res.on('data', (chunk) => { body += chunk; });
        res.on('end', () => resolve({ status: res.statusCode, location: res.headers.location, body }));
    }).on('error', reject).end();
});

/** What a browser does with a page: the redirect is followed. */
async function browse(url) {
    const page = await get(url);
    return page.location ? get(page.location) : page;
}

/** Runs it; page(url) is called with the address that it prints. */
function run(state, args, { page = browse, env = {} } = {}) {
    return new Promise((resolve) => {
        const words = args[0] === 'login' || args[0] === 'ls' || args[0] === 'logout' ? ['auth', ...args, '--state', state] : args;
        const child = spawn(toolwire, words, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
        const out = { stdout: '', stderr: '', pages: [] };
        const seen = new Set();
        child.stdout.on('data', (chunk) => { out.stdout += chunk; });
        child.stderr.on('data', (chunk) => {
            out.stderr += chunk;
            for (const [url] of out.stderr.matchAll(/^http\S+(?=\n)/gm)) {
                if (!seen.has(url)) {
                    seen.add(url);
                    out.pages.push(Promise.resolve(page(url)));
                }
            }
        });
        child.on('close', async (status) => resolve({ ...out, status, pages: await Promise.all(out.pages) }));
    });
}

async function withServer(options, fn) {
    const server = await new AuthServer(options).start();
    const state = mkdtempSync(path.join(tmpdir(), 'tw-auth-'));
    try {
        await fn(server, state, (...args) => run(state, ['login', server.url, '--no-browser', ...args]));
    } finally {
        server.stop();
        rmSync(state, { recursive: true });
    }
}

const check = (name, options, fn) => checks.check(name, () => withServer(options, fn));
const stored = (state) => JSON.parse(readFileSync(path.join(state, 'credentials.json'), 'utf8')).credentials;
/** Its token ends in some seconds. */
function age(state) {
    const file = path.join(state, 'credentials.json');
    const now = Math.floor(Date.now() / 1000);
    const text = readFileSync(file, 'utf8').replace(/"expires_s": \d+/, `"expires_s": ${now + 20}`);
    writeFileSync(file, text.replace(/"saved_s": \d+/, `"saved_s": ${now - 3000}`));
}
const done = (result) => assert.equal(result.status, 0, result.stderr);

// ---- the way it goes ----

await check('login, list, logout', { scopes: ['r', 'w'] }, async (server, state, login) => {
    const first = await login();
    done(first);
    assert.equal(first.stdout, `logged in: ${server.url}\n`);
    assert.match(first.pages[0].body, /You may close this page/);
    assert.deepEqual(server.log, ['metadata of the resource', 'metadata of the issuer', 'register', 'authorize r w',
        'token authorization_code', 'mcp ping']);
    assert.equal(statSync(path.join(state, 'credentials.json')).mode & 0o777, 0o600);
    const again = await login();
    done(again);
    assert.equal(again.pages.length, 0);
    assert.equal(server.log.at(-1), 'mcp ping');
    const [credential] = stored(state);
    const list = await run(state, ['ls']);
    assert.match(list.stdout, /60 min left, can be renewed/);
    const machine = await run(state, ['ls', '--json']);
    assert.equal(JSON.parse(machine.stdout)[0].issuer, server.issuer);
    for (const secret of [credential.access_token, credential.refresh_token]) {
        assert.ok(!list.stdout.includes(secret) && !machine.stdout.includes(secret));
    }
    assert.equal((await run(state, ['logout', server.url])).status, 0);
    assert.deepEqual(stored(state), []);
    assert.equal((await run(state, ['logout', server.url])).status, 1);
    assert.equal((await run(state, ['ls'])).stdout, 'there are no credentials\n');
});

await check('commands show the token, renew it, and say what is to be done without one', { needs: { 'tools/call': 'w' }, scope: 'r' },
    async (server, state) => {
        const own = path.join(state, 'toolwire');
        const env = { XDG_STATE_HOME: state };
        const call = () => run(own, ['call', '--server', server.url, 'guarded'], { env });
        const before = await run(own, ['tools', '--server', server.url], { env });
        assert.equal(before.status, 1);
        assert.ok(before.stderr.includes(`toolwire auth login ${server.url}`), before.stderr);
        done(await run(own, ['login', server.url, '--no-browser']));
        const after = await run(own, ['tools', '--server', server.url], { env });
        done(after);
        assert.match(after.stdout, /guarded/);
        server.tokens.clear();
        const forbidden = await call();
        assert.equal(server.count('token refresh_token'), 1);
        assert.equal(forbidden.status, 1);
        server.options.needs = {};
        const called = await call();
        done(called);
        assert.equal(called.stdout, 'let in\n');
    });

await check('a token that ends is renewed early and once', {}, async (server, state, login) => {
    done(await login());
    age(state);
    const second = await login();
    done(second);
    assert.equal(second.pages.length, 0);
    assert.equal(server.count('token refresh_token'), 1);
    assert.equal(server.count('metadata of the issuer'), 1);
    done(await login());
    assert.equal(server.count('token refresh_token'), 1);
    server.options.lifetime = 1;
    age(state);
    done(await login());
});

await check('a token that was revoked is renewed; both revoked: the person is asked', {}, async (server, state, login) => {
    done(await login());
    server.tokens.clear();
    const renewed = await login();
    done(renewed);
    assert.equal(renewed.pages.length, 0);
    assert.equal(server.count('token refresh_token'), 1);
    server.tokens.clear();
    server.refreshes.clear();
    const asked = await login();
    done(asked);
    assert.equal(asked.pages.length, 1);
    assert.equal(server.count('token refused: invalid_grant'), 1);
    assert.equal(server.count('register'), 1);
});

await check('several processes renew a token once', {}, async (server, state) => {
    const own = path.join(state, 'toolwire');
    done(await run(own, ['login', server.url, '--no-browser']));
    server.tokens.clear();
    const calls = await Promise.all([1, 2, 3, 4].map(() => run(own, ['call', '--server', server.url, 'guarded'], { env: { XDG_STATE_HOME: state } })));
    for (const call of calls) done(call);
    assert.equal(server.count('token refresh_token'), 1);
    assert.equal(server.count('token refused: invalid_grant'), 0);
    assert.deepEqual(readdirSync(own).filter((name) => name.startsWith('credentials')), ['credentials.json']);
});

await check('an authorization server that is ill costs no token', {}, async (server, state, login) => {
    done(await login());
    age(state);
    server.options.ill = true;
    done(await login());
    assert.ok(stored(state)[0].refresh_token);
});

await check('more scopes are asked for beside the old ones', { scope: 'r' }, async (server, state, login) => {
    done(await login());
    server.options.needs = { ping: 'w' };
    done(await login());
    assert.equal(server.count('authorize r w'), 1);
    server.options.needs = { ping: 'w2' };
    server.options.redirect = { error: 'access_denied' };
    const denied = await login();
    assert.equal(denied.status, 1);
    assert.match(denied.stderr, /access_denied/);
});

await check('who is not asked says which scopes to log in with, and that helps', { scope: 'r' }, async (server, state) => {
    const own = path.join(state, 'toolwire');
    const call = () => run(own, ['call', '--server', server.url, 'guarded'], { env: { XDG_STATE_HOME: state } });
    done(await run(own, ['login', server.url, '--no-browser']));
    server.options.needs = { 'tools/call': 'w' };
    const refused = await call();
    assert.equal(refused.status, 1);
    assert.ok(refused.stderr.includes(`toolwire auth login ${server.url} --scope 'r w'`), refused.stderr);
    const wider = await run(own, ['login', server.url, '--no-browser', '--scope', 'r w']);
    done(wider);
    assert.equal(wider.pages.length, 1);
    assert.equal(server.count('authorize r w'), 1);
    done(await call());
    const again = await run(own, ['login', server.url, '--no-browser', '--scope', 'w']);
    done(again);
    assert.equal(again.pages.length, 0);
});

await check('scopes that are never granted are not asked for again and again', { scope: 'r' }, async (server, state, login) => {
    server.options.needs = { ping: 'w' };
    server.give = ((give) => function (res, client, scope, ...rest) { return give.call(this, res, client, 'r', ...rest); })(server.give);
    const result = await login();
    assert.equal(result.status, 1);
    assert.match(result.stderr, /asked for already/);
    assert.equal(result.pages.length, 2);
});

for (const methods of [['client_secret_basic'], ['client_secret_post']]) {
    await check(`clients show themselves by ${methods}`, { methods }, async (server, state, login) => {
        done(await login());
        assert.equal(server.count('token authorization_code'), 1);
    });
}

await check('tokens are bound to a key, and both servers want nonces', { dpop: true, nonce: 'n1' }, async (server, state, login) => {
    done(await login());
    assert.equal(server.count('token refused: use_dpop_nonce'), 1);
    assert.equal(stored(state)[0].token_type, 'DPoP');
    server.options.nonce = 'n2';
    done(await login());
    server.tokens.clear();
    done(await login());
    assert.equal(server.count('token refresh_token'), 1);
});

await check('nonces that are good for one request, and many requests at once', { dpop: true, nonce: 'once' }, async (server, state, login) => {
    const config = path.join(state, 'c.json');
    done(await login());
    writeFileSync(config, JSON.stringify({ mcpServers: { u: { url: server.url } } }));
    const child = spawn(toolwire, ['serve', '--alone', '--no-toolkit', '--config', config, '--state', state], { stdio: ['pipe', 'pipe', 'inherit'] });
    const answers = new Map();
    const say = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const called = (ids) => new Promise((resolve) => {
        let text = '';
        child.stdout.removeAllListeners('data');
        child.stdout.on('data', (chunk) => {
            text += chunk;
            const lines = text.split('\n');
            text = lines.pop();
            for (const line of lines) answers.set(JSON.parse(line).id, JSON.parse(line));
            if (ids.every((id) => answers.has(id))) resolve();
        });
    });
    const first = called([1, 2]);
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
    say({ method: 'notifications/initialized' });
    say({ id: 2, method: 'tools/call', params: { name: 'guarded', arguments: {} } });
    await first;
    const ids = Array.from({ length: 20 }, (_, i) => 10 + i);
    const all = called(ids);
    for (const id of ids) say({ id, method: 'tools/call', params: { name: 'guarded', arguments: {} } });
    await all;
    child.stdin.end();
    for (const id of [2, ...ids]) assert.equal(answers.get(id).result?.content?.[0]?.text, 'let in', JSON.stringify(answers.get(id)));
    await new Promise((resolve) => { child.on('close', resolve); });
});

await check('a new issuer gets a new registration', {}, async (server, state, login) => {
    done(await login());
    const other = await new AuthServer().start();
    other.url = server.url;
    server.options.as = other.issuer;
    server.tokens = other.tokens;
    done(await login());
    assert.deepEqual([other.count('register'), other.count('token authorization_code')], [1, 1]);
    assert.equal(server.count('token refresh_token'), 0);
    assert.equal(stored(state).length, 2);
    other.stop();
});

await check('a client alone', { methods: ['client_secret_basic'] }, async (server, state) => {
    server.clients.set('c', { client_id: 'c', client_secret: 's/:' });
    const result = await run(state, ['login', server.url, '--grant', 'client_credentials', '--client-id', 'c', '--client-secret-env', 'SECRET'],
        { env: { SECRET: 's/:' } });
    done(result);
    assert.equal(result.pages.length, 0);
});

await check('the browser of the system gets the address', {}, async (server, state) => {
    const bin = path.join(state, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'xdg-open'), `#!/bin/sh\nexec '${process.execPath}' -e 'fetch(process.argv[1])' "$1"\n`);
    chmodSync(path.join(bin, 'xdg-open'), 0o755);
    const result = await run(state, ['login', server.url], { page: () => {}, env: { PATH: `${bin}:${process.env.PATH}` } });
    done(result);
});

// ---- who comes to the redirect ----

await check('strangers at the redirect are sent away, and change nothing', {}, async (server, state) => {
    const seen = [];
    const result = await run(state, ['login', server.url, '--no-browser'], {
        page: async (url) => {
            const { location } = await get(url);
            const back = new URL(location);
            const other = (change) => { const copy = new URL(back); change(copy); return get(copy, { Host: back.host }); };
            seen.push((await other((copy) => copy.searchParams.set('state', 'guess'))).status);
            seen.push((await other((copy) => { copy.search = '?code=injected'; })).status);
            seen.push((await other((copy) => { copy.pathname = '/'; })).status);
            seen.push((await get(back, { Host: 'evil.example' })).status);
            seen.push((await get(back)).status);
        },
    });
    done(result);
    assert.deepEqual(seen, [400, 400, 404, 404, 200]);
});

await check('nobody comes: it ends', {}, async (server, state) => {
    const result = await run(state, ['login', server.url, '--no-browser', '--timeout', '50ms'], { page: () => {} });
    assert.equal(result.status, 1);
    assert.match(result.stderr, /nobody has logged in/);
});

await check('the answer of another issuer is refused, and its code shown to nobody', {}, async (server, state, login) => {
    for (const redirect of [{ iss: 'https://evil.example' }, { iss: `${server.issuer}/` }]) {
        server.options.redirect = redirect;
        const result = await login();
        assert.equal(result.status, 1);
        assert.match(result.stderr, /another issuer/);
        assert.match(result.pages[0].body, /did not work/);
    }
    server.options.iss = true;
    server.options.redirect = {};
    const { authorize } = server;
    server.authorize = function (res, query) {
        this.options.iss = false;
        authorize.call(this, res, query);
        this.options.iss = true;
    };
    assert.match((await login()).stderr, /has no 'iss'/);
    assert.equal(server.count('token authorization_code'), 0);
});

// ---- servers that lie ----

const lies = [
    ['metadata of another resource', { prm: { body: { resource: 'https://evil.example/mcp', authorization_servers: ['https://x'] } } }, /another resource/],
    ['metadata of another issuer', { metadata: { issuer: 'https://evil.example' } }, /another issuer/],
    ['no PKCE', { metadata: { code_challenge_methods_supported: ['plain'] } }, /PKCE/],
    ['an issuer without TLS', { as: 'http://192.0.2.1' }, /not https/],
    ['a page of another scheme', { metadata: { authorization_endpoint: 'javascript:alert(1)' } }, /not an address/],
    ['a token endpoint without TLS', { metadata: { token_endpoint: 'http://192.0.2.1/t' } }, /not https/],
    ['metadata elsewhere', { prm: { header: 'http://127.0.0.1:1/x' } }, /another server/],
    ['metadata in a file', { prm: { header: 'file:///etc/passwd' } }, /not an address/],
    ['a redirect in place of metadata', { prm: { header: undefined, status: 302, body: '', headers: { Location: 'http://127.0.0.1:1/' } } },
        /metadata/],
    ['endless metadata', { prm: { body: ' '.repeat(1 << 20) } }, /./],
    ['no JSON', { metadata: '<html>' }, /not JSON/],
];
for (const [name, options, words] of lies) {
    await check(`refused: ${name}`, options, async (server, state, login) => {
        const result = await login();
        assert.equal(result.status, 1);
        assert.match(result.stderr, words);
        assert.equal(result.pages.length, 0);
        assert.equal(server.count('register'), 0);
    });
}

await check('tokens are not sent without TLS', {}, async (server, state) => {
    const result = await run(state, ['login', 'http://192.0.2.1/mcp']);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /https only/);
});

await check('a server that wants nothing', {}, async (server, state) => {
    const open = createServer((req, res) => res.end('{}')).listen(0, '127.0.0.1');
    await new Promise((resolve) => { open.on('listening', resolve); });
    const result = await run(state, ['login', `http://127.0.0.1:${open.address().port}/mcp`]);
    open.close();
    assert.equal(result.status, 1);
    assert.match(result.stderr, /asks for no authorization/);
});

await check('a server behind ours at a Unix socket needs no token', {}, async (server, state) => {
    const socket = path.join(state, 'x.sock');
    const config = path.join(state, 'c.json');
    const open = createServer(async (req, res) => {
        let text = '';
        for await (const chunk of req) text += chunk;
        if (req.method === 'POST') server.answer(res, JSON.parse(text));
        else res.writeHead(405).end();
    }).listen(socket);
    writeFileSync(config, JSON.stringify({ mcpServers: { u: { url: `http+unix:${socket}:/mcp` } } }));
    const result = await run(state, ['tools', '--server', `${toolwire} serve --no-toolkit --config ${config}`], { env: { XDG_STATE_HOME: state } });
    open.closeAllConnections();
    open.close();
    assert.match(result.stdout, /guarded/, result.stderr);
});

await check('a server behind ours has the credentials of the state folder', {}, async (server, state, login) => {
    const config = path.join(state, 'c.json');
    const elsewhere = path.join(state, 'elsewhere');
    done(await login());
    writeFileSync(config, JSON.stringify({ mcpServers: { u: { url: server.url } } }));
    const result = await run(state, ['tools', '--server', `${toolwire} serve --no-toolkit --config ${config} --state ${state}`],
        { env: { XDG_STATE_HOME: elsewhere, HOME: elsewhere } });
    assert.match(result.stdout, /guarded/, result.stderr);
});

await check('a file that others can read is not used', {}, async (server, state, login) => {
    done(await login());
    chmodSync(path.join(state, 'credentials.json'), 0o644);
    const result = await run(state, ['ls']);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /chmod/);
});

await check('many at once lose nothing', {}, async (server, state) => {
    const servers = await Promise.all([1, 2, 3, 4].map(() => new AuthServer().start()));
    const results = await Promise.all(servers.map(({ url }) => run(state, ['login', url, '--no-browser'])));
    for (const result of results) done(result);
    assert.equal(stored(state).length, 4);
    for (const each of servers) each.stop();
});

await check('secrets are in no log', {}, async (server, state) => {
    const result = await run(state, ['login', server.url, '--no-browser', '--log-level', 'debug']);
    done(result);
    const [credential] = stored(state);
    for (const secret of [credential.access_token, credential.refresh_token]) assert.ok(!result.stderr.includes(secret));
});

checks.finish();
