/* Twenty MCP servers behind `toolwire up`, ten of which do everything wrong, and a hundred clients.
 * Every call must get exactly one answer, the servers that behave must not be disturbed, and the
 * hub must be after it what it was before: as many descriptors, as much memory, its twenty
 * children, no other process. When it ends, or is killed, no child is left.
 *
 *     test_gateway_chaos TOOLWIRE CHILD [LIVE_BYTES]
 *
 * CHILD is gateway_child.c, LIVE_BYTES the library of support/live_bytes.c. The environment may set
 * TOOLWIRE_CHAOS_SECONDS and TOOLWIRE_CHAOS_SEED. The times of the servers that behave, with chaos
 * beside them and without, are only told: they say little on a machine that does other things.
 */
#include "support/cmocka.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/gateway_clients.h"
#include "e2e/http_process.h"
#include "e2e/peer.h"
#include "e2e/process_family.h"
#include "e2e/process_state.h"

#define CHAOS_SECONDS 4
#define CHAOS_SEED    20261118u
#define CALM_PART     5 /* of the chaos lasts the calm before it, within these: */
#define CALM_MIN_MS   1000
#define CALM_MAX_MS   30000
#define AFTER_MS      500
#define N_HEALTHY     10
#define N_CHAOTIC     10
#define N_HTTP        90
#define N_SOCKET      10
#define TICK_MS       250
#define STOPPED_TICKS 4 /* a child that was stopped goes on */
#define LOOK_MS       50

/* What may be left: buffers that are kept for the next message, of each server and client. */
#define LIVE_SLACK_BYTES ((long)1024 * 1024)

static const char *program;
static const char *child;
static const char *live_bytes; /* NULL: not counted */

typedef struct State {
    HttpProcess hub;
    GatewayClients *clients;
    char config[64];
    char tag[64];
    Family family;
    uint64_t random;
    unsigned n_ticks;
    size_t n_killed;
    size_t n_stopped;
    struct {
        pid_t pid; /* 0: none */
        unsigned until;
    } stopped[STOPPED_TICKS + 1];
    size_t n_descriptors;
    long live;
} State;

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? otherwise : strtoull(text, NULL, 10);
}

/* ---- the hub ---- */

static void write_server(FILE *f, const State *s, char kind, size_t i)
{
    bool is_chaotic = kind == 'c';

    (void)fprintf(f, "%s\"%c%zu\":{\"command\":\"%s\",\"args\":[\"%s\",\"%c%zu\"%s%s%s%s]%s}",
                  kind == 'h' && i == 0 ? "" : ",", kind, i, child, s->tag, kind, i,
                  i % 2 == 1 ? ",\"modern\"" : "", is_chaotic && i % 4 < 2 ? ",\"stubborn\"" : "",
                  is_chaotic && i % 5 == 2 ? ",\"helper\"" : "",
                  is_chaotic && i % 5 == 3 ? ",\"clinging\"" : "",
                  is_chaotic ? ",\"call_timeout_ms\":\"500ms\"" : "");
}

static void write_config(State *s)
{
    FILE *f;
    int fd;

    (void)snprintf(s->config, sizeof(s->config), "/tmp/tw-chaos-XXXXXX");
    fd = mkstemp(s->config);
    assert_true(fd >= 0);
    (void)snprintf(s->tag, sizeof(s->tag), "tag-of-%s", s->config + strlen("/tmp/"));
    f = fdopen(fd, "w");
    assert_non_null(f);
    (void)fprintf(f, "{\"mcpServers\":{");
    for (size_t i = 0; i < N_HEALTHY; i++) {
        write_server(f, s, 'h', i);
    }
    for (size_t i = 0; i < N_CHAOTIC; i++) {
        write_server(f, s, 'c', i);
    }
    (void)fprintf(f, "}}\n");
    assert_int_equal(fclose(f), 0);
}

static void start_hub(State *s)
{
    const char *more[] = {"--config", NULL,          "--rate", "off", "--max-in-flight",
                          "4096",     "--log-level", "error",  NULL};

    write_config(s);
    more[1] = s->config;
    http_process_start_with(&s->hub, program, live_bytes, more);
}

static void start_clients(State *s, size_t n_http, size_t n_socket)
{
    GatewayClientsConfig config = {.hub = &s->hub,
                                   .n_http = n_http,
                                   .n_socket = n_socket,
                                   .n_healthy = N_HEALTHY,
                                   .n_chaotic = N_CHAOTIC,
                                   .seed = number_from("TOOLWIRE_CHAOS_SEED", CHAOS_SEED)};

    s->clients = gateway_clients_new(&config);
    s->random = config.seed;
}

