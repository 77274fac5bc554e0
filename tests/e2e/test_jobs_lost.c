/* Whoever runs a job is killed in the middle of it: an add-in, a command, a parent, an upstream
 * server. After each kill
 *
 *   - a job that may not run twice has FAILED with INTERRUPTED, and its effect is there at most
 * once;
 *   - a job that may run twice was run again, and has SUCCEEDED;
 *   - a job that is SUCCEEDED has its effect, once;
 *   - what failed can be retried, and then succeeds.
 *
 * And whoever runs a job is late: it is a TIMEOUT wherever it runs, at the hub's deadline.
 *
 * The effect of a job is a line in a file, or a wall in the planner's document.
 *
 *   test_jobs_lost TOOLWIRE [PLANNER]
 *
 * TOOLWIRE_LOSS_ROUNDS says how often each of them is killed (10).
 */
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "e2e/peer.h"
#include "e2e/queue_hub.h"

#define DEFAULT_ROUNDS 10
#define LOOK_US        2000
#define ID_BYTES       80

static const char *program;
static const char *planner;
static unsigned n_rounds = DEFAULT_ROUNDS;

/* Where in a job its runner is killed. */
typedef enum Step {
    STEP_UNREAD, /* the call was sent, and is not read */
    STEP_BEFORE, /* the command runs, and has done nothing */
    STEP_AFTER,  /* it has had its effect, and has not answered */
    STEP_RESULT, /* its answer is on its way, and is not read to the end */
    N_STEPS
} Step;

static const char *const step_names[N_STEPS] = {"unread", "before", "after", "result"};

/* Does as `at` says in its first run, and without a stop in the next ones. */
static const char script[] =
    "read -r line\n"
    "job=${line#*'\"job\":\"'}; job=${job%%'\"'*}\n"
    "at=${line#*'\"at\":\"'}; at=${at%%'\"'*}\n"
    "[ ! -e \"begun.$job\" ] || at=none\n"
    "echo \"$$ $PPID\" >\"new.$$\" && mv \"new.$$\" \"begun.$job\"\n"
    "[ \"$at\" != before ] || read -r x <gate\n"
    "echo \"$job\" >>effects\n"
    "case $at in\n"
    "after) : >\"done.$job\"; read -r x <gate ;;\n"
    "result) : >\"done.$job\"; read -r x <answer\n"
    "    head -c 4000000 /dev/zero | tr '\\0' x; : >\"told.$job\"; exit ;;\n"
    "esac\n"
    "echo done\n";

#define TOOL(name, hint)                                                                           \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"         \
    "\"annotations\":{\"idempotentHint\":" hint "},\"cwd\":\".\",\"timeout_ms\":900000,"           \
    "\"command\":[\"sh\",\"effect.sh\"]}"
#define LATE                                                                                       \
    "{\"name\":\"addin_late\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"       \
    "\"cwd\":\".\",\"timeout_ms\":3000,\"command\":[\"sh\",\"effect.sh\"]}"
/* No time of its own, and longer than what the add-in gives to a call. */
#define LONG                                                                                       \
    "{\"name\":\"addin_long\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"       \
    "\"command\":[\"sh\",\"-c\",\"sleep 1; echo done\"]}"
#define TOOLS(who) "[" TOOL(who "_once", "false") "," TOOL(who "_again", "true") "]"

typedef struct World {
    QueueHub hub;
    pid_t runner; /* the add-in, the planner or the parent; 0: none, or not ours */
    int log;      /* the planner's stderr */
    unsigned n_jobs;
    unsigned n_succeeded;
    unsigned n_interrupted; /* and of them those that had their effect */
    unsigned n_done;
} World;

/* ---- files ---- */

static const char *in_folder(const World *w, const char *name)
{
    static char path[160];

    (void)snprintf(path, sizeof(path), "%s/%s", w->hub.folder, name);
    return path;
}

