/* What a session begins with: the command and its environment, or the address and who asks there.
 */
#include "providers/upstream_impl.h"

#include "base/alloc.h"
#include "base/text.h"
#include "peer/auth_store.h"
#include "providers/exec_env.h"
#include "providers/upstream_chain.h"

#define BEGIN_CAN (CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_SAMPLE | CALL_CAN_ROOTS)

static int begin_argv(const Upstream *server, const char *const **ret, Arena *arena)
{
    const UpstreamSpec *spec = &server->spec;
    const char **argv;
    size_t n = 0;

    while (spec->args != NULL && spec->args[n] != NULL) {
        n++;
    }
    argv = arena_alloc_array(arena, n + 2, sizeof(*argv));
    if (argv == NULL) {
        return err_raise(-ENOMEM);
    }
    argv[0] = spec->command;
    for (size_t i = 0; i < n; i++) {
        argv[i + 1] = spec->args[i];
    }
    *ret = argv;
    return 0;
}

/* 0, a negative errno, MCP_PEER_E_CANNOT_START: Diag. */
static int begin_chain(const Upstream *server, ToolsFileVariable *variable, Arena *arena,
                       Diag *reterr_diag)
{
    const char *value = NULL;
    int r = upstream_chain_make(&value, arena, &server->spec);

    if (r == UPSTREAM_CHAIN_E_SAME) {
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START,
                        "it is toolwire itself, with the same settings: this process was started "
                        "by the same entry, and would start another one like it");
    }
    if (r == UPSTREAM_CHAIN_E_DEEP) {
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START,
                        "toolwire runs here within %d others that started each other, and starts "
                        "no more servers: do the settings lead back to themselves?",
                        LIMIT_UPSTREAM_WITHIN);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *variable = (ToolsFileVariable){.name = UPSTREAM_CHAIN_VARIABLE, .value = value};
    return 0;
}

static int begin_environment(const Upstream *server, const char *const **ret, Arena *arena,
                             Diag *reterr_diag)
{
    const UpstreamSpec *spec = &server->spec;
    ToolsFileVariable *variables = arena_alloc_array(arena, spec->n_env + 1, sizeof(*variables));
    int r;

    if (variables == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        variables[i] = (ToolsFileVariable){.name = spec->env[i].name, .value = spec->env[i].value};
    }
    r = begin_chain(server, &variables[spec->n_env], arena, reterr_diag);
    return r != 0 ? r : exec_env_make(ret, arena, variables, spec->n_env + 1);
}

static int begin_fields(const Upstream *server, McpPeerConfig *peer, Arena *arena)
{
    const UpstreamSpec *spec = &server->spec;
    McpHttpField *fields = arena_alloc_array(arena, spec->n_headers + 1, sizeof(*fields));

    if (fields == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < spec->n_headers; i++) {
        fields[i].name = span_from_str(spec->headers[i].name);
        fields[i].value = span_from_str(spec->headers[i].value);
    }
    peer->fields = fields;
    peer->n_fields = spec->n_headers;
    return 0;
}

/* What a person has logged in with before (`toolwire auth login`); nobody is asked from here. */
static int begin_auth(Upstream *server, McpPeerConfig *peer, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *store = NULL;
    int r = 0;

    for (size_t i = 0; i < server->spec.n_headers; i++) {
        if (text_equals_nocase(span_from_str(server->spec.headers[i].name),
                               SPAN("authorization"))) {
            return 0;
        }
    }
    server->leaving->auth = peer_auth_free(server->leaving->auth);
    if (server->owner->state != NULL) {
        r = peer_auth_store_path(&store, server->owner->state, NULL);
    }
    r = r != 0 ? r
               : peer_auth_new(&server->leaving->auth,
                               &(PeerAuthConfig){.loop = server->owner->config.loop,
                                                 .server = server->spec.url,
                                                 .settings = &server->spec.auth,
                                                 .store = store,
                                                 .log = server->owner->config.log},
                               reterr_diag);
    peer->auth = server->leaving->auth;
    /* To a Unix socket, and over http to another machine, no token is sent; who has none needs
     * none.
     */
    if (r == PEER_AUTH_E_INVALID && server->spec.auth.grant == OAUTH_GRANT_CODE &&
        server->spec.auth.client_id == NULL && server->spec.auth.cimd_url == NULL) {
        return 0;
    }
    return r == PEER_AUTH_E_INVALID ? MCP_PEER_E_CANNOT_START : err_pass(r);
}

int upstream_begin(Upstream *server, Diag *reterr_diag)
{
    const UpstreamsConfig *config = &server->owner->config;
    McpPeerConfig peer = {
        .loop = config->loop,
        .name = server->spec.name,
        .folder = server->spec.cwd,
        .dies_with_us = config->dies_with_us,
        .client = {.identity = config->identity,
                   .mode = server->is_known_legacy ? MCP_CLIENT_LEGACY : server->spec.era,
                   .legacy_revision = MCP_NEWEST_LEGACY,
                   .can = BEGIN_CAN,
                   .log_level = CALL_LOG_NONE,
                   /* The router has the deadlines of calls, we the others. */
                   .request_timeout_ms = LIMIT_CALL_MAX_MS,
                   .max_open = LIMIT_UPSTREAM_OPEN},
        .log = config->log,
        .event = upstream_on_event,
        .context = server};
    Arena arena;
    int r;

    arena_init(&arena, SIZE_MAX);
    if (server->spec.url != NULL) {
        peer.url = server->spec.url;
        r = begin_fields(server, &peer, &arena);
        r = r != 0 ? r : begin_auth(server, &peer, reterr_diag);
    } else {
        r = begin_argv(server, &peer.argv, &arena);
        r = r != 0 ? r : begin_environment(server, &peer.environment, &arena, reterr_diag);
    }
    r = r != 0 ? r : mcp_peer_new(&server->peer, &peer, reterr_diag);
    arena_deinit(&arena);
    return r;
}
