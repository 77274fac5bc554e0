/* Jobs of the analyser: which wait, which run, what is told of them, and how they end. */
#include "providers/analysis_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/beneath.h"
#include "io/error_text.h"
#include "io/work.h"
#include "providers/analysis_tools_impl.h"
#include "json/writer.h"

/* Each job takes all cores; a second one fills them while the first waits for git or the disk. */
#define TOOLS_MAX_RUNNING 2

/* Often enough for a person who waits, and for a deadline that progress moves. */
#define TOOLS_PERIOD_MS 200

/* Arguments of one call. */
#define TOOLS_ARENA_BYTES ((size_t)8 * 1024 * 1024)

struct AnalysisTools {
    Router *router;
    IoLoop *loop;
    IoTimer *timer;
    char *state;
    char *root; /* absolute, without links; NULL: none */
    const char *version;
    AnalysisJob *waiting; /* in order */
    AnalysisJob *last;
    AnalysisJob *running;
    size_t n_running;
    uint64_t look;  /* at all jobs, for progress */
    size_t n_tools; /* that are in the router */
};

/* ---- jobs ---- */

static AnalysisJob *job_free(AnalysisJob *job)
{
    arena_deinit(&job->arena);
    bytes_deinit(&job->content);
    bytes_deinit(&job->structured);
    return mem_free(job);
}

static void tools_take_waiting(AnalysisTools *tools, AnalysisJob *job)
{
    *(job->prev != NULL ? &job->prev->next : &tools->waiting) = job->next;
    *(job->next != NULL ? &job->next->prev : &tools->last) = job->prev;
    job->next = NULL;
    job->prev = NULL;
}

static void tools_wait(AnalysisTools *tools, AnalysisJob *job)
{
    job->prev = tools->last;
    *(tools->last != NULL ? &tools->last->next : &tools->waiting) = job;
    tools->last = job;
}

static void tools_take_running(AnalysisTools *tools, AnalysisJob *job)
{
    *(job->prev != NULL ? &job->prev->next : &tools->running) = job->next;
    if (job->next != NULL) {
        job->next->prev = job->prev;
    }
    tools->n_running--;
}

static void tools_tick_later(AnalysisTools *tools)
{
    bool has_jobs = tools->running != NULL || tools->waiting != NULL;

    io_timer_start_at(tools->timer,
                      has_jobs ? io_loop_now_ms(tools->loop) + TOOLS_PERIOD_MS : INT64_MAX);
}

/* ---- ends ---- */

/* [{"path":"/FIELD","message":…}] */
static int job_write_problem(AnalysisJob *job, const char *field)
{
    char path[DIAG_FIELD_SIZE + 1];
    JsonWriter w;

    (void)snprintf(path, sizeof(path), "/%s", field);
    bytes_clear(&job->structured);
    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_array(&w);
    json_write_object(&w);
    json_write_key(&w, SPAN("path"));
    json_write_string(&w, span_from_str(path));
    json_write_key(&w, SPAN("message"));
    json_write_string(&w, span_from_str(job->diag.message));
    json_write_end_object(&w);
    json_write_end_array(&w);
    return json_writer_finish(&w);
}

/* {"path":…}: what was looked for. */
static int job_write_place(AnalysisJob *job)
{
    JsonWriter w;

    bytes_clear(&job->structured);
    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("path"));
    json_write_string(&w, span_from_str(job->asked.files.path));
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* A revision that is not there is an argument; where it came from says which. */
static const char *job_revision_field(const AnalysisJob *job)
{
    return job->asked.files.since != NULL ? "since" : "rev";
}

static void job_fail_argument(AnalysisJob *job, Call *call, const char *field)
{
    char words[DIAG_FIELD_SIZE + DIAG_MESSAGE_SIZE + 16];

    if (job_write_problem(job, field) != 0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
        return;
    }
    (void)snprintf(words, sizeof(words), "arguments/%s: %s", field, job->diag.message);
    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_INVALID_ARGUMENTS,
                                    .message = span_from_str(words),
                                    .data = bytes_span(&job->structured)});
}

static void job_fail_own(AnalysisJob *job, Call *call, int code, Span message)
{
    if (job_write_place(job) != 0) {
        bytes_clear(&job->structured);
    }
    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_OWN,
                                    .wire_code = code,
                                    .message = message,
                                    .data = bytes_span(&job->structured)});
}

