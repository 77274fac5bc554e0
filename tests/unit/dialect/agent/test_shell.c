#include "dialect/agent/shell.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>

#include "base/limits.h"
#include "support/oom_sweep.h"
#include "unit/dialect/agent/span_testing.h"

typedef struct Rig {
    AgentShell shell;
    Arena arena;
    Bytes out;
    AgentShellEvent event;
} Rig;

static void rig_init(Rig *rig)
{
    *rig = (Rig){.shell = AGENT_SHELL_NULL};
    agent_shell_init(&rig->shell, (HashSeed){1, 2}, 0);
    arena_init(&rig->arena, SIZE_MAX);
    bytes_init(&rig->out, 4096);
}

static void rig_deinit(Rig *rig)
{
    agent_shell_deinit(&rig->shell);
    arena_deinit(&rig->arena);
    bytes_deinit(&rig->out);
}

static int open_request(Rig *rig, const char *id, void *context, int64_t now_ms)
{
    AgentRequest request = {
        .kind = AGENT_KIND_USER_MESSAGE, .id = span_from_str(id), .message = SPAN("m")};

    bytes_clear(&rig->out);
    return agent_shell_open(&rig->shell, &request, context, now_ms, &rig->out);
}

static int receive(Rig *rig, Span line, int64_t now_ms)
{
    return agent_shell_receive(&rig->shell, &rig->event, &rig->arena, line, now_ms);
}

static void an_open_id_is_not_opened_twice_and_nothing_is_written(void **state)
{
    Rig rig;
    char id[16];

    (void)state;
    rig_init(&rig);
    assert_int_equal(open_request(&rig, "a", NULL, 0), 0);
    assert_int_equal(open_request(&rig, "a", NULL, 0), AGENT_SHELL_E_EXISTS);
    assert_int_equal(rig.out.n, 0);
    for (int i = 1; i < LIMIT_AGENT_REQUESTS; i++) {
        (void)snprintf(id, sizeof(id), "r%d", i);
        assert_int_equal(open_request(&rig, id, NULL, 0), 0);
    }
    assert_int_equal(open_request(&rig, "b", NULL, 0), AGENT_SHELL_E_FULL);
    assert_int_equal(rig.out.n, 0);
    agent_shell_forget(&rig.shell, SPAN("a"));
    assert_int_equal(open_request(&rig, "b", NULL, 0), 0);
    assert_int_equal(agent_shell_n_open(&rig.shell), LIMIT_AGENT_REQUESTS);
    rig_deinit(&rig);
    agent_shell_deinit(&rig.shell);
}

static void a_full_buffer_opens_nothing(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    rig.out.max_bytes = 10;
    assert_int_equal(open_request(&rig, "a", NULL, 0), BYTES_E_FULL);
    assert_int_equal(agent_shell_n_open(&rig.shell), 0);
    assert_int_equal(agent_shell_next_deadline(&rig.shell), INT64_MAX);
    rig_deinit(&rig);
}

static void events_carry_what_was_given_with_the_request(void **state)
{
    Rig rig;
    int a;
    int b;

    (void)state;
    rig_init(&rig);
    assert_int_equal(open_request(&rig, "a", &a, 0), 0);
    assert_int_equal(open_request(&rig, "b", &b, 0), 0);
    assert_int_equal(receive(&rig, SPAN("{\"type\":\"done\",\"id\":\"b\"}"), 1), 0);
    assert_int_equal(rig.event.kind, AGENT_SHELL_END);
    assert_ptr_equal(rig.event.context, &b);
    assert_span(rig.event.id, "b");
    assert_int_equal(receive(&rig, SPAN("{\"type\":\"token\",\"id\":\"a\",\"token\":\"t\"}"), 1),
                     0);
    assert_int_equal(rig.event.kind, AGENT_SHELL_RESPONSE);
    assert_ptr_equal(rig.event.context, &a);
    assert_true(agent_shell_lose(&rig.shell, &rig.event));
    assert_ptr_equal(rig.event.context, &a);
    assert_false(agent_shell_lose(&rig.shell, &rig.event));
    rig_deinit(&rig);
}

