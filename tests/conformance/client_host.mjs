// Between the suite and the client: what the suite says in its environment becomes settings, the client is told what to do with
// the server, and its questions are answered and its pages opened as a person would.
//
//   node client_host.mjs CLIENT URL       CLIENT: fixture_client.c, which says what the lines are
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

const [program, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const GRANTS = [[/client-credentials/, 'client'], [/wif/, 'workload'], [/enterprise|cross-app-access/, 'enterprise']];
const SKILLS = 'io.modelcontextprotocol/skills';

const settings = {
    AUTH_GRANT: GRANTS.find(([pattern]) => pattern.test(scenario))?.[1],
    AUTH_CLIENT_ID: context.client_id,
    AUTH_CLIENT_SECRET: context.client_secret,
    AUTH_PRIVATE_KEY: context.private_key_pem,
    AUTH_ISSUER: context.issuer,
    AUTH_CIMD_URL: 'https://conformance-test.local/client-metadata.json',
    AUTH_WORKLOAD_TOKEN: context.valid_jwt,
    AUTH_ID_TOKEN: context.idp_id_token,
    AUTH_IDP_TOKEN_ENDPOINT: context.idp_token_endpoint,
    AUTH_IDP_CLIENT_ID: context.idp_client_id,
};

/** A value that a schema allows, as far as the suites' schemas go. */
function valueFor(schema) {
    const values = { string: 'text', number: 1.5, integer: 1, boolean: true, array: [], null: null };
    return schema.default ?? schema.enum?.[0] ?? values[schema.type] ?? objectFor(schema, schema.required ?? []);
}

function objectFor(schema, names) {
    return Object.fromEntries(names.map((name) => [name, valueFor(schema.properties?.[name] ?? {})]));
}

/** The program at work: one line, one answer; what comes between is seen to. */
class Client {
    #child;
    #waiting = [];

    constructor() {
        const given = Object.entries(settings).filter(([, value]) => value !== undefined);
        const env = { ...process.env, ...Object.fromEntries(given) };
        this.#child = spawn(program, [url], { env, stdio: ['pipe', 'pipe', 'inherit'] });
        this.#child.stdin.on('error', () => {}); // it has ended, and the exit says so
        createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
        this.exit = new Promise((resolve) => { this.#child.once('close', (code, signal) => resolve(code ?? signal)); });
        this.exit.then((code) => this.#waiting.forEach(({ reject }) => reject(new Error(`the client ended (${code})`))));
        this.session = this.#answer();
    }

    #answer() {
        return new Promise((resolve, reject) => { this.#waiting.push({ resolve, reject }); });
    }

    #take(line) {
        const tab = line.indexOf('\t');
        const word = line.slice(0, tab);
        const text = line.slice(tab + 1);
        if (word === 'page') {
            fetch(text).then((res) => res.text()).catch(() => {});
        } else if (word === 'ask') {
            const schema = JSON.parse(text).requestedSchema;
            this.#write('accept', JSON.stringify(objectFor(schema, Object.keys(schema.properties))));
        } else if (word === 'error') {
            this.#waiting.shift().reject(new Error(text));
        } else {
            this.#waiting.shift().resolve(JSON.parse(text));
        }
    }

    #write(...fields) {
        this.#child.stdin.write(`${fields.join('\t')}\n`);
    }

    run(...fields) {
        this.#write(...fields);
        return this.#answer();
    }

    call(tool, given) {
        return this.run('call', tool, JSON.stringify(given));
    }

    end() {
        this.#child.stdin.end();
        return this.exit;
    }
}

/** Lists what the server has, and uses all of it. */
async function useAll(client, { capabilities = {} }) {
    for (const { name, inputSchema } of (await client.run('list', 'tools')).tools) {
        await client.call(name, objectFor(inputSchema, inputSchema.required ?? []));
    }
    for (const { uri } of capabilities.resources ? (await client.run('list', 'resources')).resources : []) {
        await client.run('read', uri);
    }
    for (const { name } of capabilities.prompts ? (await client.run('list', 'prompts')).prompts : []) {
        await client.run('get', name, '{}');
    }
}

/** Lists the tools, and makes the calls that the suite wishes. */
async function makeCalls(client) {
    await client.run('list', 'tools');
    for (const { name, arguments: given } of context.toolCalls) {
        await client.call(name, given);
    }
}

/** Gives the schema that was listed back. */
async function echoSchema(client) {
    const { tools } = await client.run('list', 'tools');
    await client.call('json_schema_echo', { schema: tools.find(({ name }) => name !== 'json_schema_echo').inputSchema });
}

async function listSkills(client, { capabilities }) {
    if (!capabilities.extensions?.[SKILLS]) throw new Error('the server has no skills');
    return (await client.run('request', 'skills/list', '{}')).skills;
}

/** A file of a skill, which is what its entry says. */
async function readVerified(client, { uri, size, digest }) {
    const { text } = (await client.run('read', uri)).contents[0];
    const bytes = Buffer.from(text, 'utf8');
    if (bytes.length !== size) throw new Error(`${uri} has ${bytes.length} bytes, not ${size}`);
    if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` !== digest) throw new Error(`${uri} has another digest`);
    return text;
}

/** The fields at the top of a SKILL.md, each on a line of its own. */
function frontmatterOf(text) {
    const [, head] = /^---\n([^]*?)\n---\n/.exec(text) ?? [undefined, ''];
    return Object.fromEntries(head.split('\n').map((line) => /^([^:]+): *(.*)$/.exec(line)?.slice(1, 3) ?? [line, undefined]));
}

/** Loads each skill: SKILL.md first, the other files only if that is what was listed. */
async function loadSkills(client, session) {
    for (const { uri, frontmatter, resources } of await listSkills(client, session)) {
        const found = frontmatterOf(await readVerified(client, resources.find((entry) => entry.uri === uri)));
        for (const name of new Set([...Object.keys(frontmatter), ...Object.keys(found)])) {
            if (found[name] !== frontmatter[name]) throw new Error(`${uri} has another ${name}`);
        }
        for (const entry of resources.filter((one) => one.uri !== uri)) {
            await readVerified(client, entry);
        }
    }
}

/** What is done in a scenario; in all others, everything that the server has is used. */
const SCENARIOS = [
    [/^http-custom-headers$/, makeCalls],
    [/^json-schema-ref-no-deref$/, (client) => client.run('list', 'tools')],
    [/^json-schema-2020-12-preservation$/, echoSchema],
    [/^sep-2640-client-no-prefetch$/, listSkills],
    [/^sep-2640-client-verify-/, loadSkills],
];

const client = new Client();
let status = 0;
try {
    const session = await client.session;
    const [, run] = SCENARIOS.find(([pattern]) => pattern.test(scenario)) ?? [undefined, useAll];
    await run(client, session);
} catch (error) {
    console.error(error.message);
    status = 1;
}
process.exit((await client.end()) === 0 ? status : 1);