static void job_fail(AnalysisJob *job, Call *call)
{
    Span message = span_from_str(job->diag.message);
    bool is_revision = strcmp(job->diag.field, "revision") == 0;
    bool is_repository = strcmp(job->diag.field, "repository") == 0;

    if (job->r == -ENOMEM) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
    } else if (job->r == ANALYSIS_E_OPTION || (job->r == ANALYSIS_E_GIT && is_revision)) {
        job_fail_argument(job, call, is_revision ? job_revision_field(job) : job->diag.field);
    } else if (job->r == ANALYSIS_E_PATH || (job->r == ANALYSIS_E_GIT && is_repository)) {
        job_fail_own(job, call, ANALYSIS_TOOLS_ERROR_NOT_FOUND, message);
    } else if (job->r == -EFBIG) {
        job_fail_own(job, call, ANALYSIS_TOOLS_ERROR_FAILED,
                     SPAN("the answer is too large: ask for less with limit, include or exclude"));
    } else {
        job_fail_own(job, call, ANALYSIS_TOOLS_ERROR_FAILED,
                     job->r > 0 ? message : span_from_str(io_error_text(-job->r)));
    }
}

static void job_finish(AnalysisJob *job, Call *call)
{
    Span piece = bytes_span(&job->content);
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    if (job->r != 0) {
        job_fail(job, call);
        return;
    }
    result.structured = bytes_span(&job->structured);
    result.beside = span_make(job->structured.data + 1, job->structured.n - 2);
    call_finish(call, &result);
}

static void tools_start_next(AnalysisTools *tools);
static void job_report_end(AnalysisJob *job);

/* Thread: another. */
static void job_on_thread(void *context)
{
    AnalysisJob *job = context;

    job->r = job->tool->run(job);
}

static void job_on_done(void *context)
{
    AnalysisJob *job = context;
    AnalysisTools *tools;
    Call *call;

    if (job->call != NULL && job->r == 0) {
        job_report_end(job);
    }
    /* Who was told may have taken the call back, or ended the tools. */
    tools = job->tools;
    call = job->call;
    if (tools != NULL) {
        tools_take_running(tools, job);
        tools_start_next(tools);
    }
    if (call != NULL) {
        job_finish(job, call);
    }
    (void)job_free(job);
}

static void tools_start_next(AnalysisTools *tools)
{
    while (tools->waiting != NULL && tools->n_running < TOOLS_MAX_RUNNING) {
        AnalysisJob *job = tools->waiting;
        int r = io_work_start(tools->loop, job_on_thread, job_on_done, job);

        tools_take_waiting(tools, job);
        if (r != 0) {
            job->r = r;
            job_finish(job, job->call);
            (void)job_free(job);
            continue;
        }
        job->is_running = true;
        job->next = tools->running;
        if (job->next != NULL) {
            job->next->prev = job;
        }
        tools->running = job;
        tools->n_running++;
    }
}

/* ---- calls ---- */

static AnalysisJob *job_new(AnalysisTools *tools, const AnalysisTool *tool)
{
    AnalysisJob *job = mem_alloc_array(1, sizeof(*job));

    if (job == NULL) {
        return NULL;
    }
    *job = (AnalysisJob){.tools = tools, .tool = tool, .diag = DIAG_NULL};
    arena_init(&job->arena, TOOLS_ARENA_BYTES);
    bytes_init(&job->content, ANALYSIS_ANSWER_BYTES);
    bytes_init(&job->structured, ANALYSIS_ANSWER_BYTES);
    return job;
}

void analysis_start(AnalysisTools *tools, const AnalysisTool *tool, Call *call)
{
    AnalysisJob *job = job_new(tools, tool);

    if (job == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
        return;
    }
    /* Beneath the server's own state folder, which outlives the job only as long as we do. */
    if (tools->state != NULL) {
        Span state = arena_copy(&job->arena, span_from_str(tools->state));

        job->asked.files.state = state.p;
        job->asked.history.state = state.p;
        job->r = state.p == NULL ? -ENOMEM : 0;
    }
    if (job->r == 0 && tools->root != NULL) {
        Span root = arena_copy(&job->arena, span_from_str(tools->root));

        job->asked.files.root = root.p;
        job->asked.history.root = root.p;
        job->r = root.p == NULL ? -ENOMEM : 0;
    }
    job->asked.report.version = tools->version;
    job->r = job->r != 0 ? job->r : tool->ask(job, call->arguments);
    if (job->r != 0) {
        job_finish(job, call);
        (void)job_free(job);
        return;
    }
    call->took_arguments = true;
    call->provider_data = job;
    job->call = call;
    tools_wait(tools, job);
    if (tools->running == NULL && tools->waiting == job) {
        tools_tick_later(tools);
    }
    tools_start_next(tools);
}

