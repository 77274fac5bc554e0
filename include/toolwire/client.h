/* toolwire/client.h: an MCP client: starts or reaches a server and uses what it has.
 *
 *     TwClient *client = tw_client_new(NULL);
 *     TwResult *result = NULL;
 *     const char *argv[] = {"./server", NULL};
 *
 *     if (tw_client_start(client, argv) != 0 ||
 *         tw_client_call(client, "greet", "{\"name\":\"Ada\"}", &result) != 0) {
 *         fprintf(stderr, "%s\n", tw_client_message(client));
 *     } else {
 *         puts(tw_result_text(result));
 *     }
 *     tw_result_free(result);
 *     tw_client_free(client);
 *
 * Speaks to servers of every revision. Every function waits for its answer; what else the server
 * sends meanwhile (progress, questions, notifications) comes through the callbacks of the options,
 * inside that call. Between calls nothing is read: tw_client_wait does so on purpose.
 *
 * Thread: any, one at a time, but for tw_client_cancel. Callbacks run on the thread of the call and
 * must not use the client, but for tw_client_cancel.
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/call.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwClient TwClient;
typedef struct TwResult TwResult;
typedef struct TwAsk TwAsk;

typedef enum TwEra {
    TW_ERA_AUTO,   /* finds out; a server that ends when it is asked is started again */
    TW_ERA_LEGACY, /* up to 2025-11-25 */
    TW_ERA_MODERN, /* 2026-07-28 and later only */
    TW_ERA_ASSUME  /* 2026-07-28, without asking: tw_client_server_info is "{}" */
} TwEra;

/* What the client can be asked (TwClientOptions.can). */
enum {
    TW_CAN_FORM = 1u << TW_ASK_FORM,
    TW_CAN_URL = 1u << TW_ASK_URL,
    TW_CAN_SAMPLE = 1u << TW_ASK_SAMPLE,
    TW_CAN_ROOTS = 1u << TW_ASK_ROOTS
};

/* How a server over HTTP is shown who asks (OAuth). */
typedef enum TwGrant {
    TW_GRANT_CODE,      /* a person says yes on a page */
    TW_GRANT_CLIENT,    /* client_credentials: client_id, and client_secret or private_key */
    TW_GRANT_WORKLOAD,  /* workload_token, a token of where the program runs */
    TW_GRANT_ENTERPRISE /* id_token, exchanged at idp_token_endpoint */
} TwGrant;

/* Everything may be NULL or 0. Strings are copied. */
typedef struct TwClientAuth {
    TwGrant grant;
    const char *client_id; /* registered by hand; else it registers itself, if it can */
    const char *client_secret;
    const char *private_key; /* PEM, in place of a secret: ES256 or RS256 */
    const char *issuer;      /* with whom client_id is registered; NULL: whoever the server names */
    const char *cimd_url;    /* address of our client metadata document */
    const char *scope;       /* with blanks between; NULL: what the server says */
    const char *workload_token;
    const char *id_token;
    const char *idp_token_endpoint;
    const char *idp_client_id;
    const char *idp_client_secret;
    bool dpop;               /* bind tokens to a key, also where it is not asked for */
    unsigned redirect_port;  /* where the browser comes back to; 0: any */
    const char *credentials; /* file where tokens are kept; NULL: the user's, "": they are not */
    bool ask;                /* a person may be sent to a page; the request's time-out runs on */
    int64_t ask_timeout_ms;  /* 0: 5 min */
    /* Is given the page in place of the browser; url is borrowed until return. The page leads to
     * an address that is served while the client waits: it must be opened by another thread or
     * process. */
    void (*page)(const char *url, void *user);
    void *reserved[4];
} TwClientAuth;

