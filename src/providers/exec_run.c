#include "providers/exec_run.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/stream.h"

typedef enum RunState {
    RUN_IDLE,
    RUN_RUNNING,
    RUN_ENDING /* told to end, not reaped yet */
} RunState;

struct ExecRun {
    ExecRunLink link;
    IoLoop *loop;
    const ExecRunOps *ops;
    void *context;
    IoTimer *linger;
    IoProcess *process;
    IoStream
        *to; /* its stdin; NULL if all was there at its start; or once closed, as those below */
    IoStream *from;
    IoStream *err;
    Bytes input;
    size_t n_sent;
    Bytes output;
    size_t max_output_bytes;
    char tail[EXEC_RUN_TAIL_BYTES * 2]; /* filled up, then its second half moves to the front */
    size_t n_tail;
    bool is_tail_cut;
    int failure;
    bool has_exited;
    IoProcessExit how;
    RunState state;
};

static void run_close_streams(ExecRun *run)
{
    run->to = io_stream_free(run->to);
    run->from = io_stream_free(run->from);
    run->err = io_stream_free(run->err);
}

static void run_become_idle(ExecRun *run)
{
    run_close_streams(run);
    io_timer_stop(run->linger);
    /* What the command has left behind: the call is over, nobody waits for it. */
    run->process = io_process_retire(run->process, EXEC_RUN_GRACE_MS);
    bytes_clear_keep(&run->input, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&run->output, LIMIT_KEEP_BYTES);
    run->state = RUN_IDLE;
    run->ops->idle(run->context, run);
}

/* All that can come has come. */
static void run_finish(ExecRun *run)
{
    run_close_streams(run);
    run->state = RUN_ENDING; /* an end from inside done changes nothing */
    run->ops->done(run->context, run);
    run_become_idle(run);
}

static void run_check_finished(ExecRun *run)
{
    if (run->state == RUN_RUNNING && run->has_exited && run->from == NULL && run->err == NULL) {
        run_finish(run);
    }
}

static void run_on_linger_over(void *context)
{
    ExecRun *run = context;

    if (run->state == RUN_RUNNING) {
        run_finish(run);
    }
}

static void run_on_exited(void *context, IoProcessExit how)
{
    ExecRun *run = context;

    run->has_exited = true;
    run->how = how;
    if (run->state == RUN_ENDING) {
        run_become_idle(run);
        return;
    }
    io_timer_start_at(run->linger, io_loop_now_ms(run->loop) + EXEC_RUN_LINGER_MS);
    run_check_finished(run);
}

void exec_run_end(ExecRun *run)
{
    if (run->state != RUN_RUNNING) {
        return;
    }
    run->state = RUN_ENDING;
    run_close_streams(run);
    if (run->has_exited) {
        run_become_idle(run);
    } else {
        io_process_end(run->process, EXEC_RUN_GRACE_MS);
    }
}

/* The child's stdin. */

static size_t run_to_pull(void *context, Span *slices, size_t max)
{
    ExecRun *run = context;

    if (max == 0 || run->n_sent == run->input.n) {
        return 0;
    }
    slices[0] = span_make(run->input.data + run->n_sent, run->input.n - run->n_sent);
    return 1;
}

static void run_to_consumed(void *context, size_t n)
{
    ExecRun *run = context;

    run->n_sent += n;
}

static void run_to_failed(void *context, int r)
{
    ExecRun *run = context;

    (void)r; /* a tool may end without having read its arguments */
    run->to = io_stream_free(run->to);
}

static const IoStreamOps run_to_ops = {
    .pull = run_to_pull, .consumed = run_to_consumed, .failed = run_to_failed};

/* Its stdout. */

static int run_from_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    ExecRun *run = context;
    int r = bytes_reserve(&run->output, want);

    if (r != 0) {
        return err_fold(r);
    }
    *ret_p = run->output.data + run->output.n;
    *ret_n = want;
    return 0;
}

static void run_from_commit(void *context, size_t n)
{
    ExecRun *run = context;

    run->output.n += n;
}

/* The output is not what the command wrote: an answer made of it would be a lie. */
static void run_give_up(ExecRun *run, int failure)
{
    run->failure = failure;
    bytes_clear_keep(&run->output, LIMIT_KEEP_BYTES);
    run->ops->done(run->context, run);
    exec_run_end(run);
}

static void run_from_input(void *context)
{
    ExecRun *run = context;

    if (run->output.n > run->max_output_bytes) {
        run_give_up(run, EXEC_RUN_E_TOO_LARGE);
    }
}

static void run_from_end(void *context)
{
    ExecRun *run = context;

    run->from = io_stream_free(run->from);
    run_check_finished(run);
}

static void run_from_failed(void *context, int r)
{
    run_give_up(context, r);
}

static const IoStreamOps run_from_ops = {.reserve = run_from_reserve,
                                         .commit = run_from_commit,
                                         .input = run_from_input,
                                         .end = run_from_end,
                                         .failed = run_from_failed};

/* Its stderr. */

static int run_err_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    ExecRun *run = context;

    (void)want; /* as much as is kept is enough to ask for */
    if (run->n_tail > EXEC_RUN_TAIL_BYTES) {
        memmove(run->tail, run->tail + (run->n_tail - EXEC_RUN_TAIL_BYTES), EXEC_RUN_TAIL_BYTES);
        run->n_tail = EXEC_RUN_TAIL_BYTES;
        run->is_tail_cut = true;
    }
    *ret_p = run->tail + run->n_tail;
    *ret_n = sizeof(run->tail) - run->n_tail;
    return 0;
}

