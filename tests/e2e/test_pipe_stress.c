/* Many add-ins on one `toolwire serve`, each with many calls in flight, killed and started again at
 * random. Every call must get exactly one answer, the right one, and the hub must be after it what
 * it was before: as many descriptors, as much memory.
 *
 *     test_pipe_stress TOOLWIRE [LIVE_BYTES]
 *
 * The environment may set TOOLWIRE_STRESS_SEED, TOOLWIRE_STRESS_ADDINS, TOOLWIRE_STRESS_KILLS, and
 * TOOLWIRE_STRESS_SECONDS: then it goes on until so many have passed. LIVE_BYTES is the library of
 * support/live_bytes.c.
 */
#include "e2e/peer.h"
#include "e2e/pipe_crowd.h"
#include "e2e/process_state.h"

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
#include "base/compiler.h"

#if defined(__has_feature)
#define STRESS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define STRESS_HAS_FEATURE(feature) 0
#endif

/* Under a sanitizer all is ten times as large and slow; and sanitizers keep what was freed, so
 * resident memory says nothing there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    STRESS_HAS_FEATURE(address_sanitizer) || STRESS_HAS_FEATURE(thread_sanitizer)
#define STRESS_ADDINS         10
#define STRESS_KILLS          20
#define STRESS_MEMORY_IS_TOLD false
#else
#define STRESS_ADDINS         50
#define STRESS_KILLS          60
#define STRESS_MEMORY_IS_TOLD true
#endif

#define STRESS_SEED 20261116u
#define FIRST_KILLS 10   /* before the hub is measured for the first time */
#define KILL_EVERY  1500 /* answers */
#define IN_FLIGHT   128
#define FILL_MS     1000 /* so that all of them have begun before the first has ended */
#define MAX_ADDINS  200
#define SHORT_TEXT  600
#define LONG_TEXT   70000 /* more than a pipe holds */
#define MAX_BYTES   ((size_t)256 * 1024 * 1024)
#define HANG_MS     60000 /* only ends a test that would hang */
#define GUARD       9999  /* the number of the calls that only let a moment pass */

/* What the hub may have allocated more than at the first time: buffers that it keeps, and tables
 * that grew. Two bytes lost with each call, or some kilobytes with each add-in, are more. */
#define LIVE_SLACK_BYTES   ((long)256 * 1024)
#define RESIDENT_SLACK_KIB 4096

static const char *program;
static const char *live_library; /* NULL: not counted */

/* One place for a call; its id is "ADDIN.PLACE.GENERATION". */
typedef struct Place {
    unsigned long generation;
    bool is_asked;
} Place;

typedef struct Addin {
    pid_t pid;       /* 0: not there */
    bool is_missing; /* somebody said that it is not connected: one call at a time then */
    size_t n_asked;
    Place places[IN_FLIGHT];
} Addin;

typedef struct Counts {
    size_t right;
    size_t refused;      /* by the add-in */
    size_t disconnected; /* killed during the call */
    size_t unavailable;
    size_t kills;
} Counts;

typedef struct Stress {
    uint64_t random;
    char folder[40];
    char tools[64];
    char config[64];
    char pipe[64];
    pid_t hub;
    int to;
    int from;
    const atomic_long *live_bytes;
    Bytes out;
    Bytes in;
    Arena arena;
    Bytes text; /* of the call at hand */
    Addin addins[MAX_ADDINS];
    size_t n_addins;
    size_t n_outstanding;
    size_t n_guards;
    Counts counts;
} Stress;

static size_t any(Stress *s, size_t n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(s->random >> 33) % n;
}

/* ---- calls ---- */

