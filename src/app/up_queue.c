#include "app/up_queue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/hub_place.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/keep.h"

/* In the state folder. */
#define UP_QUEUE_NAME "queue.db"

/* "unix:" and the path of a socket. */
#define UP_QUEUE_ADDRESS_BYTES 256

struct UpQueue {
    UpQueueConfig with; /* config is NULL: what is needed of it is below */
    char *path;
    ConfigQueue numbers; /* file is NULL */
    Jobs *jobs;
    CommandDoor *door;
    HttpDoor *own; /* NULL: there is no private door */
    int64_t drain_ms;
    size_t n_open; /* while it is shut down: jobs and own, as far as they have not ended */
};

/* ---- the file ---- */

static int path_join(char **ret, const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = mem_alloc(size);

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(path, size, "%s/%s", folder, name);
    *ret = path;
    return 0;
}

int up_queue_path(char **ret, const Config *config, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *own = NULL;
    const char *file = config->queue.file;
    int r = 0;

    *ret = NULL;
    if (file != NULL) {
        return strcmp(file, CONFIG_QUEUE_OFF) == 0 ? 0 : err_pass(config_replace(ret, file));
    }
    if (config->state == NULL) {
        r = io_keep_folder(&own);
    }
    if (r == -ENOENT) {
        return diag_set(reterr_diag, UP_QUEUE_E_PLACE,
                        "there is no folder for the queue, since there is no home: choose one "
                        "with --state, or go without a queue by --queue off");
    }
    return err_pass(r != 0 ? r : path_join(ret, own != NULL ? own : config->state, UP_QUEUE_NAME));
}

/* What the store said, and what can be done about it. */
static int queue_blame(int r, const char *path, Diag *reterr_diag)
{
    if (r < 0) {
        return diag_set(reterr_diag, UP_QUEUE_E_PLACE,
                        "cannot open the queue %s: %s; choose another place with --state or "
                        "--queue, or go without by --queue off",
                        path, io_error_text(-r));
    }
    if (reterr_diag != NULL && strstr(reterr_diag->message, path) == NULL) {
        diag_prefix(reterr_diag, "%s: ", path);
    }
    return UP_QUEUE_E_PLACE;
}

static int queue_open_jobs(UpQueue *queue, Diag *reterr_diag)
{
    const ConfigQueue *numbers = &queue->numbers;
    int r = io_keep_make_folders(queue->path);

    if (r == 0) {
        r = jobs_new(&queue->jobs,
                     &(JobsConfig){.hub = queue->with.hub,
                                   .path = queue->path,
                                   .max_running = numbers->max_running,
                                   .keep_ms = numbers->keep_ms,
                                   .keep_bytes = numbers->keep_bytes,
                                   .max_waiting = numbers->max_waiting,
                                   .log = queue->with.log},
                     reterr_diag);
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    return r != 0 ? queue_blame(r, queue->path, reterr_diag) : 0;
}

/* ---- life ---- */

int up_queue_new(UpQueue **ret, const UpQueueConfig *config, Diag *reterr_diag)
{
    UpQueue *queue = mem_alloc_array(1, sizeof(*queue));
    int r;

    if (queue == NULL) {
        return err_raise(-ENOMEM);
    }
    queue->with = *config;
    queue->with.config = NULL;
    queue->numbers = config->config->queue;
    queue->numbers.file = NULL;
    queue->drain_ms = config->config->drain_ms;
    r = up_queue_path(&queue->path, config->config, reterr_diag);
    if (r == 0 && queue->path == NULL) {
        (void)up_queue_free(queue);
        *ret = NULL;
        return 0;
    }
    r = r != 0 ? r : queue_open_jobs(queue, reterr_diag);
    if (r == 0) {
        r = command_door_new(&queue->door,
                             &(CommandDoorConfig){.hub = config->hub,
                                                  .jobs = queue->jobs,
                                                  .takes_all = queue->numbers.takes_all,
                                                  .known_ms = queue->numbers.known_ms,
                                                  .expects_tools = config->expects_tools,
                                                  .context = config->context,
                                                  .identity = config->identity,
                                                  .log = config->log});
    }
    if (r != 0) {
        (void)up_queue_free(queue);
        return r;
    }
    *ret = queue;
    return 0;
}

UpQueue *up_queue_free(UpQueue *queue)
{
    if (queue == NULL) {
        return NULL;
    }
    queue->own = http_door_free(queue->own);
    /* The door's last questions are answered while the jobs end. */
    queue->door = command_door_free(queue->door);
    queue->jobs = jobs_free(queue->jobs);
    queue->path = mem_free(queue->path);
    return mem_free(queue);
}

/* Jobs, or the private door: whoever waits there for a job that runs is told how it ended. */
static void queue_on_closed(void *context)
{
    UpQueue *queue = context;

    if (--queue->n_open == 0) {
        queue->with.closed(queue->with.context);
    }
}

void up_queue_listen(UpQueue *queue, const char *front_path)
{
    CLEANUP(mem_freep) char *path = NULL;
    char address[UP_QUEUE_ADDRESS_BYTES];
    Diag diag = DIAG_NULL;
    int r = hub_place_queue(&path, front_path);

    if (r == 0) {
        (void)snprintf(address, sizeof(address), "unix:%s", path);
        r = http_door_new(&queue->own,
                          &(HttpDoorConfig){.hub = queue->with.hub,
                                            .identity = queue->with.identity,
                                            .address = address,
                                            .side = up_queue_side(queue),
                                            .lists_change = true,
                                            .expects_tools = true,
                                            .drain_ms = queue->drain_ms,
                                            .log = queue->with.log,
                                            .closed = queue_on_closed,
                                            .context = queue},
                          &diag);
    }
    if (r != 0) {
        logsink_write(queue->with.log, LOGSINK_LEVEL_WARN, "queue",
                      "toolwire queue cannot reach this hub: %s",
                      r > 0 ? diag.message : io_error_text(-r));
    }
}

void up_queue_shutdown(UpQueue *queue, int64_t drain_ms)
{
    queue->n_open = queue->own != NULL ? 2 : 1;
    if (queue->own != NULL) {
        http_door_shutdown(queue->own);
    }
    jobs_shutdown(queue->jobs, drain_ms, queue_on_closed, queue);
}

const HttpSide *up_queue_side(const UpQueue *queue)
{
    return command_door_side(queue->door);
}

const char *up_queue_file(const UpQueue *queue)
{
    return queue->path;
}

QueueFigures up_queue_figures(const UpQueue *queue)
{
    return jobs_figures(queue->jobs);
}

bool up_queue_differs(const UpQueue *queue, const Config *config)
{
    CLEANUP(mem_freep) char *path = NULL;
    const ConfigQueue *is = &config->queue;
    const ConfigQueue *was = queue == NULL ? NULL : &queue->numbers;

    if (up_queue_path(&path, config, NULL) != 0 || (path == NULL) != (queue == NULL)) {
        return true;
    }
    return path != NULL &&
           (strcmp(path, queue->path) != 0 || was->takes_all != is->takes_all ||
            was->keep_ms != is->keep_ms || was->known_ms != is->known_ms ||
            was->keep_bytes != is->keep_bytes || was->max_waiting != is->max_waiting ||
            was->max_running != is->max_running);
}
