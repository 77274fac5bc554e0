/* The tasks of a server's tools: a queue that is opened with the first tool that may run as one. */
#include <stdio.h>
#include <toolwire/error.h>

#include "api/tw_server.h"
#include "app/jobs.h"
#include "base/limits.h"

#define JOBS_FILE "jobs.db"

/* Results that are kept in memory: nobody reads them when the process has ended. */
#define JOBS_MEMORY_BYTES ((uint64_t)64 * 1024 * 1024)

static int jobs_error(int r)
{
    switch (r) {
    case QUEUE_E_BUSY:
        return TW_ERROR_BUSY;
    case QUEUE_E_NEWER:
    case QUEUE_E_DAMAGED:
    case QUEUE_E_READ_ONLY:
        return TW_ERROR_SYSTEM;
    default:
        return api_error_of(r);
    }
}

int api_server_open_jobs(TwServer *server, Diag *reterr_diag)
{
    JobsConfig config = {.hub = server->hub, .path = ":memory:", .keep_bytes = JOBS_MEMORY_BYTES};
    char path[DIAG_MESSAGE_SIZE];
    int n;

    if (server->jobs != NULL) {
        return 0;
    }
    if (server->state_dir != NULL) {
        n = snprintf(path, sizeof(path), "%s/" JOBS_FILE, server->state_dir);
        if (n < 0 || (size_t)n >= sizeof(path)) {
            return diag_set(reterr_diag, TW_ERROR_ARGUMENT, "the path of state_dir is too long");
        }
        config.path = path;
        config.keep_bytes = 0;
    }
    return jobs_error(jobs_new(&server->jobs, &config, reterr_diag));
}

void api_server_pause_jobs(TwServer *server, void (*paused)(void *context), void *context)
{
    int64_t drain_ms = server->options.drain_ms != 0 ? server->options.drain_ms : LIMIT_DRAIN_MS;

    /* What ends in memory ends for nobody. */
    if (server->state_dir == NULL || paused == NULL) {
        drain_ms = 0;
    }
    jobs_shutdown(server->jobs, drain_ms, paused, context);
}

void api_server_resume_jobs(TwServer *server)
{
    if (server->jobs != NULL) {
        jobs_resume(server->jobs);
    }
}

void api_server_close_jobs(TwServer *server)
{
    if (server->jobs != NULL) {
        server->jobs = jobs_free(server->jobs);
        /* Answers of other threads that were on their way go back to where they came from. */
        (void)io_loop_run(hub_loop(server->hub));
    }
}