static void the_silent_are_found_in_order_among_the_lively(void **state)
{
    char id[16];
    char line[80];
    Rig rig;

    (void)state;
    rig_init(&rig);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(id, sizeof(id), "r%d", i);
        assert_int_equal(open_request(&rig, id, NULL, i), 0);
    }
    /* The even ones are heard of, backwards. */
    for (int i = 98; i >= 0; i -= 2) {
        (void)snprintf(line, sizeof(line), "{\"type\":\"token\",\"id\":\"r%d\",\"token\":\"\"}", i);
        assert_int_equal(receive(&rig, span_from_str(line), 1000 - i), 0);
    }
    for (int i = 1; i < 100; i += 2) {
        int64_t due_ms = LIMIT_AGENT_IDLE_MS + i;

        assert_int_equal(agent_shell_next_deadline(&rig.shell), due_ms);
        assert_false(agent_shell_expire(&rig.shell, &rig.event, due_ms - 1));
        assert_true(agent_shell_expire(&rig.shell, &rig.event, due_ms));
        (void)snprintf(id, sizeof(id), "r%d", i);
        assert_span(rig.event.id, id);
    }
    assert_int_equal(agent_shell_next_deadline(&rig.shell), LIMIT_AGENT_IDLE_MS + 902);
    assert_int_equal(agent_shell_n_open(&rig.shell), 50);
    rig_deinit(&rig);
}

static void time_in_which_nobody_listened_is_no_silence(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(open_request(&rig, "a", NULL, 0), 0);
    assert_int_equal(open_request(&rig, "b", NULL, 10), 0);
    agent_shell_slept(&rig.shell, 1000000);
    assert_int_equal(agent_shell_next_deadline(&rig.shell), LIMIT_AGENT_IDLE_MS + 1000000);
    assert_false(agent_shell_expire(&rig.shell, &rig.event, 1000000));
    rig_deinit(&rig);
}

static void noise_is_cut_and_plain(void **state)
{
    char line[2000];
    Rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(receive(&rig, SPAN("\x1b[33mwarning\x1b[0m: \x07low"), 0), 0);
    assert_int_equal(rig.event.kind, AGENT_SHELL_NOISE);
    assert_span(rig.event.text, "warning: low");
    memset(line, 'x', sizeof(line));
    assert_int_equal(receive(&rig, span_make(line, sizeof(line)), 0), 0);
    assert_int_equal(rig.event.text.n, 500);
    assert_int_equal(rig.shell.n_noise, 2);
    rig_deinit(&rig);
}

static int scenario(void *context)
{
    static const Span lines[] = {
        SPAN_INIT("{\"type\":\"ready\",\"timestamp\":1}"),
        SPAN_INIT("{\"type\":\"tool_use\",\"id\":\"a\",\"data\":{\"toolId\":\"t\","
                  "\"approvalRequired\":true}}"),
        SPAN_INIT("noise"), SPAN_INIT("{\"type\":\"done\",\"id\":\"a\"}")};
    Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = open_request(&rig, "a", NULL, 0);
    if (r == 0) {
        r = open_request(&rig, "b", NULL, 0);
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(lines); i++) {
        r = receive(&rig, lines[i], 1);
    }
    rig_deinit(&rig);
    return r;
}

/* An approval that could not be remembered is no failure: the clock runs on. */
static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_id_is_not_opened_twice_and_nothing_is_written),
        cmocka_unit_test(a_full_buffer_opens_nothing),
        cmocka_unit_test(events_carry_what_was_given_with_the_request),
        cmocka_unit_test(the_silent_are_found_in_order_among_the_lively),
        cmocka_unit_test(time_in_which_nobody_listened_is_no_silence),
        cmocka_unit_test(noise_is_cut_and_plain),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
