// Between the suite and the client: what the suite says in its environment becomes settings, and the pages that the client
// prints are opened, as a browser would.
//
//   node auth_client.mjs CLIENT URL
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [client, url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
// Runs of whole suites have others, too; nobody waits for them.
if (!scenario.startsWith('auth/')) process.exit(1);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const GRANTS = [[/client-credentials/, 'client'], [/wif/, 'workload'], [/enterprise|cross-app-access/, 'enterprise']];

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
const env = { ...process.env, ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) };

const child = spawn(client, [url], { env, stdio: ['ignore', 'pipe', 'inherit'] });
createInterface({ input: child.stdout }).on('line', (page) => fetch(page).then((res) => res.text()).catch(() => {}));
child.on('exit', (code) => process.exit(code ?? 1));
