/* One run: attempts until one is answered, then what the answer says. */
#include "agent/model_http_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/model_error.h"
#include "agent/model_retry.h"
#include "agent/model_url.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"

/* Words of a failure: whom we asked, what it said, how often. */
#define RUN_FAILURE_SIZE 900

static void run_attempt(HttpRun *run);

void http_run_release(HttpRun *run)
{
    HttpModel *model = run->model;

    if (run->next != NULL) {
        run->next->prev = run->prev;
    }
    if (run->prev != NULL) {
        run->prev->next = run->next;
    } else if (model->first == run) {
        model->first = run->next;
    }
    run->fetch = io_fetch_free(run->fetch);
    run->timer = io_timer_free(run->timer);
    if (run->has_stream) {
        model_stream_deinit(&run->stream);
    }
    model_names_deinit(&run->names);
    bytes_deinit(&run->body);
    bytes_deinit(&run->error);
    (void)mem_free(run);
}

/* Callbacks of the loop and of the fetch are between these two; the run may be gone after the
 * second. */
static void run_enter(HttpRun *run)
{
    run->is_busy = true;
}

static void run_leave(HttpRun *run)
{
    run->is_busy = false;
    if (run->is_gone || (run->is_over && run->fetch == NULL)) {
        http_run_release(run);
    }
}

static void run_tell(HttpRun *run, const ModelEvent *event)
{
    run->has_told = run->has_told || event->kind == MODEL_TEXT || event->kind == MODEL_TOOL;
    run->is_over = event->kind == MODEL_END || event->kind == MODEL_FAILED;
    run->sink.event(run->sink.context, event);
}

static void run_drop_answer(HttpRun *run)
{
    run->fetch = io_fetch_free(run->fetch);
    if (run->has_stream) {
        model_stream_deinit(&run->stream);
        run->has_stream = false;
    }
    bytes_clear(&run->error);
}

/* ---- failures ---- */

/* How long to wait for the next attempt; < 0: there is none. */
static int64_t run_wait_ms(const HttpRun *run, bool is_transient)
{
    int64_t wait_ms = run->model->backoff_ms;

    if (!is_transient || run->has_told || run->n_attempts >= run->model->max_attempts) {
        return -1;
    }
    for (unsigned i = 1; i < run->n_attempts && wait_ms < LIMIT_MODEL_RETRY_MAX_MS; i++) {
        wait_ms *= 2;
    }
    if (wait_ms > LIMIT_MODEL_RETRY_MAX_MS) {
        wait_ms = LIMIT_MODEL_RETRY_MAX_MS;
    }
    if (run->retry_after_ms >= 0) {
        wait_ms = run->retry_after_ms;
    }
    return wait_ms <= LIMIT_MODEL_RETRY_MAX_MS ? wait_ms : -1;
}

/* text may be the stream's, which goes. */
static void run_fail(HttpRun *run, bool is_transient, const char *text)
{
    int64_t wait_ms = run_wait_ms(run, is_transient);
    ModelEvent event = {.kind = wait_ms >= 0 ? MODEL_RETRY : MODEL_FAILED, .retry_ms = wait_ms};
    char attempts[40] = "";
    char asks[60] = "";
    char words[RUN_FAILURE_SIZE];

    if (run->n_attempts > 1) {
        (void)snprintf(attempts, sizeof(attempts), " (%u attempts)", run->n_attempts);
    }
    if (run->retry_after_ms > LIMIT_MODEL_RETRY_MAX_MS) {
        (void)snprintf(asks, sizeof(asks), " (it asks to wait %" PRId64 " s)",
                       run->retry_after_ms / 1000);
    }
    (void)snprintf(words, sizeof(words), "%s: %s%s%s", run->model->name, text, asks, attempts);
    model_url_mask(words, &run->model->service);
    run_drop_answer(run);
    event.text = span_from_str(words);
    logsink_write(run->model->log, wait_ms >= 0 ? LOGSINK_LEVEL_INFO : LOGSINK_LEVEL_DEBUG, "model",
                  "%s", words);
    run_tell(run, &event);
    if (wait_ms >= 0 && !run->is_gone) {
        io_timer_start_at(run->timer, io_loop_now_ms(run->model->loop) + wait_ms);
    }
}

/* ---- the answer ---- */

/* Retry-After, or the finer one of some. */
static int64_t head_retry_after_ms(const IoFetch *fetch)
{
    Span value;
    Span date = SPAN_NULL;
    uint64_t n = 0;

    if (io_fetch_field(fetch, SPAN("retry-after-ms"), &value) && text_parse_u64(value, &n) == 0 &&
        n < (uint64_t)LIMIT_TIME_MS) {
        return (int64_t)n;
    }
    if (!io_fetch_field(fetch, SPAN("retry-after"), &value)) {
        return -1;
    }
    (void)io_fetch_field(fetch, SPAN("date"), &date);
    return model_retry_after_ms(value, date, clock_now_ms());
}

static void run_on_head(void *context, IoFetch *fetch, unsigned status)
{
    HttpRun *run = context;
    Span type = SPAN_NULL;
    bool is_events;
    uint64_t seed = 0;

    run->status = status;
    run->retry_after_ms = head_retry_after_ms(fetch);
    if (status < 200 || status >= 300) {
        return;
    }
    /* Some streams are called otherwise; these are none. */
    is_events = !io_fetch_field(fetch, SPAN("content-type"), &type) ||
                (!span_starts_with(type, SPAN("application/json")) &&
                 !span_starts_with(type, SPAN("text/html")));
    (void)random_fill(&seed, sizeof(seed)); /* ids only have to differ */
    model_stream_init(&run->stream, run->model->service.dialect, &run->names, is_events,
                      run->model->max_answer_bytes, seed);
    run->has_stream = true;
}

