#include "cli/cmd_analyze_job.h"

#include "app/end_signals.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/cmd_analyze_options.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/loop.h"
#include "io/program.h"
#include "io/work.h"
#include "toolkit/chart/grid.h"
#include "toolkit/chart/text.h"

/* Ten pictures a second, none for work that is done before a person looks. */
#define JOB_FIRST_MS 300
#define JOB_NEXT_MS  100

#define JOB_BAR 30

typedef struct JobLoop {
    AnalyzeJob *job;
    IoLoop *loop;
    IoSignal *signals[END_SIGNALS_N];
    IoTimer *timer; /* NULL: nothing is drawn */
    int r;
    bool has_line; /* stands on the terminal */
} JobLoop;

int analyze_job_line(Bytes *out, const AnalyzeJob *job, size_t columns)
{
    size_t done = atomic_load(&job->watch.done);
    size_t total = atomic_load(&job->watch.total);
    size_t width = columns > JOB_BAR + 40 ? JOB_BAR : 10;
    size_t taken = 0;
    int r;

    if (total == 0 && done == 0) {
        return bytes_append_format(out, "%s\u2026", job->begins);
    }
    if (total == 0) {
        r = chart_number_append(out, (double)done, 0);
        return r != 0 ? r
                      : bytes_append_span(out,
                                          done == 1 ? SPAN(" commit read") : SPAN(" commits read"));
    }
    r = chart_bar_append(out, (double)done, (double)total, width, &taken);
    for (; taken < width && r == 0; taken++) {
        r = bytes_append_span(out, SPAN("\u2591"));
    }
    r = r != 0 ? r : bytes_append_byte(out, ' ');
    r = r != 0 ? r : chart_number_append(out, (double)(done < total ? done : total), 0);
    r = r != 0 ? r : bytes_append_span(out, SPAN(" of "));
    r = r != 0 ? r : chart_number_append(out, (double)total, 0);
    return r != 0 ? r : bytes_append_span(out, total == 1 ? SPAN(" file") : SPAN(" files"));
}

static void job_draw(JobLoop *loop)
{
    CLEANUP(bytes_deinit) Bytes line = BYTES_NULL;

    bytes_init(&line, 1024);
    if (analyze_job_line(&line, loop->job, (size_t)io_terminal_columns(fileno(stderr))) == 0) {
        fprintf(stderr, "\r\033[K%.*s", (int)line.n, line.data);
        (void)fflush(stderr);
        loop->has_line = true;
    }
}

static void job_on_timer(void *context)
{
    JobLoop *loop = context;

    job_draw(loop);
    io_timer_start_at(loop->timer, io_loop_now_ms(loop->loop) + JOB_NEXT_MS);
}

static void job_on_signal(void *context, int signum)
{
    JobLoop *loop = context;

    (void)signum;
    atomic_store(&loop->job->watch.cancel, true);
}

static void job_on_work(void *context)
{
    JobLoop *loop = context;

    loop->r = loop->job->run(loop->job);
}

static void job_on_done(void *context)
{
    JobLoop *loop = context;

    io_loop_stop(loop->loop);
}

/* 0 or a negative errno; the job's own outcome is loop->r. */
static int job_loop_run(JobLoop *loop)
{
    int r = io_loop_new(&loop->loop);

    for (size_t i = 0; i < END_SIGNALS_N && r == 0; i++) {
        r = io_signal_new(&loop->signals[i], loop->loop, end_signals[i], job_on_signal, loop);
    }
    if (r == 0) {
        end_signals_watch(loop->loop, &loop->job->args->log, END_TAKES_ITS_TIME, 0);
    }
    if (r == 0 && io_terminal_is(fileno(stderr))) {
        r = io_timer_new(&loop->timer, loop->loop, true, job_on_timer, loop);
    }
    if (r == 0 && loop->timer != NULL) {
        io_timer_start_at(loop->timer, io_loop_now_ms(loop->loop) + JOB_FIRST_MS);
    }
    r = r != 0 ? r : io_work_start(loop->loop, job_on_work, job_on_done, loop);
    r = r != 0 ? r : io_loop_run(loop->loop);
    if (loop->has_line) {
        fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    loop->timer = io_timer_free(loop->timer);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        loop->signals[i] = io_signal_free(loop->signals[i]);
    }
    loop->loop = io_loop_free(loop->loop);
    return r;
}

static int job_explain(const AnalyzeJob *job, int r)
{
    const CliArgs *args = job->args;

    if (r < 0) {
        return analyze_fail(args, "%s", io_error_text(-r));
    }
    if (r == ANALYSIS_E_CANCELLED) {
        (void)analyze_fail(args, "interrupted");
        return ANALYZE_EXIT_INTERRUPTED;
    }
    fprintf(stderr, "toolwire %s: ", args->command->name);
    table_print_safe(stderr, span_from_str(job->diag.message), false);
    fprintf(stderr, "\n");
    return r == ANALYSIS_E_OPTION ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}

int analyze_job_run(AnalyzeJob *job)
{
    JobLoop loop = {.job = job};
    int r = job_loop_run(&loop);

    r = r != 0 ? r : loop.r;
    return r == 0 ? 0 : job_explain(job, r);
}