/* The text that a call sends and must get back: follows from its id. */
static Span call_text(Stress *s, size_t addin, size_t place, unsigned long generation)
{
    uint64_t x = (addin * 1000003 + place * 10007 + generation + 1) * 0x9e3779b97f4a7c15u;
    size_t n = (x >> 16 & 255) == 0 ? LONG_TEXT : (x >> 24) % SHORT_TEXT;

    bytes_clear(&s->text);
    assert_int_equal(bytes_append_format(&s->text, "\"%zu.%zu.%lu:", addin, place, generation), 0);
    while (s->text.n < n) {
        assert_int_equal(bytes_append_format(&s->text, "%llx ", (unsigned long long)x), 0);
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    assert_int_equal(bytes_append_byte(&s->text, '"'), 0);
    return bytes_span(&s->text);
}

static void ask(Stress *s, size_t number, size_t place)
{
    Addin *addin = &s->addins[number];
    Place *p = &addin->places[place];

    p->generation++;
    p->is_asked = true;
    addin->n_asked++;
    s->n_outstanding++;
    assert_int_equal(
        bytes_append_format(&s->out,
                            "{\"jsonrpc\":\"2.0\",\"id\":\"%zu.%zu.%lu\",\"method\":\"tools/call\","
                            "\"params\":{\"name\":\"echo_%zu\",\"arguments\":{\"message\":",
                            number, place, p->generation, number),
        0);
    assert_int_equal(bytes_append_span(&s->out, call_text(s, number, place, p->generation)), 0);
    assert_int_equal(bytes_append_span(&s->out, SPAN("}}}\n")), 0);
}

static void ask_all(Stress *s)
{
    for (size_t i = 0; i < s->n_addins; i++) {
        Addin *addin = &s->addins[i];
        size_t wanted = addin->is_missing ? 1 : IN_FLIGHT;

        for (size_t k = 0; k < IN_FLIGHT && addin->n_asked < wanted; k++) {
            if (!addin->places[k].is_asked) {
                ask(s, i, k);
            }
        }
    }
}

static _Noreturn void wrong(Span line, const char *why)
{
    fail_msg("%s: %.*s", why, line.n < 500 ? (int)line.n : 500, line.p);
    abort(); /* fail_msg does not return, without saying so */
}

static void take_failure(Stress *s, Addin *addin, JsonValue root, Span line)
{
    JsonValue code;

    if (json_pointer(root, SPAN("/result/structuredContent/error/code"), &code) != 0) {
        wrong(line, "a failure without a code");
    }
    if (json_string_equals(code, SPAN(CROWD_CODE))) {
        s->counts.refused++;
    } else if (json_string_equals(code, SPAN("PIPE_DISCONNECTED"))) {
        s->counts.disconnected++;
    } else if (json_string_equals(code, SPAN("ADAPTER_NOT_AVAILABLE"))) {
        s->counts.unavailable++;
        addin->is_missing = true;
    } else {
        wrong(line, "a failure that cannot be");
    }
}

static void take_answer(Stress *s, JsonValue root, Span id, Span line)
{
    size_t number;
    size_t place;
    unsigned long generation;
    char text[64];
    JsonValue value;
    Addin *addin;

    (void)snprintf(text, sizeof(text), "%.*s", (int)id.n, id.p);
    if (sscanf(text, "%zu.%zu.%lu", &number, &place, &generation) != 3) { /* NOLINT(cert-err34-c) */
        wrong(line, "no id of ours");
    }
    if (number == GUARD) {
        s->n_guards--;
        return;
    }
    addin = &s->addins[number];
    if (number >= s->n_addins || place >= IN_FLIGHT || !addin->places[place].is_asked ||
        addin->places[place].generation != generation) {
        wrong(line, "an answer to what was not asked, or answered already");
    }
    addin->places[place].is_asked = false;
    addin->n_asked--;
    s->n_outstanding--;
    if (json_pointer(root, SPAN("/result/isError"), &value) == 0) {
        take_failure(s, addin, root, line);
        return;
    }
    if (json_pointer(root, SPAN("/result/structuredContent/message"), &value) != 0 ||
        !span_equals(json_span(value), call_text(s, number, place, generation))) {
        wrong(line, "a wrong answer");
    }
    s->counts.right++;
    addin->is_missing = false;
}

static void take_line(Stress *s, Span line)
{
    JsonDoc doc;
    JsonValue id;
    Span text;

    arena_reset(&s->arena, MAX_BYTES);
    if (json_parse(&doc, &s->arena, line.p, line.n, NULL, NULL) != 0) {
        wrong(line, "not JSON");
    }
    if (json_get(json_root(&doc), SPAN("id"), &id) && json_string_plain(id, &text)) {
        take_answer(s, json_root(&doc), text, line);
    } else if (!json_get(json_root(&doc), SPAN("method"), &id)) {
        wrong(line, "neither an answer nor a notification");
    }
}

/* ---- the hub ---- */

static void hub_read(Stress *s)
{
    size_t n_searched = s->in.n;
    size_t at = 0;
    const char *end;
    ssize_t n;

    assert_int_equal(bytes_reserve(&s->in, 1 << 18), 0);
    n = read(s->from, s->in.data + s->in.n, 1 << 18);
    assert_true(n > 0);
    s->in.n += (size_t)n;
    while ((end = memchr(s->in.data + n_searched, '\n', s->in.n - n_searched)) != NULL) {
        take_line(s, span_make(s->in.data + at, (size_t)(end - s->in.data) - at));
        at = n_searched = (size_t)(end + 1 - s->in.data);
    }
    bytes_drop_front(&s->in, at);
}

/* Waits for something to read or room to write, and does it. */
static void hub_exchange(Stress *s)
{
    struct pollfd fds[] = {{.fd = s->from, .events = POLLIN},
                           {.fd = s->out.n > 0 ? s->to : -1, .events = POLLOUT}};

    if (poll(fds, 2, HANG_MS) <= 0) {
        fail_msg("no answer for %d s; %zu calls are out", HANG_MS / 1000, s->n_outstanding);
    }
    if (fds[1].revents != 0) {
        ssize_t n = write(s->to, s->out.data, s->out.n);

        assert_true(n > 0 || errno == EAGAIN);
        bytes_drop_front(&s->out, n > 0 ? (size_t)n : 0);
    }
    if (fds[0].revents != 0) {
        hub_read(s);
    }
}

/* So many calls of its own at the same time, which only let time pass. */
static void guard_calls(Stress *s, size_t n, unsigned ms)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(bytes_append_format(&s->out,
                                             "{\"jsonrpc\":\"2.0\",\"id\":\"%d.0.%zu\","
                                             "\"method\":\"tools/call\",\"params\":{\"name\":"
                                             "\"sleep\",\"arguments\":{\"ms\":%u}}}\n",
                                             GUARD, i, ms),
                         0);
    }
    s->n_guards += n;
    while (s->n_guards > 0) {
        hub_exchange(s);
    }
}

