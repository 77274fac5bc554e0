/* Who wait at the command door: which of them a job wakes, what they leave behind, and what they
 * are told. */
#include "app/command_door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "app/http_door.h"
#include "support/queue_op.h"
#include "unit/app/jobs_rig.h"

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

/* As long as a request may wait: only a test that fails sees its end. */
#define LONG "waitMs=60000"

/* A door for commands at a socket, with the test in between: it counts who comes and goes. */
typedef struct Place {
    Rig *rig;
    CommandDoor *commands;
    HttpDoor *http;
    HttpSide side; /* ours, in front of theirs */
    const HttpSide *theirs;
    IoTimer *turn;
    size_t n_requests;
    size_t n_gone;
    const QueueJob *changes; /* told while the next request asks; NULL: nothing */
} Place;

typedef struct Client {
    Place *place;
    int fd;
    char got[8192];
    size_t n;
} Client;

/* ---- the place ---- */

static bool place_leads(void *context, Span path, Span *ret_allow)
{
    const Place *place = context;

    return place->theirs->leads(place->theirs->context, path, ret_allow);
}

static void place_request(void *context, IoHttpExchange *x, Span body, Span owner, const char *who)
{
    Place *place = context;
    const QueueJob *changes = place->changes;

    place->n_requests++;
    place->changes = NULL;
    place->theirs->request(place->theirs->context, x, body, owner, who);
    if (changes != NULL) {
        jobs_tell(place->rig->jobs, changes);
    }
    io_loop_stop(hub_loop(place->rig->hub));
}

static void place_gone(void *context, IoHttpExchange *x)
{
    Place *place = context;

    place->n_gone++;
    place->theirs->gone(place->theirs->context, x);
    io_loop_stop(hub_loop(place->rig->hub));
}

static void place_refuse(void *context, IoHttpExchange *x, unsigned status, const Http1Field *extra,
                         Span message)
{
    const Place *place = context;

    place->theirs->refuse(place->theirs->context, x, status, extra, message);
}

static void place_shutdown(void *context, const HttpDoor *door, int64_t end_ms)
{
    const Place *place = context;

    place->theirs->shutdown(place->theirs->context, door, end_ms);
}

static void place_on_turn(void *context)
{
    const Place *place = context;

    io_loop_stop(hub_loop(place->rig->hub));
}

/* Whatever was asked of the queue before has come back by then. */
static void place_settle(Place *place)
{
    RigAsk own;

    queue_op_init(&own.ask.op);
    own.ask.op.verb = QUEUE_COUNT;
    rig_queue(place->rig, &own);
    assert_int_equal(own.ask.op.r, 0);
    queue_op_deinit(&own.ask.op);
}

static int place_setup(void **state)
{
    Place *place = calloc(1, sizeof(*place));
    void *rig = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(rig_setup(&rig), 0);
    place->rig = rig;
    assert_int_equal(
        command_door_new(&place->commands, &(CommandDoorConfig){.hub = place->rig->hub,
                                                                .jobs = place->rig->jobs,
                                                                .identity = &identity}),
        0);
    place->theirs = command_door_side(place->commands);
    place->side = (HttpSide){.leads = place_leads,
                             .request = place_request,
                             .gone = place_gone,
                             .refuse = place_refuse,
                             .shutdown = place_shutdown,
                             .context = place};
    assert_int_equal(http_door_new(&place->http,
                                   &(HttpDoorConfig){.hub = place->rig->hub,
                                                     .identity = &identity,
                                                     .address = "127.0.0.1:0",
                                                     .side = &place->side},
                                   &diag),
                     0);
    assert_int_equal(
        io_timer_new(&place->turn, hub_loop(place->rig->hub), true, place_on_turn, place), 0);
    place_settle(place); /* the jobs have begun, and asked for what an earlier process left: */
    place_settle(place); /* that has come back */
    *state = place;
    return 0;
}

static int place_teardown(void **state)
{
    Place *place = *state;
    void *rig = place->rig;

    place->turn = io_timer_free(place->turn);
    place->http = http_door_free(place->http);
    place->commands = command_door_free(place->commands);
    free(place);
    return rig_teardown(&rig);
}

/* How often the queue was asked something. */
static uint64_t place_n_asked(Place *place)
{
    return jobs_figures(place->rig->jobs).n_ops;
}

