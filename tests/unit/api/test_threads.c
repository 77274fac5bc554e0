#include "unit/api/wire.h"

#include <stdatomic.h>

#define N_WORKERS 4
#define N_CALLS   200

/* A few threads that answer calls; the handler puts them in. */
typedef struct Workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    TwCall *queue[N_CALLS + 16];
    size_t n_put;
    size_t n_taken;
    bool closed;
    pthread_t threads[N_WORKERS];
    void (*work)(TwCall *call);
    TwCancelFn on_cancel; /* may be NULL */
} Workers;

static TwCall *workers_take(Workers *workers)
{
    TwCall *call = NULL;

    pthread_mutex_lock(&workers->lock);
    while (workers->n_taken == workers->n_put && !workers->closed) {
        pthread_cond_wait(&workers->changed, &workers->lock);
    }
    if (workers->n_taken < workers->n_put) {
        call = workers->queue[workers->n_taken++];
        pthread_cond_broadcast(&workers->changed);
    }
    pthread_mutex_unlock(&workers->lock);
    return call;
}

static void *workers_main(void *context)
{
    Workers *workers = context;
    TwCall *call;

    while ((call = workers_take(workers)) != NULL) {
        workers->work(call);
    }
    return NULL;
}

static void workers_open(Workers *workers, void (*work)(TwCall *call))
{
    *workers = (Workers){.work = work};
    assert_int_equal(pthread_mutex_init(&workers->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&workers->changed, NULL), 0);
    for (int i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_create(&workers->threads[i], NULL, workers_main, workers), 0);
    }
}

static void workers_close(Workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->closed = true;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_join(workers->threads[i], NULL), 0);
    }
    (void)pthread_cond_destroy(&workers->changed);
    (void)pthread_mutex_destroy(&workers->lock);
}

/* The handler of all tools here: keeps the call and hands it over. */
static void on_keep(TwCall *call, void *user)
{
    Workers *workers = user;

    WIRE_CHECK(tw_call_keep(call) == 0);
    WIRE_CHECK(tw_call_keep(call) == 0);
    WIRE_CHECK(tw_call_on_cancel(call, workers->on_cancel, NULL) == 0);
    pthread_mutex_lock(&workers->lock);
    workers->queue[workers->n_put++] = call;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

static TwServer *new_server(Workers *workers, const TwServerOptions *options)
{
    TwServer *server = tw_server_new("threads", "1");

    if (options != NULL) {
        assert_int_equal(tw_server_set_options(server, options), 0);
    }
    assert_int_equal(
        tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_keep, .user = workers}), 0);
    assert_int_equal(
        tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "x:///{a}/{+b}",
                                                             .name = "x",
                                                             .mime_type = "text/plain",
                                                             .handler = on_keep,
                                                             .user = workers}),
        0);
    return server;
}

/* ---- four threads ---- */

static void work_answer(TwCall *call)
{
    int64_t i = tw_call_int(call, "i", -1);

    for (int step = 1; step <= 3; step++) {
        WIRE_CHECK(tw_call_progress(call, step, 3, "step") == 0);
    }
    WIRE_CHECK(tw_call_log(call, TW_LOG_ERROR, "working") == 0);
    tw_call_textf(call, "%lld %s", (long long)i, tw_call_arguments(call));
    tw_call_done(call);
}

/* The next message that is no log record. */
static TwResult *next_without_log(Wire *wire)
{
    TwResult *message;

    while (strcmp(tw_result_string(message = wire_next(wire), "/method", ""),
                  "notifications/message") == 0) {
        tw_result_free(message);
    }
    assert_non_null(message);
    return message;
}

