/* A server's life, its options, and the way of other threads to its router. */
#include "api/tw_server.h"

#include <stdio.h>
#include <toolwire/error.h>

#include "base/alloc.h"
#include "base/limits.h"

/* Work for the serving thread; another thread waits for it. */
typedef struct ApiErrand {
    IoTask task;
    TwServer *server;
    ApiErrandFn fn;
    void *argument;
    Diag diag;
    int r;
    bool done;
} ApiErrand;

/* ---- life ---- */

static int server_init_locks(TwServer *server)
{
    pthread_mutexattr_t recursive;
    int r = pthread_mutexattr_init(&recursive);

    if (r != 0) {
        return r;
    }
    r = pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    if (r == 0) {
        r = pthread_mutex_init(&server->lock, &recursive);
    }
    (void)pthread_mutexattr_destroy(&recursive);
    if (r != 0) {
        return r;
    }
    r = pthread_mutex_init(&server->pool_lock, NULL);
    if (r != 0) {
        (void)pthread_mutex_destroy(&server->lock);
        return r;
    }
    r = pthread_cond_init(&server->changed, NULL);
    if (r != 0) {
        (void)pthread_mutex_destroy(&server->pool_lock);
        (void)pthread_mutex_destroy(&server->lock);
    }
    return r;
}

/* The last reference is gone: the hub went before, with tw_server_free. */
static void server_release(TwServer *server)
{
    char **const words[] = {&server->name,         &server->version,  &server->title,
                            &server->description,  &server->icons,    &server->website_url,
                            &server->instructions, &server->state_dir};
    TwCall *call;

    while ((call = server->pool) != NULL) {
        server->pool = call->next;
        (void)api_call_free(call);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        *words[i] = mem_free(*words[i]);
    }
    (void)pthread_cond_destroy(&server->changed);
    (void)pthread_mutex_destroy(&server->pool_lock);
    (void)pthread_mutex_destroy(&server->lock);
    (void)mem_free(server);
}

void api_server_unref(TwServer *server)
{
    if (atomic_fetch_sub(&server->n_refs, 1) == 1) {
        server_release(server);
    }
}

static void server_set_identity(TwServer *server)
{
    server->identity = (McpIdentity){
        .name = api_span(server->name),
        .version = api_span(server->version),
        .title = api_span(server->title),
        .description = api_span(server->description),
        .website_url = api_span(server->website_url),
        .icons = api_span(server->icons),
        .instructions = api_span(server->instructions),
    };
}

TwServer *tw_server_new(const char *name, const char *version)
{
    TwServer *server;

    if (name == NULL) {
        return NULL;
    }
    server = mem_alloc_array(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    if (server_init_locks(server) != 0) {
        return mem_free(server);
    }
    atomic_init(&server->n_refs, 1);
    if (!api_copy_to(&server->name, name) ||
        !api_copy_to(&server->version, version != NULL ? version : "")) {
        api_server_unref(server);
        return NULL;
    }
    server_set_identity(server);
    return server;
}

void tw_server_free(TwServer *server)
{
    if (server == NULL) {
        return;
    }
    api_server_close_jobs(server);
    server->hub = hub_free(server->hub);
    api_server_unref(server);
}

const char *tw_server_message(const TwServer *server)
{
    return server == NULL ? "there is no server" : server->message;
}

int api_server_fail(TwServer *server, int error, const char *message)
{
    pthread_mutex_lock(&server->lock);
    (void)snprintf(server->message, sizeof(server->message), "%s", message);
    pthread_mutex_unlock(&server->lock);
    return error;
}

/* ---- options ---- */

/* Icons in the form in which they are sent. */
static int server_compact_icons(const char *icons, char **ret)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    int r;

    *ret = NULL;
    if (icons == NULL) {
        return 0;
    }
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, LIMIT_MCP_RESPONSE_BYTES);
    r = api_json_compact(icons, API_JSON_ARRAY, &arena, &out);
    if (r == 0 && bytes_append_byte(&out, '\0') != 0) {
        r = TW_ERROR_MEMORY;
    }
    if (r == 0) {
        *ret = out.data;
        out = BYTES_NULL;
    }
    return r;
}

/* The numbers as they are used: what would overflow somewhere is cut to the largest that does not.
 */
static TwServerOptions server_bound_options(const TwServerOptions *options)
{
    TwServerOptions bound = *options;

    bound.call_timeout_ms = api_time(options->call_timeout_ms);
    bound.call_timeout_max_ms = api_time(options->call_timeout_max_ms);
    bound.drain_ms = api_time(options->drain_ms);
    if (options->max_in_flight > LIMIT_CALLS_IN_FLIGHT_MAX) {
        bound.max_in_flight = LIMIT_CALLS_IN_FLIGHT_MAX;
    }
    return bound;
}

