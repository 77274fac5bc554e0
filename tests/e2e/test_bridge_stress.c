/* Many `toolwire bridge` on one `toolwire host`, busy at the same time, one in ten killed while it
 * has calls on the way. No answer may be wrong, missing or given twice, and the host must be after
 * it what it was before: as many descriptors, as much memory.
 *
 *     test_bridge_stress TOOLWIRE [LIVE_BYTES]
 *
 * The environment may set TOOLWIRE_STRESS_SEED, TOOLWIRE_STRESS_BRIDGES and TOOLWIRE_STRESS_CALLS
 * (of each bridge). LIVE_BYTES is the library of support/live_bytes.c. What is asked, and who is
 * killed after which answer, follows from the seed.
 */
#include "e2e/host_process.h"
#include "e2e/peer.h"
#include "e2e/stress_calls.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

#if defined(__has_feature)
#define STRESS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define STRESS_HAS_FEATURE(feature) 0
#endif

/* Under a sanitizer every process is ten times as large and slow, so there are fewer of them with
 * fewer calls; and sanitizers keep what was freed, so resident memory says nothing there (but
 * that of addresses reports at the host's end what was lost). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    STRESS_HAS_FEATURE(address_sanitizer) || STRESS_HAS_FEATURE(thread_sanitizer)
#define STRESS_BRIDGES        60
#define STRESS_CALLS          200
#define STRESS_MEMORY_IS_TOLD false
#else
#define STRESS_BRIDGES        200
#define STRESS_CALLS          1000
#define STRESS_MEMORY_IS_TOLD true
#endif

#define STRESS_SEED 20260222u

/* The first wave, after which the host is measured for the first time: by then every buffer and
 * table has been used. */
#define FIRST_WAVE 20

/* What the host may have allocated more than at the first time: tables that grew, once, for more
 * connections at once. A byte lost with each call, or a hundred with each bridge, is more. */
#define LIVE_SLACK_BYTES ((long)16 * 1024)

/* What its resident memory may grow, when the host has given back what the connections had at once:
 * pages that are in use for a few bytes. */
#define RESIDENT_SLACK_KIB 1024

#define IN_FLIGHT   4 /* of each bridge, which sends them to the host one after another */
#define MAX_PENDING ((size_t)8 * 1024 * 1024)
#define ARENA_BYTES ((size_t)16 * 1024 * 1024)
#define HANG_MS     60000 /* only ends a test that would hang */
#define MAX_SETTING 100000

static const char *program;
static const char *live_bytes; /* NULL: not counted */

typedef struct Bridge {
    pid_t pid;
    int to;     /* -1: closed */
    int from;   /* -1: at its end */
    Bytes out;  /* composed, not yet written */
    Bytes in;   /* read, not yet a line */
    bool *done; /* by sequence number: answered */
    size_t number;
    size_t n_asked;
    size_t n_answered;
    size_t kill_after; /* answers; SIZE_MAX: never */
    bool is_modern;
    bool is_open; /* calls may be sent */
    bool is_killed;
} Bridge;

typedef struct Stress {
    StressCalls calls;
    size_t n_bridges;
    size_t n_calls; /* of each bridge */
    size_t n_doomed;
    size_t n_killed;
    size_t n_answered;
    HostProcess host;
    Peer guard;      /* one more bridge, connected all the time */
    size_t n_guards; /* its calls */
    Arena arena;
} Stress;

typedef struct HostState {
    size_t n_descriptors;
    size_t resident_kib;
    long live_bytes; /* 0: not counted */
} HostState;

/* ---- what is answered ---- */

static _Noreturn void wrong_answer(const Stress *s, const Bridge *b, Span line, const char *why)
{
    fail_msg("bridge %zu, seed %llu: %s: %.*s", b->number, (unsigned long long)s->calls.seed, why,
             line.n < 500 ? (int)line.n : 500, line.p);
    abort(); /* fail_msg does not return, without saying so */
}