typedef struct TwClientOptions {
    const char *name; /* of this program; "toolwire" */
    const char *version;
    const char *title;
    TwEra era;

    /* 0 is the default of each; ten years are the most that counts. */
    int64_t timeout_ms;       /* without answer or progress, also when a session begins: 60 s */
    int64_t probe_timeout_ms; /* TW_ERA_AUTO: silence that makes a server a legacy one: 5 s, or
                                 timeout_ms if that is less */
    int64_t grace_ms;         /* what a server gets to end, before it is made to: 2 s */

    /* Of the server that tw_client_start starts. */
    const char *const *environment; /* "NAME=value"…, NULL; NULL: ours */
    const char *folder;             /* NULL: ours */
    bool drop_stderr;               /* else it has ours */

    unsigned can;    /* TW_CAN_*; `ask` is called for no other */
    bool wants_logs; /* notifications/message are asked for, from log_level on */
    TwLogLevel log_level;

    /* Callbacks; each may be NULL. Strings are borrowed until return. */
    void (*ask)(TwAsk *ask, void *user);
    void (*progress)(double progress, double total, const char *message, void *user);
    void (*notification)(const char *method, const char *params_json, void *user);
    void *user;
    /* Of a server over HTTP; copied. NULL: tokens that are kept for it are shown and renewed, and
     * nobody is asked. */
    const TwClientAuth *auth;
    const char *const *headers; /* "Name: value"…, NULL: sent with every request, never shown; an
                                   Authorization among them is instead of `auth` */
    const char *bearer_env; /* the variable of the environment that holds a bearer token: the same
                             */
    void *reserved[1];
} TwClientOptions;

/* Gives a client without a server; NULL if there is no memory, which all functions accept and
 * answer with TW_ERROR_ARGUMENT. options (copied) may be NULL. */
TW_API TwClient *tw_client_new(const TwClientOptions *options);

/* Ends the session politely: closes the server's input, waits grace_ms, then ends the process. */
TW_API void tw_client_free(TwClient *client);

/* Starts a server (argv[0] is looked up in PATH; no shell) or reaches one, at the path of a Unix
 * socket or at an address (http://…, https://…, http+unix:SOCKET:/path), and begins the session.
 * TW_ERROR_START, TW_ERROR_CLOSED (it ended, is silent, or does not speak MCP), TW_ERROR_CANCELLED,
 * TW_ERROR_BUSY (there is a session), TW_ERROR_ARGUMENT (also for an era that is none and a
 * negative time in the options), TW_ERROR_MEMORY. */
TW_API int tw_client_start(TwClient *client, const char *const *argv);
TW_API int tw_client_connect(TwClient *client, const char *place);

/* A sentence about the last failure; "" if there was none. And, after TW_ERROR_REMOTE, the code of
 * the server's error and its data (JSON; NULL if none). Borrowed until the next function. */
TW_API const char *tw_client_message(const TwClient *client);
TW_API int tw_client_error_code(const TwClient *client);
TW_API const char *tw_client_error_data(const TwClient *client);

/* The revision that is spoken ("2025-11-25"); and what the server said about itself, JSON with
 * `capabilities`, `instructions` and so on. NULL without a session. */
TW_API const char *tw_client_protocol_version(const TwClient *client);
TW_API const char *tw_client_server_info(const TwClient *client);

/* All functions below give *ret_result on success (free it with tw_result_free), and fail with
 * TW_ERROR_REMOTE, TW_ERROR_TIMEOUT, TW_ERROR_CANCELLED, TW_ERROR_CLOSED, TW_ERROR_JSON (of a
 * parameter), TW_ERROR_MEMORY. JSON parameters may be NULL: none. */

/* Lists, all pages together: `{"tools":[…]}`, `{"resources":[…]}`, `{"resourceTemplates":[…]}`,
 * `{"prompts":[…]}`. */
TW_API int tw_client_list_tools(TwClient *client, TwResult **ret_result);
TW_API int tw_client_list_resources(TwClient *client, TwResult **ret_result);
TW_API int tw_client_list_templates(TwClient *client, TwResult **ret_result);
TW_API int tw_client_list_prompts(TwClient *client, TwResult **ret_result);

/* Runs a tool. A tool that ran and failed is a success here: ask tw_result_is_error. */
TW_API int tw_client_call(TwClient *client, const char *tool, const char *arguments_json,
                          TwResult **ret_result);

TW_API int tw_client_read_resource(TwClient *client, const char *uri, TwResult **ret_result);
TW_API int tw_client_get_prompt(TwClient *client, const char *prompt, const char *arguments_json,
                                TwResult **ret_result);

