#include "app/audit.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/hub.h"
#include "app/watch.h"
#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/files.h"
#include "support/oom_sweep.h"

/* Timers of one loop fire in the order in which they are due: whoever waits a little longer sees
 * that it was tried again. */
#define RETRY_MS 10

/* A hub with a tool, its watch, and the record of its calls. */
typedef struct Fixture {
    char folder[32];
    char path[64];
    Hub *hub;
    Watch *watch;
    Audit *audit;
    IoTimer *turn;
    LogSink log;
    size_t n_logged;
    char logged[4096]; /* the last */
    Call *held;
} Fixture;

static void on_log(void *context, const char *line, size_t n)
{
    Fixture *f = context;

    f->n_logged++;
    assert_true(n < sizeof(f->logged));
    memcpy(f->logged, line, n);
    f->logged[n] = '\0';
}

static void on_turn(void *context)
{
    Fixture *f = context;

    io_loop_stop(hub_loop(f->hub));
}

static void quick_start(void *context, Call *call)
{
    (void)context;
    call_finish(call, &(CallResult){.kind = CALL_RESULT_TOOL});
}

static void held_start(void *context, Call *call)
{
    Fixture *f = context;

    f->held = call;
    call->took_arguments = true;
}

static void held_cancel(void *context, Call *call)
{
    (void)context;
    (void)call;
}

static const CallProvider quick = {.name = "quick", .start = quick_start};
static const CallProvider held = {.name = "held", .start = held_start, .cancel = held_cancel};

static void on_finish(Call *call, const CallResult *result)
{
    (void)call;
    (void)result;
}

static const CallDoor door = {.finish = on_finish};
static const CallAsker asker = {.dialect = "mcp", .who = "stdio"};

static int add_tools(Fixture *f)
{
    int r = router_add(
        hub_router(f->hub),
        &(RouterSpec){.kind = ROUTER_TOOL,
                      .json = SPAN("{\"name\":\"quick\",\"inputSchema\":{\"type\":\"object\"}}"),
                      .provider = &quick},
        NULL);

    return r != 0 ? r
                  : router_add(hub_router(f->hub),
                               &(RouterSpec){.kind = ROUTER_TOOL,
                                             .json = SPAN("{\"name\":\"held\",\"inputSchema\":{"
                                                          "\"type\":\"object\"}}"),
                                             .provider = &held,
                                             .context = f},
                               NULL);
}

static void place_make(Fixture *f)
{
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tw-audit-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/calls", f->folder);
    f->log = (LogSink){.level = LOGSINK_LEVEL_INFO, .write_fn = on_log, .context = f};
}

static int make(Fixture *f, const char *path, size_t max_bytes, uint32_t keep, bool arguments)
{
    int r = hub_new(&f->hub, NULL);

    if (r == 0) {
        r = watch_new(&f->watch);
    }
    if (r == 0) {
        r = audit_new(&f->audit, &(AuditConfig){.loop = hub_loop(f->hub),
                                                .path = path,
                                                .max_bytes = max_bytes,
                                                .keep = keep,
                                                .retry_ms = RETRY_MS,
                                                .arguments = arguments,
                                                .log = &f->log});
    }
    if (r == 0) {
        watch_set_audit(f->watch, f->audit);
        router_set_watch(hub_router(f->hub), watch_hooks(f->watch));
        r = io_timer_new(&f->turn, hub_loop(f->hub), false, on_turn, f);
    }
    return r != 0 ? r : add_tools(f);
}

static void close_audit(Fixture *f)
{
    watch_set_audit(f->watch, NULL);
    f->audit = audit_free(f->audit);
}

static void unmake(Fixture *f)
{
    if (f->watch != NULL) {
        close_audit(f);
        router_set_watch(hub_router(f->hub), NULL);
    }
    f->watch = watch_free(f->watch);
    f->turn = io_timer_free(f->turn);
    f->hub = hub_free(f->hub);
}

static void place_remove(Fixture *f)
{
    (void)chmod(f->folder, 0700);
    (void)unlink(f->path);
    for (unsigned i = 1; i < 10; i++) {
        char name[80];

        (void)snprintf(name, sizeof(name), "%s.%u", f->path, i);
        (void)unlink(name);
    }
    assert_int_equal(rmdir(f->folder), 0);
}

