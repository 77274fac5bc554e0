/* What is left of the children of `toolwire up` when it ends: nothing, whatever they do, and in
 * whatever way it ends; nor does the guard stay that sees to it (io/guard.h). */
#include "support/cmocka.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/http_process.h"
#include "e2e/peer.h"
#include "e2e/process_family.h"
#include "e2e/process_state.h"

#define LOOK_MS 20

/* Four children, two of which have a helper that ignores TERM and the end of its input. */
#define N_MEMBERS 6

typedef struct State {
    HttpProcess hub;
    char config[64];
    char tag[64];
    Family family;
    pid_t guard; /* 0: none was found */
} State;

static const char *program;
static const char *child;

/* ---- what is there ---- */

static size_t read_of(const char *pid, const char *file, char *p, size_t size)
{
    char path[300];
    size_t n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    f = fopen(path, "r");
    if (f != NULL) {
        n = fread(p, 1, size - 1, f);
        (void)fclose(f);
    }
    p[n] = '\0';
    return n;
}

/* The one that was forked from our hub: it has the name of a guard and the hub's command line. One
 * that is dead and not reaped has none. */
static bool is_guard_of(const State *s, const char *pid)
{
    char text[4096];
    size_t n = read_of(pid, "comm", text, sizeof(text));

    if (n == 0 || strcmp(text, "toolwire-guard\n") != 0) {
        return false;
    }
    n = read_of(pid, "cmdline", text, sizeof(text));
    for (size_t at = 0; at < n; at += strlen(text + at) + 1) {
        if (strcmp(text + at, s->config) == 0) {
            return true;
        }
    }
    return false;
}

static void look_for_guard(State *s)
{
    DIR *folder = opendir("/proc");

    assert_non_null(folder);
    s->guard = 0;
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        if (isdigit((unsigned char)e->d_name[0]) && is_guard_of(s, e->d_name)) {
            assert_int_equal(s->guard, 0); /* one is enough */
            s->guard = (pid_t)strtol(e->d_name, NULL, 10);
        }
    }
    (void)closedir(folder);
}

static bool all_are_there(State *s)
{
    family_look(&s->family, s->tag, s->hub.pid);
    look_for_guard(s);
    return s->family.n == N_MEMBERS && s->guard != 0;
}

static bool all_have_gone(State *s)
{
    family_look(&s->family, s->tag, 0);
    look_for_guard(s);
    return s->family.n == 0 && s->guard == 0;
}

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

/* ---- the hub ---- */

static void start_hub(State *s)
{
    const char *more[] = {"--config", s->config, "--log-level", "error", NULL};
    int fd;
    static const char *const kinds[] = {"", ",\"stubborn\"", ",\"clinging\"",
                                        ",\"stubborn\",\"clinging\""};
    FILE *f;

    (void)snprintf(s->config, sizeof(s->config), "/tmp/tw-guard-XXXXXX");
    fd = mkstemp(s->config);
    assert_true(fd >= 0);
    (void)snprintf(s->tag, sizeof(s->tag), "tag-of-%s", s->config + strlen("/tmp/"));
    f = fdopen(fd, "w");
    assert_non_null(f);
    (void)fprintf(f, "{\"mcpServers\":{");
    for (size_t i = 0; i < TW_ARRAY_SIZE(kinds); i++) {
        (void)fprintf(
            f, "%s\"%c\":{\"start\":\"eager\",\"command\":\"%s\",\"args\":[\"%s\",\"%c\"%s]}",
            i == 0 ? "" : ",", (char)('a' + i), child, s->tag, (char)('a' + i), kinds[i]);
    }
    (void)fprintf(f, "}}");
    assert_int_equal(fclose(f), 0);
    http_process_start_with(&s->hub, program, NULL, more);
    assert_true(wait_until(s, all_are_there));
}

static void a_killed_hub_leaves_nobody(void **state)
{
    State *s = *state;

    start_hub(s);
    assert_int_equal(kill(s->hub.pid, SIGKILL), 0);
    assert_int_equal(peer_wait(s->hub.pid), -SIGKILL);
    s->hub.pid = 0;
    assert_true(wait_until(s, all_have_gone));
}

/* A signal to the group of the hub, and one to the guard itself, does not keep it from its work. */
static void nobody_is_left_if_the_guard_was_told_to_end_before(void **state)
{
    State *s = *state;

    start_hub(s);
    assert_int_equal(kill(s->guard, SIGTERM), 0);
    assert_int_equal(kill(s->guard, SIGINT), 0);
    assert_int_equal(kill(s->guard, SIGHUP), 0);
    assert_int_equal(kill(s->hub.pid, SIGKILL), 0);
    assert_int_equal(peer_wait(s->hub.pid), -SIGKILL);
    s->hub.pid = 0;
    assert_true(wait_until(s, all_have_gone));
}

static void an_orderly_end_leaves_nobody(void **state)
{
    State *s = *state;

    start_hub(s);
    assert_int_equal(http_process_terminate(&s->hub), 0);
    assert_true(wait_until(s, all_have_gone));
}

/* Neither the sockets of the hub nor the wires of its children; and it is in no group that anybody
 * signals. */
static void the_guard_holds_nothing(void **state)
{
    State *s = *state;

    start_hub(s);
    assert_int_equal(process_descriptors(s->guard), 5);
    assert_int_not_equal(getpgid(s->guard), getpgid(s->hub.pid));
    assert_int_not_equal(getsid(s->guard), getsid(s->hub.pid));
    assert_int_equal(http_process_terminate(&s->hub), 0);
    assert_true(wait_until(s, all_have_gone));
}

static int start(void **state)
{
    static State s;

    s = (State){.guard = 0};
    *state = &s;
    return 0;
}

static int end(void **state)
{
    State *s = *state;

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
        cmocka_unit_test_setup_teardown(a_killed_hub_leaves_nobody, start, end),
        cmocka_unit_test_setup_teardown(nobody_is_left_if_the_guard_was_told_to_end_before, start,
                                        end),
        cmocka_unit_test_setup_teardown(an_orderly_end_leaves_nobody, start, end),
        cmocka_unit_test_setup_teardown(the_guard_holds_nothing, start, end),
    };

    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s TOOLWIRE CHILD\n", argv[0]);
        return 2;
    }
    program = argv[1];
    child = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
