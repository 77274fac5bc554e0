/* cli/peer_session.h: one MCP server, used by one command: started or connected to by its options,
 * or else the hub that runs, or without one `toolwire serve`; asked one thing at a time, ended
 * politely.
 *
 * What a server asks of us meanwhile is answered here (cli/peer_ask.h); progress is shown on stderr
 * if that is a terminal; Ctrl-C takes the request back.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "cli/cli.h"
#include "json/json.h"

typedef struct PeerSession PeerSession;

/* Places in peer_options, which is the option table of every command that uses a server. */
enum {
    PEER_OPTION_SERVER,
    PEER_OPTION_HEADER,
    PEER_OPTION_SOCKET,
    PEER_OPTION_CONFIG,
    PEER_OPTION_STATE,
    PEER_OPTION_ERA,
    PEER_OPTION_TIMEOUT,
    PEER_OPTION_JSON,
    PEER_N_OPTIONS,
};
extern const CliOption peer_options[];

/* Its rows, for commands that have further options behind them. */
#define PEER_OPTIONS                                                                               \
    [PEER_OPTION_SERVER] =                                                                         \
        {"server", "COMMAND",                                                                      \
         "start this MCP server: program and arguments; or its URL; or unix:PATH"},                \
    [PEER_OPTION_HEADER] =                                                                         \
        {"header", "TEXT...",                                                                      \
         "send 'Name: value' to a URL, ${VAR} from the environment; may be repeated"},             \
    [PEER_OPTION_SOCKET] = {"socket", "PATH", "or connect to the one at this Unix socket"},        \
    [PEER_OPTION_CONFIG] = {"config", "FILE",                                                      \
                            "or to the hub with these settings; without one, serve by them"},      \
    [PEER_OPTION_STATE] = {"state", "DIR",                                                         \
                           "or to the hub of this state folder (your own); without a hub, serve"}, \
    [PEER_OPTION_ERA] =                                                                            \
        {"era", "ERA", "auto (default), legacy (initialize), modern, or assume (modern unasked)"}, \
    [PEER_OPTION_TIMEOUT] = {"timeout", "TIME", "give up after this long without a sign (60s)"},   \
    [PEER_OPTION_JSON] = {"json", NULL, "print what the server said, as JSON; errors, too"}

/* The functions below return 0 or the exit status of the command, the reason said on stderr. */

int peer_session_open(PeerSession **ret, const CliArgs *args);
PeerSession *peer_session_close(PeerSession *session);

/* Asks and waits. params: compact JSON object, or empty. *ret is valid until the next request. */
int peer_session_request(PeerSession *session, Span method, Span params, JsonValue *ret);

/* All pages of a list; key: the member that holds the entries; name: the string that each of them
 * must have. *ret: an array, valid until the next list. Empty if the server does not know the
 * method. */
int peer_session_list(PeerSession *session, Span method, Span key, Span name, JsonValue *ret);

/* The list of tools, and whose each of them is, as a hub says it (CALL_META_ORIGINS): an array of
 * names and nulls in their order. Both valid until the next list. */
int peer_session_list_tools(PeerSession *session, JsonValue *ret, JsonValue *ret_origins);

/* Says what is wrong with the answer of the server; is_shown: --json has printed it as it is.
 * Returns CLI_EXIT_FAILED. */
int peer_session_malformed(const PeerSession *session, bool is_shown, const Diag *diag);

/* Says it on stderr, and with --json as an object on stdout; returns CLI_EXIT_FAILED. */
int peer_session_say(const PeerSession *session, Span words);

/* Says that memory ran out; returns CLI_EXIT_FAILED. */
int peer_session_no_memory(const PeerSession *session);

/* Was the last request answered by an error, so that the server can be asked on? */
bool peer_session_is_refused(const PeerSession *session);

/* Whether lists say on stderr which servers behind a hub are not as they should be: those of a
 * command that is about lists do, unless they are told not to. */
void peer_session_tell_servers(PeerSession *session, bool tells);

/* The next lists say it of those servers only that this tool may be of, and that the last error has
 * not named. Borrows tool. */
void peer_session_tell_servers_of(PeerSession *session, const char *tool);

const CliArgs *peer_session_args(const PeerSession *session);

/* Writes one JSON value and a newline to stdout. */
void peer_session_print_json(JsonValue value);

/* For CLEANUP. */
void peer_session_closep(PeerSession **session);
