/* api/tw_client.h: what a TwClient is made of. Private to src/api.
 *
 * Every public function that waits runs the loop on its caller's thread until `finished` is set by
 * an event of the session. One request is waited for at a time; a subscription stays open beside
 * it. */
#pragma once

#include <pthread.h>
#include <toolwire/client.h>

#include "api/tw_internal.h"
#include "base/bytes.h"
#include "io/loop.h"
#include "oauth/settings.h"
#include "peer/auth.h"
#include "peer/mcp_peer.h"

struct TwResult {
    Arena arena; /* text, index, strings given out */
    const char *json;
    JsonValue root;
};

struct TwClient {
    TwClientOptions options; /* strings are copies of our own */
    char *name;
    char *version;
    char *title;
    char *folder;
    char **environment;
    char **headers;
    char *bearer_env;
    McpIdentity identity;
    OauthSettings auth_settings;
    char *credentials;
    TwClientAuth auth_options; /* its strings are those two */

    IoLoop *loop;
    PeerAuth *auth; /* of a session over HTTP */
    McpPeer *peer;
    IoTimer *timer; /* of tw_client_wait */

    /* What is being waited for. */
    McpRequestId waiting; /* 0: nothing, or the start of the session */
    bool acknowledging;   /* the subscription's acknowledgement */
    bool finished;
    bool ready;
    bool failed; /* the session is over */
    int outcome; /* TW_ERROR_*, of what was waited for */
    TwResult *result;

    McpRequestId listening; /* the modern subscription; 0: none */
    char **subscribed;      /* legacy: URIs; NULL-terminated */

    char message[DIAG_MESSAGE_SIZE];
    int error_code;
    char *error_data;
    char *server_info;
    Bytes params; /* of the request that is being written */

    pthread_mutex_t lock; /* guards what follows */
    IoTask cancel_task;
    uint64_t generation; /* counts the functions that waited */
    uint64_t cancelled;  /* the one to be cancelled */
    bool waits;          /* a function waits now */
    bool cancel_posted;
};

/* tw_client_auth.c: copies options.auth; makes `auth` for that address, and does nothing where
 * tokens may not be sent. False, or -ENOMEM or TW_ERROR_ARGUMENT: see there. */
bool api_client_auth_copy(TwClient *client);
int api_client_auth_open(TwClient *client, const char *url);
void api_client_auth_deinit(TwClient *client);

/* Remembers the words about a failure and returns error. */
int api_client_fail(TwClient *client, int error, const char *message);

void api_client_say(TwClient *client, Span text);

/* An McpPeerConfig.event; context: TwClient. */
void api_client_on_event(void *context, McpPeer *peer, const McpClientEvent *event);

/* What is waited for has come to its end; only the first counts. */
void api_client_finish(TwClient *client, int outcome);

/* Is there a session? 0; TW_ERROR_ARGUMENT, TW_ERROR_CLOSED. Forgets the last failure. */
int api_client_check(TwClient *client);

/* Runs the loop until `finished`; gives `outcome`. */
int api_client_run(TwClient *client);

/* One request with client->params (empty: none) and its answer. ret_result may be NULL. */
int api_client_ask_server(TwClient *client, Span method, TwResult **ret_result);

/* What the options say of headers (tw_client_headers.c). */
typedef struct ApiHeaders {
    McpHttpField *fields;
    size_t n;
    char *bearer;    /* "Bearer …" */
    bool authorizes; /* there is an Authorization among them */
} ApiHeaders;

/* 0, TW_ERROR_*. *ret borrows from the client; api_headers_deinit in any case. */
int api_headers_read(TwClient *client, ApiHeaders *ret);
void api_headers_deinit(ApiHeaders *headers);

/* A copy of the value as a result of its own; NULL if there is no memory. */
TwResult *api_result_new(JsonValue value);

/* The same for a text that was made here. */
TwResult *api_result_from(Span text);

/* The server asks something: lets the callback answer. */
void api_client_on_ask(TwClient *client, const McpClientEvent *event);

/* NULL-terminated copies of NULL-terminated strings; *ret is NULL for NULL. False if there is no
 * memory. */
bool api_copy_list(char ***ret, const char *const *list);
char **api_free_list(char **list);