static void take_call_answer(Stress *s, Bridge *b, Span line, JsonValue answer)
{
    size_t seq;

    if (!stress_calls_seq(answer, b->number, &seq) || seq >= b->n_asked) {
        wrong_answer(s, b, line, "an id that was never asked with");
    }
    if (b->done[seq]) {
        wrong_answer(s, b, line, "a second answer");
    }
    if (!stress_calls_is_right(&s->calls, answer, b->number, seq)) {
        wrong_answer(s, b, line, "a wrong answer");
    }
    b->done[seq] = true;
    b->n_answered++;
    s->n_answered++;
}

static void append(Bytes *b, const char *text)
{
    assert_int_equal(bytes_append(b, text, strlen(text)), 0);
}

static void take_line(Stress *s, Bridge *b, Span line)
{
    JsonDoc doc;
    JsonValue version;

    arena_reset(&s->arena, ARENA_BYTES);
    if (json_parse(&doc, &s->arena, line.p, line.n, NULL, NULL) != 0) {
        wrong_answer(s, b, line, "not JSON");
    }
    if (b->is_open) {
        take_call_answer(s, b, line, json_root(&doc));
        return;
    }
    if (json_pointer(json_root(&doc), SPAN("/result/protocolVersion"), &version) != 0 ||
        !span_equals(json_span(version), SPAN("\"2025-11-25\""))) {
        wrong_answer(s, b, line, "refused `initialize`");
    }
    append(&b->out, INITIALIZED "\n");
    b->is_open = true;
}

/* ---- a bridge ---- */

static void bridge_start(Stress *s, Bridge *b, size_t number)
{
    const char *const arguments[] = {"bridge",       "--rate",       "off",
                                     s->host.socket, s->host.schema, NULL};
    size_t doomed = stress_calls_random(&s->calls, number / 10, UINT32_MAX) % 10; /* of these ten */
    int in[2];
    int out[2];

    *b = (Bridge){.number = number, .is_modern = number % 2 == 1, .kill_after = SIZE_MAX};
    b->is_open = b->is_modern;
    if (number % 10 == doomed) {
        b->kill_after = stress_calls_random(&s->calls, number, UINT32_MAX - 1) % s->n_calls;
        s->n_doomed++;
    }
    bytes_init(&b->out, MAX_PENDING);
    bytes_init(&b->in, MAX_PENDING);
    b->done = calloc(s->n_calls, sizeof(*b->done));
    assert_non_null(b->done);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    b->pid = peer_spawn(program, arguments, in[0], out[1]);
    (void)close(in[0]);
    (void)close(out[1]);
    b->to = in[1];
    b->from = out[0];
    assert_int_equal(fcntl(b->to, F_SETFL, O_NONBLOCK), 0);
    append(&b->out, b->is_modern ? "" : INITIALIZE "\n");
}

static void bridge_close_input(Bridge *b)
{
    (void)close(b->to);
    b->to = -1;
    bytes_clear(&b->out);
}

static void bridge_write(Bridge *b)
{
    ssize_t n = b->to < 0 || b->out.n == 0 ? 0 : write(b->to, b->out.data, b->out.n);

    if (n > 0) {
        bytes_drop_front(&b->out, (size_t)n);
    }
    if (n < 0) {
        assert_int_equal(errno, EAGAIN);
    }
}

/* Keeps calls in flight; kills a bridge whose time has come, before or after it got more to do. */
static void bridge_go_on(Stress *s, Bridge *b)
{
    bool is_due = b->is_open && b->n_answered >= b->kill_after;
    bool at_once = stress_calls_random(&s->calls, b->number, UINT32_MAX - 2) % 2 == 0;

    if (b->to < 0) {
        return;
    }
    while (b->is_open && !(is_due && at_once) && b->n_asked < s->n_calls &&
           b->n_asked - b->n_answered < IN_FLIGHT) {
        stress_calls_ask(&s->calls, &b->out, b->number, b->n_asked++, b->is_modern);
    }
    bridge_write(b);
    if (is_due) {
        assert_int_equal(kill(b->pid, SIGKILL), 0);
        b->is_killed = true;
        s->n_killed++;
        bridge_close_input(b);
    } else if (b->n_answered == s->n_calls) {
        bridge_close_input(b);
    }
}