static void guard_call(Stress *s)
{
    guard_calls(s, 1, 1);
}

static void hub_settle(Stress *s, size_t n_descriptors)
{
    int64_t end_ms = clock_monotonic_ms() + HANG_MS / 4;
    size_t n;

    while ((n = process_descriptors(s->hub)) != n_descriptors) {
        if (clock_monotonic_ms() > end_ms) {
            fail_msg("the hub has %zu descriptors, and had %zu", n, n_descriptors);
        }
        guard_call(s);
    }
    guard_call(s); /* a connection's memory goes after its descriptor, in the loop's next turn */
}

static size_t hub_wait_for_memory(Stress *s, size_t max_kib)
{
    int64_t end_ms = clock_monotonic_ms() + HANG_MS / 4;
    size_t kib;

    while ((kib = process_resident_kib(s->hub)) > max_kib && clock_monotonic_ms() < end_ms) {
        guard_call(s);
    }
    return kib;
}

/* ---- add-ins ---- */

static void addin_start(Stress *s, size_t i)
{
    s->addins[i].pid = crowd_start(s->pipe, i, s->random ^ i << 40);
    assert_true(s->addins[i].pid > 0);
}

static void addin_kill(Stress *s, size_t i)
{
    assert_int_equal(kill(s->addins[i].pid, SIGKILL), 0);
    assert_int_equal(peer_wait(s->addins[i].pid), -SIGKILL);
    s->addins[i].pid = 0;
    s->counts.kills++;
}