static void answers_from_four_threads_find_their_calls(void **state)
{
    static Workers workers;
    bool seen[N_CALLS] = {false};
    TwServer *server;
    Wire wire;

    (void)state;
    workers_open(&workers, work_answer);
    server = new_server(&workers, &(TwServerOptions){.rate_off = true, .max_in_flight = N_CALLS});
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 0; i < N_CALLS; i++) {
        char arguments[32];

        (void)snprintf(arguments, sizeof(arguments), "{\"i\":%d}", i);
        wire_call(&wire, i, "t", arguments, "");
    }
    for (int i = 0; i < N_CALLS; i++) {
        TwResult *answer = next_without_log(&wire);
        int64_t id = tw_result_int(answer, "/id", -1);
        char text[64];

        assert_in_range(id, 0, N_CALLS - 1);
        assert_false(seen[id]);
        seen[id] = true;
        (void)snprintf(text, sizeof(text), "%d {\"i\":%d}", (int)id, (int)id);
        assert_string_equal(wire_text(answer), text);
        tw_result_free(answer);
    }
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void progress_of_another_thread_keeps_its_order(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;
    TwResult *message;

    (void)state;
    workers_open(&workers, work_answer);
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", ",\"_meta\":{\"progressToken\":5}");
    for (int step = 1; step <= 3; step++) {
        message = wire_next(&wire);
        assert_int_equal(tw_result_int(message, "/params/progress", 0), step);
        assert_string_equal(tw_result_string(message, "/params/message", ""), "step");
        tw_result_free(message);
    }
    message = wire_next(&wire);
    assert_string_equal(tw_result_get(message, "/params/data"), "\"working\"");
    tw_result_free(message);
    message = wire_next(&wire);
    assert_int_equal(tw_result_int(message, "/id", 0), 1);
    tw_result_free(message);
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* ---- templates ---- */

static void work_variables(TwCall *call)
{
    tw_call_textf(call, "%s %s %s", tw_call_variable(call, "a"), tw_call_variable(call, "b"),
                  tw_call_variable(call, "c") == NULL ? "-" : "?");
    tw_call_done(call);
}

static void kept_calls_know_their_variables(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;
    TwResult *answer;

    (void)state;
    workers_open(&workers, work_variables);
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    answer = wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
                             "\"params\":{\"uri\":\"x:///one/two/three\"}}");
    assert_string_equal(tw_result_get(answer, "/result/contents"),
                        "[{\"uri\":\"x:///one/two/three\",\"mimeType\":\"text/plain\","
                        "\"text\":\"one two/three -\"}]");
    tw_result_free(answer);
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* ---- asking later ---- */

static void work_ask(TwCall *call)
{
    if (tw_call_answer(call, "who") == NULL) {
        tw_call_ask_form(call, "who", "Who?", "{\"type\":\"object\",\"properties\":{}}");
    } else {
        tw_call_textf(call, "%s %lld %.1f %d", tw_call_answer_action(call, "who"),
                      (long long)tw_call_answer_int(call, "who", "i", 0),
                      tw_call_answer_double(call, "who", "d", 0),
                      (int)tw_call_answer_bool(call, "who", "b", false));
    }
    tw_call_done(call);
}

static void kept_calls_can_ask(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;
    TwResult *message;
    char line[256];

    (void)state;
    workers_open(&workers, work_ask);
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    message = wire_next(&wire);
    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\","
                   "\"content\":{\"i\":3,\"d\":0.5,\"b\":true}}}",
                   tw_result_get(message, "/id"));
    tw_result_free(message);
    message = wire_ask(&wire, line);
    assert_string_equal(wire_text(message), "accept 3 0.5 1");
    tw_result_free(message);
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* ---- cancelled ---- */

static atomic_int n_cancelled;
static atomic_int n_over;

/* Waits until the call is cancelled, then finds everything harmless. */
static void work_until_cancelled(TwCall *call)
{
    while (!tw_call_is_cancelled(call)) {
        (void)poll(NULL, 0, 1);
    }
    WIRE_CHECK(strcmp(tw_call_target(call), "t") == 0);
    WIRE_CHECK(tw_call_int(call, "i", 0) == 7);
    WIRE_CHECK(tw_call_text(call, "nobody reads this") == TW_ERROR_OVER);
    WIRE_CHECK(tw_call_progress(call, 1, 2, NULL) == TW_ERROR_OVER);
    WIRE_CHECK(tw_call_ask_roots(call, "k") == TW_ERROR_OVER);
    atomic_fetch_add(&n_over, 1);
    tw_call_done(call);
}

static void cancel_reaches_the_thread(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;
    TwResult *message;

    (void)state;
    atomic_store(&n_over, 0);
    workers_open(&workers, work_until_cancelled);
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 1; i <= 3; i++) {
        char line[128];

        wire_call(&wire, i, "t", "{\"i\":7}", "");
        (void)snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":%d}}",
                       i);
        wire_send(&wire, line);
    }
    /* Cancelled requests get no answer; the next one does. */
    message = wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}");
    assert_int_equal(tw_result_int(message, "/id", 0), 9);
    tw_result_free(message);
    workers_close(&workers);
    assert_int_equal(atomic_load(&n_over), 3);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void on_cancelled_done(TwCall *call, void *user)
{
    atomic_int *n = user;

    atomic_fetch_add(n, 1);
    tw_call_done(call);
}