static void bridge_end(Stress *s, Bridge *b)
{
    int status = peer_wait(b->pid);

    (void)close(b->from);
    b->from = -1;
    if (b->is_killed) {
        assert_int_equal(status, -SIGKILL); /* half a line may be left */
    } else {
        assert_int_equal(status, 0);
        assert_int_equal(b->in.n, 0);
        assert_int_equal(b->n_answered, s->n_calls);
    }
    bytes_deinit(&b->in);
    bytes_deinit(&b->out);
    free(b->done);
    b->done = NULL;
}

static void bridge_read(Stress *s, Bridge *b)
{
    size_t n_searched = b->in.n;
    size_t at = 0;
    const char *end;
    ssize_t n;

    assert_int_equal(bytes_reserve(&b->in, 65536), 0);
    n = read(b->from, b->in.data + b->in.n, 65536);
    assert_true(n >= 0);
    if (n == 0) {
        bridge_end(s, b);
        return;
    }
    b->in.n += (size_t)n;
    while ((end = memchr(b->in.data + n_searched, '\n', b->in.n - n_searched)) != NULL) {
        take_line(s, b, span_make(b->in.data + at, (size_t)(end - b->in.data) - at));
        at = n_searched = (size_t)(end + 1 - b->in.data);
    }
    bytes_drop_front(&b->in, at);
    bridge_go_on(s, b);
}

/* So many bridges at the same time, from their start to their end. */
static void run_wave(Stress *s, size_t first, size_t n)
{
    Bridge *bridges = calloc(n, sizeof(*bridges));
    struct pollfd *fds = calloc(2 * n, sizeof(*fds));
    size_t n_left = n;

    assert_true(bridges != NULL && fds != NULL);
    for (size_t i = 0; i < n; i++) {
        bridge_start(s, &bridges[i], first + i);
    }
    for (size_t i = 0; i < n; i++) {
        bridge_go_on(s, &bridges[i]);
    }
    while (n_left > 0) {
        for (size_t i = 0; i < n; i++) {
            const Bridge *b = &bridges[i];

            fds[2 * i] = (struct pollfd){.fd = b->from, .events = POLLIN};
            fds[2 * i + 1] = (struct pollfd){.fd = b->out.n > 0 ? b->to : -1, .events = POLLOUT};
        }
        if (poll(fds, 2 * n, HANG_MS) <= 0) {
            fail_msg("no answer for %d s; %zu bridges left", HANG_MS / 1000, n_left);
        }
        for (size_t i = 0; i < n; i++) {
            if (fds[2 * i + 1].revents != 0) {
                bridge_write(&bridges[i]);
            }
            if (fds[2 * i].revents != 0) {
                bridge_read(s, &bridges[i]);
                n_left -= bridges[i].from < 0;
            }
        }
    }
    free(fds);
    free(bridges);
}

/* ---- the host ---- */

/* One call through the bridge that is always there: the host is alive, and a moment passes. */
static void guard_call(Stress *s)
{
    char call[160];
    char *line;

    s->n_guards++;
    (void)snprintf(call, sizeof(call), CALL("%zu", "sleep", "{\"ms\":1}"), s->n_guards);
    peer_send(&s->guard, call);
    line = peer_line(&s->guard);
    assert_non_null(line);
    assert_non_null(strstr(line, "slept 1 ms"));
    free(line);
}

/* Until the host has closed what belongs to bridges that are gone. */
static void host_settle(Stress *s, size_t n_descriptors)
{
    int64_t end_ms = clock_monotonic_ms() + HANG_MS / 4;
    size_t n;

    while ((n = host_process_descriptors(&s->host)) != n_descriptors) {
        if (clock_monotonic_ms() > end_ms) {
            fail_msg("the host has %zu descriptors, and had %zu", n, n_descriptors);
        }
        guard_call(s);
    }
    guard_call(s); /* a connection's memory goes after its descriptor, in the loop's next turn */
}