static void write_file(const World *w, const char *name, const char *text)
{
    FILE *file = fopen(in_folder(w, name), "w");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

static void wait_for_file(const World *w, const char *what, const char *job)
{
    char name[ID_BYTES];

    (void)snprintf(name, sizeof(name), "%s.%s", what, job);
    for (long waited_us = 0; access(in_folder(w, name), F_OK) != 0; waited_us += LOOK_US) {
        assert_true(waited_us < QUEUE_HANG_MS * 1000L);
        (void)usleep(LOOK_US);
    }
}

static unsigned count_effects(const World *w, const char *job)
{
    FILE *file = fopen(in_folder(w, "effects"), "r");
    char line[ID_BYTES];
    unsigned n = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        n += strcmp(line, job) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return n;
}

/* Lets go what waits at a gate, be it that nobody does any more. */
static void open_gate(const World *w)
{
    int fd = open(in_folder(w, "gate"), O_RDWR | O_NONBLOCK | O_CLOEXEC);

    for (unsigned i = 0; fd >= 0 && i < w->n_jobs; i++) {
        (void)!write(fd, "\n", 1);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* ---- the runners ---- */

static void wait_until_offered(const World *w, const char *tool)
{
    bool is_there = false;

    for (long waited_us = 0; !is_there; waited_us += LOOK_US) {
        QueueReply reply;

        queue_ask(&w->hub, &reply, 200, "GET /docs/openrpc.json", NULL);
        is_there = strstr(reply.body, tool) != NULL;
        queue_reply_deinit(&reply);
        assert_true(waited_us < QUEUE_HANG_MS * 1000L);
        (void)usleep(is_there ? 0 : LOOK_US);
    }
}

static void start_addin(World *w)
{
    char tools[160];
    const char *const arguments[] = {"addin", "--pipe",      "Apps",  "--retry-ms",
                                     "10ms",  "--tools",     tools,   "--call-timeout-ms",
                                     "300ms", "--log-level", "error", NULL};
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)snprintf(tools, sizeof(tools), "%s", in_folder(w, "addin.json"));
    w->runner = peer_spawn_all(program, arguments, quiet, quiet, quiet);
    (void)close(quiet);
    wait_until_offered(w, "addin_once");
}

static void start_parent(World *w)
{
    char tools[160];
    char sock[160];
    char schema[160];
    const char *const arguments[] = {"host", "--tools",  tools,  "--socket",
                                     sock,   "--schema", schema, NULL};
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)snprintf(tools, sizeof(tools), "%s", in_folder(w, "parent.json"));
    (void)snprintf(sock, sizeof(sock), "%s", in_folder(w, "parent.sock"));
    (void)snprintf(schema, sizeof(schema), "%s", in_folder(w, "parent.schema"));
    (void)unlink(sock);
    (void)unlink(schema);
    w->runner = peer_spawn_all(program, arguments, quiet, quiet, quiet);
    (void)close(quiet);
    for (long waited_us = 0; access(schema, F_OK) != 0 || access(sock, F_OK) != 0;
         waited_us += LOOK_US) {
        assert_true(waited_us < QUEUE_HANG_MS * 1000L);
        (void)usleep(LOOK_US);
    }
}

static void start_planner(World *w)
{
    char document[160];
    const char *const arguments[] = {"--pipe",  "Apps", "--document", document,
                                     "--retry", "10",   NULL};
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[2];

    (void)snprintf(document, sizeof(document), "%s", in_folder(w, "house.plan"));
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    w->runner = peer_spawn_all(planner, arguments, quiet, quiet, fds[1]);
    w->log = fds[0];
    (void)close(fds[1]);
    (void)close(quiet);
    wait_until_offered(w, "revit.create_wall");
}

static void kill_runner(World *w)
{
    (void)kill(w->runner, SIGKILL);
    (void)peer_wait(w->runner);
    w->runner = 0;
    if (w->log >= 0) {
        (void)close(w->log);
        w->log = -1;
    }
}

/* ---- jobs ---- */

static const char *about(const char *before, const char *id, const char *behind)
{
    static char line[256];

    (void)snprintf(line, sizeof(line), "%s%s%s", before, id, behind);
    return line;
}

static char *enqueue(const World *w, const char *body)
{
    QueueReply reply;
    char *id;

    queue_ask(&w->hub, &reply, 200, "POST /enqueue", body);
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    return id;
}

static void wait_until_running(const World *w, const char *id)
{
    bool is_running = false;

    for (long waited_us = 0; !is_running; waited_us += LOOK_US) {
        QueueReply reply;

        queue_ask(&w->hub, &reply, 200, about("GET /job/", id, ""), NULL);
        is_running = strstr(reply.body, "\"state\":\"RUNNING\"") != NULL;
        queue_reply_deinit(&reply);
        assert_true(waited_us < QUEUE_HANG_MS * 1000L);
        (void)usleep(is_running ? 0 : LOOK_US);
    }
}

/* Its row when it is over. */
static void wait_until_over(const World *w, const char *id, QueueReply *ret)
{
    queue_ask(&w->hub, ret, 200, about("GET /job/", id, "?waitMs=60000"), NULL);
}

static char *begin_job(World *w, const char *tool, Step step, char job[ID_BYTES])
{
    char body[256];

    (void)snprintf(job, ID_BYTES, "k%u", ++w->n_jobs);
    (void)snprintf(body, sizeof(body),
                   "{\"method\":\"%s\",\"params\":{\"job\":\"%s\",\"at\":\"%s\"}}", tool, job,
                   step_names[step]);
    return enqueue(w, body);
}

/* The job has come to that step; `pids` are then its command's and that one's parent's. */
static void come_to(const World *w, Step step, const char *id, const char *job, int pids[2])
{
    char name[ID_BYTES];
    FILE *file;
    int fd;

    if (step == STEP_UNREAD) {
        wait_until_running(w, id);
        return;
    }
    wait_for_file(w, step == STEP_BEFORE ? "begun" : "done", job);
    (void)snprintf(name, sizeof(name), "begun.%s", job);
    file = fopen(in_folder(w, name), "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d %d", &pids[0], &pids[1]), 2);
    (void)fclose(file);
    if (step == STEP_RESULT) {
        /* Nobody reads, and the answer is longer than what lies between them. */
        assert_int_equal(kill(w->hub.pid, SIGSTOP), 0);
        fd = open(in_folder(w, "answer"), O_WRONLY | O_CLOEXEC);
        assert_int_equal(write(fd, "\n", 1), 1);
        (void)close(fd);
        wait_for_file(w, "told", job);
    }
}

