/* Kills a process that has a queue, again and again, and looks what is left.
 *
 *     crash_queue                       40 rounds, or TOOLWIRE_CRASH_ROUNDS; TOOLWIRE_CRASH_SEED
 *     crash_queue --child FOLDER …      the process that is killed
 *
 * Rounds take turns: killed at a random moment, killed while it opens, killed at each named step of
 * the queue, with files that cannot grow; now and then the end of the log is torn, as a machine
 * that lost its power would leave it. After each: what was acknowledged is there and unchanged, and
 * nothing has run twice that must not.
 */
#include "crash.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "queue/queue.h"

enum {
    DEFAULT_ROUNDS = 40,
    ROUNDS_PER_STORE = 20, /* then a new one, so that each round has little to look through */
    STEP_TIMEOUT_MS = 120000
};

void crash_place_name(CrashPlace *place, const char *folder)
{
    (void)snprintf(place->folder, sizeof(place->folder), "%s", folder);
    (void)snprintf(place->queue, sizeof(place->queue), "%s/queue.db", place->folder);
    (void)snprintf(place->log, sizeof(place->log), "%s/queue.db-wal", place->folder);
    (void)snprintf(place->told, sizeof(place->told), "%s/told", place->folder);
    (void)snprintf(place->runs, sizeof(place->runs), "%s/runs", place->folder);
}

uint64_t crash_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

uint64_t crash_sum(const char *p, size_t n)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ (unsigned char)p[i]) * 0x100000001b3u;
    }
    return sum;
}

/* ---- rounds ---- */

typedef enum Kind {
    KIND_MOMENT,  /* killed when it has worked for a while */
    KIND_OPENING, /* killed soon after its start, wherever it is */
    KIND_FULL,    /* its disk is full for a while, and then it is killed */
    KIND_STEP,    /* ends itself at a step */
    KIND_DRAIN    /* works off what is ready, and ends in order */
} Kind;

typedef struct Totals {
    unsigned n_rounds;
    unsigned n_good;
    unsigned n_kinds[KIND_DRAIN + 1];
    unsigned n_steps[32];
    unsigned n_torn;
    unsigned n_garbled;
    unsigned n_found;
    CrashCounts counts; /* of the stores that are done with */
} Totals;

typedef struct Crash {
    const char *program;
    CrashPlace place;
    CrashCounts counts; /* of this store */
    uint64_t random;
    size_t n_queue_steps;
    Totals totals;
} Crash;

static pid_t start_child(const Crash *crash, Kind kind, const char *step, unsigned step_count,
                         uint64_t seed, int ready[2])
{
    char seed_text[32];
    char count_text[16];
    char fd_text[16];
    pid_t pid;

    if (pipe(ready) != 0) {
        return -1;
    }
    (void)snprintf(seed_text, sizeof(seed_text), "%llu", (unsigned long long)seed);
    (void)snprintf(count_text, sizeof(count_text), "%u", step_count);
    (void)snprintf(fd_text, sizeof(fd_text), "%d", ready[1]);
    pid = fork();
    if (pid == 0) {
        (void)close(ready[0]);
        (void)execl(crash->program, crash->program, "--child", crash->place.folder, seed_text, step,
                    count_text,
                    kind == KIND_FULL    ? "full"
                    : kind == KIND_DRAIN ? "drain"
                                         : "-",
                    fd_text, (char *)NULL);
        _exit(127);
    }
    (void)close(ready[1]);
    return pid;
}

static void pause_us(uint64_t us)
{
    struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};

    (void)nanosleep(&time, NULL);
}

/* Until the child says that it is open, or has met a full disk, or has ended. */
static void wait_ready(int fd)
{
    char byte;

    while (read(fd, &byte, 1) < 0 && errno == EINTR) {
    }
}

/* Until the disk has refused something, and sometimes until it has room again. */
static void wait_full(Crash *crash, int fd)
{
    wait_ready(fd);
    if (crash_random(&crash->random) % 2 == 0) {
        wait_ready(fd);
    }
}

/* Until nobody has the other end any more. */
static bool wait_end(int fd)
{
    char bytes[16];
    struct pollfd waits = {.fd = fd, .events = POLLIN};

    while (poll(&waits, 1, STEP_TIMEOUT_MS) > 0) {
        if (read(fd, bytes, sizeof(bytes)) <= 0) {
            return true;
        }
    }
    return false;
}

