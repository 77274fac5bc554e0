/* A job that kills the hub: after the third time in a row it is not run any more, whatever attempts
 * it has left, and its neighbours are.
 *
 *   test_queue_poison TOOLWIRE
 */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/peer.h"
#include "e2e/queue_hub.h"

#define SETTINGS  "{\"tools\":\"tools.json\"}"
#define N_CRASHES 3

static const char *program;

/* The command's parent is the hub. */
static const char tools[] =
    "[{\"name\":\"poison\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"annotations\":{\"idempotentHint\":true},\"cwd\":\".\","
    "\"command\":[\"sh\",\"-c\",\"echo run >>runs; [ -e cured ] || kill -9 $PPID\"]},"
    "{\"name\":\"good\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"cat\"]}]";

static int start(void **state)
{
    static QueueHub hub;

    queue_hub_init(&hub, program, tools);
    *state = &hub;
    return 0;
}

static int end(void **state)
{
    queue_hub_clean(*state);
    return 0;
}

static char *enqueue(const QueueHub *hub, const char *body)
{
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, "POST /enqueue", body);
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    return id;
}

static const char *about(const char *before, const char *id, const char *behind)
{
    static char line[256];

    (void)snprintf(line, sizeof(line), "%s%s%s", before, id, behind);
    return line;
}

static unsigned count_runs(const QueueHub *hub)
{
    char path[128];
    char line[16];
    unsigned n = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/runs", hub->folder);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        n++;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return n;
}

static void wait_until_killed(QueueHub *hub)
{
    pid_t pid = hub->pid;

    hub->pid = 0;
    assert_int_equal(peer_wait(pid), -9);
}

static void has_ended(const QueueHub *hub, const char *id, const char *state)
{
    QueueReply reply;

    queue_ask(hub, &reply, 200, about("GET /job/", id, "?waitMs=60000"), NULL);
    queue_reply_has(&reply, "/state", state);
    queue_reply_deinit(&reply);
}

static void cure(const QueueHub *hub)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/cured", hub->folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void the_fourth_start_does_not_run_it(void **state)
{
    QueueHub *hub = *state;
    char *poison;
    char *good;
    char *later;
    QueueReply reply;

    queue_hub_start(hub, SETTINGS);
    good = enqueue(hub, "{\"method\":\"good\",\"params\":{}}");
    has_ended(hub, good, "SUCCEEDED");
    poison = enqueue(hub, "{\"method\":\"poison\",\"params\":{},\"maxAttempts\":10}");
    wait_until_killed(hub);
    for (unsigned i = 1; i < N_CRASHES; i++) {
        assert_int_equal(count_runs(hub), i);
        queue_hub_start(hub, SETTINGS);
        wait_until_killed(hub);
    }
    assert_int_equal(count_runs(hub), N_CRASHES);

    queue_hub_start(hub, SETTINGS);
    queue_ask(hub, &reply, 200, about("GET /job/", poison, ""), NULL);
    queue_reply_has(&reply, "/state", "DEAD");
    queue_reply_has(&reply, "/error_code", "QUARANTINED");
    assert_non_null(strstr(reply.body, "toolwire queue retry"));
    queue_reply_deinit(&reply);
    later = enqueue(hub, "{\"method\":\"good\",\"params\":{}}");
    has_ended(hub, later, "SUCCEEDED");
    has_ended(hub, good, "SUCCEEDED");
    assert_int_equal(count_runs(hub), N_CRASHES);

    /* Whoever has seen to it runs it again. */
    cure(hub);
    queue_ask(hub, &reply, 200, about("POST /job/", poison, "/retry"), "{}");
    queue_reply_deinit(&reply);
    has_ended(hub, poison, "SUCCEEDED");
    assert_int_equal(count_runs(hub), N_CRASHES + 1);
    assert_int_equal(queue_hub_stop(hub), 0);
    free(poison);
    free(good);
    free(later);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_fourth_start_does_not_run_it, start, end),
    };

    if (argc != 2) {
        fprintf(stderr, "use: %s TOOLWIRE\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
