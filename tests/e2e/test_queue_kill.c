/* The hub is killed at random moments while jobs come over HTTP, commands run, and an application
 * fetches jobs and posts its answers. After each death:
 *
 *   - every job that was acknowledged is there;
 *   - every result that was read, and every answer that was taken, is still the same;
 *   - a command that may not run twice has not: it appends a line to a file each time it begins.
 *
 *   test_queue_kill TOOLWIRE
 *
 * TOOLWIRE_KILL_ROUNDS says how often it is killed (10); TOOLWIRE_KILL_SEED which moments those
 * are.
 */
#include "support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "e2e/queue_hub.h"

#define N_PRODUCERS    3
#define MAX_ACKS       40 /* of a round, before the hub is killed */
#define MAX_DELAY_US   20000
#define N_OLD          100 /* jobs of earlier rounds that are looked at again in each */
#define DEFAULT_ROUNDS 10

typedef enum Sort {
    SORT_ONCE,  /* a command that may not run twice */
    SORT_AGAIN, /* one that may */
    SORT_FETCH, /* an application's */
    N_SORTS
} Sort;

static const char *const methods[N_SORTS] = {"once", "again", "app.do"};

typedef struct Job {
    char *id;
    char *result; /* as it was read; NULL: not yet */
    Sort sort;
    unsigned mark;  /* its own number, which its command writes */
    bool was_taken; /* its answer was, over HTTP */
} Job;

typedef struct World {
    QueueHub hub;
    pthread_mutex_t lock; /* of what follows */
    Job *jobs;
    size_t n;
    size_t cap;
    atomic_uint n_marks;
    atomic_uint n_acks; /* of this round */
    atomic_bool is_over;
    uint64_t random;
    unsigned n_read;
    unsigned n_taken;
} World;

static const char *program;
static unsigned n_rounds = DEFAULT_ROUNDS;
static uint64_t first_seed;

static const char tools[] =
    "[{\"name\":\"once\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"cwd\":\".\",\"command\":[\"sh\",\"-c\",\"cat >> once.log; echo done\"]},"
    "{\"name\":\"again\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"annotations\":{\"idempotentHint\":true},"
    "\"cwd\":\".\",\"command\":[\"sh\",\"-c\",\"cat >> again.log; echo done\"]}]";

#define SETTINGS                                                                                   \
    "{\"tools\":\"tools.json\",\"queue\":{\"pull\":true,\"max_running\":8},"                       \
    "\"limits\":{\"rate\":\"off\"}}"

/* splitmix64 */
static uint64_t next_random(World *w)
{
    uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- those who ask; a thread each, until nobody answers ---- */

static void remember(World *w, char *id, Sort sort, unsigned mark)
{
    pthread_mutex_lock(&w->lock);
    if (w->n == w->cap) {
        w->cap = w->cap == 0 ? 256 : 2 * w->cap;
        w->jobs = realloc(w->jobs, w->cap * sizeof(*w->jobs));
    }
    if (w->jobs != NULL) {
        w->jobs[w->n++] = (Job){.id = id, .sort = sort, .mark = mark};
    }
    pthread_mutex_unlock(&w->lock);
    (void)atomic_fetch_add(&w->n_acks, 1);
}

static void *produce(void *context)
{
    World *w = context;

    while (!atomic_load(&w->is_over)) {
        unsigned mark = atomic_fetch_add(&w->n_marks, 1);
        Sort sort = mark % 4 == 0 ? SORT_FETCH : mark % 4 == 1 ? SORT_AGAIN : SORT_ONCE;
        QueueReply reply;
        char body[256];
        bool is_there;

        (void)snprintf(body, sizeof(body),
                       "{\"method\":\"%s\",\"params\":{\"mark\":%u},\"id\":1,\"maxAttempts\":1000}",
                       methods[sort], mark);
        is_there = queue_try(w->hub.port, &reply, "POST /enqueue", NULL, body);
        if (is_there && reply.status == 200) {
            remember(w, queue_reply_get(&reply, "/jobId"), sort, mark);
        }
        queue_reply_deinit(&reply);
        if (!is_there) {
            break;
        }
    }
    return NULL;
}

/* Reads results of jobs that it finds at random; what it has read must not change. */
static void *consume(void *context)
{
    World *w = context;
    size_t at = 0;

    while (!atomic_load(&w->is_over)) {
        QueueReply reply;
        char line[160];
        bool is_there;

        pthread_mutex_lock(&w->lock);
        while (at < w->n && w->jobs[at].result != NULL) {
            at++;
        }
        if (at < w->n) {
            (void)snprintf(line, sizeof(line), "GET /get_result?jobId=%s&waitMs=5", w->jobs[at].id);
        } else {
            (void)snprintf(line, sizeof(line), "GET /health");
        }
        pthread_mutex_unlock(&w->lock);
        is_there = queue_try(w->hub.port, &reply, line, NULL, NULL);
        pthread_mutex_lock(&w->lock);
        if (is_there && reply.status == 200 && at < w->n && strstr(line, "get_result") != NULL) {
            w->jobs[at].result = strdup(reply.body);
            w->n_read++;
        }
        at = at + 1 < w->n ? at + 1 : 0;
        pthread_mutex_unlock(&w->lock);
        queue_reply_deinit(&reply);
        if (!is_there) {
            break;
        }
    }
    return NULL;
}

static void note_taken(World *w, const char *id)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = w->n; i > 0; i--) {
        if (strcmp(w->jobs[i - 1].id, id) == 0) {
            w->jobs[i - 1].was_taken = true;
            w->n_taken++;
            break;
        }
    }
    pthread_mutex_unlock(&w->lock);
}

