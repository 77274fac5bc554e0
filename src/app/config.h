/* app/config.h: the configuration file, and the settings that flags may change afterwards.
 *
 *     { "tools": "tools.json",
 *       "call_socket": { "connect": "parent.sock", "schema": "parent.json" },
 *       "pipe": { "name": "RevitOrchestrator", "tools": "revit-tools.json",
 *                 "ping_interval_ms": 30000, "pong_timeout_ms": 10000 },
 *       "templates": [ "templates", "/srv/templates" ],
 *       "write_root": "projects",
 *       "toolkit": true,
 *       "state": "${XDG_STATE_HOME}/toolwire",
 *       "http": { "address": "127.0.0.1:7410", "path": "/mcp", "token_file": "token",
 *                 "allowed_hosts": [ "hub.example" ], "allowed_origins": [ "https://a.example" ],
 *                 "auth": { "resource": "https://hub.example/mcp", "scopes": [ "tools" ],
 *                           "issuers": [ { "issuer": "https://id.example", "jwks": "keys.json" } ]
 *                         } },
 *       "audit": { "file": "calls.jsonl", "max_bytes": "10MiB", "keep": 5, "arguments": false },
 *       "queue": { "store": "sqlite", "file": "jobs.db", "pull": true, "keep_ms": "1d",
 *                  "known_ms": "10m", "keep_bytes": "256MiB", "max_running": 16, "max_waiting":
 * 1048576 }, "agent": { "model": "openai:qwen3", "base_url": "http://127.0.0.1:11434/v1", "root":
 * ".", "tools": { "write_file": "ask", "*": "allow" }, "commands": [ "ls", "cat" ], "system":
 * "prompt.md", "history": "off", "attachments": [ "inbox" ], "max_tokens": 4096, "budget_tokens":
 * 64000 }, "lazy_tools": { "always": [ "read_file", "git_*" ] }, "mcpServers": { "files": {
 * "command": "npx", "args": [ "-y", "some-server", "/srv" ] } }, "limits": { "rate_burst": 1000,
 * "rate_per_s": 100, "max_in_flight": 128, "call_timeout_ms": 30000 } }
 *
 * "pipe": "NAME" is short for { "name": "NAME" }, "templates": "DIR" for [ "DIR" ], "http":
 * "ADDRESS" for { "address": "ADDRESS" }, "audit": "FILE" for { "file": "FILE" }, "queue":
 * "FILE" for { "file": "FILE" }, and "off" for none, "agent": "MODEL" for { "model": "MODEL" },
 * "lazy_tools": true for { "always": [] }. Strings may hold ${NAME} and ${NAME:-default}. An
 * unknown key is an error that names the nearest known one; every error names file, line and field.
 * Relative paths are taken from the file's folder. Thread: any, one at a time.
 */
#pragma once

#include "agent/policy.h"
#include "base/diag.h"
#include "base/span.h"
#include "providers/upstream.h"
#include "router/quota.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONFIG_E_READ = 1, /* the file cannot be read; the Diag says why */
    CONFIG_E_SYNTAX,   /* it is not JSON */
    CONFIG_E_INVALID,  /* a key or a value is not what it may be */
    CONFIG_E_VARIABLE, /* ${NAME} is not set and has no default */
};

/* The document's name of the pipe, for a `pipe` without a name. */
#define CONFIG_PIPE_NAME "RevitOrchestrator"

/* Where add-ins connect to. */
typedef struct ConfigPipe {
    char *name;               /* of the pipe (io/pipe_place.h); NULL: there is none */
    char *tools;              /* path of a tools file, or NULL */
    int64_t ping_interval_ms; /* 0: the default, as below */
    int64_t pong_timeout_ms;
} ConfigPipe;

/* Where the hub serves HTTP, when the configuration does not say. */
#define CONFIG_HTTP_ADDRESS "127.0.0.1:7410"

