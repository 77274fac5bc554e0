/* What becomes of a job whose fetcher is gone before it has it. */
#include "app/command_door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/http_server.h"
#include "jobs_rig.h"
#include "support/queue_op.h"

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

typedef struct Visit {
    Rig *rig;
    CommandDoor *door;
    IoHttpServer *server;
    JobsAsk ask;
    char id[QUEUE_ID_BYTES];
    unsigned n_looks;
    JobState state;
    unsigned n_requests;
} Visit;

static void visit_look(Visit *visit);

/* The first look comes behind the claim, the second behind what was done about it. */
static void visit_told(JobsAsk *ask)
{
    Visit *visit = (Visit *)((char *)ask - offsetof(Visit, ask));

    assert_int_equal(ask->op.r, 0);
    assert_int_equal(ask->op.n_jobs, 1);
    visit->state = ask->op.jobs[0].state;
    if (++visit->n_looks < 2) {
        visit_look(visit);
    } else {
        io_loop_stop(hub_loop(visit->rig->hub));
    }
}

static void visit_look(Visit *visit)
{
    arena_reset(&visit->ask.op.arena, 0);
    visit->ask.op.verb = QUEUE_GET;
    OP_SET(&visit->ask.op, id, span_from_str(visit->id));
    visit->ask.told = visit_told;
    jobs_ask(visit->rig->jobs, &visit->ask);
}

/* It asks, and goes while the queue still claims. */
static void visit_on_request(void *context, IoHttpExchange *x, Span body)
{
    Visit *visit = context;
    const HttpSide *side = command_door_side(visit->door);

    visit->n_requests++;
    side->request(side->context, x, body, SPAN_NULL, "t");
    side->gone(side->context, x);
    io_http_set_data(x, NULL);
    assert_int_equal(io_http_respond(x, 204, NULL, 0, SPAN_NULL), 0);
    visit_look(visit);
}

static void visit_on_gone(void *context, IoHttpExchange *x)
{
    (void)context;
    (void)x;
}

static const IoHttpOps visit_ops = {.request = visit_on_request, .gone = visit_on_gone};

static void visit_enqueued(JobsAsk *ask)
{
    Visit *visit = (Visit *)((char *)ask - offsetof(Visit, ask));

    assert_int_equal(ask->op.r, 0);
    (void)snprintf(visit->id, sizeof(visit->id), "%s", ask->op.jobs[0].id);
    io_loop_stop(hub_loop(visit->rig->hub));
}

static int visit_connect(const Visit *visit)
{
    static const char request[] = "GET /pending_request HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_port = htons((uint16_t)io_http_server_port(visit->server));
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
    return fd;
}

static void a_job_is_given_back(void **state)
{
    Rig *rig = *state;
    Visit visit = {.rig = rig};
    Diag diag = DIAG_NULL;
    int fd;

    queue_op_init(&visit.ask.op);
    assert_int_equal(command_door_new(&visit.door, &(CommandDoorConfig){.hub = rig->hub,
                                                                        .jobs = rig->jobs,
                                                                        .identity = &identity}),
                     0);
    assert_int_equal(io_http_server_new(&visit.server,
                                        &(IoHttpConfig){.loop = hub_loop(rig->hub),
                                                        .address = "127.0.0.1:0",
                                                        .ops = &visit_ops,
                                                        .context = &visit},
                                        &diag),
                     0);
    visit.ask.op.verb = QUEUE_ENQUEUE;
    OP_SET(&visit.ask.op, spec,
           (QueueSpec){.method = SPAN("app.do"), .pool = SPAN(JOBS_POOL_PULL)});
    visit.ask.told = visit_enqueued;
    jobs_ask(rig->jobs, &visit.ask);
    rig_run(rig);
    fd = visit_connect(&visit);
    rig_run(rig);
    (void)close(fd);
    visit.server = io_http_server_free(visit.server);
    visit.door = command_door_free(visit.door);
    queue_op_deinit(&visit.ask.op);
    assert_int_equal(visit.n_requests, 1);
    assert_int_equal(visit.n_looks, 2);
    /* It is not left to an application that does not know of it until the lease ends. */
    assert_int_equal(visit.state, JOB_ENQUEUED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_given_back, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