/* Did it end as it was to end? */
static bool run_child(Crash *crash, Kind kind, const char *step, unsigned step_count)
{
    uint64_t seed = crash_random(&crash->random);
    bool is_timely = true;
    int ready[2];
    int status = 0;
    pid_t pid = start_child(crash, kind, step, step_count, seed, ready);

    if (pid < 0) {
        return false;
    }
    if (kind == KIND_MOMENT || kind == KIND_FULL) {
        wait_ready(ready[0]);
        if (kind == KIND_FULL) {
            wait_full(crash, ready[0]);
        }
        pause_us(crash_random(&crash->random) % 60000);
    } else if (kind == KIND_OPENING) {
        pause_us(crash_random(&crash->random) % 12000);
    } else {
        is_timely = wait_end(ready[0]);
    }
    if (kind != KIND_DRAIN || !is_timely) {
        (void)kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    (void)close(ready[0]);
    if (!is_timely) {
        (void)fprintf(stderr, "crash: the child did not come to its end (step '%s')\n", step);
    } else if (kind == KIND_DRAIN ? status != 0 : !WIFSIGNALED(status)) {
        (void)fprintf(stderr, "crash: the child ended with status %d (step '%s')\n", status, step);
    }
    return is_timely && (kind == KIND_DRAIN ? status == 0 : WIFSIGNALED(status));
}

/* The so manieth time that a step is met: those that come once in a life, or seldom, at once. */
static unsigned step_count(Crash *crash, const char *step)
{
    if (strcmp(step, "recovered") == 0 || strcmp(step, "closing") == 0 ||
        strcmp(step, "settled") == 0) {
        return 1;
    }
    return 1 + (unsigned)(crash_random(&crash->random) % (strcmp(step, "swept") == 0 ? 3 : 40));
}

static bool counts_are_good(const CrashCounts *counts)
{
    return counts->n_lost + counts->n_changed + counts->n_twice + counts->n_uncounted +
               counts->n_stuck ==
           0;
}

static void tamper(Crash *crash, unsigned round)
{
    int found;

    if (round % 3 == 0) {
        found = crash_log_garble(&crash->place, &crash->random);
        crash->totals.n_garbled += found >= 0 ? 1 : 0;
        crash->totals.n_found += found > 0 ? 1 : 0;
    }
    if (round % 2 == 0) {
        crash->totals.n_torn += crash_log_tear(&crash->place, &crash->random) ? 1 : 0;
    }
}

/* Each kind in turn; between them every step. */
static bool run_round(Crash *crash, unsigned round)
{
    static const Kind plain[] = {KIND_MOMENT, KIND_OPENING, KIND_FULL, KIND_MOMENT};
    size_t turn = round % (4 + crash->n_queue_steps);
    Kind kind = turn < 4 ? plain[turn] : KIND_STEP;
    const char *step = turn < 4 ? "" : queue_steps[turn - 4];
    bool is_good = run_child(crash, kind, step, turn < 4 ? 0 : step_count(crash, step));

    crash->totals.n_kinds[kind]++;
    if (kind == KIND_STEP && is_good) {
        crash->totals.n_steps[turn - 4]++;
    }
    tamper(crash, round);
    return crash_check(&crash->place, false, &crash->counts) == 0 && is_good &&
           counts_are_good(&crash->counts);
}

/* ---- stores ---- */

static bool store_begin_new(Crash *crash)
{
    char folder[] = "/tmp/tw-crash-XXXXXX";

    if (mkdtemp(folder) == NULL) {
        return false;
    }
    crash_place_name(&crash->place, folder);
    crash->counts = (CrashCounts){.n_jobs = 0};
    return true;
}

/* Works off the rest, and adds it up. */
static bool store_end(Crash *crash)
{
    bool is_good = run_child(crash, KIND_DRAIN, "", 0) &&
                   crash_check(&crash->place, true, &crash->counts) == 0 &&
                   counts_are_good(&crash->counts);
    CrashCounts *all = &crash->totals.counts;
    const CrashCounts *own = &crash->counts;
    char index[128];

    all->n_jobs += own->n_jobs;
    all->n_results += own->n_results;
    all->n_cancelled += own->n_cancelled;
    all->n_runs += own->n_runs;
    all->n_lost += own->n_lost;
    all->n_changed += own->n_changed;
    all->n_twice += own->n_twice;
    all->n_uncounted += own->n_uncounted;
    all->n_stuck += own->n_stuck;
    if (!is_good) {
        (void)fprintf(stderr, "crash: what is left lies in %s\n", crash->place.folder);
        return false;
    }
    (void)unlink(crash->place.queue);
    (void)unlink(crash->place.log);
    (void)snprintf(index, sizeof(index), "%s-shm", crash->place.queue);
    (void)unlink(index);
    (void)unlink(crash->place.told);
    (void)unlink(crash->place.runs);
    return rmdir(crash->place.folder) == 0;
}

static void print_totals(const Crash *crash)
{
    const Totals *t = &crash->totals;
    const CrashCounts *c = &t->counts;

    printf("crash: %u of %u rounds, %zu jobs acknowledged, %zu results, %zu cancelled, %zu runs;"
           " %zu lost, %zu changed, %zu run twice, %zu miscounted, %zu stuck\n",
           t->n_good, t->n_rounds, c->n_jobs, c->n_results, c->n_cancelled, c->n_runs, c->n_lost,
           c->n_changed, c->n_twice, c->n_uncounted, c->n_stuck);
    printf("crash: killed at a moment %u, while opening %u, on a full disk %u, at a step %u (",
           t->n_kinds[KIND_MOMENT], t->n_kinds[KIND_OPENING], t->n_kinds[KIND_FULL],
           t->n_kinds[KIND_STEP]);
    for (size_t i = 0; i < crash->n_queue_steps; i++) {
        printf("%s%s %u", i == 0 ? "" : ", ", queue_steps[i], t->n_steps[i]);
    }
    printf("); log torn %u, garbled %u and found %u\n", t->n_torn, t->n_garbled, t->n_found);
}

static uint64_t environment_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t number;

    return text != NULL && text_parse_u64(span_from_str(text), &number) == 0 ? number : otherwise;
}

