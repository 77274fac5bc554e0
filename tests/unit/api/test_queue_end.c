/* A process with a queue is killed: what was acknowledged is there, and nothing runs twice unasked.
 */
#include "unit/api/queue_place.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define N_ROUNDS    20
#define N_PRODUCERS 8

/* What the child has had acknowledged: one line each, written after the function returned. */
typedef struct Said {
    char kind; /* 'e' enqueued, 'c' claimed, 'd' done */
    char id[TW_JOB_ID_SIZE];
} Said;

typedef struct Child {
    TwQueue *queue;
    int fd;
} Child;

/* Less than PIPE_BUF: in one piece. */
static void say(const Child *child, char kind, const char *id)
{
    Said said = {.kind = kind};

    (void)snprintf(said.id, sizeof(said.id), "%s", id);
    (void)!write(child->fd, &said, sizeof(said));
}

static void *produce_main(void *context)
{
    const Child *child = context;
    char id[TW_JOB_ID_SIZE];

    while (tw_queue_enqueue(child->queue, &(TwJobSpec){.method = "m"}, id, NULL, NULL) == TW_OK) {
        say(child, 'e', id);
    }
    return NULL;
}

static void *work_main(void *context)
{
    const Child *child = context;
    TwJobs *jobs = NULL;

    while (tw_queue_claim(child->queue, &(TwJobClaim){.wait_ms = TW_WAIT_FOREVER}, &jobs, NULL) ==
           TW_OK) {
        const TwJob *job = tw_jobs_at(jobs, 0);

        say(child, 'c', job->id);
        if (tw_queue_complete(child->queue, job->id, job->fence, "{\"done\":1}", NULL) == TW_OK) {
            say(child, 'd', job->id);
        }
        tw_jobs_free(jobs);
    }
    return NULL;
}

/* Works until it is killed. */
static void child_main(const char *folder, int fd)
{
    Child child = {.fd = fd};
    pthread_t thread;

    if (tw_queue_open(&child.queue, folder, NULL, NULL) != TW_OK) {
        _exit(1);
    }
    for (int i = 0; i < N_PRODUCERS; i++) {
        if (pthread_create(&thread, NULL, i % 2 == 0 ? produce_main : work_main, &child) != 0) {
            _exit(1);
        }
    }
    for (;;) {
        (void)pause();
    }
}

/* Every sentence of the child holds. */
static void check_said(TwQueue *queue, const Said *said)
{
    TwJobs *jobs = NULL;
    const TwJob *job;

    assert_int_equal(tw_queue_get(queue, said->id, 0, &jobs, NULL), TW_OK);
    job = tw_jobs_at(jobs, 0);
    if (said->kind == 'd') {
        assert_int_equal(job->state, TW_JOB_SUCCEEDED);
        assert_string_equal(job->result_json, "{\"done\":1}");
    } else if (said->kind == 'c' && job->state != TW_JOB_SUCCEEDED) {
        assert_int_equal(job->state, TW_JOB_FAILED);
        assert_string_equal(job->code, "INTERRUPTED");
    }
    assert_int_not_equal(job->state, TW_JOB_RUNNING);
    tw_jobs_free(jobs);
}

static size_t run_round(Place *place, size_t n_before_kill)
{
    int fds[2];
    Said said;
    size_t n = 0;
    Said *all = NULL;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        child_main(place->folder, fds[1]);
    }
    (void)close(fds[1]);
    while (read(fds[0], &said, sizeof(said)) == (ssize_t)sizeof(said)) {
        all = realloc(all, (n + 1) * sizeof(*all));
        assert_non_null(all);
        all[n++] = said;
        if (n == n_before_kill) {
            assert_int_equal(kill(pid, SIGKILL), 0);
        }
    }
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(n >= n_before_kill);
    place_open(place);
    for (size_t i = 0; i < n; i++) {
        check_said(place->queue, &all[i]);
    }
    free(all);
    place_close(place);
    return n;
}

static void a_killed_process_loses_nothing_and_repeats_nothing(void **state)
{
    Place *place = *state;
    size_t n = 0;

    place_close(place);
    for (size_t i = 0; i < N_ROUNDS; i++) {
        n += run_round(place, 1 + i * 7);
    }
    print_message("%d kills, %zu acknowledgements checked\n", N_ROUNDS, n);
}

static void an_idempotent_job_is_tried_again(void **state)
{
    Place *place = *state;
    char ids[2][TW_JOB_ID_SIZE];
    TwJobs *jobs = NULL;
    int status = 0;
    pid_t pid;

    place_enqueue(place->queue, (TwJobSpec){.method = "safe", .idempotent = true}, ids[0]);
    place_enqueue(place->queue, (TwJobSpec){.method = "once"}, ids[1]);
    place_close(place);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (tw_queue_open(&place->queue, place->folder, NULL, NULL) == TW_OK &&
            tw_queue_claim(place->queue, &(TwJobClaim){.max = 2}, &jobs, NULL) == TW_OK &&
            tw_jobs_count(jobs) == 2) {
            (void)raise(SIGKILL);
        }
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    place_open(place);
    jobs = place_get(place->queue, ids[1]);
    assert_int_equal(tw_jobs_at(jobs, 0)->state, TW_JOB_FAILED);
    assert_string_equal(tw_jobs_at(jobs, 0)->code, "INTERRUPTED");
    tw_jobs_free(jobs);
    jobs = place_claim(place->queue, (TwJobClaim){.wait_ms = PLACE_WAIT_MS});
    assert_string_equal(tw_jobs_at(jobs, 0)->id, ids[0]);
    assert_int_equal(tw_jobs_at(jobs, 0)->attempt, 2);
    tw_jobs_free(jobs);
}

static void a_file_that_another_process_has_is_refused(void **state)
{
    Place *place = *state;
    TwQueueError error = {.message = ""};
    char byte = 0;
    int fds[2];
    pid_t pid;

    place_close(place);
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        byte = tw_queue_open(&place->queue, place->folder, NULL, NULL) == TW_OK ? 'y' : 'n';
        (void)!write(fds[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(tw_queue_open(&place->queue, place->folder, NULL, &error), TW_ERROR_BUSY);
    assert_non_null(strstr(error.message, "another process"));
    assert_null(place->queue);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(fds[0]);
    (void)close(fds[1]);
    place_open(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_set_up, place_tear_down)
        IN_PLACE(a_killed_process_loses_nothing_and_repeats_nothing),
        IN_PLACE(an_idempotent_job_is_tried_again),
        IN_PLACE(a_file_that_another_process_has_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