/* As an address: HTTP is not served at all. */
#define CONFIG_HTTP_OFF "off"

/* Who may sign access tokens. */
typedef struct ConfigIssuer {
    char *issuer; /* as tokens name it */
    char *jwks;   /* path of its keys */
} ConfigIssuer;

/* Where and to whom MCP is served over HTTP (app/http_door.h, app/http_auth.h). Lists end in NULL;
 * NULL: none. */
typedef struct ConfigHttp {
    char *address; /* NULL: not said */
    char *path;    /* of MCP; NULL: "/mcp" */
    char **allowed_hosts;
    char **allowed_origins;
    char *token_file;
    ConfigIssuer *issuers;
    size_t n_issuers;
    char *resource; /* our own name in access tokens; with issuers always there */
    char **scopes;
} ConfigHttp;

/* The record of calls. */
typedef struct ConfigAudit {
    char *file;       /* NULL: none is kept */
    size_t max_bytes; /* 0: the default */
    uint32_t keep;    /* files of the past; 0: the default */
    bool arguments;   /* those of calls, too */
} ConfigAudit;

/* As the file of the queue: there is none. */
#define CONFIG_QUEUE_OFF "off"

/* The durable queue. Numbers: 0: the default. */
typedef struct ConfigQueue {
    char *file;       /* of the store; NULL: in the state folder; or CONFIG_QUEUE_OFF */
    bool takes_all;   /* "pull": what is no tool here waits for applications that fetch */
    int64_t keep_ms;  /* results */
    int64_t known_ms; /* how long an application is waited for that was there */
    size_t keep_bytes;
    size_t max_waiting;
    uint32_t max_running;
} ConfigQueue;

/* As the history of the agent: it is kept nowhere. */
#define CONFIG_AGENT_OFF "off"

/* The agent runtime (app/agent.h). Numbers: 0: the default; texts and lists: NULL. */
typedef struct ConfigAgent {
    char *model;     /* as agent/model.h names them; NULL: what there is */
    char *base_url;  /* of the model's service */
    char *root;      /* of the file tools; NULL: the working folder */
    char *system;    /* path of the prompt */
    char *history;   /* path of the conversations; NULL: in the state folder; or CONFIG_AGENT_OFF */
    char **commands; /* names that run_command may start; NULL: the default ones */
    char **attachments; /* folders beside the root that attachments may come from */
    AgentRule *rules;   /* which tools may run */
    size_t n_rules;
    bool allow_network; /* to commands */
    bool allow_unconfined;
    uint32_t max_tokens;    /* of an answer */
    uint32_t budget_tokens; /* of a request */
    uint32_t max_rounds;    /* of tools */
    int64_t grace_ms;       /* for turns, when the agent ends */
    int64_t stall_ms;       /* of the model */
    int64_t approval_ms;    /* for a person to think */
} ConfigAgent;

/* Whether templates and analyses are offered (config_offers_toolkit). */
typedef enum ConfigToolkit {
    CONFIG_TOOLKIT_UNSAID, /* by what else there is */
    CONFIG_TOOLKIT_OFFERED,
    CONFIG_TOOLKIT_LEFT_OUT,
} ConfigToolkit;

typedef struct Config {
    char *path;               /* of the file that was read; NULL: embedded defaults */
    char *tools;              /* path of a tools file, or NULL */
    char *call_socket;        /* a parent's socket, or NULL */
    char *call_socket_schema; /* and its schema file; both or neither */
    ConfigPipe pipe;
    ConfigToolkit toolkit;
    char **templates; /* folders of templates, NULL-terminated; NULL: none */
    char *write_root; /* where files may be written by tools, or NULL: nowhere */
    char *state;      /* folder for what is kept between runs; NULL: the user's (io/keep.h) */
    ConfigHttp http;
    ConfigAudit audit;
    ConfigQueue queue;
    ConfigAgent agent;
    UpstreamSpec *servers; /* "mcpServers", in their order (config_servers.c) */
    size_t n_servers;
    RouterLimits limits;
    size_t max_request_bytes; /* 0: the default, as in all below */
    size_t max_response_bytes;
    size_t max_line_bytes; /* to an MCP client, with the newline */
    int64_t drain_ms;
    size_t page_size;
    size_t result_bytes; /* 0: results are not shortened (providers/results.h) */
    bool lazy_tools;     /* few tools are listed, the others are found by search */
    char **lazy_always;  /* names of those that are listed all the same; NULL: none */
} Config;