static void on_keep_until_cancelled(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_keep(call) == 0);
    WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_done, &n_cancelled) == 0);
}

static void the_cancel_function_may_end_the_call(void **state)
{
    TwServer *server = tw_server_new("s", NULL);
    Wire wire;

    (void)state;
    atomic_store(&n_cancelled, 0);
    assert_int_equal(
        tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_keep_until_cancelled}), 0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    tw_result_free(
        wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                        "\"requestId\":1}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"));
    assert_int_equal(atomic_load(&n_cancelled), 1);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void time_that_runs_out_cancels(void **state)
{
    TwServer *server = tw_server_new("s", NULL);
    Wire wire;
    TwResult *answer;

    (void)state;
    atomic_store(&n_cancelled, 0);
    assert_int_equal(
        tw_server_add_tool(
            server, &(TwTool){.name = "t", .handler = on_keep_until_cancelled, .timeout_ms = 1}),
        0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    answer = wire_next(&wire);
    assert_int_equal(tw_result_int(answer, "/id", 0), 1);
    assert_true(tw_result_bool(answer, "/result/isError", false));
    tw_result_free(answer);
    assert_int_equal(atomic_load(&n_cancelled), 1);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* ---- done waits for the cancel function ---- */

static atomic_bool in_cancel_fn;
static atomic_bool done_begins;
static atomic_bool cancel_fn_ended;

static void on_cancelled_slowly(TwCall *call, void *user)
{
    (void)call;
    (void)user;
    atomic_store(&in_cancel_fn, true);
    while (!atomic_load(&done_begins)) {
        (void)poll(NULL, 0, 1);
    }
    (void)poll(NULL, 0, 5); /* gives a tw_call_done that does not wait the time to be wrong */
    atomic_store(&cancel_fn_ended, true);
}

static void work_done_during_cancel(TwCall *call)
{
    while (!atomic_load(&in_cancel_fn)) {
        (void)poll(NULL, 0, 1);
    }
    atomic_store(&done_begins, true);
    tw_call_done(call);
    WIRE_CHECK(atomic_load(&cancel_fn_ended));
}

static void done_waits_for_the_cancel_function(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;

    (void)state;
    atomic_store(&in_cancel_fn, false);
    atomic_store(&done_begins, false);
    atomic_store(&cancel_fn_ended, false);
    workers_open(&workers, work_done_during_cancel);
    workers.on_cancel = on_cancelled_slowly;
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    wire_send(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":1}}");
    tw_result_free(wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}"));
    workers_close(&workers);
    assert_true(atomic_load(&cancel_fn_ended));
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void work_take_back_during_cancel(TwCall *call)
{
    while (!atomic_load(&in_cancel_fn)) {
        (void)poll(NULL, 0, 1);
    }
    atomic_store(&done_begins, true);
    WIRE_CHECK(tw_call_on_cancel(call, NULL, NULL) == 0);
    WIRE_CHECK(atomic_load(&cancel_fn_ended));
    tw_call_done(call);
}

/* Cancels the call with this id, and waits until the server has handled it. */
static void cancel_call(Wire *wire, int id)
{
    char line[256];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":%d}}\n{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}",
                   id);
    tw_result_free(wire_ask(wire, line));
}

static void taking_a_cancel_function_back_waits_for_it(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;

    (void)state;
    atomic_store(&in_cancel_fn, false);
    atomic_store(&done_begins, false);
    atomic_store(&cancel_fn_ended, false);
    workers_open(&workers, work_take_back_during_cancel);
    workers.on_cancel = on_cancelled_slowly;
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    cancel_call(&wire, 1);
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void on_cancelled_replace(TwCall *call, void *user)
{
    WIRE_CHECK(tw_call_on_cancel(call, NULL, NULL) == 0);
    /* It is cancelled already, so this one runs at once, in here. */
    WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_done, user) == 0);
    WIRE_CHECK(atomic_load((atomic_int *)user) > 0);
}

static void on_keep_and_replace(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_keep(call) == 0);
    WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_replace, &n_cancelled) == 0);
}

