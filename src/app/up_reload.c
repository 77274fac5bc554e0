/* From one configuration to the next while the hub serves. Everything that can be wrong with it is
 * found out before anything is given up. What the system may still refuse afterwards, memory and
 * descriptors, costs only the change concerned: the log says so, and the next reload tries again.
 */
#include "app/up_internal.h"

#include <string.h>

#include "app/end_signals.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"

/* ---- files ---- */

static void up_on_file(void *context)
{
    Up *up = context;

    if (!up->is_closing) {
        up_reload(up);
    }
}

/* There is nothing to be read: it is only said, for whoever did it by mistake. */
static void file_on_missing(void *context)
{
    const UpFile *file = context;

    logsink_write(file->log, LOGSINK_LEVEL_WARN, "reload",
                  "%s is missing: what was read from it stays in force until it is back",
                  file->path);
}

static void file_unwatch(UpFile *file)
{
    file->watch = io_watch_free(file->watch);
    file->path = mem_free(file->path);
}

static int file_watch(Up *up, UpFile *file, const char *path)
{
    int r;

    if (path != NULL && file->path != NULL && strcmp(path, file->path) == 0) {
        return 0;
    }
    file_unwatch(file);
    if (path == NULL) {
        return 0;
    }
    r = config_replace(&file->path, path);
    r = r != 0 ? r : io_watch_new(&file->watch, hub_loop(up->hub), path, up_on_file, up);
    if (r == 0) {
        file->log = up->options->log;
        io_watch_tell_missing(file->watch, file_on_missing, file);
    }
    return err_pass(r);
}

static void keys_unwatch(Up *up)
{
    for (size_t i = 0; i < up->n_keys; i++) {
        file_unwatch(&up->keys[i]);
    }
    up->n_keys = 0;
    up->keys = mem_free(up->keys);
}

static bool keys_are_watched(const Up *up, const ConfigHttp *http)
{
    bool is_same = up->n_keys == http->n_issuers;

    for (size_t i = 0; is_same && i < up->n_keys; i++) {
        is_same = strcmp(up->keys[i].path, http->issuers[i].jwks) == 0;
    }
    return is_same;
}

/* All or none: they are as many as there are issuers, and a watch cannot be moved. */
static int keys_watch(Up *up, const ConfigHttp *http)
{
    int r = 0;

    if (keys_are_watched(up, http)) {
        return 0;
    }
    keys_unwatch(up);
    if (http->n_issuers == 0) {
        return 0;
    }
    up->keys = mem_alloc_array(http->n_issuers, sizeof(*up->keys));
    if (up->keys == NULL) {
        return err_raise(-ENOMEM);
    }
    while (r == 0 && up->n_keys < http->n_issuers) {
        size_t i = up->n_keys++;

        r = file_watch(up, &up->keys[i], http->issuers[i].jwks);
    }
    if (r != 0) {
        keys_unwatch(up);
    }
    return err_pass(r);
}

