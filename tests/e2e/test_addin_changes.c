/* An add-in of the library that adds tools while another one of its tools is called through a real
 * hub: every call succeeds.
 *
 *     test_addin_changes TOOLWIRE
 */
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/toolwire.h>

#define N_TOOLS 100
#define N_CALLS 2000

/* Calls that are under way at once. */
#define N_AHEAD 8

static const char *program;

static void on_call(TwCall *call, void *user)
{
    (void)user;
    tw_call_structured(call, "{\"ok\":1}");
}

static void *run_main(void *context)
{
    return tw_addin_run(context) == 0 ? context : NULL;
}

typedef struct Adder {
    TwServer *server;
    sem_t next; /* a tool may be added: calls are its clock */
    int n_failed;
} Adder;

static void *add_main(void *context)
{
    Adder *adder = context;

    for (int i = 0; i < N_TOOLS; i++) {
        char name[32];

        while (sem_wait(&adder->next) != 0) {
        }
        (void)snprintf(name, sizeof(name), "more.t%d", i);
        adder->n_failed +=
            tw_server_add_tool(adder->server, &(TwTool){.name = name, .handler = on_call}) != 0;
    }
    return NULL;
}

static void call_send(PipeHubProcess *hub, int id)
{
    char line[160];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"steady\",\"arguments\":{}}}",
                   id);
    hub_send(hub, line);
}

static void call_expect(PipeHubProcess *hub)
{
    char *line = hub_answer(hub);

    if (strstr(line, "{\\\"ok\\\":1}") == NULL || strstr(line, "\"isError\":true") != NULL) {
        fail_msg("%s", line);
    }
    free(line);
}

/* Whether the hub offers this one. */
static bool hub_offers(PipeHubProcess *hub, int id, const char *tool)
{
    char line[160];
    char *answer;
    bool is_known;

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"%s\",\"arguments\":{}}}",
                   id, tool);
    hub_send(hub, line);
    answer = hub_answer(hub);
    is_known = strstr(answer, "{\\\"ok\\\":1}") != NULL;
    free(answer);
    return is_known;
}

static void calls_succeed_while_tools_are_added(void **state)
{
    static const char *const flags[] = {"--rate", "off", NULL};
    TwServer *server = tw_server_new("changing", "1");
    TwAddin *addin = NULL;
    Adder adder = {.server = server};
    PipeHubProcess hub;
    pthread_t runner;
    pthread_t thread;
    void *has_run = NULL;

    (void)state;
    assert_int_equal(sem_init(&adder.next, 0, 0), 0);
    hub_init(&hub, program);
    hub_serve(&hub, flags);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "steady", .handler = on_call}),
                     0);
    assert_int_equal(tw_addin_open(server, PIPE_NAME, NULL, &addin), 0);
    assert_int_equal(pthread_create(&runner, NULL, run_main, addin), 0);
    hub_await_tools_changed(&hub);
    assert_int_equal(pthread_create(&thread, NULL, add_main, &adder), 0);
    for (int i = 0; i < N_CALLS + N_AHEAD; i++) {
        if (i >= N_AHEAD) {
            call_expect(&hub);
        }
        if (i % (N_CALLS / N_TOOLS) == 0) {
            assert_int_equal(sem_post(&adder.next), 0);
        }
        if (i < N_CALLS) {
            call_send(&hub, 1000 + i);
        }
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(adder.n_failed, 0);
    /* In the end the hub knows all of them. */
    for (int id = 10000; !hub_offers(&hub, id, "more.t99"); id++) {
    }
    assert_true(hub_offers(&hub, 1, "more.t0"));
    assert_true(hub_offers(&hub, 2, "steady"));
    hub.n_tools_changed = 0; /* as often as it was: several may be told at once */
    tw_addin_stop(addin);
    assert_int_equal(pthread_join(runner, &has_run), 0);
    assert_ptr_equal(has_run, addin);
    tw_addin_close(addin);
    tw_server_free(server);
    hub_await_tools_changed(&hub);
    assert_int_equal(sem_destroy(&adder.next), 0);
    hub_end(&hub);
    hub_deinit(&hub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_succeed_while_tools_are_added),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_addin_changes TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