/* One that may not run twice has not, and can be retried; the other one has been. */
static void expect_end(const World *w, const char *id, const char *job, bool may_repeat)
{
    QueueReply reply;

    wait_until_over(w, id, &reply);
    if (!may_repeat) {
        queue_reply_has(&reply, "/state", "FAILED");
        queue_reply_has(&reply, "/error_code", "INTERRUPTED");
        assert_true(count_effects(w, job) <= 1);
        queue_reply_deinit(&reply);
        queue_ask(&w->hub, &reply, 200, about("POST /job/", id, "/retry"), NULL);
        queue_reply_deinit(&reply);
        wait_until_over(w, id, &reply);
    }
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    assert_true(count_effects(w, job) >= 1);
    queue_reply_deinit(&reply);
}

static void tally(World *w, const char *job_state, unsigned n_effects)
{
    if (strcmp(job_state, "SUCCEEDED") == 0) {
        w->n_succeeded++;
    } else {
        w->n_interrupted++;
        w->n_done += n_effects;
    }
}

static void print_tally(const World *w)
{
    print_message("%u kills: %u jobs SUCCEEDED, %u INTERRUPTED, %u of these with their effect\n",
                  n_rounds, w->n_succeeded, w->n_interrupted, w->n_done);
}

/* ---- life ---- */