int tw_server_set_options(TwServer *server, const TwServerOptions *options)
{
    enum {
        TITLE,
        DESCRIPTION,
        WEBSITE_URL,
        INSTRUCTIONS,
        ICONS,
        STATE_DIR,
        N_WORDS
    };
    char *fresh[N_WORDS] = {NULL};
    int r = 0;

    if (server == NULL || options == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if (options->call_timeout_ms < 0 || options->call_timeout_max_ms < 0 || options->drain_ms < 0) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "a time is negative");
    }
    if (!api_copy_to(&fresh[TITLE], options->title) ||
        !api_copy_to(&fresh[DESCRIPTION], options->description) ||
        !api_copy_to(&fresh[WEBSITE_URL], options->website_url) ||
        !api_copy_to(&fresh[INSTRUCTIONS], options->instructions) ||
        !api_copy_to(&fresh[STATE_DIR], options->state_dir)) {
        r = TW_ERROR_MEMORY;
    } else {
        r = server_compact_icons(options->icons, &fresh[ICONS]);
    }
    pthread_mutex_lock(&server->lock);
    if (r == 0 && server->hub != NULL) {
        r = api_server_fail(server, TW_ERROR_BUSY, "options come before what is added");
    } else if (r != 0) {
        (void)api_server_fail(server, r,
                              r == TW_ERROR_JSON ? "icons must be a JSON array" : tw_error_text(r));
    } else {
        char **const places[N_WORDS] = {&server->title,       &server->description,
                                        &server->website_url, &server->instructions,
                                        &server->icons,       &server->state_dir};

        for (size_t i = 0; i < N_WORDS; i++) {
            char *old = *places[i];

            *places[i] = fresh[i];
            fresh[i] = old;
        }
        server->options = server_bound_options(options);
        server_set_identity(server);
    }
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < N_WORDS; i++) {
        (void)mem_free(fresh[i]);
    }
    return r;
}

int api_server_open(TwServer *server)
{
    const TwServerOptions *options = &server->options;
    int r;

    if (server->hub != NULL) {
        return 0;
    }
    r = hub_new(&server->hub, &(RouterLimits){
                                  .max_in_flight = options->max_in_flight,
                                  .rate_off = options->rate_off,
                                  .rate_burst = options->rate_burst,
                                  .rate_per_s = options->rate_per_s,
                                  .call_timeout_ms = options->call_timeout_ms,
                                  .call_timeout_max_ms = options->call_timeout_max_ms,
                              });
    if (r != 0) {
        r = api_error_of(r);
        return api_server_fail(server, r, tw_error_text(r));
    }
    router_set_page_size(hub_router(server->hub), options->page_size);
    return 0;
}

/* ---- from any thread to the router ---- */

static void errand_on_task(IoTask *task)
{
    ApiErrand *errand = (ApiErrand *)((char *)task - offsetof(ApiErrand, task));
    TwServer *server = errand->server;

    pthread_mutex_lock(&server->lock);
    errand->r = errand->fn(server, errand->argument, &errand->diag);
    errand->done = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

int api_server_do(TwServer *server, ApiErrandFn fn, void *argument)
{
    ApiErrand errand = {.task = {.fn = errand_on_task},
                        .server = server,
                        .fn = fn,
                        .argument = argument,
                        .diag = DIAG_NULL};

    pthread_mutex_lock(&server->lock);
    if (!server->serving || pthread_equal(pthread_self(), server->thread)) {
        errand.r = api_server_open(server);
        if (errand.r == 0) {
            errand.r = fn(server, argument, &errand.diag);
        }
    } else {
        /* Under the lock: the serving thread takes it before it stops looking. */
        io_loop_post(hub_loop(server->hub), &errand.task);
        while (!errand.done) {
            pthread_cond_wait(&server->changed, &server->lock);
        }
    }
    if (errand.r != 0 && errand.diag.message[0] != '\0') {
        (void)api_server_fail(server, errand.r, errand.diag.message);
    } else if (errand.r != 0) {
        (void)api_server_fail(server, errand.r, tw_error_text(errand.r));
    }
    pthread_mutex_unlock(&server->lock);
    return errand.r;
}

/* ---- the pool ---- */

TwCall *api_server_take_call(TwServer *server)
{
    size_t max_bytes = server->options.max_response_bytes;
    TwCall *call;

    pthread_mutex_lock(&server->pool_lock);
    call = server->pool;
    if (call != NULL) {
        server->pool = call->next;
    }
    pthread_mutex_unlock(&server->pool_lock);
    return call != NULL
               ? call
               : api_call_new(server, max_bytes != 0 ? max_bytes : LIMIT_MCP_RESPONSE_BYTES);
}

void api_server_return_call(TwServer *server, TwCall *call)
{
    api_call_reset(call);
    pthread_mutex_lock(&server->pool_lock);
    call->next = server->pool;
    server->pool = call;
    pthread_mutex_unlock(&server->pool_lock);
}