/* Lets the loop run until that many milliseconds are over; at least one turn. */
static void turn(Fixture *f, int64_t ms)
{
    io_loop_update_now(hub_loop(f->hub));
    io_timer_start_at(f->turn, io_loop_now_ms(hub_loop(f->hub)) + ms);
    assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
}

static void run_with(Fixture *f, const char *tool, const char *arguments)
{
    JsonDoc doc;
    Arena arena;
    Call call;

    arena_init(&arena, 1 << 24);
    call_init(&call);
    call.door = &door;
    call.asker = &asker;
    call.verb = CALL_TOOL;
    call.target = span_from_str(tool);
    if (arguments != NULL) {
        assert_int_equal(json_parse(&doc, &arena, arguments, strlen(arguments), NULL, NULL), 0);
        call.arguments = json_root(&doc);
    }
    router_dispatch(hub_router(f->hub), NULL, &call);
    if (call.running) {
        call_finish(f->held, &(CallResult){.kind = CALL_RESULT_TOOL});
    }
    call_deinit(&call);
    arena_deinit(&arena);
}

static void run(Fixture *f, const char *tool)
{
    run_with(f, tool, NULL);
}

static char *content(const Fixture *f, unsigned number)
{
    char name[80];
    size_t n;

    (void)snprintf(name, sizeof(name), number == 0 ? "%s" : "%s.%u", f->path, number);
    return access(name, F_OK) == 0 ? files_read(name, &n) : NULL;
}

/* How often a text stands in the file of that number; -1: there is none. */
static int count(const Fixture *f, unsigned number, const char *text)
{
    char *all = content(f, number);
    int n = 0;

    assert_true(text[0] != '\0'); /* which stands everywhere, and behind the end */
    if (all == NULL) {
        return -1;
    }
    for (const char *p = all; (p = strstr(p, text)) != NULL; p++) {
        n++;
    }
    free(all);
    return n;
}

/* Every line of the file is JSON. */
static void expect_lines(const Fixture *f, unsigned number)
{
    char *all = content(f, number);
    Arena arena;

    assert_non_null(all);
    arena_init(&arena, 1 << 20);
    for (char *line = all; *line != '\0';) {
        char *line_end = strchr(line, '\n');
        JsonDoc doc;

        assert_non_null(line_end);
        arena_reset(&arena, 1 << 20);
        assert_int_equal(json_parse(&doc, &arena, line, (size_t)(line_end - line), NULL, NULL), 0);
        line = line_end + 1;
    }
    arena_deinit(&arena);
    free(all);
}

/* ---- tests ---- */

static void calls_are_written_in_order_once_a_turn(void **state)
{
    struct stat info;
    Fixture f;
    char *all;
    const char *first;
    const char *second;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    run_with(&f, "quick", "{\"a\":1}");
    run(&f, "nothing");
    assert_int_equal(count(&f, 0, "\n"), 0);
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\n"), 2);
    expect_lines(&f, 0);
    all = content(&f, 0);
    first = strstr(all, "\"who\":\"stdio\",\"dialect\":\"mcp\",\"provider\":\"quick\",\"verb\":"
                        "\"tool\",\"target\":\"quick\",\"outcome\":\"ok\",\"duration_ms\":");
    second = strstr(all, "\"provider\":\"router\",\"verb\":\"tool\",\"target\":\"nothing\","
                         "\"outcome\":\"refused\",\"error\":\"unknown_tool\"");
    assert_non_null(first);
    assert_non_null(second);
    assert_true(first < second);
    assert_non_null(strstr(all, "\"bytes_in\":7,\"bytes_out\":0}"));
    assert_null(strstr(all, "arguments"));
    free(all);
    assert_int_equal(stat(f.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(f.n_logged, 0);
    unmake(&f);
    place_remove(&f);
}

static void what_waits_is_written_at_the_end(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    run(&f, "quick");
    close_audit(&f);
    assert_int_equal(count(&f, 0, "\n"), 1);
    /* And what was there before stays. */
    assert_int_equal(audit_new(&f.audit, &(AuditConfig){.loop = hub_loop(f.hub), .path = f.path}),
                     0);
    watch_set_audit(f.watch, f.audit);
    run(&f, "quick");
    unmake(&f);
    assert_int_equal(count(&f, 0, "\n"), 2);
    place_remove(&f);
}

static void arguments_are_kept_masked_if_that_is_switched_on(void **state)
{
    Fixture f;
    char *all;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, true), 0);
    run_with(&f, "quick", "{ \"path\": \"x\", \"token\": \"hush\" }");
    /* One that takes its arguments has none left when it ends. */
    run_with(&f, "held", "{\"path\":\"y\",\"key\":{\"a\":\"hush\"}}");
    run(&f, "quick");
    turn(&f, 0);
    expect_lines(&f, 0);
    all = content(&f, 0);
    assert_non_null(strstr(all, "\"arguments\":{\"path\":\"x\",\"token\":\"***\"}}\n"));
    assert_non_null(strstr(all, "\"arguments\":{\"path\":\"y\",\"key\":\"***\"}}\n"));
    assert_null(strstr(all, "hush"));
    free(all);
    assert_int_equal(count(&f, 0, "arguments"), 2);
    unmake(&f);
    place_remove(&f);
}