static int start(void **state)
{
    static World w;
    char settings[1024];

    w = (World){.log = -1};
    queue_hub_init(&w.hub, program, TOOLS("own"));
    write_file(&w, "effect.sh", script);
    write_file(&w, "addin.json",
               "[" TOOL("addin_once", "false") "," TOOL("addin_again", "true") "," LATE "," LONG
                                                                               "]");
    write_file(&w, "parent.json", TOOLS("parent"));
    write_file(&w, "server.json", TOOLS("server"));
    assert_int_equal(mkfifo(in_folder(&w, "gate"), 0600), 0);
    assert_int_equal(mkfifo(in_folder(&w, "answer"), 0600), 0);
    start_parent(&w);
    (void)snprintf(
        settings, sizeof(settings),
        "{\"tools\":\"tools.json\",\"pipe\":{\"name\":\"Apps\"},"
        "\"call_socket\":{\"connect\":\"%s/parent.sock\",\"schema\":\"%s/parent.schema\"},"
        "\"mcpServers\":{\"up\":{\"command\":\"%s\",\"args\":[\"serve\",\"--tools\","
        "\"%s/server.json\",\"--no-toolkit\"]}}}",
        w.hub.folder, w.hub.folder, program, w.hub.folder);
    queue_hub_start(&w.hub, settings);
    *state = &w;
    return 0;
}

static int end(void **state)
{
    World *w = *state;

    if (w->runner > 0) {
        kill_runner(w);
    }
    open_gate(w);
    queue_hub_clean(&w->hub);
    return 0;
}

/* ---- tests ---- */

static void an_addin_is_killed(void **state)
{
    World *w = *state;
    pid_t parent = w->runner;

    start_addin(w);
    for (unsigned i = 0; i < n_rounds; i++) {
        Step step = (Step)(i % N_STEPS);
        bool may_repeat = i / N_STEPS % 2 != 0;
        char job[ID_BYTES];
        int pids[2];
        char *id;

        if (step == STEP_UNREAD) {
            assert_int_equal(kill(w->runner, SIGSTOP), 0);
        }
        id = begin_job(w, may_repeat ? "addin_again" : "addin_once", step, job);
        come_to(w, step, id, job, pids);
        kill_runner(w);
        (void)kill(w->hub.pid, SIGCONT);
        start_addin(w);
        expect_end(w, id, job, may_repeat);
        free(id);
    }
    kill_runner(w);
    w->runner = parent;
}

/* Many jobs at once, and nobody chooses the moment: what has SUCCEEDED has its effect once. */
static void an_addin_is_killed_at_any_moment(void **state)
{
    enum {
        N_AT_ONCE = 12
    };
    World *w = *state;
    pid_t parent = w->runner;

    start_addin(w);
    for (unsigned i = 0; i < n_rounds; i++) {
        char jobs[N_AT_ONCE][ID_BYTES];
        char *ids[N_AT_ONCE];

        for (unsigned k = 0; k < N_AT_ONCE; k++) {
            ids[k] = begin_job(w, "addin_once", STEP_UNREAD, jobs[k]);
        }
        wait_for_file(w, "begun", jobs[i % N_AT_ONCE]);
        kill_runner(w);
        start_addin(w);
        for (unsigned k = 0; k < N_AT_ONCE; k++) {
            QueueReply reply;
            char *job_state;

            wait_until_over(w, ids[k], &reply);
            job_state = queue_reply_get(&reply, "/state");
            tally(w, job_state, count_effects(w, jobs[k]));
            if (strcmp(job_state, "SUCCEEDED") == 0) {
                assert_int_equal(count_effects(w, jobs[k]), 1);
            } else {
                queue_reply_has(&reply, "/error_code", "INTERRUPTED");
                assert_true(count_effects(w, jobs[k]) <= 1);
            }
            free(job_state);
            free(ids[k]);
            queue_reply_deinit(&reply);
        }
    }
    print_tally(w);
    kill_runner(w);
    w->runner = parent;
}

/* Kills the command (victim 0) or whoever started it (1). */
static void kill_each(World *w, const char *once, const char *again, int victim,
                      void (*restart)(World *w))
{
    for (unsigned i = 0; i < n_rounds; i++) {
        Step step = i % 2 == 0 ? STEP_BEFORE : STEP_AFTER;
        bool may_repeat = i / 2 % 2 != 0;
        char job[ID_BYTES];
        int pids[2] = {0, 0};
        char *id = begin_job(w, may_repeat ? again : once, step, job);

        come_to(w, step, id, job, pids);
        assert_int_equal(kill(pids[victim], SIGKILL), 0);
        if (restart != NULL) {
            (void)peer_wait(w->runner);
            restart(w);
        }
        expect_end(w, id, job, may_repeat);
        free(id);
    }
}