/* Proposals for an argument of a prompt, or a variable of a URI template. */
TW_API int tw_client_complete_prompt(TwClient *client, const char *prompt, const char *argument,
                                     const char *typed, TwResult **ret_result);
TW_API int tw_client_complete_template(TwClient *client, const char *uri_template,
                                       const char *variable, const char *typed,
                                       TwResult **ret_result);

/* Any request, with its params (an object without `_meta`). ret_result may be NULL. */
TW_API int tw_client_request(TwClient *client, const char *method, const char *params_json,
                             TwResult **ret_result);

/* Any notification. */
TW_API int tw_client_notify(TwClient *client, const char *method, const char *params_json);

/* Asks to be told (notification callback) when lists change and when these resources (URIs, ended
 * by NULL; may be NULL) are updated, in the form of the server's revision. Replaces what was asked
 * before. */
TW_API int tw_client_subscribe(TwClient *client, const char *const *uris);

/* Handles what the server sends, until timeout_ms have passed (0: only what is there; ten years at
 * most), or until tw_client_cancel: TW_ERROR_CANCELLED. TW_ERROR_CLOSED, TW_ERROR_ARGUMENT (a
 * negative time). */
TW_API int tw_client_wait(TwClient *client, int64_t timeout_ms);

/* Takes back the request that is being waited for; it returns TW_ERROR_CANCELLED. If there is none,
 * the next one is not affected. Thread: any. */
TW_API void tw_client_cancel(TwClient *client);

/* ---- Results ---------------------------------------------------------------------------- */

TW_API void tw_result_free(TwResult *result);

/* The whole result as JSON. This and all strings below live as long as the result. */
TW_API const char *tw_result_json(const TwResult *result);

/* A tool's: did it fail? All text of `content` (of `contents`, of `messages`), the blocks one below
 * the other; NULL if there is no memory. The structured result as JSON; NULL if there is none. */
TW_API bool tw_result_is_error(const TwResult *result);
TW_API const char *tw_result_text(TwResult *result);
TW_API const char *tw_result_structured(TwResult *result);

/* What an RFC 6901 pointer names ("/tools/0/name"): as JSON text (NULL if it is not there), by type
 * (fallback if it is not there or of another type), and how many elements or members it has. */
TW_API const char *tw_result_get(TwResult *result, const char *pointer);
TW_API const char *tw_result_string(TwResult *result, const char *pointer, const char *fallback);
TW_API int64_t tw_result_int(TwResult *result, const char *pointer, int64_t fallback);
TW_API double tw_result_double(TwResult *result, const char *pointer, double fallback);
TW_API bool tw_result_bool(TwResult *result, const char *pointer, bool fallback);
TW_API size_t tw_result_count(TwResult *result, const char *pointer);

/* ---- Questions of the server ------------------------------------------------------------ */

/* Inside the `ask` callback. One of accept, decline, cancel (forms and URLs), result (the rest) or
 * refuse answers the question; the first counts. A callback that does none of it refuses. */
TW_API TwAskKind tw_ask_kind(const TwAsk *ask);

/* The sentence for the person, the form's schema as JSON, the page: "" where there is none. */
TW_API const char *tw_ask_message(TwAsk *ask);
TW_API const char *tw_ask_schema(TwAsk *ask);
TW_API const char *tw_ask_url(TwAsk *ask);

/* The whole question as JSON; "{}" if it has no parameters. */
TW_API const char *tw_ask_params(TwAsk *ask);

/* content: the form's fields, one JSON object; NULL for a URL. */
TW_API int tw_ask_accept(TwAsk *ask, const char *content_json);
TW_API int tw_ask_decline(TwAsk *ask);
TW_API int tw_ask_cancel(TwAsk *ask);

/* A whole result: of sampling/createMessage, or `{"roots":[{"uri":…}]}`. */
TW_API int tw_ask_result(TwAsk *ask, const char *result_json);
TW_API int tw_ask_refuse(TwAsk *ask, int code, const char *message);

TW_END_C
