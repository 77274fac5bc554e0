// An MCP server that wants a token, and the authorization server that gives it: real HTTP on free ports of this machine.
//
// Everything is checked as the RFCs want it (PKCE, resource, redirect, client authentication, DPoP), so that a client that
// is wrong gets no token. `options` changes how it behaves, also while it runs; `log` has what it was asked.
import { createHash, createPublicKey, randomUUID, verify } from 'node:crypto';
import { createServer } from 'node:http';

const json = (res, status, body, headers = {}) => {
    res.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
};

const hash = (text) => createHash('sha256').update(text).digest('base64url');

async function read(req) {
    let text = '';
    for await (const chunk of req) text += chunk;
    return text;
}

const listen = (handler) => new Promise((resolve) => {
    const server = createServer((req, res) => handler(req, res).catch((error) => json(res, 500, { error: String(error) })));
    server.listen(0, '127.0.0.1', () => resolve(server));
});

/** Checks a DPoP proof; returns the thumbprint of its key, or throws. */
function proof(text, { method, url, token, nonce }) {
    const [head, body, signature] = text.split('.');
    const header = JSON.parse(Buffer.from(head, 'base64url'));
    const claims = JSON.parse(Buffer.from(body, 'base64url'));
    const key = createPublicKey({ key: header.jwk, format: 'jwk' });
    const { crv, kty, x, y } = header.jwk;
    const wrong = (what) => { throw new Error(`proof: ${what}`); };
    if (header.typ !== 'dpop+jwt' || header.alg !== 'ES256' || header.jwk.d) wrong('header');
    if (!verify('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'))) {
        wrong('signature');
    }
    if (claims.htm !== method || claims.htu !== url || Math.abs(Date.now() / 1000 - claims.iat) > 60 || !claims.jti) wrong('claims');
    if (token && claims.ath !== hash(token)) wrong('ath');
    if (nonce && claims.nonce !== nonce) wrong('nonce');
    return { jkt: hash(JSON.stringify({ crv, kty, x, y })), jti: claims.jti };
}

export class AuthServer {
    /** scopes: of the metadata; needs: method → scope; lifetime: seconds; dpop, nonce ('once': each of the MCP server's is good for one
     *  request); issuer, prm, metadata, iss, redirect:
     *  what is answered in place of the truth. */
    constructor(options = {}) {
        this.options = { lifetime: 3600, methods: ['none'], iss: true, ...options };
        this.log = [];
        this.clients = new Map();
        this.codes = new Map();
        this.tokens = new Map();
        this.refreshes = new Map();
        this.jtis = new Set();
        this.nonces = new Set();
    }

    /** A nonce of the MCP server: what it expects now, and what it says for the next time. */
    freshNonce() {
        if (this.options.nonce !== 'once') return this.options.nonce;
        const nonce = randomUUID();
        this.nonces.add(nonce);
        return nonce;
    }

    async start() {
        this.resource = await listen((req, res) => this.mcp(req, res));
        this.authority = await listen((req, res) => this.as(req, res));
        this.url = `http://127.0.0.1:${this.resource.address().port}/mcp`;
        this.issuer = `http://127.0.0.1:${this.authority.address().port}`;
        return this;
    }

    stop() {
        for (const server of [this.resource, this.authority]) {
            server.closeAllConnections();
            server.close();
        }
    }

    count(what) { return this.log.filter((line) => line === what).length; }

    // ---- the MCP server ----

    challenge(res, status, more = '', headers = {}) {
        const { dpop, prm, scope } = this.options;
        const where = prm?.header ?? `${new URL(this.url).origin}/.well-known/oauth-protected-resource/mcp`;
        const scopes = scope ? `, scope="${scope}"` : '';
        json(res, status, { error: 'unauthorized' },
            { 'WWW-Authenticate': `${dpop ? 'DPoP' : 'Bearer'} resource_metadata="${where}"${more || scopes}`, ...headers });
    }