static void a_cancel_function_may_set_another(void **state)
{
    TwServer *server = tw_server_new("s", NULL);
    Wire wire;

    (void)state;
    atomic_store(&n_cancelled, 0);
    assert_int_equal(
        tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_keep_and_replace}), 0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 1; i <= 3; i++) {
        wire_call(&wire, i, "t", "{}", "");
        cancel_call(&wire, i);
        assert_int_equal(atomic_load(&n_cancelled), i);
    }
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* The function comes after the cancellation, and ends the call on the thread that set it. */
static void work_set_when_cancelled(TwCall *call)
{
    /* Something is on its way to the loop, which must not end the call a second time. */
    (void)tw_call_progress(call, 1, 2, NULL);
    while (!tw_call_is_cancelled(call)) {
        (void)poll(NULL, 0, 1);
    }
    WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_replace, &n_cancelled) == 0);
}

static void a_late_cancel_function_runs_at_once_and_may_end_the_call(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;

    (void)state;
    atomic_store(&n_cancelled, 0);
    workers_open(&workers, work_set_when_cancelled);
    server = new_server(&workers, &(TwServerOptions){.rate_off = true});
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 1; i <= 50; i++) {
        wire_call(&wire, i, "t", "{}", "");
        cancel_call(&wire, i);
    }
    workers_close(&workers);
    assert_int_equal(atomic_load(&n_cancelled), 50);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* Each has its own user, which is freed as soon as the function was replaced. */
static void on_cancelled_first(TwCall *call, void *user)
{
    (void)call;
    WIRE_CHECK(*(const int *)user == 1);
}

static void on_cancelled_second(TwCall *call, void *user)
{
    (void)call;
    WIRE_CHECK(*(const int *)user == 2);
}

static int *new_number(int value)
{
    int *number = malloc(sizeof(*number));

    WIRE_CHECK(number != NULL);
    *number = value;
    return number;
}

static void work_replace(TwCall *call)
{
    int *before = NULL;

    while (!tw_call_is_cancelled(call)) {
        int *first = new_number(1);
        int *second = new_number(2);

        WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_first, first) == 0);
        free(before);
        WIRE_CHECK(tw_call_on_cancel(call, on_cancelled_second, second) == 0);
        free(first);
        before = second;
    }
    WIRE_CHECK(tw_call_on_cancel(call, NULL, NULL) == 0);
    free(before);
    tw_call_done(call);
}

static void cancel_functions_run_with_their_own_user(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;

    (void)state;
    workers_open(&workers, work_replace);
    server = new_server(&workers, &(TwServerOptions){.rate_off = true});
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 0; i < N_CALLS; i++) {
        wire_call(&wire, i, "t", "{}", "");
        /* By then the call is with its thread, which works on it until it is cancelled. */
        tw_result_free(wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}"));
        cancel_call(&wire, i);
    }
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* Answers race with cancellation; every call is done exactly once, whoever wins. */
static void work_race(TwCall *call)
{
    (void)tw_call_progress(call, 1, 2, "half");
    (void)tw_call_text(call, "perhaps");
    tw_call_done(call);
}

static void answers_may_race_with_cancellation(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;

    (void)state;
    workers_open(&workers, work_race);
    server = new_server(&workers, &(TwServerOptions){.rate_off = true, .max_in_flight = N_CALLS});
    wire_open(&wire, server);
    wire_initialize(&wire);
    for (int i = 0; i < N_CALLS; i++) {
        char line[128];

        wire_call(&wire, i, "t", "{}", "");
        (void)snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":%d}}",
                       i);
        wire_send(&wire, line);
    }
    assert_int_equal(wire_close(&wire), 0);
    workers_close(&workers);
    tw_server_free(server);
}

/* ---- longer than the server ---- */

static atomic_bool may_end;
static atomic_int n_released;

static void work_until_told(TwCall *call)
{
    while (!atomic_load(&may_end)) {
        (void)poll(NULL, 0, 1);
    }
    WIRE_CHECK(tw_call_is_cancelled(call));
    WIRE_CHECK(tw_call_text(call, "late") == TW_ERROR_OVER);
    WIRE_CHECK(atomic_load(&n_released) == 0);
    tw_call_done(call);
}

static void on_release(void *user)
{
    (void)user;
    atomic_fetch_add(&n_released, 1);
}

