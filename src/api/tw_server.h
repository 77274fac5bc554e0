/* api/tw_server.h: what a TwServer is made of. Private to src/api. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <toolwire/server.h>

#include "api/tw_call.h"
#include "api/tw_endpoint.h"
#include "app/hub.h"
#include "base/diag.h"
#include "router/router.h"

typedef struct ApiServing ApiServing;
typedef struct Jobs Jobs;

/* Something that was added. Lives as long as the router or a call that was kept uses it. */
struct TwEntry {
    TwServer *server;
    TwHandler handler;
    TwHandler complete;
    void *user;
    void (*release)(void *user);
    char *mime_type;
    bool is_command; /* of a tool */
    char *variables; /* names in a URI template, each ended by NUL, the last by two; may be NULL */
    atomic_uint n_refs;
};

struct TwServer {
    /* The user's, one for each call that is kept. */
    atomic_uint n_refs;

    /* Guards what follows; recursive, since `release` functions of the user may come back here. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* an errand is done */
    bool serving;
    pthread_t thread; /* while serving */
    char message[DIAG_MESSAGE_SIZE];

    McpIdentity identity; /* points to the strings below */
    char *name;
    char *version;
    char *title;
    char *description;
    char *website_url;
    char *icons;
    char *instructions;
    char *state_dir;         /* or NULL */
    TwServerOptions options; /* numbers only */

    Hub *hub;   /* made by the first add or serve: options must be known then */
    Jobs *jobs; /* made by the first tool that may run as a task */

    bool has_context; /* it has the tool get_context, or one of its own */

    ApiEndpoint *endpoint; /* the host or add-in, from its open to its close; lock */

    /* While a door of its own is served; loop. */
    ApiServing *serving_now;
    IoTask stop_task;
    bool stop_posted; /* lock */

    pthread_mutex_t pool_lock; /* guards pool */
    TwCall *pool;
};

/* Drops one reference; the last releases the server. */
void api_server_unref(TwServer *server);

/* Makes the hub if there is none. Lock held. 0, TW_ERROR_*. */
int api_server_open(TwServer *server);

/* Claims the loop of this server for the calling thread, which serves the endpoint, or a client of
 * its own (NULL). 0, TW_ERROR_BUSY, and as api_server_open. */
int api_server_begin(TwServer *server, const ApiEndpoint *endpoint);
void api_server_end(TwServer *server);

/* tw_jobs.c. Opens the queue of tasks, if it is not open. Lock held. 0, TW_ERROR_*. */
int api_server_open_jobs(TwServer *server, Diag *reterr_diag);

/* Of a server that has one: nothing is begun any more; paused comes from the loop when what runs
 * has ended, or had its time; NULL: nobody waits for that. Until it is resumed. Loop. */
void api_server_pause_jobs(TwServer *server, void (*paused)(void *context), void *context);
void api_server_resume_jobs(TwServer *server);

/* Before the hub goes; nobody serves. */
void api_server_close_jobs(TwServer *server);

/* Remembers the words about a failure and returns error. */
int api_server_fail(TwServer *server, int error, const char *message);

/* Lets fn work on the router: on the serving thread, if there is one, else here. fn returns 0 or
 * TW_ERROR_*, and says why in the Diag, which becomes the server's message. */
typedef int (*ApiErrandFn)(TwServer *server, void *argument, Diag *reterr_diag);
int api_server_do(TwServer *server, ApiErrandFn fn, void *argument);

/* A TwCall for a handler, and back; take gives NULL if there is no memory. Thread: any. */
TwCall *api_server_take_call(TwServer *server);
void api_server_return_call(TwServer *server, TwCall *call);

/* One more user of the entry, and one less; the last releases it. */
TwEntry *api_entry_ref(TwEntry *entry);
void api_entry_unref(TwEntry *entry);