static void run_drain(HttpRun *run)
{
    ModelEvent event;

    while (!run->is_gone && !run->is_over) {
        int r = model_stream_next(&run->stream, &event);

        if (r > 0) {
            return;
        }
        if (r < 0) {
            run_fail(run, false, "out of memory");
            return;
        }
        if (event.kind == MODEL_FAILED) {
            run_fail(run, run->stream.is_transient, run->stream.failure);
            return;
        }
        run_tell(run, &event);
    }
}

static void run_on_data(void *context, IoFetch *fetch, Span bytes)
{
    HttpRun *run = context;
    size_t room = MODEL_ERROR_BODY_BYTES - run->error.n;

    (void)fetch;
    if (run->is_over) {
        return; /* what follows the end: read, so that the connection can be used again */
    }
    run_enter(run);
    if (!run->has_stream) {
        if (bytes_append(&run->error, bytes.p, bytes.n < room ? bytes.n : room) != 0) {
            run_fail(run, false, "out of memory");
        }
    } else if (model_stream_feed(&run->stream, bytes.p, bytes.n) != 0) {
        run_fail(run, false, "out of memory");
    } else {
        run_drain(run);
    }
    run_leave(run);
}

static void run_refused(HttpRun *run)
{
    ModelError error;

    if (model_error_read_http(&error, run->status, bytes_span(&run->error)) != 0) {
        run_fail(run, false, "out of memory");
        return;
    }
    run_fail(run, error.is_transient, error.text);
}

static void run_unanswered(HttpRun *run, const IoFetchEnd *end)
{
    bool is_transient =
        end->outcome == IO_FETCH_CUT ||
        (end->outcome == IO_FETCH_UNREACHED && !io_fetch_is_loopback(run->model->service.base_url));
    char words[80];

    if (end->outcome == IO_FETCH_STALLED) {
        (void)snprintf(words, sizeof(words), "no word came for %" PRId64 " ms",
                       run->model->stall_ms);
    }
    run_fail(run, is_transient, end->outcome == IO_FETCH_STALLED ? words : end->message);
}

static void run_on_done(void *context, IoFetch *fetch, const IoFetchEnd *end)
{
    HttpRun *run = context;

    (void)fetch;
    run_enter(run);
    run->fetch = NULL;
    if (run->is_over) {
        run_leave(run);
        return;
    }
    if (end->outcome == IO_FETCH_DONE && !run->has_stream) {
        run_refused(run);
    } else if (run->has_stream && (end->outcome == IO_FETCH_DONE || end->outcome == IO_FETCH_CUT)) {
        model_stream_end(&run->stream);
        run_drain(run);
    } else {
        run_unanswered(run, end);
    }
    run_leave(run);
}

static const IoFetchOps run_ops = {run_on_head, run_on_data, run_on_done};

/* ---- attempts ---- */

static int run_start_fetch(HttpRun *run, Diag *reterr_diag)
{
    HttpModel *model = run->model;
    IoFetchField fields[MODEL_HTTP_FIELDS];
    IoFetchRequest request = {
        .method = "POST",
        .url = model->url,
        .fields = fields,
        .n_fields = model_http_fields(fields, &model->service, model->authorization),
        .body = bytes_span(&run->body),
        .connect_ms = model->connect_ms,
        .stall_ms = model->stall_ms,
        .ops = &run_ops,
        .context = run,
    };
    int r = 0;

    if (model->fetcher == NULL) {
        r = io_fetcher_new(&model->fetcher, model->loop, reterr_diag);
    }
    return r == 0 ? io_fetch_start(&run->fetch, model->fetcher, &request, reterr_diag) : r;
}

static void run_attempt(HttpRun *run)
{
    Diag diag = DIAG_NULL;
    int r;

    run->n_attempts++;
    run->status = 0;
    run->retry_after_ms = -1;
    r = run_start_fetch(run, &diag);
    if (r != 0) {
        run_fail(run, false, r > 0 ? diag.message : "out of memory");
    }
}

static void run_on_timer(void *context)
{
    HttpRun *run = context;

    run_enter(run);
    run_attempt(run);
    run_leave(run);
}

static int run_open(HttpRun *run, const ModelRequest *request)
{
    HttpModel *model = run->model;
    ModelBody body = {.model = span_from_str(model->service.model),
                      .is_first_party = model->service.is_first_party};
    int r = model_names_init(&run->names, request->tools, request->n_tools);

    if (r == 0) {
        r = model->service.dialect->write(&run->body, request, &body);
    }
    if (r > 0) {
        return MODEL_E_TOO_LARGE;
    }
    return r == 0 ? io_timer_new(&run->timer, model->loop, false, run_on_timer, run) : r;
}

int http_run_new(HttpRun **ret, HttpModel *model, const ModelRequest *request,
                 const ModelSink *sink)
{
    HttpRun *run = mem_alloc_array(1, sizeof(*run));
    int r;

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    *run =
        (HttpRun){.run = {model->model.ops}, .model = model, .next = model->first, .sink = *sink};
    bytes_init(&run->body, LIMIT_MODEL_REQUEST_BYTES);
    bytes_init(&run->error, MODEL_ERROR_BODY_BYTES);
    run->names = MODEL_NAMES_NULL;
    if (run->next != NULL) {
        run->next->prev = run;
    }
    model->first = run;
    r = run_open(run, request);
    if (r != 0) {
        http_run_release(run);
        return r;
    }
    /* From the loop: it may fail at once, and nothing is told before this returns. */
    io_timer_start_at(run->timer, io_loop_now_ms(model->loop));
    *ret = run;
    return 0;
}