#define CONFIG_NULL ((Config){.path = NULL})

/* Given as the path of the settings: there are none, whatever lies around. (./none is a file.) */
#define CONFIG_NONE "none"

/* Which file config_load reads when it is given this path (or NULL): its absolute path, and NULL if
 * there is none. Who reads it again later gives config_load that path, so that a file that went is
 * not taken for none. Gives *ret (mem_free). 0, -ENOMEM, another negative errno. */
int config_find(char **ret, const char *path);

/* Reads the file at path, or, if path is NULL, the first that exists of ./toolwire.json and
 * $XDG_CONFIG_HOME/toolwire/config.json (~/.config without it); none is no error, and
 * CONFIG_NONE looks for none. 0, -ENOMEM, or an
 * outcome above. *ret is CONFIG_NULL on failure. */
int config_load(Config *ret, const char *path, Diag *reterr_diag);

/* Does it offer the toolkit? Where that is not said: if it names no other source of tools (tools,
 * call_socket, pipe, mcpServers), or says something of templates (templates, write_root). */
bool config_offers_toolkit(const Config *config);

/* Most servers in mcpServers: ranks of the router are bytes. */
#define CONFIG_MAX_SERVERS 200

/* Whether a server of that name, one JSON object, could stand in mcpServers, whatever the
 * environment is. 0, -ENOMEM, CONFIG_E_INVALID: the Diag says why it could not. */
int config_check_server(Span name, Span json, Diag *reterr_diag);

/* The same from text, for tests: path only names it and gives the folder. */
int config_parse(Config *ret, Span text, const char *path, Diag *reterr_diag);
void config_deinit(Config *config);
void config_http_deinit(ConfigHttp *http); /* that part alone */

/* The settings of numbers, as the flags of the commands write them: name is the key's
 * ("rate_burst"), value a number, for *_ms a duration ("30s"), for *_bytes a size ("1MiB"). 0,
 * CONFIG_E_INVALID (the Diag's message says what is expected). */
int config_set(Config *config, Span name, Span value, Diag *reterr_diag);
bool config_has_number(Span name);

/* Puts a copy of value (a flag's) in the place of a string. 0, -ENOMEM. */
int config_replace(char **string, const char *value);

/* The same for a list that ends in NULL. */
int config_replace_list(char ***list, const char *const *values);

/* Adds a rule for the tools of the agent: a name with *, and allow, ask or deny. 0, -ENOMEM,
 * CONFIG_E_INVALID. */
int config_add_rule(ConfigAgent *agent, Span name, Span word, Diag *reterr_diag);

/* Is that an address to serve HTTP at, or CONFIG_HTTP_OFF? 0, CONFIG_E_INVALID. */
int config_check_http_address(const char *address, Diag *reterr_diag);

/* Reads a file that holds a token: its content without the line end. 0, -ENOMEM, CONFIG_E_READ
 * (unreadable, or others can read it), CONFIG_E_INVALID (empty, short, or no token); the Diag names
 * the file. Gives *ret (mem_free). */
int config_read_token(char **ret, const char *path, Diag *reterr_diag);

/* Replaces ${NAME} and ${NAME:-default} by the environment; "$$" is a dollar. Gives *ret
 * (mem_free). 0, -ENOMEM, CONFIG_E_VARIABLE, CONFIG_E_INVALID. */
int config_expand(char **ret, Span text, Diag *reterr_diag);