static void a_command_is_killed(void **state)
{
    kill_each(*state, "own_once", "own_again", 0, NULL);
}

static void the_command_of_an_addin_is_killed(void **state)
{
    World *w = *state;
    pid_t parent = w->runner;

    start_addin(w);
    kill_each(w, "addin_once", "addin_again", 0, NULL);
    kill_runner(w);
    w->runner = parent;
}

static void the_command_of_a_parent_is_killed(void **state)
{
    kill_each(*state, "parent_once", "parent_again", 0, NULL);
}

/* An add-in that does not answer before the deadline of its tool. */
static void an_addin_is_late(void **state)
{
    World *w = *state;
    pid_t parent = w->runner;
    char job[ID_BYTES];
    QueueReply reply;
    char *id;

    start_addin(w);
    id = begin_job(w, "addin_late", STEP_BEFORE, job);
    wait_until_over(w, id, &reply);
    queue_reply_has(&reply, "/state", "TIMEOUT");
    queue_reply_has(&reply, "/error_code", "TIMEOUT");
    queue_reply_has(&reply, "/result/result/code", "TIMEOUT");
    queue_reply_deinit(&reply);
    assert_int_equal(count_effects(w, job), 0);
    queue_ask(&w->hub, &reply, 200, about("POST /job/", id, "/retry"), NULL);
    queue_reply_deinit(&reply);
    wait_until_over(w, id, &reply);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_deinit(&reply);
    assert_int_equal(count_effects(w, job), 1);
    free(id);
    kill_runner(w);
    w->runner = parent;
}

/* The hub has given more time than the add-in would by itself. */
static void the_deadline_of_the_hub_counts_in_an_addin(void **state)
{
    World *w = *state;
    pid_t parent = w->runner;
    QueueReply reply;
    char *id;

    start_addin(w);
    id = enqueue(w, "{\"method\":\"addin_long\"}");
    wait_until_over(w, id, &reply);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_has(&reply, "/result/result/ok", "true");
    queue_reply_deinit(&reply);
    free(id);
    kill_runner(w);
    w->runner = parent;
}

static void a_parent_is_killed(void **state)
{
    kill_each(*state, "parent_once", "parent_again", 1, start_parent);
}

static void an_upstream_server_is_killed(void **state)
{
    wait_until_offered(*state, "server_once");
    kill_each(*state, "server_once", "server_again", 1, NULL);
}

/* ---- the planner ---- */

static unsigned count_walls(const World *w, const char *mark)
{
    char wanted[ID_BYTES];
    unsigned n = 0;
    QueueReply reply;

    (void)snprintf(wanted, sizeof(wanted), "\"mark\":\"%s\"", mark);
    queue_ask(&w->hub, &reply, 200, "POST /rpc?waitMs=60000",
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"plan.list_elements\","
              "\"params\":{\"category\":\"Walls\",\"limit\":10000}}");
    queue_reply_has(&reply, "/result/result/ok", "true");
    for (const char *at = reply.body; (at = strstr(at, wanted)) != NULL; at++) {
        n++;
    }
    queue_reply_deinit(&reply);
    return n;
}

static char *begin_wall(World *w, char mark[ID_BYTES])
{
    char body[1024];

    (void)snprintf(mark, ID_BYTES, "k%u", ++w->n_jobs);
    (void)snprintf(body, sizeof(body),
                   "{\"method\":\"revit.create_wall\",\"params\":{\"start_point\":[%u,0,0],"
                   "\"end_point\":[%u,5,0],\"height\":9,\"mark\":\"%s\"}}",
                   10 * w->n_jobs, 10 * w->n_jobs, mark);
    return enqueue(w, body);
}