/* Until it has given memory back, or for as long as that may take; returns what is resident. */
static size_t host_wait_for_memory(Stress *s, size_t max_kib)
{
    int64_t end_ms = clock_monotonic_ms() + HANG_MS / 4;
    size_t kib;

    while ((kib = host_process_resident_kib(&s->host)) > max_kib && clock_monotonic_ms() < end_ms) {
        guard_call(s);
    }
    return kib;
}

/* ---- the test ---- */

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

static int start(void **state)
{
    static Stress s;

    s = (Stress){.n_bridges = setting("TOOLWIRE_STRESS_BRIDGES", STRESS_BRIDGES),
                 .n_calls = setting("TOOLWIRE_STRESS_CALLS", STRESS_CALLS)};
    assert_in_range(s.n_bridges, 1, MAX_SETTING);
    assert_in_range(s.n_calls, 1, MAX_SETTING);
    (void)signal(SIGPIPE, SIG_IGN);
    arena_init(&s.arena, ARENA_BYTES);
    stress_calls_init(&s.calls, setting("TOOLWIRE_STRESS_SEED", STRESS_SEED));
    host_process_start(&s.host, program, live_bytes);
    *state = &s;
    return 0;
}

/* Also after a failure: bridges end with the pipes of this process, the host does not. */
static int end(void **state)
{
    Stress *s = *state;

    host_process_clean(&s->host);
    arena_deinit(&s->arena);
    stress_calls_deinit(&s->calls);
    return 0;
}

static HostState host_state(const Stress *s)
{
    const atomic_long *live = s->host.live_bytes;

    return (HostState){.n_descriptors = host_process_descriptors(&s->host),
                       .resident_kib = host_process_resident_kib(&s->host),
                       .live_bytes = live == NULL ? 0 : atomic_load(live)};
}

static void bridges_that_come_and_die_leave_the_host_as_it_was(void **state)
{
    Stress *s = *state;
    const char *const arguments[] = {"bridge",       "--rate",       "off",
                                     s->host.socket, s->host.schema, NULL};
    HostState before;
    HostState after;

    printf("seed %llu: %zu bridges of %zu calls, after %d\n", (unsigned long long)s->calls.seed,
           s->n_bridges, s->n_calls, FIRST_WAVE);
    peer_open(&s->guard, program, arguments);
    guard_call(s);
    before = host_state(s);
    run_wave(s, 0, FIRST_WAVE);
    host_settle(s, before.n_descriptors);
    before = host_state(s);
    run_wave(s, FIRST_WAVE, s->n_bridges);
    host_settle(s, before.n_descriptors);
    after = host_state(s);
    if (STRESS_MEMORY_IS_TOLD) {
        after.resident_kib = host_wait_for_memory(s, before.resident_kib + RESIDENT_SLACK_KIB);
    }
    printf("%zu right answers, %zu bridges killed; host: %zu descriptors, %ld bytes allocated then "
           "%ld, %zu KiB resident then %zu\n",
           s->n_answered, s->n_killed, after.n_descriptors, before.live_bytes, after.live_bytes,
           before.resident_kib, after.resident_kib);
    assert_int_equal(s->n_killed, s->n_doomed);
    assert_true(after.live_bytes <= before.live_bytes + LIVE_SLACK_BYTES);
    if (STRESS_MEMORY_IS_TOLD) {
        assert_in_range(after.resident_kib, 0, before.resident_kib + RESIDENT_SLACK_KIB);
    }
    assert_int_equal(peer_finish(&s->guard), 0);
}

static void sigterm_ends_the_host_and_removes_both_files(void **state)
{
    Stress *s = *state;

    assert_int_equal(host_process_terminate(&s->host), 0);
    assert_int_not_equal(access(s->host.socket, F_OK), 0);
    assert_int_not_equal(access(s->host.schema, F_OK), 0);
    assert_int_equal(rmdir(s->host.folder), 0); /* nothing else is left either */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridges_that_come_and_die_leave_the_host_as_it_was),
        cmocka_unit_test(sigterm_ends_the_host_and_removes_both_files),
    };

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: test_bridge_stress TOOLWIRE [LIVE_BYTES]\n");
        return 2;
    }
    program = argv[1];
    live_bytes = argv[2];
    return cmocka_run_group_tests(tests, start, end);
}