void analysis_cancel(void *context, Call *call)
{
    AnalysisTools *tools = context;
    AnalysisJob *job = call->provider_data;

    job->call = NULL;
    if (job->is_running) {
        atomic_store(&job->watch.cancel, true); /* its thread's end frees it */
        return;
    }
    tools_take_waiting(tools, job);
    (void)job_free(job);
}

/* ---- progress ---- */

/* Files or commits so far. A number that does not grow moves no deadline, and a long file, a
 * history in which git finds nothing for a while, and waiting are no reason to end: so a part of
 * one is added for each look, up to 0.999, which lasts for three minutes. When a job goes from one
 * kind of work to the next, it counts on from what it has. */
static double job_progress(AnalysisJob *job, size_t total)
{
    size_t done = atomic_load_explicit(&job->watch.done, memory_order_relaxed);
    double part;

    if (done < job->last_done) {
        job->base += job->last_done;
    }
    job->n_still = done == job->last_done ? job->n_still + 1 : 0;
    job->last_done = done;
    part = 0.001 * (double)(job->n_still < 999 ? job->n_still : 999);
    return (double)(job->base + done) + (total > 0 && done >= total ? 0 : part);
}

static void job_report(AnalysisJob *job)
{
    size_t total = atomic_load_explicit(&job->watch.total, memory_order_relaxed);
    double progress = job_progress(job, total);
    char words[64];

    if (!job->is_running) {
        (void)snprintf(words, sizeof(words), "waits for other analyses");
    } else if (total > 0) {
        (void)snprintf(words, sizeof(words), "%zu of %zu files", job->last_done, total);
    } else if (job->last_done > 0) {
        (void)snprintf(words, sizeof(words), "%zu commits", job->last_done);
    } else {
        (void)snprintf(words, sizeof(words), "looks around");
    }
    call_report(job->call, &(CallProgress){.progress = progress,
                                           .total = total > 0 && job->base == 0 ? (double)total
                                                                                : CALL_NO_TOTAL,
                                           .message = span_from_str(words)});
}

/* The last that is told of a job of which something was: all of it. */
static void job_report_end(AnalysisJob *job)
{
    size_t total = atomic_load_explicit(&job->watch.total, memory_order_relaxed);
    char words[64];

    if (job->look == 0 || total == 0 || job->base != 0) {
        return;
    }
    (void)snprintf(words, sizeof(words), "%zu of %zu files", total, total);
    call_report(job->call, &(CallProgress){.progress = (double)total,
                                           .total = (double)total,
                                           .message = span_from_str(words)});
}

/* One that this look has not seen yet; NULL: none is left. */
static AnalysisJob *tools_next_unseen(AnalysisTools *tools)
{
    AnalysisJob *lists[] = {tools->running, tools->waiting};

    for (size_t i = 0; i < TW_ARRAY_SIZE(lists); i++) {
        for (AnalysisJob *job = lists[i]; job != NULL; job = job->next) {
            if (job->look != tools->look && job->call != NULL) {
                return job;
            }
        }
    }
    return NULL;
}

/* Who is told may take back any of the calls, so each step begins anew. */
static void tools_on_timer(void *context)
{
    AnalysisTools *tools = context;
    AnalysisJob *job;

    tools->look++;
    while ((job = tools_next_unseen(tools)) != NULL) {
        job->look = tools->look;
        job_report(job);
    }
    tools_tick_later(tools);
}

/* ---- the beginning and the end ---- */

static int tools_describe(void *context, Span name, Bytes *out)
{
    (void)context;
    for (size_t i = 0; i < ANALYSIS_N_TOOLS; i++) {
        if (span_equals(analysis_tools_all[i].name, name)) {
            int r = bytes_append_span(out, analysis_tools_all[i].takes);

            return r != 0 ? r : bytes_append_span(out, analysis_tools_all[i].gives);
        }
    }
    return err_raise(-ENOENT);
}