    async mcp(req, res) {
        const { prm, dpop, nonce, needs } = this.options;
        if (req.url.startsWith('/.well-known/oauth-protected-resource')) {
            this.log.push('metadata of the resource');
            if (prm?.body !== undefined) return json(res, prm.status ?? 200, prm.body, prm.headers);
            if (prm?.silent) return undefined;
            return json(res, 200, { resource: this.url, authorization_servers: [this.options.as ?? this.issuer],
                scopes_supported: this.options.scopes });
        }
        if (req.method !== 'POST') return json(res, 405, {});
        const message = JSON.parse(await read(req));
        const [scheme, token] = (req.headers.authorization ?? '').split(' ');
        const grant = this.tokens.get(token);
        if (!grant || grant.expires < Date.now()) return this.challenge(res, 401, token ? ', error="invalid_token"' : '');
        if (dpop) {
            if (nonce && !req.headers.dpop?.length) return this.challenge(res, 401);
            const claims = JSON.parse(Buffer.from(req.headers.dpop.split('.')[1], 'base64url'));
            if (nonce && (nonce === 'once' ? !this.nonces.delete(claims.nonce) : claims.nonce !== nonce)) {
                return this.challenge(res, 401, ', error="use_dpop_nonce"', { 'DPoP-Nonce': this.freshNonce() });
            }
            const { jkt, jti } = proof(req.headers.dpop, { method: 'POST', url: this.url, token, nonce: nonce && claims.nonce });
            if (scheme !== 'DPoP' || jkt !== grant.jkt || this.jtis.has(jti)) return this.challenge(res, 401);
            this.jtis.add(jti);
        } else if (scheme !== 'Bearer') {
            return this.challenge(res, 401);
        }
        const wanted = needs?.[message.method];
        if (wanted && !grant.scope.split(' ').includes(wanted)) {
            return this.challenge(res, 403, `, error="insufficient_scope", scope="${wanted}"`);
        }
        this.log.push(`mcp ${message.method}`);
        return this.answer(res, message);
    }

