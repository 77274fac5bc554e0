/* Clients that leave: a reset after every byte of a request of every route of the command door, and
 * of whole requests at every step of the queue's thread: before it has begun, before and after each
 * of its calls for the file (reads, writes and syncs of the commit), and when it has told the loop.
 * The hub lives, answers, and what it has written of the jobs is what was sent.
 *
 *   test_queue_leave TOOLWIRE
 */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "e2e/queue_hub.h"
#include "e2e/queue_thread.h"

#define SETTINGS   "{\"tools\":\"tools.json\",\"queue\":{\"pull\":true}}"
#define WORKER     "a-worker-whose-name-is-long-enough-to-lie-in-memory-of-the-request"
#define FIELDS     "If-None-Match: \"some-tag-of-the-client\"\r\n"
#define N_TIMES    20
#define MAX_STEPS  400
#define LIST_LIMIT "500"
#define JOB_BODY   "{\"method\":\"app.do\",\"id\":\"r-1\"}"
#define RESULT_BODY                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":\"$.1\",\"result\":{\"ok\":true,\"v\":\"a result\"}}"

static const char *program;

static const char tools[] =
    "[{\"name\":\"own\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"cat\"]}]";

/* $ is the id of a job. */
typedef struct Route {
    const char *line;
    const char *body;
} Route;

static const Route routes[] = {
    {"POST /enqueue",
     "{\"method\":\"app.do\",\"params\":{\"a\":\"b\"},\"id\":\"r\",\"idempotencyKey\":\"k\"}"},
    {"POST /rpc", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"app.do\",\"params\":{\"a\":1}}"},
    {"POST /rpc/app.do?waitMs=60000", "{\"a\":2}"},
    {"POST /rpc/own", "{\"a\":3}"},
    {"GET /job/$", NULL},
    {"GET /job/$?waitMs=60000", NULL},
    {"DELETE /job/$", NULL},
    {"POST /job/$/cancel", "{}"},
    {"POST /job/$/retry", "{}"},
    {"GET /get_result?jobId=$", NULL},
    {"GET /get_result?jobId=$&waitMs=60000", NULL},
    {"GET /jobs?before=$&state=ENQUEUED&limit=5", NULL},
    {"DELETE /jobs?state=FAILED,DEAD&olderMs=1", NULL},
    {"GET /pending_request?methods=app.do,app.else&worker=" WORKER "&leaseMs=60000", NULL},
    {"GET /pending_request?methods=nobody.has&waitMs=60000&worker=" WORKER, NULL},
    {"POST /post_result", RESULT_BODY},
    {"GET /heartbeat?rpcId=$.1", NULL},
    {"POST /heartbeat", "{\"id\":\"$.1\",\"leaseMs\":1000}"},
    {"GET /health", NULL},
};
#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

typedef struct World {
    QueueHub hub;
    QueueThread thread;
    char *job; /* an id */
} World;

static char *enqueue(const World *w)
{
    QueueReply reply;
    char *id;

    queue_ask(&w->hub, &reply, 200, "POST /enqueue", JOB_BODY);
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    return id;
}

static int start(void **state)
{
    static World w;

    w = (World){.job = NULL};
    queue_hub_init(&w.hub, program, tools);
    queue_hub_start(&w.hub, SETTINGS);
    w.job = enqueue(&w);
    *state = &w;
    return 0;
}

static int end(void **state)
{
    World *w = *state;

    queue_hub_clean(&w->hub); /* kills it, wherever its thread stands */
    free(w->job);
    return 0;
}

/* ---- requests ---- */

/* text with ids in the place of $; free() it. */
static char *with_id(const char *text, const char *id)
{
    char *whole = calloc(1, strlen(text) + 4 * strlen(id) + 1);
    size_t n = 0;

    assert_non_null(whole);
    for (; *text != '\0'; text++) {
        if (*text == '$') {
            memcpy(whole + n, id, strlen(id));
            n += strlen(id);
        } else {
            whole[n++] = *text;
        }
    }
    return whole;
}

static char *request(const World *w, const Route *route)
{
    char *line = with_id(route->line, w->job);
    char *body = with_id(route->body == NULL ? "" : route->body, w->job);
    char *whole = NULL;

    assert_true(asprintf(&whole,
                         "%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n" FIELDS
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         line, w->hub.port, strlen(body), body) > 0);
    free(line);
    free(body);
    return whole;
}

