/* Which server a command uses, and how it is reached. */
#include "cli/peer_session_internal.h"

#include <errno.h>
#include <string.h>

#include "app/config.h"
#include "app/hub_place.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/peer_header.h"
#include "cli/words.h"
#include "io/program.h"
#include "io/unix_socket.h"

/* What stands before the path of a socket. */
#define SESSION_UNIX "unix:"

/* The socket of the hub, whether one listens there or not. Gives *ret (mem_free). */
static int session_hub_place(const PeerSession *session, char **ret, Diag *diag)
{
    const char *state = session->args->values[PEER_OPTION_STATE];
    Config config = CONFIG_NULL;
    int r = state != NULL ? 0 : config_load(&config, NULL, diag);

    if (r == 0) {
        r = hub_place(ret, state != NULL ? state : config.state, diag);
        config_deinit(&config);
    }
    return r > 0 ? PEER_SESSION_E_USAGE : err_pass(r);
}

/* This very program as the server, with the settings that the hub would have: `serve` is complete
 * by itself, or a front of a hub with just these settings. It ends with us. */
static int session_start_own(PeerSession *session, McpPeerConfig *config, Diag *diag)
{
    const char *state = session->args->values[PEER_OPTION_STATE];
    CLEANUP(mem_freep) char *program = NULL;
    const char *settings = session->args->values[PEER_OPTION_CONFIG];
    const char *argv[7] = {NULL, "serve"};
    size_t n = 2;
    int r = io_program_path(&program);

    if (r != 0) {
        return err_pass(r);
    }
    argv[0] = program;
    if (settings != NULL) {
        argv[n++] = "--config";
        argv[n++] = settings;
    }
    if (state != NULL) {
        argv[n++] = "--state";
        argv[n++] = state;
    }
    config->socket_path = NULL;
    config->is_own = false;
    config->argv = argv;
    return mcp_peer_new(&session->peer, config, diag);
}

static int session_start_with_hub(PeerSession *session, McpPeerConfig *config, Diag *diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r;

    if (session->args->values[PEER_OPTION_CONFIG] != NULL) {
        return session_start_own(session, config, diag);
    }
    r = session_hub_place(session, &path, diag);
    if (r != 0) {
        return r;
    }
    config->socket_path = path;
    config->is_own = true;
    r = unix_socket_is_there(path) ? mcp_peer_new(&session->peer, config, diag)
                                   : MCP_PEER_E_CANNOT_START;
    return r != MCP_PEER_E_CANNOT_START ? r : session_start_own(session, config, diag);
}

bool peer_session_is_url(const char *server)
{
    static const char *const schemes[] = {"http://", "https://", "http+unix:"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(schemes); i++) {
        if (strncmp(server, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The headers of the options. *ret_authorizes: one of them says who we are. */
static int session_read_headers(PeerSession *session, McpPeerConfig *config, bool *ret_authorizes,
                                Diag *diag)
{
    const CliArgs *args = session->args;
    McpHttpField *fields =
        arena_alloc_array(&session->strings, args->n_repeats + 1, sizeof(*fields));
    size_t n = 0;

    if (fields == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret_authorizes = false;
    for (size_t i = 0; i < args->n_repeats; i++) {
        int r;

        if (args->repeats[i].place != PEER_OPTION_HEADER) {
            continue;
        }
        r = peer_header_read(&session->strings, args->repeats[i].value, &fields[n], diag);
        if (r != 0) {
            return r < 0 ? err_pass(r) : PEER_SESSION_E_USAGE;
        }
        *ret_authorizes =
            *ret_authorizes || text_equals_nocase(fields[n].name, SPAN("authorization"));
        n++;
    }
    config->fields = fields;
    config->n_fields = n;
    return 0;
}

static int session_start_with_url(PeerSession *session, McpPeerConfig *config, Diag *diag)
{
    const char *server = session->args->values[PEER_OPTION_SERVER];
    bool authorizes = false;
    int r = session_read_headers(session, config, &authorizes, diag);

    if (r == 0 && !authorizes) {
        /* Tokens of `toolwire auth login` are shown; where none may be sent, none is. */
        r = peer_auth_new(
            &session->auth,
            &(PeerAuthConfig){.loop = session->loop, .server = server, .log = &session->args->log},
            NULL);
        r = r < 0 ? r : 0;
    }
    if (r != 0) {
        return r;
    }
    config->url = server;
    config->auth = session->auth;
    return mcp_peer_new(&session->peer, config, diag);
}

int peer_session_start(PeerSession *session, const McpClientConfig *client, Diag *diag)
{
    const char *server = session->args->values[PEER_OPTION_SERVER];
    char **words = NULL;
    size_t n_words = 0;
    McpPeerConfig config = {.loop = session->loop,
                            .socket_path = session->args->values[PEER_OPTION_SOCKET],
                            .client = *client,
                            .log = &session->args->log,
                            .event = peer_session_on_event,
                            .context = session};
    int r;

    if (server == NULL && config.socket_path == NULL) {
        return session_start_with_hub(session, &config, diag);
    }
    if (server != NULL && peer_session_is_url(server)) {
        return session_start_with_url(session, &config, diag);
    }
    if (server != NULL && strncmp(server, SESSION_UNIX, strlen(SESSION_UNIX)) == 0) {
        config.socket_path = server + strlen(SESSION_UNIX);
    } else if (server != NULL) {
        r = words_split(&session->strings, server, &words, &n_words, diag);
        if (r != 0) {
            diag_prefix(diag, "--server: ");
            return r < 0 ? r : PEER_SESSION_E_USAGE;
        }
        config.argv = (const char *const *)words;
    }
    return mcp_peer_new(&session->peer, &config, diag);
}