/* One dies; it is started again at once, or later, with the next one. */
static void disturb(Stress *s)
{
    size_t victim = any(s, s->n_addins);

    for (size_t i = 0; i < s->n_addins; i++) {
        if (s->addins[i].pid == 0) {
            addin_start(s, i);
        }
    }
    addin_kill(s, victim);
    if (any(s, 4) != 0) {
        addin_start(s, victim);
    }
}

/* All of them come, work and die, and go in the end. */
static void run(Stress *s, size_t n_kills, int64_t seconds)
{
    int64_t end_ms = clock_monotonic_ms() + seconds * 1000;
    size_t n_until = s->counts.kills + n_kills;
    size_t n_next = s->counts.right + KILL_EVERY;

    for (size_t i = 0; i < s->n_addins; i++) {
        addin_start(s, i);
    }
    while (seconds > 0 ? clock_monotonic_ms() < end_ms : s->counts.kills < n_until) {
        ask_all(s);
        hub_exchange(s);
        if (s->counts.right >= n_next) {
            n_next = s->counts.right + KILL_EVERY;
            disturb(s);
        }
    }
    while (s->n_outstanding > 0) {
        hub_exchange(s);
    }
    for (size_t i = 0; i < s->n_addins; i++) {
        if (s->addins[i].pid != 0) {
            addin_kill(s, i);
        }
    }
}

/* ---- the test ---- */

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

static void write_files(const Stress *s)
{
    FILE *f = fopen(s->tools, "w");

    assert_non_null(f);
    for (size_t i = 0; i < s->n_addins; i++) {
        fprintf(f,
                "%s{\"name\":\"echo_%zu\",\"description\":\"gives its arguments back\","
                "\"input_schema\":{\"type\":\"object\"}}",
                i == 0 ? "[" : ",\n", i);
    }
    fprintf(f, "]\n");
    assert_int_equal(fclose(f), 0);
    f = fopen(s->config, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"pipe\":{\"name\":\"%s\",\"tools\":\"tools.json\"},\"limits\":{\"max_in_flight\":"
            "65536}}\n",
            s->pipe);
    assert_int_equal(fclose(f), 0);
}

/* Before the lines that take_line knows: the answer to `initialize` has a number as its id. */
static void hub_open(Stress *s)
{
    static const char opening[] = INITIALIZE "\n" INITIALIZED "\n";
    char answer[4096] = "";
    size_t n = 0;

    assert_int_equal(write(s->to, opening, sizeof(opening) - 1), sizeof(opening) - 1);
    while (strchr(answer, '\n') == NULL) {
        ssize_t got = read(s->from, answer + n, sizeof(answer) - 1 - n);

        assert_true(got > 0);
        n += (size_t)got;
    }
    assert_non_null(strstr(answer, "\"2025-11-25\""));
}