static void a_kept_call_may_outlive_the_server(void **state)
{
    static Workers workers;
    TwServer *server = tw_server_new("s", NULL);
    Wire wire;

    (void)state;
    atomic_store(&may_end, false);
    atomic_store(&n_released, 0);
    workers_open(&workers, work_until_told);
    assert_int_equal(tw_server_set_options(server, &(TwServerOptions){.drain_ms = 1}), 0);
    assert_int_equal(
        tw_server_add_tool(
            server,
            &(TwTool){.name = "t", .handler = on_keep, .user = &workers, .release = on_release}),
        0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    /* Answered after the call was handed over: the line before it has been handled. */
    tw_result_free(wire_ask(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"));
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
    atomic_store(&may_end, true);
    workers_close(&workers);
    assert_int_equal(atomic_load(&n_released), 1);
}

static void work_answer_when_told(TwCall *call)
{
    while (!atomic_load(&may_end)) {
        (void)poll(NULL, 0, 1);
    }
    work_answer(call);
}

static void calls_in_flight_are_answered_after_the_client_closed(void **state)
{
    static Workers workers;
    TwServer *server;
    Wire wire;
    TwResult *answer;

    (void)state;
    atomic_store(&may_end, false);
    workers_open(&workers, work_answer_when_told);
    server = new_server(&workers, NULL);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    assert_int_equal(shutdown(wire.fd, SHUT_WR), 0);
    (void)poll(NULL, 0, 20); /* gives a server that does not wait the time to end */
    atomic_store(&may_end, true);
    answer = next_without_log(&wire);
    assert_int_equal(tw_result_int(answer, "/id", 0), 1);
    tw_result_free(answer);
    workers_close(&workers);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* ---- changes from several threads ---- */

static void on_nothing(TwCall *call, void *user)
{
    (void)call;
    (void)user;
}

static void *add_and_remove(void *context)
{
    TwServer *server = context;
    char name[32];

    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "t%lu_%d", (unsigned long)pthread_self(), i);
        WIRE_CHECK(tw_server_add_tool(server, &(TwTool){.name = name, .handler = on_nothing}) == 0);
        WIRE_CHECK(tw_server_remove_tool(server, name) == 0);
    }
    return NULL;
}

static void tools_come_and_go_from_several_threads(void **state)
{
    pthread_t threads[N_WORKERS];
    TwServer *server = tw_server_new("s", NULL);
    Wire wire;

    (void)state;
    wire_open(&wire, server);
    for (int i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, server), 0);
    }
    for (int i = 0; i < N_WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void *add_until_told(void *context)
{
    TwServer *server = context;

    while (!atomic_load(&may_end)) {
        WIRE_CHECK(tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_nothing}) == 0);
        WIRE_CHECK(tw_server_remove_tool(server, "t") == 0);
    }
    return NULL;
}

/* A change that was handed to the serving thread is done, also if that thread is just leaving. */
static void changes_may_meet_the_end_of_serving(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        TwServer *server = tw_server_new("s", NULL);
        pthread_t thread;
        Wire wire;

        atomic_store(&may_end, false);
        wire_open(&wire, server);
        assert_int_equal(pthread_create(&thread, NULL, add_until_told, server), 0);
        wire_initialize(&wire);
        assert_int_equal(wire_close(&wire), 0);
        atomic_store(&may_end, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        tw_server_free(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_from_four_threads_find_their_calls),
        cmocka_unit_test(progress_of_another_thread_keeps_its_order),
        cmocka_unit_test(kept_calls_know_their_variables),
        cmocka_unit_test(kept_calls_can_ask),
        cmocka_unit_test(cancel_reaches_the_thread),
        cmocka_unit_test(the_cancel_function_may_end_the_call),
        cmocka_unit_test(time_that_runs_out_cancels),
        cmocka_unit_test(done_waits_for_the_cancel_function),
        cmocka_unit_test(taking_a_cancel_function_back_waits_for_it),
        cmocka_unit_test(a_cancel_function_may_set_another),
        cmocka_unit_test(a_late_cancel_function_runs_at_once_and_may_end_the_call),
        cmocka_unit_test(cancel_functions_run_with_their_own_user),
        cmocka_unit_test(answers_may_race_with_cancellation),
        cmocka_unit_test(a_kept_call_may_outlive_the_server),
        cmocka_unit_test(calls_in_flight_are_answered_after_the_client_closed),
        cmocka_unit_test(tools_come_and_go_from_several_threads),
        cmocka_unit_test(changes_may_meet_the_end_of_serving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