static bool all_answer(State *s)
{
    bool do_answer = true;
    char name[32];

    for (size_t i = 0; i < N_HEALTHY + N_CHAOTIC; i++) {
        (void)snprintf(name, sizeof(name), "%c%zu", i < N_HEALTHY ? 'h' : 'c', i % N_HEALTHY);
        do_answer = gateway_clients_try(s->clients, name) && do_answer;
    }
    return do_answer;
}

/* ---- what is waited for ---- */

/* Until it is so; the limit only ends a test that would hang. */
static bool wait_until(State *s, bool (*is_so)(State *s))
{
    int left_ms = HTTP_HANG_MS;

    while (!is_so(s) && left_ms > 0) {
        (void)poll(NULL, 0, LOOK_MS);
        left_ms -= LOOK_MS;
    }
    return is_so(s);
}

static bool family_is_whole(State *s)
{
    family_look(&s->family, s->tag, s->hub.pid);
    return s->family.n_children == N_HEALTHY + N_CHAOTIC && s->family.n_orphans == 0 &&
           s->family.n_zombies == 0;
}

static bool family_has_gone(State *s)
{
    family_look(&s->family, s->tag, s->hub.pid);
    return s->family.n == 0;
}

static bool descriptors_are_back(State *s)
{
    return process_descriptors(s->hub.pid) == s->n_descriptors;
}

static bool memory_is_back(State *s)
{
    return s->hub.live_bytes == NULL ||
           atomic_load(s->hub.live_bytes) <= s->live + LIVE_SLACK_BYTES;
}

/* ---- chaos from outside ---- */

static void tick_continue(State *s, bool is_all)
{
    for (size_t i = 0; i < STOPPED_TICKS + 1; i++) {
        if (s->stopped[i].pid != 0 && (is_all || s->n_ticks >= s->stopped[i].until)) {
            (void)kill(s->stopped[i].pid, SIGCONT); /* it may have gone */
            s->stopped[i].pid = 0;
        }
    }
}

static void tick_stop(State *s, pid_t pid)
{
    size_t i = s->n_ticks % (STOPPED_TICKS + 1);

    assert_int_equal(s->stopped[i].pid, 0);
    if (kill(pid, SIGSTOP) == 0) {
        s->n_stopped++;
        s->stopped[i].pid = pid;
        s->stopped[i].until = s->n_ticks + STOPPED_TICKS;
    }
}

/* One of the bad servers that the hub runs at the moment, at random; NULL: none. */
static const FamilyMember *find_victim(State *s)
{
    const FamilyMember *found[sizeof(s->family.members) / sizeof(s->family.members[0])];
    size_t n = 0;

    family_look(&s->family, s->tag, s->hub.pid);
    for (size_t i = 0; i < s->family.n; i++) {
        const FamilyMember *member = &s->family.members[i];

        if (member->name[0] == 'c' && member->parent == s->hub.pid && !member->is_stopped) {
            found[n++] = member;
        }
    }
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return n == 0 ? NULL : found[(s->random >> 33) % n];
}

/* Killed and stopped in turn. */
static void tick(void *context)
{
    State *s = context;
    const FamilyMember *victim;

    s->n_ticks++;
    tick_continue(s, false);
    victim = find_victim(s);
    if (victim != NULL && s->n_ticks % 2 == 0) {
        s->n_killed += kill(victim->pid, SIGKILL) == 0;
    } else if (victim != NULL) {
        tick_stop(s, victim->pid);
    }
}

/* ---- the tests ---- */

static void tell(State *s, uint64_t seconds, uint64_t p99_calm, uint64_t p99_chaos, size_t n_timed)
{
    GatewayCounts counts = gateway_clients_counts(s->clients);

    printf("gateway chaos: %" PRIu64 " s, %d servers, %d clients: %zu calls, %zu answers, %zu too "
           "many, %zu wrong, %zu errors of bad servers; %zu children killed, %zu stopped; "
           "%zu orphans, %zu zombies, descriptors %zu of %zu",
           seconds, N_HEALTHY + N_CHAOTIC, N_HTTP + N_SOCKET, counts.n_calls, counts.n_answers,
           counts.n_extra, counts.n_wrong, counts.n_errors, s->n_killed, s->n_stopped,
           s->family.n_orphans, s->family.n_zombies, process_descriptors(s->hub.pid),
           s->n_descriptors);
    if (s->hub.live_bytes != NULL) {
        printf(", live KiB %ld of %ld", atomic_load(s->hub.live_bytes) / 1024, s->live / 1024);
    }
    printf("; p99 of good servers %.1f ms, calm %.1f ms, %zu calls\n", (double)p99_chaos / 1000,
           (double)p99_calm / 1000, n_timed);
    (void)fflush(stdout);
}