static void hub_start(Stress *s)
{
    const char *const arguments[] = {"serve",  "--config", s->config, "--diagnostics",
                                     "--rate", "off",      NULL};
    int live_fd = live_library == NULL ? -1 : process_live_begin(&s->live_bytes, live_library);
    int in[2];
    int out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    s->hub = peer_spawn(program, arguments, in[0], out[1]);
    if (live_fd >= 0) {
        process_live_end(live_fd);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    s->to = in[1];
    s->from = out[0];
    assert_int_equal(fcntl(s->to, F_SETFL, O_NONBLOCK), 0);
    hub_open(s);
}

static int start(void **state)
{
    static Stress s;

    s.n_addins = setting("TOOLWIRE_STRESS_ADDINS", STRESS_ADDINS);
    assert_in_range(s.n_addins, 1, MAX_ADDINS);
    s.random = setting("TOOLWIRE_STRESS_SEED", STRESS_SEED);
    (void)signal(SIGPIPE, SIG_IGN);
    bytes_init(&s.out, MAX_BYTES);
    bytes_init(&s.in, MAX_BYTES);
    bytes_init(&s.text, MAX_BYTES);
    arena_init(&s.arena, MAX_BYTES);
    (void)snprintf(s.folder, sizeof(s.folder), "/tmp/tw-pipe-XXXXXX");
    assert_non_null(mkdtemp(s.folder));
    (void)snprintf(s.tools, sizeof(s.tools), "%s/tools.json", s.folder);
    (void)snprintf(s.config, sizeof(s.config), "%s/config.json", s.folder);
    (void)snprintf(s.pipe, sizeof(s.pipe), "%s/pipe", s.folder);
    write_files(&s);
    hub_start(&s);
    *state = &s;
    return 0;
}

/* Also after a failure; the add-ins end with the hub. */
static int end(void **state)
{
    Stress *s = *state;

    if (s->hub > 0) {
        (void)kill(s->hub, SIGKILL);
        (void)peer_wait(s->hub);
    }
    (void)unlink(s->tools);
    (void)unlink(s->config);
    (void)unlink(s->pipe);
    (void)rmdir(s->folder);
    bytes_deinit(&s->out);
    bytes_deinit(&s->in);
    bytes_deinit(&s->text);
    arena_deinit(&s->arena);
    return 0;
}

static void every_call_gets_one_answer_and_the_hub_stays_as_it_was(void **state)
{
    Stress *s = *state;
    long seconds = (long)setting("TOOLWIRE_STRESS_SECONDS", 0);
    size_t n_descriptors = process_descriptors(s->hub);
    size_t resident_kib;
    size_t resident_before;
    long live_before;
    long live;

    printf("seed %llu: %zu add-ins, %d calls in flight each\n", (unsigned long long)s->random,
           s->n_addins, IN_FLIGHT);
    /* As many calls at once as there will ever be: what is kept for them is there from now on. */
    guard_calls(s, s->n_addins * IN_FLIGHT, FILL_MS);
    run(s, FIRST_KILLS, 0);
    hub_settle(s, n_descriptors);
    live_before = s->live_bytes == NULL ? 0 : atomic_load(s->live_bytes);
    resident_before = process_resident_kib(s->hub);
    run(s, setting("TOOLWIRE_STRESS_KILLS", STRESS_KILLS), seconds);
    hub_settle(s, n_descriptors);
    live = s->live_bytes == NULL ? 0 : atomic_load(s->live_bytes);
    resident_kib =
        STRESS_MEMORY_IS_TOLD ? hub_wait_for_memory(s, resident_before + RESIDENT_SLACK_KIB) : 0;
    printf("%zu right answers, %zu refused, %zu lost with an add-in, %zu found none; %zu kills; "
           "hub: %zu descriptors, %ld bytes allocated then %ld, %zu KiB resident then %zu\n",
           s->counts.right, s->counts.refused, s->counts.disconnected, s->counts.unavailable,
           s->counts.kills, process_descriptors(s->hub), live_before, live, resident_before,
           resident_kib);
    assert_true(s->counts.disconnected > 0);
    assert_true(live <= live_before + LIVE_SLACK_BYTES);
    assert_true(resident_kib <= resident_before + RESIDENT_SLACK_KIB);
}

static void the_end_of_its_client_ends_the_hub_and_removes_the_pipe(void **state)
{
    Stress *s = *state;
    pid_t pid = s->hub;

    (void)close(s->to);
    s->hub = 0;
    assert_int_equal(peer_wait(pid), 0);
    assert_int_not_equal(access(s->pipe, F_OK), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gets_one_answer_and_the_hub_stays_as_it_was),
        cmocka_unit_test(the_end_of_its_client_ends_the_hub_and_removes_the_pipe),
    };

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: test_pipe_stress TOOLWIRE [LIVE_BYTES]\n");
        return 2;
    }
    program = argv[1];
    live_library = argv[2];
    return cmocka_run_group_tests(tests, start, end);
}