static void long_arguments_are_left_out_and_the_line_says_so(void **state)
{
    char *text = malloc(LIMIT_AUDIT_ARGUMENTS_BYTES + 100);
    Fixture f;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', LIMIT_AUDIT_ARGUMENTS_BYTES + 100);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + LIMIT_AUDIT_ARGUMENTS_BYTES + 90, "\"}", 3);
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, true), 0);
    run_with(&f, "quick", text);
    run_with(&f, "quick", "{}");
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\"arguments_left_out\":true"), 1);
    assert_int_equal(count(&f, 0, "\"arguments\":{}"), 1);
    assert_int_equal(count(&f, 0, "xxx"), 0);
    unmake(&f);
    place_remove(&f);
    free(text);
}

static void a_long_file_is_moved_aside_between_lines(void **state)
{
    Fixture f;
    int n_all = 0;

    (void)state;
    place_make(&f);
    /* Three lines are more than a file may have, two are not. */
    assert_int_equal(make(&f, f.path, 500, 3, false), 0);
    for (size_t i = 0; i < 5; i++) {
        run(&f, "quick");
    }
    turn(&f, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct stat info;
        char name[80];

        (void)snprintf(name, sizeof(name), i == 0 ? "%s" : "%s.%u", f.path, i);
        assert_int_equal(stat(name, &info), 0);
        assert_true(info.st_size <= 500);
        assert_int_equal(info.st_mode & 0777, 0600);
        expect_lines(&f, i);
        n_all += count(&f, i, "\n");
    }
    assert_int_equal(n_all, 5);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(count(&f, 2, "\n"), 2);
    assert_int_equal(count(&f, 3, "\n"), -1);
    for (size_t i = 0; i < 20; i++) {
        run(&f, "nothing");
        turn(&f, 0);
    }
    assert_int_equal(count(&f, 3, "quick"), 0);
    assert_int_equal(count(&f, 4, "\n"), -1);
    unmake(&f);
    place_remove(&f);
}

static void a_line_longer_than_a_file_may_be_is_alone_in_one(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 10, 2, false), 0);
    run(&f, "quick");
    run(&f, "nothing");
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "nothing"), 1);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(count(&f, 1, "\n"), 1);
    assert_int_equal(count(&f, 2, "\n"), -1);
    unmake(&f);
    place_remove(&f);
}

static void a_full_disk_is_said_once_and_calls_go_on(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, "/dev/full", 0, 0, false), 0);
    for (size_t i = 0; i < 10; i++) {
        run(&f, "quick");
        turn(&f, 0);
    }
    turn(&f, RETRY_MS + 1); /* and it has been tried again */
    assert_int_equal(f.n_logged, 1);
    assert_non_null(strstr(f.logged, "/dev/full"));
    assert_int_equal(audit_n_dropped(f.audit), 0);
    unmake(&f);
    assert_int_equal(f.n_logged, 2); /* what is lost with it */
    place_remove(&f);
}