/* Reads its log until it has committed n more walls. */
static void wait_for_commits(const World *w, unsigned n)
{
    static const char word[] = "committed";
    size_t matched = 0;
    char c;

    while (n > 0) {
        assert_int_equal(read(w->log, &c, 1), 1);
        matched = c == word[matched] ? matched + 1 : c == word[0];
        if (word[matched] == '\0') {
            n--;
            matched = 0;
        }
    }
}

/* How the job ended fits what the document has. */
static void expect_wall(World *w, const char *id, const char *mark)
{
    unsigned n_walls = count_walls(w, mark);
    QueueReply reply;
    char *job_state;

    wait_until_over(w, id, &reply);
    job_state = queue_reply_get(&reply, "/state");
    tally(w, job_state, n_walls);
    if (strcmp(job_state, "SUCCEEDED") == 0) {
        queue_reply_has(&reply, "/error_code", "null");
        assert_int_equal(n_walls, 1);
    } else {
        queue_reply_has(&reply, "/state", "FAILED");
        queue_reply_has(&reply, "/error_code", "INTERRUPTED");
        assert_true(n_walls <= 1);
    }
    if (n_walls == 0) {
        queue_reply_deinit(&reply);
        queue_ask(&w->hub, &reply, 200, about("POST /job/", id, "/retry"), NULL);
        queue_reply_deinit(&reply);
        wait_until_over(w, id, &reply);
        queue_reply_has(&reply, "/state", "SUCCEEDED");
        assert_int_equal(count_walls(w, mark), 1);
    }
    free(job_state);
    queue_reply_deinit(&reply);
}

static void the_planner_is_killed(void **state)
{
    enum {
        N_AT_ONCE = 6
    };
    World *w = *state;
    pid_t parent = w->runner;

    if (planner == NULL) {
        skip();
    }
    start_planner(w);
    for (unsigned i = 0; i < n_rounds; i++) {
        char marks[N_AT_ONCE][ID_BYTES];
        char *ids[N_AT_ONCE];
        bool is_unread = i % 3 == 0;

        if (is_unread) {
            assert_int_equal(kill(w->runner, SIGSTOP), 0);
        }
        for (unsigned k = 0; k < N_AT_ONCE; k++) {
            ids[k] = begin_wall(w, marks[k]);
        }
        if (is_unread) {
            wait_until_running(w, ids[0]);
        } else {
            wait_for_commits(w, 1 + i % (N_AT_ONCE - 1));
        }
        kill_runner(w);
        start_planner(w);
        for (unsigned k = 0; k < N_AT_ONCE; k++) {
            expect_wall(w, ids[k], marks[k]);
            free(ids[k]);
        }
    }
    print_tally(w);
    kill_runner(w);
    w->runner = parent;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_addin_is_killed, start, end),
        cmocka_unit_test_setup_teardown(an_addin_is_killed_at_any_moment, start, end),
        cmocka_unit_test_setup_teardown(the_planner_is_killed, start, end),
        cmocka_unit_test_setup_teardown(a_command_is_killed, start, end),
        cmocka_unit_test_setup_teardown(the_command_of_an_addin_is_killed, start, end),
        cmocka_unit_test_setup_teardown(the_command_of_a_parent_is_killed, start, end),
        cmocka_unit_test_setup_teardown(an_addin_is_late, start, end),
        cmocka_unit_test_setup_teardown(the_deadline_of_the_hub_counts_in_an_addin, start, end),
        cmocka_unit_test_setup_teardown(a_parent_is_killed, start, end),
        cmocka_unit_test_setup_teardown(an_upstream_server_is_killed, start, end),
    };
    const char *rounds = getenv("TOOLWIRE_LOSS_ROUNDS");

    if (argc < 2) {
        (void)fprintf(stderr, "usage: test_jobs_lost TOOLWIRE [PLANNER]\n");
        return 2;
    }
    program = argv[1];
    planner = argc > 2 ? argv[2] : NULL;
    if (rounds != NULL && rounds[0] != '\0') {
        n_rounds = (unsigned)strtoul(rounds, NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