    /** A small server of 2025-11-25. */
    answer(res, { id, method }) {
        const result = { initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'auth', version: '1' } },
            ping: {}, 'tools/list': { tools: [{ name: 'guarded', inputSchema: { type: 'object' } }] },
            'tools/call': { content: [{ type: 'text', text: 'let in' }] } }[method];
        if (id === undefined) {
            res.writeHead(202);
            return res.end();
        }
        return result ? json(res, 200, { jsonrpc: '2.0', id, result })
            : json(res, 400, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
    }

    // ---- the authorization server ----

    async as(req, res) {
        const url = new URL(req.url, this.issuer);
        switch (url.pathname) {
        case '/.well-known/oauth-authorization-server': return this.metadata(res);
        case '/register': return this.register(res, JSON.parse(await read(req)));
        case '/authorize': return this.authorize(res, url.searchParams);
        case '/token': return this.token(req, res, new URLSearchParams(await read(req)));
        default: return json(res, 404, {});
        }
    }

    metadata(res) {
        this.log.push('metadata of the issuer');
        const { metadata, methods, as_scopes, iss, dpop } = this.options;
        if (typeof metadata === 'string') return json(res, 200, metadata);
        return json(res, 200, { issuer: this.issuer, authorization_endpoint: `${this.issuer}/authorize`,
            token_endpoint: `${this.issuer}/token`, registration_endpoint: `${this.issuer}/register`,
            code_challenge_methods_supported: ['S256'], token_endpoint_auth_methods_supported: methods,
            authorization_response_iss_parameter_supported: iss, scopes_supported: as_scopes,
            ...(dpop && { dpop_signing_alg_values_supported: ['ES256'] }), ...metadata });
    }

    register(res, body) {
        this.log.push('register');
        const client = { client_id: randomUUID(), redirect_uris: body.redirect_uris };
        if (body.application_type !== 'native' || body.redirect_uris?.length !== 1) return json(res, 400, { error: 'invalid_client_metadata' });
        if (body.token_endpoint_auth_method !== 'none') client.client_secret = randomUUID();
        this.clients.set(client.client_id, client);
        return json(res, 201, client);
    }

    authorize(res, query) {
        this.log.push(`authorize ${query.get('scope') ?? ''}`.trim());
        const client = this.clients.get(query.get('client_id'));
        const back = query.get('redirect_uri');
        if (!client || !client.redirect_uris.includes(back) || query.get('code_challenge_method') !== 'S256' ||
            query.get('resource') !== this.url || query.get('response_type') !== 'code') {
            return json(res, 400, { error: 'invalid_request' });
        }
        const code = randomUUID();
        this.codes.set(code, { client, back, challenge: query.get('code_challenge'), scope: query.get('scope') ?? '', jkt: query.get('dpop_jkt') });
        const answer = new URL(back);
        answer.search = new URLSearchParams({ code, state: query.get('state'), ...(this.options.iss && { iss: this.issuer }),
            ...this.options.redirect });
        res.writeHead(302, { Location: answer.href });
        return res.end();
    }

    refuse(res, error, headers) {
        this.log.push(`token refused: ${error}`);
        return json(res, error === 'invalid_client' ? 401 : 400, { error }, headers);
    }

    async token(req, res, form) {
        const { dpop, nonce } = this.options;
        const grant = form.get('grant_type');
        const [id, secret] = (req.headers.authorization ?? '').startsWith('Basic ')
            ? Buffer.from(req.headers.authorization.slice(6), 'base64').toString().split(':').map(decodeURIComponent)
            : [form.get('client_id'), form.get('client_secret')];
        const client = this.clients.get(id);
        let jkt;
        if (this.options.ill) return json(res, 503, {});
        if (!client || client.client_secret && client.client_secret !== secret) return this.refuse(res, 'invalid_client');
        if (dpop) {
            const claims = JSON.parse(Buffer.from(req.headers.dpop.split('.')[1], 'base64url'));
            if (nonce && claims.nonce !== `as-${nonce}`) return this.refuse(res, 'use_dpop_nonce', { 'DPoP-Nonce': `as-${nonce}` });
            ({ jkt } = proof(req.headers.dpop, { method: 'POST', url: `${this.issuer}/token`, nonce: nonce && `as-${nonce}` }));
        }
        if (form.get('resource') !== this.url) return this.refuse(res, 'invalid_target');
        if (grant === 'authorization_code') {
            const code = this.codes.get(form.get('code'));
            this.codes.delete(form.get('code'));
            if (!code || code.client !== client || code.back !== form.get('redirect_uri') ||
                hash(form.get('code_verifier')) !== code.challenge || dpop && code.jkt !== jkt) {
                return this.refuse(res, 'invalid_grant');
            }
            return this.give(res, client, code.scope, jkt, grant);
        }
        if (grant === 'refresh_token') {
            const old = this.refreshes.get(form.get('refresh_token'));
            this.refreshes.delete(form.get('refresh_token'));
            if (!old || old.client !== client) return this.refuse(res, 'invalid_grant');
            return this.give(res, client, old.scope, jkt, grant);
        }
        if (grant === 'client_credentials') return this.give(res, client, form.get('scope') ?? '', jkt, grant);
        return this.refuse(res, 'unsupported_grant_type');
    }

    give(res, client, scope, jkt, grant) {
        const access_token = randomUUID();
        const refresh_token = grant === 'client_credentials' ? undefined : randomUUID();
        this.log.push(`token ${grant}`);
        this.tokens.set(access_token, { scope, jkt, expires: Date.now() + this.options.lifetime * 1000 });
        if (refresh_token) this.refreshes.set(refresh_token, { client, scope });
        return json(res, 200, { access_token, token_type: jkt ? 'DPoP' : 'Bearer', expires_in: this.options.lifetime, scope, refresh_token });
    }
}