static int send_part(const World *w, const char *text, size_t n)
{
    int fd = queue_connect(w->hub.port);

    assert_true(fd >= 0);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
    return fd;
}

static void leave(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    assert_int_equal(close(fd), 0);
}

/* The loop has seen all that was sent before, and its ends: an answer that does not need the queue
 * comes of that turn, or the next. */
static void let_loop_turn(const World *w)
{
    for (unsigned i = 0; i < 2; i++) {
        QueueReply reply;

        queue_ask(&w->hub, &reply, 200, "GET /healthz", NULL);
        queue_reply_deinit(&reply);
    }
}

/* All that was asked of the queue before is done. */
static void let_queue_settle(const World *w)
{
    QueueReply reply;

    queue_ask(&w->hub, &reply, 200, "GET /health", NULL);
    queue_reply_deinit(&reply);
}

/* Whoever has fetched a job, and left, called itself so. */
static void check_workers(const World *w)
{
    static const char name[] = "\"worker\":";
    QueueReply reply;

    queue_ask(&w->hub, &reply, 200, "GET /jobs?limit=" LIST_LIMIT, NULL);
    for (const char *at = reply.body; (at = strstr(at, name)) != NULL;) {
        at += strlen(name);
        if (strncmp(at, "null", 4) != 0 && strncmp(at, "\"hub\"", 5) != 0 &&
            strncmp(at, "\"" WORKER "\"", strlen(WORKER) + 2) != 0) {
            fail_msg("a worker of another name: %.100s", at);
        }
    }
    queue_reply_deinit(&reply);
}

static void check_end(World *w)
{
    let_loop_turn(w);
    let_queue_settle(w);
    check_workers(w);
    assert_int_equal(queue_hub_stop(&w->hub), 0);
}

/* ---- tests ---- */

static void at_every_byte(void **state)
{
    World *w = *state;

    for (size_t i = 0; i < N_ROUTES; i++) {
        char *text = request(w, &routes[i]);

        for (size_t n = 0; n <= strlen(text); n++) {
            leave(send_part(w, text, n));
        }
        free(text);
        let_queue_settle(w);
    }
    check_end(w);
}

/* As fast as they can: where threads cannot be stopped, this is what is left. */
static void many_at_once(void **state)
{
    World *w = *state;

    for (size_t i = 0; i < N_ROUTES; i++) {
        int fds[N_TIMES];
        char *text = request(w, &routes[i]);

        for (size_t k = 0; k < N_TIMES; k++) {
            free(enqueue(w));
        }
        for (size_t k = 0; k < N_TIMES; k++) {
            fds[k] = send_part(w, text, strlen(text));
        }
        for (size_t k = 0; k < N_TIMES; k++) {
            leave(fds[k]);
        }
        free(text);
        let_queue_settle(w);
    }
    check_end(w);
}

/* Leaves when the queue's thread has made n_steps. False: it made fewer, and has done it all. */
static bool leave_at(World *w, const Route *route, unsigned n_steps)
{
    char *text = request(w, route);
    bool is_on_the_way = true;
    int fd;

    free(enqueue(w)); /* there is something to fetch */
    queue_thread_stop(&w->thread);
    fd = send_part(w, text, strlen(text));
    let_loop_turn(w);
    for (unsigned i = 0; is_on_the_way && i < n_steps; i++) {
        is_on_the_way = queue_thread_step(&w->thread);
    }
    leave(fd);
    let_loop_turn(w);
    queue_thread_go(&w->thread);
    let_queue_settle(w);
    free(text);
    return is_on_the_way;
}

static void at_every_step_of_the_queue(void **state)
{
    World *w = *state;

    if (!queue_thread_find(&w->thread, &w->hub)) {
        print_message("threads cannot be traced here: left out\n");
        skip();
    }
    for (size_t i = 0; i < N_ROUTES; i++) {
        unsigned n = 0;

        while (leave_at(w, &routes[i], n)) {
            n++;
            assert_true(n < MAX_STEPS);
        }
        print_message("%s: left at %u steps\n", routes[i].line, n + 1);
        check_workers(w);
    }
    check_end(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_every_byte, start, end),
        cmocka_unit_test_setup_teardown(many_at_once, start, end),
        cmocka_unit_test_setup_teardown(at_every_step_of_the_queue, start, end),
    };

    if (argc != 2) {
        fprintf(stderr, "use: %s TOOLWIRE\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