/* The counter as the page of figures says it. */
static int told_dropped(Fixture *f)
{
    static const char name[] = "\ntoolwire_audit_dropped_total ";
    const char *at;
    Bytes page;
    int n;

    bytes_init(&page, SIZE_MAX);
    assert_int_equal(watch_write_metrics(f->watch, hub_router(f->hub), NULL, NULL, &page), 0);
    assert_int_equal(bytes_append(&page, "", 1), 0);
    at = strstr(page.data, name);
    n = at == NULL ? -1 : (int)strtol(at + strlen(name), NULL, 10);
    bytes_deinit(&page);
    return n;
}

static void what_waits_when_the_record_ends_is_counted_and_said(void **state)
{
    Audit *next = NULL;
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, "/dev/full", 0, 0, false), 0);
    for (size_t i = 0; i < 5; i++) {
        run(&f, "quick");
    }
    turn(&f, 0);
    assert_int_equal(told_dropped(&f), 0);
    assert_int_equal(audit_new(&next, &(AuditConfig){.loop = hub_loop(f.hub), .path = f.path}), 0);
    watch_set_audit(f.watch, next);
    assert_int_equal(told_dropped(&f), 5);
    assert_int_equal(f.n_logged, 2);
    assert_non_null(strstr(f.logged, "5 lines about calls are lost: cannot write /dev/full: "));
    (void)audit_free(f.audit); /* and says nothing more */
    f.audit = next;
    assert_int_equal(f.n_logged, 2);
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(told_dropped(&f), 5);
    unmake(&f);
    place_remove(&f);
}

/* Nothing was written or said before the end. */
static void a_file_that_fails_first_at_the_end_is_said_once(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, "/dev/full", 0, 0, false), 0);
    run(&f, "quick");
    run(&f, "nothing");
    watch_set_audit(f.watch, NULL);
    assert_int_equal(audit_n_dropped(f.audit), 2);
    unmake(&f);
    assert_int_equal(f.n_logged, 1);
    assert_non_null(strstr(f.logged, "2 lines about calls are lost"));
    place_remove(&f);
}

/* Whoever says that the file is another one need not wait until it would be tried again. */
static void what_waits_goes_to_the_file_that_is_opened_anew(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(symlink("/dev/full", f.path), 0);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    close_audit(&f);
    assert_int_equal(audit_new(&f.audit, &(AuditConfig){.loop = hub_loop(f.hub),
                                                        .path = f.path,
                                                        .retry_ms = 600000,
                                                        .log = &f.log}),
                     0);
    watch_set_audit(f.watch, f.audit);
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(unlink(f.path), 0);
    audit_reopen(f.audit);
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(audit_n_dropped(f.audit), 0);
    unmake(&f);
    place_remove(&f);
}

static void lines_wait_for_a_file_that_can_be_written_again(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    /* A folder has the name. */
    assert_int_equal(mkdir(f.path, 0700), 0);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    assert_int_equal(f.n_logged, 1);
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(rmdir(f.path), 0);
    turn(&f, RETRY_MS + 1);
    assert_int_equal(count(&f, 0, "quick\",\"outcome\""), 1);
    assert_int_equal(f.n_logged, 2);
    assert_non_null(strstr(f.logged, "again"));
    unmake(&f);
    place_remove(&f);
}

static void what_finds_no_room_is_counted_and_told_in_the_next_line(void **state)
{
    Fixture f;
    size_t n = 0;

    (void)state;
    place_make(&f);
    assert_int_equal(mkdir(f.path, 0700), 0);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    while (audit_n_dropped(f.audit) < 3) {
        run(&f, "quick");
        n++;
        assert_true(n < LIMIT_AUDIT_WAITING_BYTES / 100);
    }
    assert_int_equal(rmdir(f.path), 0);
    turn(&f, RETRY_MS + 1);
    assert_int_equal(count(&f, 0, "\n"), n - 3);
    assert_int_equal(count(&f, 0, "dropped"), 0);
    run(&f, "quick");
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\n"), n - 1);
    assert_int_equal(count(&f, 0, "\"dropped\":3}"), 1);
    assert_int_equal(count(&f, 0, "dropped"), 1);
    expect_lines(&f, 0);
    unmake(&f);
    place_remove(&f);
}