int up_watch_files(Up *up, const Config *config)
{
    const char *const paths[UP_N_FILES] = {
        [UP_FILE_CONFIG] = config->path,
        [UP_FILE_TOOLS] = config->tools,
        [UP_FILE_PIPE_TOOLS] = config->pipe.tools,
        [UP_FILE_TOKEN] = config->http.token_file,
    };

    for (size_t i = 0; i < UP_N_FILES; i++) {
        int r = file_watch(up, &up->files[i], paths[i]);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return err_pass(keys_watch(up, &config->http));
}

void up_unwatch_files(Up *up)
{
    for (size_t i = 0; i < UP_N_FILES; i++) {
        file_unwatch(&up->files[i]);
    }
    keys_unwatch(up);
}

/* ---- the door ---- */

/* What is to become of the door. */
typedef struct UpChange {
    UpDoor *next;     /* taken by whoever uses it; may be NULL */
    bool is_new;      /* it differs from the one that there is */
    bool is_in_place; /* and wants its address: it is opened when the other goes */
} UpChange;

/* Makes the next door, and opens it if its address is free of ours. */
static int change_prepare(Up *up, const Config *config, UpChange *change, Diag *reterr_diag)
{
    int r = up_make_door(up, config, &change->next, reterr_diag);

    if (r != 0) {
        return r;
    }
    if (change->next == NULL || up->door == NULL) {
        change->is_new = change->next != up->door;
    } else {
        change->is_new = !up_door_is_same(change->next, up->door);
        change->is_in_place = up_door_is_at(change->next, up->door);
    }
    if (!change->is_new) {
        change->next = up_door_free(change->next);
        return 0;
    }
    if (change->next == NULL) {
        return 0;
    }
    r = change->is_in_place ? up_door_check(change->next, reterr_diag)
                            : up_door_open(change->next, NULL, reterr_diag);
    if (r > 0 && !change->is_in_place && up->door != NULL &&
        up_door_is_in_way(change->next, up->door)) {
        r = diag_set(reterr_diag, UP_E_PLACE,
                     "cannot listen on %s while this hub itself listens on %s: choose another "
                     "port, or end the hub and start it anew",
                     config->http.address, http_door_address(up_door_http(up->door)));
    }
    return r > 0 ? UP_E_PLACE : err_pass(r);
}

/* The old door goes, the new one is there. */
static void change_commit(Up *up, UpChange *change)
{
    Diag diag = DIAG_NULL;
    UpDoor *old = up->door;
    int r = 0;

    if (!change->is_new) {
        return;
    }
    if (change->is_in_place) {
        r = up_door_open(change->next, old, &diag);
    }
    if (r != 0) {
        logsink_write(up->options->log, LOGSINK_LEVEL_ERROR, "reload", "HTTP goes on as before: %s",
                      r > 0 ? diag.message : io_error_text(-r));
        change->next = up_door_free(change->next);
        return;
    }
    up->door = change->next;
    change->next = NULL;
    up_leave_door(up, old);
}

/* ---- fronts ---- */

/* A hub that serves another state folder is found elsewhere. */
static int front_prepare(Up *up, const Config *next, UpFront **ret, PrivateFile *ret_lock,
                         Diag *reterr_diag)
{
    const char *was = up->config.state;
    const char *is = next->state;
    int r;

    if (was == is || (was != NULL && is != NULL && strcmp(was, is) == 0)) {
        *ret = NULL;
        return 0;
    }
    r = up_take_state(up, next, ret_lock, reterr_diag);
    return r != 0 ? r : up_make_front(up, next, ret, reterr_diag);
}

static void front_commit(Up *up, const Config *next, UpFront *front, const PrivateFile *lock)
{
    if (front != NULL || lock->path != NULL) {
        private_file_remove(&up->other_lock);
        up->other_lock = *lock;
    }
    if (front != NULL) {
        up_leave_front(up, up->front);
        up->front = front;
    } else if (up->front != NULL) {
        up_front_update(up->front, next);
    }
}

/* ---- the record ---- */

static void record_change(Up *up, const Config *next)
{
    const ConfigAudit *was = &up->config.audit;
    const ConfigAudit *is = &next->audit;
    bool is_same = (was->file == NULL) == (is->file == NULL) &&
                   (is->file == NULL || strcmp(was->file, is->file) == 0) &&
                   was->max_bytes == is->max_bytes && was->keep == is->keep &&
                   was->arguments == is->arguments;
    int r;

    if (is_same) {
        if (up->audit != NULL) {
            audit_reopen(up->audit); /* somebody may have moved it, and tell us by this */
        }
        return;
    }
    r = up_keep_record(up, next);
    if (r != 0) {
        logsink_write(up->options->log, LOGSINK_LEVEL_ERROR, "reload",
                      "the record of calls goes on as before: %s", io_error_text(-r));
    }
}

/* ---- what is listed ---- */

static void economy_change(Up *up, const Config *next)
{
    Diag diag = DIAG_NULL;
    int r =
        economy_is_same(&up->config, next) ? 0 : economy_set(&up->economy, up->hub, next, &diag);

    if (r != 0) {
        logsink_write(up->options->log, LOGSINK_LEVEL_ERROR, "reload",
                      "all tools are listed, and results are whole: %s",
                      r > 0 ? diag.message : io_error_text(-r));
    }
}

/* Whoever has used it should know where it has gone, and how it comes back. */
static void toolkit_change(Up *up, const Config *next)
{
    if (config_offers_toolkit(&up->config) && !config_offers_toolkit(next) &&
        next->toolkit == CONFIG_TOOLKIT_UNSAID) {
        logsink_write(up->options->log, LOGSINK_LEVEL_WARN, "reload",
                      "the toolkit (templates, code analysis) is offered no more, since the "
                      "settings name other tools now; \"toolkit\": true offers it beside them");
    }
}

/* ---- MCP servers ---- */

/* A server that has a fault now and had none goes on as it is, with all else: a file that is being
 * edited should end nobody. At a start, and for a server that is new, a fault costs that one. */
static int reload_check_servers(const Config *was, const Config *next, Diag *reterr_diag)
{
    for (size_t i = 0; i < next->n_servers; i++) {
        for (size_t j = 0; next->servers[i].fault != NULL && j < was->n_servers; j++) {
            if (strcmp(was->servers[j].name, next->servers[i].name) == 0 &&
                was->servers[j].fault == NULL) {
                return diag_set(reterr_diag, UP_E_CONFIG, "%s", next->servers[i].fault);
            }
        }
    }
    return 0;
}

/* ---- all of it ---- */

/* 0, a negative errno, UP_E_*: nothing has changed then. *next is taken on success. */
static int reload_to(Up *up, Config *next, bool pipe_can_wait, Diag *reterr_diag)
{
    UpChange change = {.next = NULL};
    UpFront *front = NULL;
    PrivateFile lock = PRIVATE_FILE_NULL;
    bool could_wait = up->sources.with.pipe_can_wait;
    int r = up_watch_files(up, next);

    r = r != 0 ? err_pass(r) : change_prepare(up, next, &change, reterr_diag);
    r = r != 0 ? r : front_prepare(up, next, &front, &lock, reterr_diag);
    if (r == 0) {
        up->sources.with.pipe_can_wait = pipe_can_wait;
        r = up_source_result(sources_reload(&up->sources, &up->config, next, reterr_diag));
    }
    if (r != 0) {
        up->sources.with.pipe_can_wait = could_wait;
        (void)up_door_free(change.next);
        (void)up_front_free(front);
        private_file_remove(&lock);
        return r;
    }
    change_commit(up, &change);
    front_commit(up, next, front, &lock);
    record_change(up, next);
    if (up_queue_differs(up->queue, next)) {
        logsink_write(up->options->log, LOGSINK_LEVEL_WARN, "reload",
                      "the queue stays as it is: its settings count from the next start on");
    }
    economy_change(up, next);
    toolkit_change(up, next);
    router_set_times(hub_router(up->hub), &next->limits);
    router_set_page_size(hub_router(up->hub), next->page_size);
    end_signals_set_drain(hub_loop(up->hub), next->drain_ms);
    config_deinit(&up->config);
    up->config = *next;
    return 0;
}

void up_reload(Up *up)
{
    const LogSink *log = up->options->log;
    bool pipe_can_wait = false;
    Config next = CONFIG_NULL;
    Diag diag = DIAG_NULL;
    int r;

    io_notify_reloading(up->notify);
    r = up_load(up, &next, &pipe_can_wait, &diag);
    if (r == 0) {
        r = reload_check_servers(&up->config, &next, &diag);
        r = r != 0 ? r : reload_to(up, &next, pipe_can_wait, &diag);
        if (r != 0) {
            config_deinit(&next);
        }
    }
    if (r != 0) {
        logsink_write(log, LOGSINK_LEVEL_ERROR, "reload", "the new settings are not used: %s",
                      r > 0 ? diag.message : io_error_text(-r));
    } else {
        logsink_write(log, LOGSINK_LEVEL_INFO, "reload", "done: %zu tools, HTTP %s",
                      router_count(hub_router(up->hub), ROUTER_TOOL),
                      up->door == NULL ? "off" : http_door_address(up_door_http(up->door)));
    }
    up_tell_ready(up);
}
