/* providers/upstream.h: other MCP servers behind this one: their tools, resources, templates and
 * prompts in the router, their calls passed on as bytes.
 *
 * Each server has one session, which all callers share: a child process or a URL (peer/mcp_peer.h).
 * It is started when it is needed: by a call, and by the first list that anybody asks for while its
 * lists are not known (router_close_gate); an eager one at once. What it listed is kept in a file
 * for the next run (upstream_kept.c), and stays offered while it is away; a call then says why it
 * cannot be served. A server that fails is tried again after 1, 2, 4… seconds; until then its calls
 * fail at once. Nothing of one server waits for another; only the first lists wait,
 * LIMIT_UPSTREAM_GATE_MS at most, for all servers to have said what they have. A call that was sent
 * is never sent twice; when its server is lost the error says that it may have run, and so does
 * Call.may_have_run.
 *
 * Names of tools and prompts: providers/upstream_names.h, and they are remembered
 * (upstream_claims.c). URIs stay as they are; of two servers
 * with the same one the first in the order of the settings has it.
 *
 * Questions of a server (sampling, elicitation, roots) end the call with CALL_RESULT_ASK; the
 * server's call is parked until the asker comes back with the answers, whatever era either side is
 * of (providers/upstream_ask.c). Thread: loop.
 */
#pragma once

#include "base/logsink.h"
#include "dialect/mcp/client.h"
#include "io/loop.h"
#include "oauth/settings.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Upstreams Upstreams;

typedef struct UpstreamPair {
    char *name;
    char *value;
} UpstreamPair;

/* When a name gets its server's prefix. */
typedef enum UpstreamPrefix {
    UPSTREAM_PREFIX_NEEDED, /* where it would not be clear or not be legal without */
    UPSTREAM_PREFIX_ALWAYS,
    UPSTREAM_PREFIX_NEVER, /* what is not clear is left out */
} UpstreamPrefix;

/* What the settings say of one tool, by the server's name for it. */
typedef struct UpstreamTool {
    char *name;
    char *description;  /* NULL: the server's */
    int64_t timeout_ms; /* 0: the server's */
} UpstreamTool;

/* One server. Strings are NUL-terminated, lists end in NULL; NULL: none. Times: 0: the default. */
typedef struct UpstreamSpec {
    char *name;
    char *command; /* or url */
    char **args;
    UpstreamPair *env; /* beside a short list of our own variables (providers/exec_env.h) */
    size_t n_env;
    char *cwd;
    char *url;
    UpstreamPair *headers;
    size_t n_headers;
    OauthSettings auth; /* url: how it is shown who asks */
    UpstreamPrefix prefixing;
    char *prefix;    /* NULL: the name */
    char *separator; /* NULL: "__" */
    char **allow;    /* patterns of tools with * and ?; NULL: all */
    char **deny;
    UpstreamTool *tools;
    size_t n_tools;
    int64_t start_timeout_ms;
    int64_t list_timeout_ms;
    int64_t call_timeout_ms;
    int64_t idle_ms; /* a server that is not used so long is stopped; 0: never */
    McpClientMode era;
    bool is_eager; /* it is started with us */
    bool is_disabled;
    char *fault; /* what is wrong with these settings, in words: it is disabled; NULL: nothing */
} UpstreamSpec;

void upstream_spec_deinit(UpstreamSpec *spec);
bool upstream_spec_is_same(const UpstreamSpec *a, const UpstreamSpec *b);

typedef struct UpstreamsConfig {
    Router *router; /* borrowed until free, as loop, log and identity */
    IoLoop *loop;
    const LogSink *log; /* may be NULL */
    const McpIdentity *identity;
    unsigned rank;             /* of the first server; each has the next one (router_set_rank) */
    const UpstreamSpec *specs; /* copied */
    size_t n_specs;
    /* Folder: what servers list is kept in it (NULL: it is not), and credentials are (NULL: in the
     * user's). Copied. */
    const char *state;
    /* The path of the settings, for whose servers names are remembered in the state folder; may be
     * NULL. Copied. */
    const char *settings;
    /* Children die with us even if we are killed: for a process that has one loop in its first
     * thread. */
    bool dies_with_us;
} UpstreamsConfig;

/* Starts the eager servers. One that cannot be started is no failure here. 0, -ENOMEM, another
 * negative errno. Gives *ret. */
int upstreams_new(Upstreams **ret, const UpstreamsConfig *config);

/* Goes over to other servers: those that stay the same keep their sessions, calls and lists. 0,
 * -ENOMEM: then some may be gone. */
int upstreams_reload(Upstreams *upstreams, const UpstreamSpec *specs, size_t n_specs);

/* Takes the tools of the servers out of the router, so that others find their names free, and puts
 * all back, under other names where these are taken now. Calls go on. May be NULL. */
void upstreams_withdraw(Upstreams *upstreams);
void upstreams_publish(Upstreams *upstreams);

/* Ends every call (unavailable) and begins to end every server: input closed, then TERM, then KILL.
 * They keep the loop running until they have gone. */
void upstreams_end(Upstreams *upstreams);

/* Kills what is left. Before the router's and the loop's. */
Upstreams *upstreams_free(Upstreams *upstreams);

/* How a server stands, for those who look. */
typedef enum UpstreamState {
    UPSTREAM_IDLE, /* not started; the next call does */
    UPSTREAM_STARTING,
    UPSTREAM_READY,
    UPSTREAM_DOWN, /* it failed, or cannot be started */
    UPSTREAM_DISABLED,
} UpstreamState;

typedef struct UpstreamStatus {
    const char *name;
    UpstreamState state;
    const char *state_name;           /* "idle", "starting", "ready", "down", "disabled" */
    const char *why;                  /* it is down, or "" */
    size_t n_entries[ROUTER_N_KINDS]; /* that are offered */
    bool is_unlisted;                 /* what it offers is not known yet */
    size_t n_left_out;                /* that are not: clashes, and what is malformed */
    size_t n_renamed;                 /* tools and prompts under another name than the server's */
    size_t n_open;                    /* calls */
    size_t n_parked;
    uint64_t n_starts;
    uint64_t n_failures; /* of sessions, since the start */
} UpstreamStatus;

size_t upstreams_count(const Upstreams *upstreams);
UpstreamStatus upstreams_status(const Upstreams *upstreams, size_t i);