static void measure_before(State *s)
{
    s->n_descriptors = process_descriptors(s->hub.pid);
    s->live = s->hub.live_bytes == NULL ? 0 : atomic_load(s->hub.live_bytes);
}

static void all_is_as_before(State *s)
{
    GatewayCounts counts = gateway_clients_counts(s->clients);

    assert_int_equal(counts.n_answers, counts.n_calls);
    assert_int_equal(counts.n_extra, 0);
    assert_int_equal(counts.n_wrong, 0);
    assert_true(counts.n_errors > 0); /* else nothing went wrong */
    assert_true(s->n_killed + s->n_stopped > 0);
    assert_true(family_is_whole(s));
    assert_true(descriptors_are_back(s));
    assert_true(memory_is_back(s));
}

static void chaos_disturbs_nobody(void **state)
{
    State *s = *state;
    uint64_t seconds = number_from("TOOLWIRE_CHAOS_SECONDS", CHAOS_SECONDS);
    int64_t ms = (int64_t)seconds * 1000;
    int64_t calm_ms = ms / CALM_PART;
    uint64_t p99_calm;
    uint64_t p99_chaos;
    size_t n_timed;

    calm_ms = calm_ms < CALM_MIN_MS ? CALM_MIN_MS : calm_ms > CALM_MAX_MS ? CALM_MAX_MS : calm_ms;
    start_hub(s);
    start_clients(s, N_HTTP, N_SOCKET);
    assert_true(wait_until(s, all_answer));
    gateway_clients_run(s->clients, calm_ms, false, NULL, 0, NULL);
    p99_calm = gateway_clients_p99(s->clients, &n_timed);
    assert_true(wait_until(s, family_is_whole));
    measure_before(s);

    gateway_clients_run(s->clients, ms, true, tick, TICK_MS, s);
    tick_continue(s, true);
    p99_chaos = gateway_clients_p99(s->clients, &n_timed);

    (void)wait_until(s, all_answer);
    gateway_clients_run(s->clients, AFTER_MS, false, NULL, 0, NULL);
    (void)wait_until(s, family_is_whole);
    (void)wait_until(s, descriptors_are_back);
    (void)wait_until(s, memory_is_back);
    tell(s, seconds, p99_calm, p99_chaos, n_timed);
    all_is_as_before(s);

    assert_int_equal(http_process_terminate(&s->hub), 0);
    assert_true(wait_until(s, family_has_gone));
}

static void a_killed_hub_leaves_no_child(void **state)
{
    State *s = *state;

    start_hub(s);
    start_clients(s, 2, 1);
    assert_true(wait_until(s, all_answer));
    assert_true(wait_until(s, family_is_whole));
    assert_int_equal(kill(s->hub.pid, SIGKILL), 0);
    assert_int_equal(peer_wait(s->hub.pid), -SIGKILL);
    s->hub.pid = 0;
    assert_true(wait_until(s, family_has_gone));
}

static int start(void **state)
{
    static State s;

    s = (State){.n_ticks = 0};
    *state = &s;
    return 0;
}

static int end(void **state)
{
    State *s = *state;

    tick_continue(s, true);
    s->clients = gateway_clients_free(s->clients);
    http_process_clean(&s->hub);
    family_look(&s->family, s->tag, 0);
    for (size_t i = 0; i < s->family.n; i++) {
        (void)kill(s->family.members[i].pid, SIGKILL); /* after a failure */
    }
    (void)unlink(s->config);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chaos_disturbs_nobody, start, end),
        cmocka_unit_test_setup_teardown(a_killed_hub_leaves_no_child, start, end),
    };

    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s TOOLWIRE CHILD [LIVE_BYTES]\n", argv[0]);
        return 2;
    }
    program = argv[1];
    child = argv[2];
    live_bytes = argc > 3 ? argv[3] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