static int run_all(const char *program)
{
    Crash crash = {.program = program};
    uint64_t seed = environment_number("TOOLWIRE_CRASH_SEED", (uint64_t)time(NULL));
    bool is_good = true;

    crash.totals.n_rounds = (unsigned)environment_number("TOOLWIRE_CRASH_ROUNDS", DEFAULT_ROUNDS);
    crash.random = seed * 0x9e3779b97f4a7c15u | 1;
    while (queue_steps[crash.n_queue_steps] != NULL) {
        crash.n_queue_steps++;
    }
    printf("crash: seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; is_good && i < crash.totals.n_rounds; i++) {
        if (i % ROUNDS_PER_STORE == 0) {
            is_good = (i == 0 || store_end(&crash)) && store_begin_new(&crash);
        }
        if (is_good && !run_round(&crash, i)) {
            is_good = false;
            (void)fprintf(stderr, "crash: round %u failed; what is left lies in %s\n", i,
                          crash.place.folder);
        }
        crash.totals.n_good += is_good ? 1 : 0;
    }
    is_good = store_end(&crash) && is_good;
    print_totals(&crash);
    is_good = is_good && crash.totals.n_found == crash.totals.n_garbled;
    return is_good ? 0 : 1;
}

static uint64_t argument_number(const char *text)
{
    uint64_t number = 0;

    (void)text_parse_u64(span_from_str(text), &number);
    return number;
}

int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "--child") == 0) {
        CrashPlan plan = {.seed = argument_number(argv[3]) | 1,
                          .step_count = (unsigned)argument_number(argv[5]),
                          .is_disk_full = strcmp(argv[6], "full") == 0,
                          .is_drain = strcmp(argv[6], "drain") == 0,
                          .ready_fd = (int)argument_number(argv[7])};

        crash_place_name(&plan.place, argv[2]);
        (void)snprintf(plan.step, sizeof(plan.step), "%s", argv[4]);
        return crash_child(&plan);
    }
    return run_all("/proc/self/exe");
}