/* An application: fetches, and answers with what it was given. */
static void *work(void *context)
{
    World *w = context;

    while (!atomic_load(&w->is_over)) {
        QueueReply reply;
        bool is_there = queue_try(w->hub.port, &reply,
                                  "GET /pending_request?waitMs=50&leaseMs=2000", NULL, NULL);

        if (is_there && reply.status == 200) {
            char *handed = queue_reply_get(&reply, "/id");
            char *id = queue_reply_get(&reply, "/jobId");
            char *mark = queue_reply_get(&reply, "/params/mark");
            char body[256];

            queue_reply_deinit(&reply);
            (void)snprintf(body, sizeof(body),
                           "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"ok\":true,"
                           "\"mark\":%s}}",
                           handed, mark);
            is_there = queue_try(w->hub.port, &reply, "POST /post_result", NULL, body);
            if (is_there && reply.status == 200) {
                note_taken(w, id);
            }
            free(handed);
            free(id);
            free(mark);
        }
        queue_reply_deinit(&reply);
        if (!is_there) {
            break;
        }
    }
    return NULL;
}

/* ---- one life of the hub ---- */

static void live_and_die(World *w)
{
    unsigned n_acks = 1 + (unsigned)(next_random(w) % MAX_ACKS);
    useconds_t delay_us = (useconds_t)(next_random(w) % MAX_DELAY_US);
    pthread_t threads[N_PRODUCERS + 2];
    size_t n_threads = 0;

    atomic_store(&w->n_acks, 0);
    atomic_store(&w->is_over, false);
    for (int i = 0; i < N_PRODUCERS; i++) {
        assert_int_equal(pthread_create(&threads[n_threads++], NULL, produce, w), 0);
    }
    assert_int_equal(pthread_create(&threads[n_threads++], NULL, consume, w), 0);
    assert_int_equal(pthread_create(&threads[n_threads++], NULL, work, w), 0);
    while (atomic_load(&w->n_acks) < n_acks) {
        (void)usleep(200);
    }
    (void)usleep(delay_us); /* where it dies is left to chance */
    queue_hub_kill(&w->hub);
    atomic_store(&w->is_over, true);
    for (size_t i = 0; i < n_threads; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* What was known of the job is so still. */
static void check_job(World *w, Job *job)
{
    QueueReply reply;
    char line[160];

    (void)snprintf(line, sizeof(line), "GET /get_result?jobId=%s", job->id);
    assert_true(queue_try(w->hub.port, &reply, line, NULL, NULL));
    if (reply.status != 200 && reply.status != 204) {
        fail_msg("%s was acknowledged, and is lost: %s", job->id, reply.head);
    }
    if (job->result != NULL && (reply.status != 200 || strcmp(reply.body, job->result) != 0)) {
        fail_msg("%s: the result was\n%s\nand is\n%s", job->id, job->result, reply.body);
    }
    if (job->was_taken) {
        char mark[16];

        (void)snprintf(mark, sizeof(mark), "%u", job->mark);
        assert_int_equal(reply.status, 200);
        queue_reply_has(&reply, "/result/result/mark", mark);
    }
    queue_reply_deinit(&reply);
}

static void check_round(World *w, size_t first_new)
{
    for (size_t i = first_new; i < w->n; i++) {
        check_job(w, &w->jobs[i]);
    }
    for (size_t i = 0; i < N_OLD && first_new > 0; i++) {
        check_job(w, &w->jobs[next_random(w) % first_new]);
    }
}

/* ---- the end ---- */

typedef struct Tally {
    unsigned n_succeeded[N_SORTS];
    unsigned n_interrupted[N_SORTS];
    unsigned n_other[N_SORTS];
} Tally;

/* Waits for the job's end; those whose lease runs out are given up by the hub. */
static bool finish_job(World *w, const Job *job, Tally *tally)
{
    QueueReply reply;
    char line[160];
    char *state;
    char *code;
    bool is_done;

    (void)snprintf(line, sizeof(line), "GET /job/%s?waitMs=60000", job->id);
    queue_ask(&w->hub, &reply, 200, line, NULL);
    state = queue_reply_get(&reply, "/state");
    code = queue_reply_get(&reply, "/error_code");
    is_done = strcmp(state, "SUCCEEDED") == 0;
    if (is_done) {
        tally->n_succeeded[job->sort]++;
    } else if (strcmp(state, "FAILED") == 0 && strcmp(code, "INTERRUPTED") == 0) {
        tally->n_interrupted[job->sort]++;
    } else {
        printf("%s %s: %s %s\n", methods[job->sort], job->id, state, code);
        tally->n_other[job->sort]++;
    }
    queue_reply_deinit(&reply);
    free(state);
    free(code);
    return is_done;
}

/* How often each mark is in the file: {"mark":5} a line. */
static unsigned char *count_marks(const World *w, const char *name, unsigned *ret_total)
{
    unsigned char *counts = calloc(atomic_load(&w->n_marks) + 1, 1);
    char path[128];
    char line[128];
    FILE *file;

    assert_non_null(counts);
    *ret_total = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", w->hub.folder, name);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *digits = strpbrk(line, "0123456789");
        unsigned long mark = digits == NULL ? 0 : strtoul(digits, NULL, 10);

        assert_non_null(digits);
        assert_true(mark < atomic_load(&w->n_marks));
        counts[mark] = (unsigned char)(counts[mark] == 255 ? 255 : counts[mark] + 1);
        (*ret_total)++;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return counts;
}

static void finish(World *w, Tally *tally)
{
    unsigned n_once = 0;
    unsigned n_again = 0;
    unsigned char *once;
    unsigned char *again;
    bool *is_done = calloc(w->n + 1, sizeof(*is_done));
    pthread_t worker;

    assert_non_null(is_done);
    atomic_store(&w->is_over, false);
    assert_int_equal(pthread_create(&worker, NULL, work, w), 0);
    for (size_t i = 0; i < w->n; i++) {
        is_done[i] = finish_job(w, &w->jobs[i], tally);
    }
    atomic_store(&w->is_over, true);
    assert_int_equal(pthread_join(worker, NULL), 0);
    for (size_t i = 0; i < w->n; i++) {
        check_job(w, &w->jobs[i]);
    }
    once = count_marks(w, "once.log", &n_once);
    again = count_marks(w, "again.log", &n_again);
    for (unsigned mark = 0; mark < atomic_load(&w->n_marks); mark++) {
        if (once[mark] > 1) {
            fail_msg("the command of mark %u ran %u times", mark, once[mark]);
        }
    }
    for (size_t i = 0; i < w->n; i++) {
        const Job *job = &w->jobs[i];

        if (is_done[i] && job->sort == SORT_ONCE) {
            assert_int_equal(once[job->mark], 1);
        }
        if (is_done[i] && job->sort == SORT_AGAIN) {
            assert_true(again[job->mark] >= 1);
        }
    }
    printf("commands that may run once began %u times, others %u times\n", n_once, n_again);
    free(once);
    free(again);
    free(is_done);
}

static void print_tally(const World *w, const Tally *tally)
{
    printf("%u rounds: %zu jobs acknowledged, %u results read, %u answers taken\n", n_rounds, w->n,
           w->n_read, w->n_taken);
    for (int i = 0; i < N_SORTS; i++) {
        printf("  %-7s succeeded %u, interrupted %u, other %u\n", methods[i], tally->n_succeeded[i],
               tally->n_interrupted[i], tally->n_other[i]);
        assert_int_equal(tally->n_other[i], 0);
    }
    assert_int_equal(tally->n_interrupted[SORT_AGAIN], 0);
}

static void nothing_that_was_acknowledged_is_lost(void **state)
{
    static World w;
    Tally tally = {.n_other = {0}};

    (void)state;
    printf("seed %llu\n", (unsigned long long)first_seed);
    w.random = first_seed;
    assert_int_equal(pthread_mutex_init(&w.lock, NULL), 0);
    queue_hub_init(&w.hub, program, tools);
    for (unsigned i = 0; i < n_rounds; i++) {
        size_t first_new = w.n;

        queue_hub_start(&w.hub, SETTINGS);
        live_and_die(&w);
        queue_hub_start(&w.hub, SETTINGS);
        check_round(&w, first_new);
        queue_hub_kill(&w.hub);
    }
    queue_hub_start(&w.hub, SETTINGS);
    finish(&w, &tally);
    print_tally(&w, &tally);
    assert_int_equal(queue_hub_stop(&w.hub), 0);
    queue_hub_clean(&w.hub);
    for (size_t i = 0; i < w.n; i++) {
        free(w.jobs[i].id);
        free(w.jobs[i].result);
    }
    free(w.jobs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_that_was_acknowledged_is_lost),
    };
    const char *rounds = getenv("TOOLWIRE_KILL_ROUNDS");
    const char *seed = getenv("TOOLWIRE_KILL_SEED");

    if (argc < 2) {
        return 2;
    }
    program = argv[1];
    if (rounds != NULL) {
        n_rounds = (unsigned)strtoul(rounds, NULL, 10);
    }
    first_seed = seed != NULL ? strtoull(seed, NULL, 10)
                              : (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
