/* The provider: calls that wait, run and end. */
#include "providers/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/error_text.h"
#include "io/work.h"
#include "providers/files_impl.h"
#include "json/writer.h"

/* Arguments of one call: content to be written, decoded and copied. */
#define FILES_ARENA_BYTES ((size_t)64 * 1024 * 1024)

/* An answer: a file of the largest size in the worst escapes. */
#define FILES_ANSWER_BYTES ((size_t)72 * 1024 * 1024)

/* What the router's deadline leaves for our own to come first. */
#define FILES_COMMAND_GRACE_MS 5000

struct FilesProvider {
    IoLoop *loop;
    Router *router;
    const LogSink *log;
    FilesShared *shared;
    FilesJob *waiting; /* in order */
    FilesJob *last;
    FilesJob *running;
    size_t n_running;
    size_t n_added; /* tools that are in the router */
};

/* ---- jobs ---- */

static FilesJob *job_free(FilesJob *job)
{
    job->timer = io_timer_free(job->timer);
    job->shared = files_shared_unref(job->shared);
    arena_deinit(&job->arena);
    bytes_deinit(&job->structured);
    bytes_deinit(&job->said);
    return mem_free(job);
}

static FilesJob *job_new(FilesProvider *files, const FilesTool *tool)
{
    FilesJob *job = mem_alloc_array(1, sizeof(*job));

    if (job == NULL) {
        return NULL;
    }
    job->files = files;
    job->shared = files->shared;
    job->shared->n_refs++;
    job->tool = tool;
    job->diag = DIAG_NULL;
    atomic_init(&job->cancel, false);
    atomic_init(&job->is_late, false);
    arena_init(&job->arena, FILES_ARENA_BYTES);
    bytes_init(&job->structured, FILES_ANSWER_BYTES);
    bytes_init(&job->said, FILES_ANSWER_BYTES);
    return job;
}

static void files_take_waiting(FilesProvider *files, FilesJob *job)
{
    *(job->prev != NULL ? &job->prev->next : &files->waiting) = job->next;
    *(job->next != NULL ? &job->next->prev : &files->last) = job->prev;
    job->next = NULL;
    job->prev = NULL;
}

static void files_wait(FilesProvider *files, FilesJob *job)
{
    job->prev = files->last;
    *(files->last != NULL ? &files->last->next : &files->waiting) = job;
    files->last = job;
}

static void files_take_running(FilesProvider *files, FilesJob *job)
{
    *(job->prev != NULL ? &job->prev->next : &files->running) = job->next;
    if (job->next != NULL) {
        job->next->prev = job->prev;
    }
    files->n_running--;
}

static void files_put_running(FilesProvider *files, FilesJob *job)
{
    job->is_running = true;
    job->prev = NULL;
    job->next = files->running;
    if (job->next != NULL) {
        job->next->prev = job;
    }
    files->running = job;
    files->n_running++;
}

/* ---- ends ---- */

/* {"error":…}, and the same as text. */
static int job_write_refusal(FilesJob *job)
{
    Span words = span_from_str(job->diag.message);
    JsonWriter w;

    bytes_clear(&job->said);
    bytes_clear(&job->structured);
    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("error"));
    job->said_at = job->structured.n;
    json_write_string(&w, words);
    job->said_n = job->structured.n - job->said_at;
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static void job_finish(FilesJob *job, Call *call)
{
    if (job->r == BYTES_E_FULL) {
        job->r = files_refuse(job, "The answer is too large");
    } else if (job->r < 0 && job->r != -ENOMEM) {
        job->r = files_refuse(job, "It failed: %s", io_error_text(-job->r));
    }
    if (job->r > 0) {
        job->is_error = true;
        job->r = job_write_refusal(job);
    }
    if (job->r != 0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
        return;
    }
    {
        Span said = job->said.n > 0 ? bytes_span(&job->said)
                                    : span_make(job->structured.data + job->said_at, job->said_n);
        const Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), said, SPAN("}")};
        CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

        result.structured = bytes_span(&job->structured);
        result.is_error = job->is_error;
        call_finish(call, &result);
    }
}

static void files_start_next(FilesProvider *files);

/* Thread: another. */
static void job_on_thread(void *context)
{
    FilesJob *job = context;

    job->r = job->tool->run(job);
}

static void job_on_done(void *context)
{
    FilesJob *job = context;
    FilesProvider *files = job->files;

    if (files != NULL) {
        files_take_running(files, job);
        files_start_next(files);
    }
    /* Who was told of another call's end just now may have taken this one back. */
    if (job->call != NULL) {
        job_finish(job, job->call);
    }
    (void)job_free(job);
}

static void job_on_late(void *context)
{
    FilesJob *job = context;

    atomic_store(&job->is_late, true);
    atomic_store(&job->cancel, true);
}

/* A command has its time from its start, not from its call. */
static int job_start(FilesProvider *files, FilesJob *job)
{
    int r = 0;

    if (job->tool == &files_tools[FILES_TOOL_COMMAND]) {
        r = io_timer_new(&job->timer, files->loop, true, job_on_late, job);
    }
    r = r != 0 ? r : io_work_start(files->loop, job_on_thread, job_on_done, job);
    if (r == 0 && job->timer != NULL) {
        io_loop_update_now(files->loop);
        io_timer_start_at(job->timer, io_loop_now_ms(files->loop) + job->shared->command_ms);
    }
    return r;
}