static void what_cannot_be_moved_aside_is_kept_and_no_line_comes_twice(void **state)
{
    char name[80];
    Fixture f;

    (void)state;
    place_make(&f);
    (void)snprintf(name, sizeof(name), "%s.1", f.path);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(make(&f, f.path, 500, 1, false), 0);
    run(&f, "quick");
    run(&f, "quick");
    run(&f, "nothing");
    turn(&f, 0);
    assert_int_equal(f.n_logged, 1);
    assert_int_equal(count(&f, 0, "\n"), 2);
    assert_int_equal(rmdir(name), 0);
    turn(&f, RETRY_MS + 1);
    assert_int_equal(count(&f, 1, "\n"), 2);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(count(&f, 0, "nothing"), 1);
    unmake(&f);
    place_remove(&f);
}

static void a_line_without_memory_is_lost_and_told(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    alloc_testing_reset(0);
    run(&f, "quick");
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(audit_n_dropped(f.audit), 1);
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(count(&f, 0, "\n"), 1);
    assert_int_equal(count(&f, 0, "\"dropped\":1}"), 1);
    unmake(&f);
    place_remove(&f);
}

static void what_was_lost_last_is_told_at_the_end(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(mkdir(f.path, 0700), 0);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    while (audit_n_dropped(f.audit) < 2) {
        run(&f, "quick");
    }
    assert_int_equal(rmdir(f.path), 0);
    unmake(&f);
    assert_int_equal(count(&f, 0, "\"dropped\":2}"), 1);
    expect_lines(&f, 0);
    place_remove(&f);
}

static void a_file_that_others_moved_is_opened_anew(void **state)
{
    char name[80];
    Fixture f;

    (void)state;
    place_make(&f);
    assert_int_equal(make(&f, f.path, 0, 0, false), 0);
    run(&f, "quick");
    turn(&f, 0);
    (void)snprintf(name, sizeof(name), "%s.1", f.path);
    assert_int_equal(rename(f.path, name), 0);
    run(&f, "nothing");
    audit_reopen(f.audit);
    run(&f, "quick");
    turn(&f, 0);
    assert_int_equal(count(&f, 1, "\n"), 2);
    assert_int_equal(count(&f, 0, "\n"), 1);
    unmake(&f);
    place_remove(&f);
}

static int scenario(void *context)
{
    Fixture *f = context;
    int r;

    f->hub = NULL;
    f->watch = NULL;
    f->audit = NULL;
    f->turn = NULL;
    r = make(f, f->path, 0, 0, true);
    unmake(f);
    return r;
}

static void every_lack_of_memory_is_told(void **state)
{
    Fixture f;

    (void)state;
    place_make(&f);
    test_oom_sweep(scenario, &f);
    place_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_written_in_order_once_a_turn),
        cmocka_unit_test(what_waits_is_written_at_the_end),
        cmocka_unit_test(arguments_are_kept_masked_if_that_is_switched_on),
        cmocka_unit_test(long_arguments_are_left_out_and_the_line_says_so),
        cmocka_unit_test(a_long_file_is_moved_aside_between_lines),
        cmocka_unit_test(a_line_longer_than_a_file_may_be_is_alone_in_one),
        cmocka_unit_test(a_full_disk_is_said_once_and_calls_go_on),
        cmocka_unit_test(what_waits_when_the_record_ends_is_counted_and_said),
        cmocka_unit_test(a_file_that_fails_first_at_the_end_is_said_once),
        cmocka_unit_test(what_waits_goes_to_the_file_that_is_opened_anew),
        cmocka_unit_test(lines_wait_for_a_file_that_can_be_written_again),
        cmocka_unit_test(what_finds_no_room_is_counted_and_told_in_the_next_line),
        cmocka_unit_test(what_cannot_be_moved_aside_is_kept_and_no_line_comes_twice),
        cmocka_unit_test(a_line_without_memory_is_lost_and_told),
        cmocka_unit_test(what_was_lost_last_is_told_at_the_end),
        cmocka_unit_test(a_file_that_others_moved_is_opened_anew),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