static void place_enqueue(Place *place, const char *method, char *ret_id)
{
    rig_enqueue(place->rig,
                &(QueueSpec){.method = span_from_str(method), .pool = SPAN(JOBS_POOL_PULL)},
                ret_id);
}

/* ---- clients ---- */

/* Asks; the door has the request when this returns. */
static void client_ask(Client *client, Place *place, const char *line, const char *body)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    size_t n_before = place->n_requests;
    char text[1024];
    int n = snprintf(text, sizeof(text),
                     "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     line, strlen(body), body);

    *client = (Client){.place = place, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    to.sin_port = htons((uint16_t)http_door_port(place->http));
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_true(client->fd >= 0);
    assert_int_equal(connect(client->fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(client->fd, text, (size_t)n), n);
    assert_int_equal(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
    while (place->n_requests == n_before) {
        rig_run(place->rig);
    }
}

/* Asks for a job, and waits for one. */
static void client_wait(Client *client, Place *place, const char *line)
{
    client_ask(client, place, line, "");
    place_settle(place);
}

static void client_read(Client *client)
{
    ssize_t n = read(client->fd, client->got + client->n, sizeof(client->got) - 1 - client->n);

    assert_true(n > 0 || (n < 0 && errno == EAGAIN));
    client->n += n > 0 ? (size_t)n : 0;
}

/* Until its answer is there, which is short: it comes in one piece. */
static const char *client_answer(Client *client)
{
    Place *place = client->place;

    for (client_read(client); client->n == 0; client_read(client)) {
        io_timer_start_at(place->turn, io_loop_now_ms(hub_loop(place->rig->hub)) + 1);
        rig_run(place->rig);
    }
    return client->got;
}

static void client_has(Client *client, const char *text)
{
    if (strstr(client_answer(client), text) == NULL) {
        fail_msg("no %s in: %s", text, client->got);
    }
}

static void client_deinit(Client *client)
{
    (void)close(client->fd);
}

/* ---- who is woken ---- */

/* Whoever came last is asked first, and would not fetch it. */
static void a_job_wakes_who_fetches_its_method(void **state)
{
    static const char *const lines[] = {"GET /pending_request?methods=m.a&" LONG,
                                        "GET /pending_request?methods=m.x,m.b&" LONG,
                                        "GET /pending_request?methods=m.a&" LONG};
    Place *place = *state;
    Client clients[3];
    char id[QUEUE_ID_BYTES];

    for (size_t i = 0; i < 3; i++) {
        client_wait(&clients[i], place, lines[i]);
    }
    place_enqueue(place, "m.b", id);
    client_has(&clients[1], id);
    client_read(&clients[0]);
    client_read(&clients[2]);
    assert_int_equal(clients[0].n, 0);
    assert_int_equal(clients[2].n, 0);
    for (size_t i = 0; i < 3; i++) {
        client_deinit(&clients[i]);
    }
}

/* The others do not ask the queue in vain. */
static void one_job_wakes_one(void **state)
{
    Place *place = *state;
    Client clients[3];
    char id[QUEUE_ID_BYTES];
    uint64_t n_asked;
    size_t n_answers = 0;

    for (size_t i = 0; i < 3; i++) {
        client_wait(&clients[i], place, "GET /pending_request?" LONG);
    }
    n_asked = place_n_asked(place);
    place_enqueue(place, "m.a", id);
    place_settle(place);
    assert_int_equal(place_n_asked(place) - n_asked, 3); /* enqueue, one claim, settle */
    place_settle(place); /* and what was answered then has been written */
    for (size_t i = 0; i < 3; i++) {
        client_read(&clients[i]);
        n_answers += clients[i].n > 0;
    }
    assert_int_equal(n_answers, 1);
    for (size_t i = 0; i < 3; i++) {
        client_deinit(&clients[i]);
    }
}

/* Who was woken for one job and had another leaves the first to those who would fetch it. */
static void a_job_that_was_passed_over_is_not_lost(void **state)
{
    Place *place = *state;
    Client only_b;
    Client any;
    RigAsk first;
    char id[QUEUE_ID_BYTES];

    client_wait(&only_b, place, "GET /pending_request?methods=m.b&" LONG);
    client_wait(&any, place, "GET /pending_request?" LONG);
    /* Both come in one turn: `any` is woken for m.b, and fetches what is more urgent. */
    queue_op_init(&first.ask.op);
    first = (RigAsk){.ask.op = first.ask.op, .rig = place->rig, .ask.told = rig_on_told};
    first.ask.op.verb = QUEUE_ENQUEUE;
    OP_SET(&first.ask.op, spec, (QueueSpec){.method = SPAN("m.b"), .pool = SPAN(JOBS_POOL_PULL)});
    jobs_ask(place->rig->jobs, &first.ask);
    rig_enqueue(place->rig,
                &(QueueSpec){.method = SPAN("m.a"), .pool = SPAN(JOBS_POOL_PULL), .priority = 1},
                id);
    assert_true(first.is_told);
    client_has(&any, id);
    client_has(&only_b, first.ask.op.jobs[0].id);
    queue_op_deinit(&first.ask.op);
    client_deinit(&any);
    client_deinit(&only_b);
}

/* A change that is told while it asks may have come behind its question. */
static void a_change_while_it_asks_makes_it_ask_again(void **state)
{
    static const QueueJob job = {.id = "job-x",
                                 .state = JOB_ENQUEUED,
                                 .method = SPAN_INIT("m.a"),
                                 .pool = SPAN_INIT(JOBS_POOL_PULL),
                                 .version = 1};
    static const struct {
        const char *line;
        uint64_t n_claims;
    } cases[] = {{"GET /pending_request?methods=m.a&" LONG, 2},
                 {"GET /pending_request?" LONG, 2},
                 {"GET /pending_request?methods=m.b&" LONG, 1}};
    Place *place = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        QueueJob changed = job;
        Client client;
        uint64_t n_asked = place_n_asked(place);

        changed.version += i;
        place->changes = &changed;
        client_wait(&client, place, cases[i].line);
        place_settle(place);
        assert_int_equal(place_n_asked(place) - n_asked, cases[i].n_claims + 2);
        client_deinit(&client);
        while (place->n_gone == i) {
            rig_run(place->rig);
        }
    }
}

/* Tells of a change of that job; gives how often the queue was asked because of it. */
static uint64_t n_asked_by(Place *place, const char *id)
{
    static uint64_t version = 1000; /* above those of the queue */
    QueueJob changed = {.state = JOB_RUNNING, .version = version++};
    uint64_t n_asked = place_n_asked(place);

    (void)snprintf(changed.id, sizeof(changed.id), "%s", id);
    jobs_tell(place->rig->jobs, &changed);
    place_settle(place);
    return place_n_asked(place) - n_asked - 1; /* settle */
}

/* Those who wait for other jobs, or for any to fetch, do not ask the queue in vain. */
static void a_change_of_a_job_goes_to_those_who_wait_for_it(void **state)
{
    static const char *const lines[] = {"GET /get_result?jobId=", "GET /job/"};
    static const char *const ends[] = {"&" LONG, "?" LONG};
    Place *place = *state;
    Client clients[2][2];
    Client any;
    char ids[2][QUEUE_ID_BYTES];
    char line[2 * QUEUE_ID_BYTES + 64]; /* ids are two for the compiler */
    char like[QUEUE_ID_BYTES];

    client_wait(&any, place, "GET /pending_request?methods=m.none&" LONG);
    for (size_t i = 0; i < 2; i++) {
        place_enqueue(place, "m.a", ids[i]);
        for (size_t j = 0; j < 2; j++) {
            (void)snprintf(line, sizeof(line), "%s%s%s", lines[j], ids[i], ends[j]);
            client_wait(&clients[i][j], place, line);
        }
    }
    assert_int_equal(n_asked_by(place, ids[0]), 2);
    assert_int_equal(n_asked_by(place, ids[1]), 2);
    /* Another one whose id ends alike, which nobody waits for. */
    (void)snprintf(like, sizeof(like), "%s", ids[0]);
    like[strlen(like) - 3] = like[strlen(like) - 3] == '0' ? '1' : '0';
    assert_int_equal(n_asked_by(place, like), 0);
    /* Nor for one whose waiter has gone. */
    client_deinit(&clients[0][0]);
    while (place->n_gone == 0) {
        rig_run(place->rig);
    }
    assert_int_equal(n_asked_by(place, ids[0]), 1);
    client_deinit(&clients[0][1]);
    client_deinit(&clients[1][0]);
    client_deinit(&clients[1][1]);
    client_deinit(&any);
}

/* Nobody claims for somebody who has gone. */
static void who_goes_does_not_wait_on(void **state)
{
    Place *place = *state;
    Client client;
    RigJob job;
    char id[QUEUE_ID_BYTES];

    client_wait(&client, place, "GET /pending_request?" LONG);
    client_deinit(&client);
    while (place->n_gone == 0) {
        rig_run(place->rig);
    }
    place_enqueue(place, "m.a", id);
    place_settle(place);
    job = rig_job(place->rig, id);
    assert_int_equal(job.state, JOB_ENQUEUED);
    assert_int_equal(job.fence, 0);
}

/* ---- what is asked ---- */

static bool is_idempotent(Place *place, const char *method)
{
    RigAsk own;
    Client client;
    char body[128];
    const char *id;
    bool is;

    (void)snprintf(body, sizeof(body), "{\"method\":\"%s\",\"delayMs\":3600000}", method);
    client_ask(&client, place, "POST /enqueue", body);
    id = strstr(client_answer(&client), "\"jobId\":\"");
    assert_non_null(id);
    id += strlen("\"jobId\":\"");
    queue_op_init(&own.ask.op);
    own.ask.op.verb = QUEUE_GET;
    OP_SET(&own.ask.op, id, span_make(id, strcspn(id, "\"")));
    rig_queue(place->rig, &own);
    assert_int_equal(own.ask.op.r, 0);
    is = own.ask.op.jobs[0].is_idempotent;
    queue_op_deinit(&own.ask.op);
    client_deinit(&client);
    return is;
}

static void what_a_tool_says_decides_whether_it_may_run_twice(void **state)
{
    Place *place = *state;

    rig_add(place->rig, "reads", ",\"annotations\":{\"readOnlyHint\":true}", ROUTER_LATER_MAY);
    rig_add(place->rig, "writes",
            ",\"annotations\":{\"readOnlyHint\":false,\"idempotentHint\":false}", ROUTER_LATER_MAY);
    assert_true(is_idempotent(place, "reads"));
    assert_true(is_idempotent(place, "safe"));
    assert_false(is_idempotent(place, "writes"));
    assert_false(is_idempotent(place, "echo"));
}

/* Its job's id and its lease, of a visit that says so long. */
static void fetch(Place *place, const char *line, char *ret, size_t size)
{
    Client client;
    const char *id;

    client_ask(&client, place, line, "");
    id = strstr(client_answer(&client), "\"id\":\"");
    assert_non_null(id);
    id += strlen("\"id\":\"");
    (void)snprintf(ret, size, "%.*s", (int)strcspn(id, "\""), id);
    client_deinit(&client);
}

static void a_heartbeat_does_not_shorten_the_lease(void **state)
{
    Place *place = *state;
    Client client;
    char id[QUEUE_ID_BYTES];
    char lease[QUEUE_ID_BYTES + 32];
    char body[QUEUE_ID_BYTES + 96];

    place_enqueue(place, "m.a", id);
    fetch(place, "GET /pending_request?leaseMs=700000", lease, sizeof(lease));
    (void)snprintf(body, sizeof(body), "{\"id\":\"%s\"}", lease);
    client_ask(&client, place, "POST /heartbeat", body);
    client_has(&client, "\"state\":\"RUNNING\"");
    client_has(&client, "\"leaseMs\":700000}");
    client_deinit(&client);
    (void)snprintf(body, sizeof(body), "{\"id\":\"%s\",\"leaseMs\":800000}", lease);
    client_ask(&client, place, "POST /heartbeat", body);
    client_has(&client, "\"leaseMs\":800000}");
    client_deinit(&client);
}

int main(void)
{
#define WAITS_TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        WAITS_TEST(a_job_wakes_who_fetches_its_method),
        WAITS_TEST(one_job_wakes_one),
        WAITS_TEST(a_job_that_was_passed_over_is_not_lost),
        WAITS_TEST(a_change_while_it_asks_makes_it_ask_again),
        WAITS_TEST(a_change_of_a_job_goes_to_those_who_wait_for_it),
        WAITS_TEST(who_goes_does_not_wait_on),
        WAITS_TEST(what_a_tool_says_decides_whether_it_may_run_twice),
        WAITS_TEST(a_heartbeat_does_not_shorten_the_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