static void files_start_next(FilesProvider *files)
{
    while (files->waiting != NULL && files->n_running < LIMIT_FILES_RUNNING) {
        FilesJob *job = files->waiting;
        int r;

        files_take_waiting(files, job);
        r = job_start(files, job);
        if (r == 0) {
            files_put_running(files, job); /* job->r is its thread's now */
        } else {
            job->r = r;
            job_finish(job, job->call);
            (void)job_free(job);
        }
    }
}

/* ---- calls ---- */

void files_start(FilesProvider *files, const FilesTool *tool, Call *call)
{
    FilesJob *job = job_new(files, tool);

    if (job == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
        return;
    }
    job->r = tool->ask(job, call->arguments);
    if (job->r != 0) {
        job_finish(job, call);
        (void)job_free(job);
        return;
    }
    call->took_arguments = true;
    call->provider_data = job;
    job->call = call;
    files_wait(files, job);
    files_start_next(files);
}

void files_cancel(void *context, Call *call)
{
    FilesProvider *files = context;
    FilesJob *job = call->provider_data;

    job->call = NULL;
    if (job->is_running) {
        atomic_store(&job->cancel, true); /* its thread's end frees it */
        return;
    }
    files_take_waiting(files, job);
    (void)job_free(job);
}

/* ---- the beginning and the end ---- */

int files_new(FilesProvider **ret, const FilesConfig *config, Diag *reterr_diag)
{
    FilesProvider *files = mem_alloc_array(1, sizeof(*files));
    int r;

    if (files == NULL) {
        return err_raise(-ENOMEM);
    }
    files->loop = config->loop;
    files->log = config->log;
    r = files_shared_new(&files->shared, config, reterr_diag);
    if (r != 0) {
        (void)mem_free(files);
        return r;
    }
    if (logsink_is_on(files->log, LOGSINK_LEVEL_DEBUG)) {
        logsink_write(files->log, LOGSINK_LEVEL_DEBUG, "files", "root %s, commands %s",
                      io_beneath_path(files->shared->root), files->shared->state);
    }
    *ret = files;
    return 0;
}

static int files_on_describe(void *context, Span name, Bytes *out)
{
    FilesProvider *files = context;

    return files_describe(files->shared, name, out);
}

static void files_remove(FilesProvider *files)
{
    while (files->n_added > 0) {
        (void)router_remove(files->router, ROUTER_TOOL, files_tools[--files->n_added].name);
    }
}

static int files_add_all(FilesProvider *files, Diag *reterr_diag)
{
    size_t n = files->shared->n_commands > 0 ? FILES_N_TOOLS : FILES_TOOL_COMMAND;

    for (size_t i = 0; i < n; i++) {
        bool is_command = i == FILES_TOOL_COMMAND;
        int r = router_add(
            files->router,
            &(RouterSpec){.kind = ROUTER_TOOL,
                          .name = files_tools[i].name,
                          .describe = files_on_describe,
                          .provider = &files_tools[i].provider,
                          .context = files,
                          .timeout_ms =
                              is_command ? files->shared->command_ms + FILES_COMMAND_GRACE_MS : 0},
            reterr_diag);

        if (r == ROUTER_E_EXISTS) {
            return diag_set(reterr_diag, FILES_E_EXISTS, "there is a tool '%.*s' already",
                            (int)files_tools[i].name.n, files_tools[i].name.p);
        }
        if (r != 0) {
            return err_fold(r);
        }
        files->n_added++;
    }
    return 0;
}

int files_add(FilesProvider *files, Router *router, Diag *reterr_diag)
{
    int r;

    files->router = router;
    router_batch_begin(router);
    r = files_add_all(files, reterr_diag);
    if (r != 0) {
        files_remove(files);
    }
    router_batch_end(router);
    return r;
}

/* Ends a call that nobody will answer any more. */
static void files_end_call(FilesJob *job)
{
    Call *call = job->call;

    job->call = NULL;
    if (call != NULL) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the file tools are being closed"));
    }
}

FilesProvider *files_free(FilesProvider *files)
{
    if (files == NULL) {
        return NULL;
    }
    if (files->router != NULL) {
        router_batch_begin(files->router);
        files_remove(files);
        router_batch_end(files->router);
    }
    while (files->waiting != NULL) {
        FilesJob *job = files->waiting;

        files_take_waiting(files, job);
        files_end_call(job);
        (void)job_free(job);
    }
    while (files->running != NULL) {
        FilesJob *job = files->running;

        files_take_running(files, job);
        job->files = NULL;
        job->next = NULL;
        job->prev = NULL;
        job->timer = io_timer_free(job->timer);
        atomic_store(&job->cancel, true);
        files_end_call(job);
    }
    files->shared = files_shared_unref(files->shared);
    return mem_free(files);
}

IoBeneath *files_root(const FilesProvider *files)
{
    return files->shared->root;
}

const char *files_commands_state(const FilesProvider *files)
{
    return files->shared->state;
}