static int tools_add(AnalysisTools *tools, Diag *reterr_diag)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ANALYSIS_N_TOOLS; i++) {
        const AnalysisTool *tool = &analysis_tools_all[i];

        r = router_add(tools->router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .name = tool->name,
                                     .describe = tools_describe,
                                     .provider = &tool->provider,
                                     .context = tools},
                       reterr_diag);
        tools->n_tools += r == 0;
        if (r == ROUTER_E_EXISTS) {
            return diag_set(reterr_diag, ANALYSIS_TOOLS_E_EXISTS,
                            "there is a tool '%.*s' already; --no-toolkit leaves the built-in one "
                            "out",
                            (int)tool->name.n, tool->name.p);
        }
    }
    return r != 0 ? err_fold(r) : 0;
}

static char *tools_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_alloc(n);

    if (copy != NULL) {
        memcpy(copy, text, n);
    }
    return copy;
}

static int tools_take_root(AnalysisTools *tools, const char *root, Diag *reterr_diag)
{
    IoBeneath *beneath = NULL;
    int r = io_beneath_open(&beneath, root, reterr_diag);

    if (r != 0) {
        return r < 0                           ? err_pass(r)
               : r == IO_BENEATH_E_UNSUPPORTED ? ANALYSIS_TOOLS_E_UNSUPPORTED
                                               : ANALYSIS_TOOLS_E_ROOT;
    }
    tools->root = tools_copy(io_beneath_path(beneath));
    beneath = io_beneath_free(beneath);
    return tools->root == NULL ? err_raise(-ENOMEM) : 0;
}

static int tools_fill(AnalysisTools *tools, const AnalysisToolsConfig *config, Diag *reterr_diag)
{
    int r;

    if (config->state != NULL) {
        tools->state = tools_copy(config->state);
        if (tools->state == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    r = config->root != NULL ? tools_take_root(tools, config->root, reterr_diag) : 0;
    if (r != 0) {
        return r;
    }
    r = io_timer_new(&tools->timer, tools->loop, true, tools_on_timer, tools);
    if (r != 0) {
        return err_pass(r);
    }
    router_batch_begin(tools->router);
    r = tools_add(tools, reterr_diag);
    router_batch_end(tools->router);
    return r;
}

int analysis_tools_new(AnalysisTools **ret, const AnalysisToolsConfig *config, Diag *reterr_diag)
{
    AnalysisTools *tools = mem_alloc_array(1, sizeof(*tools));
    int r;

    if (tools == NULL) {
        return err_raise(-ENOMEM);
    }
    *tools =
        (AnalysisTools){.router = config->router, .loop = config->loop, .version = config->version};
    r = tools_fill(tools, config, reterr_diag);
    if (r != 0) {
        (void)analysis_tools_free(tools);
        return r;
    }
    *ret = tools;
    return 0;
}

/* Ends a call that nobody will answer any more. */
static void tools_abandon(AnalysisJob *job)
{
    Call *call = job->call;

    job->call = NULL;
    if (call != NULL) {
        call_fail(call, CALL_ERROR_CANCELLED, SPAN_NULL);
    }
}

AnalysisTools *analysis_tools_free(AnalysisTools *tools)
{
    AnalysisJob *job;

    if (tools == NULL) {
        return NULL;
    }
    router_batch_begin(tools->router);
    for (size_t i = 0; i < tools->n_tools; i++) {
        (void)router_remove(tools->router, ROUTER_TOOL, analysis_tools_all[i].name);
    }
    router_batch_end(tools->router);
    while (tools->waiting != NULL) {
        job = tools->waiting;
        tools_take_waiting(tools, job);
        tools_abandon(job);
        (void)job_free(job);
    }
    while (tools->running != NULL) {
        job = tools->running;
        tools_take_running(tools, job);
        job->tools = NULL;
        atomic_store(&job->watch.cancel, true);
        tools_abandon(job);
    }
    tools->timer = io_timer_free(tools->timer);
    tools->state = mem_free(tools->state);
    tools->root = mem_free(tools->root);
    return mem_free(tools);
}