static void run_err_commit(void *context, size_t n)
{
    ExecRun *run = context;

    run->n_tail += n;
}

static void run_err_input(void *context)
{
    (void)context;
}

static void run_err_end(void *context)
{
    ExecRun *run = context;

    run->err = io_stream_free(run->err);
    run_check_finished(run);
}

static void run_err_failed(void *context, int r)
{
    (void)r; /* what came of it is better than nothing */
    run_err_end(context);
}

static const IoStreamOps run_err_ops = {.reserve = run_err_reserve,
                                        .commit = run_err_commit,
                                        .input = run_err_input,
                                        .end = run_err_end,
                                        .failed = run_err_failed};

int exec_run_new(ExecRun **ret, IoLoop *loop, ExecRunLimits limits, const ExecRunOps *ops,
                 void *context)
{
    ExecRun *run = mem_alloc_array(1, sizeof(*run));
    int r;

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    run->loop = loop;
    run->ops = ops;
    run->context = context;
    run->max_output_bytes = limits.max_output_bytes;
    bytes_init(&run->input, limits.max_input_bytes);
    /* One read more than is allowed, so that too much can be told from just enough. */
    bytes_init(&run->output, limits.max_output_bytes + IO_STREAM_READ_BYTES);
    r = io_timer_new(&run->linger, loop, false, run_on_linger_over, run);
    if (r != 0) {
        (void)exec_run_free(run);
        return err_pass(r);
    }
    *ret = run;
    return 0;
}

ExecRun *exec_run_free(ExecRun *run)
{
    if (run == NULL) {
        return NULL;
    }
    run_close_streams(run);
    run->process = io_process_retire(run->process, EXEC_RUN_GRACE_MS);
    run->linger = io_timer_free(run->linger);
    bytes_deinit(&run->input);
    bytes_deinit(&run->output);
    return mem_free(run);
}

Bytes *exec_run_input(ExecRun *run)
{
    return &run->input;
}

/* A stream for one of the descriptors, which is closed if there can be none. */
static int run_open_stream(ExecRun *run, IoStream **ret, int in_fd, int out_fd,
                           const IoStreamOps *ops)
{
    int r = io_stream_new(ret, run->loop, in_fd, out_fd, ops, run);

    if (r != 0) {
        io_fd_close(in_fd >= 0 ? in_fd : out_fd);
    }
    return r;
}

static int run_open_streams(ExecRun *run, const int fds[3])
{
    int r_to = fds[0] < 0 ? 0 : run_open_stream(run, &run->to, -1, fds[0], &run_to_ops);
    int r_from = run_open_stream(run, &run->from, fds[1], -1, &run_from_ops);
    int r_err = run_open_stream(run, &run->err, fds[2], -1, &run_err_ops);

    return r_to != 0 ? r_to : r_from != 0 ? r_from : r_err;
}

int exec_run_start(ExecRun *run, const IoProcessSpec *spec, Diag *reterr_diag)
{
    IoProcessSpec tied = *spec;
    int fds[3];
    int r;

    tied.dies_with_thread = true; /* nobody would end it, or read what it says */
    /* If we are killed the system closes our pipes first, and kills the command a moment later: one
     * that found its input ended in between would do something else than it was called for. */
    tied.input = bytes_span(&run->input);
    r = io_process_spawn(&run->process, run->loop, &tied, run_on_exited, run, &fds[0], &fds[1],
                         &fds[2], reterr_diag);

    if (r != 0) {
        bytes_clear_keep(&run->input, LIMIT_KEEP_BYTES);
        return r;
    }
    run->n_sent = 0;
    run->n_tail = 0;
    run->is_tail_cut = false;
    run->failure = 0;
    run->has_exited = false;
    bytes_clear(&run->output);
    r = run_open_streams(run, fds);
    if (r != 0) {
        run_close_streams(run);
        run->process = io_process_free(run->process);
        bytes_clear_keep(&run->input, LIMIT_KEEP_BYTES);
        return err_fold(r);
    }
    run->state = RUN_RUNNING;
    if (run->to != NULL) {
        io_stream_shut_output(run->to);
    } else {
        bytes_clear_keep(&run->input, LIMIT_KEEP_BYTES);
    }
    return 0;
}

IoProcessExit exec_run_exit(const ExecRun *run)
{
    return run->how;
}

int exec_run_failure(const ExecRun *run)
{
    return run->failure;
}

Span exec_run_output(const ExecRun *run)
{
    return bytes_span(&run->output);
}

void exec_run_forget(ExecRun *run)
{
    bytes_clear_keep(&run->output, LIMIT_KEEP_BYTES);
}

Span exec_run_tail(const ExecRun *run, bool *ret_is_cut)
{
    size_t start = run->n_tail > EXEC_RUN_TAIL_BYTES ? run->n_tail - EXEC_RUN_TAIL_BYTES : 0;

    *ret_is_cut = run->is_tail_cut || start > 0;
    /* Bytes of a character whose beginning is gone. */
    while (*ret_is_cut && start < run->n_tail && ((unsigned char)run->tail[start] & 0xC0) == 0x80) {
        start++;
    }
    return span_make(run->tail + start, run->n_tail - start);
}

ExecRunLink *exec_run_link(ExecRun *run)
{
    return &run->link;
}
