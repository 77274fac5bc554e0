#include "providers/lazy_tools.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

typedef struct Asker {
    Call call;
    bool is_error;
    size_t n_entries;
    char text[4096];
} Asker;

static void asker_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;
    size_t n = 0;

    asker->is_error = result->is_error || result->kind == CALL_RESULT_ERROR;
    asker->n_entries = result->n_entries;
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_true(n + result->pieces[i].n < sizeof(asker->text));
        memcpy(asker->text + n, result->pieces[i].p, result->pieces[i].n);
        n += result->pieces[i].n;
    }
    asker->text[n] = '\0';
}

static const CallDoor asker_door = {.finish = asker_finish};

/* Name and arguments of the last call that ran. */
static char tool_seen[256];

/* What is there to be found. */
static void tool_start(void *context, Call *call)
{
    CallResult done = {.kind = CALL_RESULT_TOOL};
    Span given = call->arguments.node == NULL ? SPAN("none") : json_span(call->arguments);

    (void)context;
    (void)snprintf(tool_seen, sizeof(tool_seen), "%.*s %.*s", (int)call->target.n, call->target.p,
                   (int)given.n, given.p);
    call_finish(call, &done);
}

static const CallProvider tool_provider = {.name = "test", .start = tool_start};

typedef struct Listener {
    RouterListener listener;
    size_t n_told;
} Listener;

static void on_changed(RouterListener *listener, RouterKind kind)
{
    (void)kind;
    ((Listener *)(void *)listener)->n_told++;
}

typedef struct Fixture {
    Router *router;
    LazyTools *lazy;
    Asker asker;
    Arena arena;
} Fixture;

static const char *const always[] = {"keep_*", "weather", NULL};

static int add_tool(Fixture *f, const char *name, const char *rest)
{
    char json[512];
    int n = snprintf(json, sizeof(json),
                     "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"%s}}", name, rest);

    return router_add(f->router,
                      &(RouterSpec){.kind = ROUTER_TOOL,
                                    .json = span_make(json, (size_t)n),
                                    .provider = &tool_provider},
                      NULL);
}

static int fixture_init(Fixture *f)
{
    int r;

    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, 1 << 20);
    call_init(&f->asker.call);
    r = router_new(&f->router, NULL, (HashSeed){1, 2});
    r = r != 0 ? r : add_tool(f, "weather", "");
    r = r != 0 ? r : lazy_tools_new(&f->lazy, f->router, always, NULL);
    r = r != 0 ? r
               : add_tool(f, "read_file",
                          ",\"properties\":{\"path\":{},\"limit\":{}},\"required\":[\"path\"]");
    r = r != 0 ? r : add_tool(f, "keep_this", "");
    return r;
}

static void fixture_deinit(Fixture *f)
{
    f->lazy = lazy_tools_free(f->lazy);
    f->router = router_free(f->router);
    call_deinit(&f->asker.call);
    arena_deinit(&f->arena);
}

static const char *ask(Fixture *f, const char *tool, const char *arguments)
{
    Call *call = &f->asker.call;
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &f->arena, arguments, strlen(arguments), NULL, NULL), 0);
    call_reset(call);
    call->door = &asker_door;
    call->verb = CALL_TOOL;
    call->target = span_from_str(tool);
    call->arguments = json_root(&doc);
    router_dispatch(f->router, NULL, call);
    return f->asker.text;
}

static size_t count(Fixture *f, bool only_shown)
{
    Call *call = &f->asker.call;

    call_reset(call);
    call->door = &asker_door;
    call->verb = CALL_LIST_TOOLS;
    call->only_shown = only_shown;
    router_dispatch(f->router, NULL, call);
    return f->asker.n_entries;
}

static void lists_hold_the_three_and_what_is_shown_always(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(count(&f, true), 5);
    assert_int_equal(count(&f, false), 6);
    assert_int_equal(router_remove(f.router, ROUTER_TOOL, SPAN("keep_this")), 0);
    assert_int_equal(count(&f, true), 4);
    f.lazy = lazy_tools_free(f.lazy);
    assert_int_equal(count(&f, true), 2);
    fixture_deinit(&f);
}

static void changes_of_hidden_tools_are_told_to_those_who_see_them(void **state)
{
    Listener few = {.listener = {.changed = on_changed, .only_shown = true}};
    Listener all = {.listener = {.changed = on_changed}};
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    router_listen(f.router, &few.listener);
    router_listen(f.router, &all.listener);
    assert_int_equal(add_tool(&f, "hidden", ""), 0);
    assert_int_equal(router_remove(f.router, ROUTER_TOOL, SPAN("hidden")), 0);
    assert_int_equal(few.n_told, 0);
    assert_int_equal(all.n_told, 2);
    router_batch_begin(f.router);
    assert_int_equal(add_tool(&f, "hidden", ""), 0);
    router_batch_end(f.router);
    assert_int_equal(few.n_told, 0);
    assert_int_equal(all.n_told, 3);
    router_batch_begin(f.router);
    assert_int_equal(add_tool(&f, "hidden_too", ""), 0);
    assert_int_equal(add_tool(&f, "keep_that", ""), 0);
    router_batch_end(f.router);
    assert_int_equal(few.n_told, 1);
    assert_int_equal(all.n_told, 4);
    router_unlisten(f.router, &few.listener);
    router_unlisten(f.router, &all.listener);
    fixture_deinit(&f);
}

static void search_names_tools_with_their_parameters(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_non_null(strstr(ask(&f, "search_tools", "{\"query\":\"file\"}"),
                           "1 of 1 tools that match. describe_tool"));
    assert_non_null(strstr(f.asker.text, "\\n- read_file(path, limit?)"));
    assert_false(f.asker.is_error);
    /* What came later is found, too. */
    assert_int_equal(add_tool(&f, "file_size", ""), 0);
    assert_non_null(
        strstr(ask(&f, "search_tools", "{\"query\":\"file\",\"limit\":1}"), "1 of 2 tools"));
    /* All but the three. */
    assert_non_null(strstr(ask(&f, "search_tools", "{\"query\":\"\"}"), "4 of 4 tools"));
    assert_non_null(strstr(ask(&f, "search_tools", "{\"query\":\"zebra\"}"), "No tool of 4"));
    (void)ask(&f, "search_tools", "{\"query\":\"x\",\"limit\":51}");
    assert_true(f.asker.is_error);
    fixture_deinit(&f);
}

static void one_tool_is_described_in_full(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_non_null(strstr(ask(&f, "describe_tool", "{\"name\":\"read_file\"}"),
                           "{\\\"name\\\":\\\"read_file\\\",\\\"inputSchema\\\":{"));
    assert_non_null(strstr(ask(&f, "describe_tool", "{\"name\":\"readFiles\"}"),
                           "There is no tool readFiles. Perhaps one of these is meant:\\n- "
                           "read_file(path"));
    assert_true(f.asker.is_error);
    fixture_deinit(&f);
}

/* The call of a tool that exists never comes here by MCP. */
static void a_call_that_names_no_tool_is_answered(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_non_null(strstr(ask(&f, "call_tool", "{\"name\":\"zebra\"}"),
                           "There is no tool zebra. search_tools finds"));
    assert_true(f.asker.is_error);
    assert_non_null(strstr(ask(&f, "call_tool", "{\"name\":\"call_tool\"}"), "calls other tools"));
    assert_true(f.asker.is_error);
    (void)ask(&f, "call_tool", "{\"name\":\"read_file\",\"arguments\":[]}");
    assert_true(f.asker.is_error);
    fixture_deinit(&f);
}

/* Servers that are about to start: a search before they have would find nothing. */
static void what_is_about_all_tools_waits_for_them(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    router_close_gate(f.router, NULL, NULL);
    f.asker.text[0] = '\0';
    (void)ask(&f, "weather", "{}"); /* it is there, and shown */
    assert_string_equal(tool_seen, "weather {}");
    f.asker.text[0] = '\0';
    assert_string_equal(ask(&f, "search_tools", "{\"query\":\"late\"}"), "");
    assert_int_equal(add_tool(&f, "late_tool", ""), 0);
    router_open_gate(f.router);
    assert_non_null(strstr(f.asker.text, "late_tool"));
    fixture_deinit(&f);
}

/* A call before they have listed waits for them, too, and then runs as any other. */
static void a_call_of_what_has_yet_to_come_waits_for_it(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    router_close_gate(f.router, NULL, NULL);
    f.asker.text[0] = '\0';
    assert_string_equal(
        ask(&f, "call_tool", "{\"name\":\"late\\u005ftool\",\"arguments\":{\"k\":1}}"), "");
    assert_int_equal(add_tool(&f, "late_tool", ""), 0);
    router_open_gate(f.router);
    assert_false(f.asker.is_error);
    assert_string_equal(tool_seen, "late_tool {\"k\":1}");
    router_close_gate(f.router, NULL, NULL);
    f.asker.text[0] = '\0';
    assert_string_equal(ask(&f, "call_tool", "{\"name\":\"late_tol\"}"), "");
    router_open_gate(f.router);
    assert_true(f.asker.is_error);
    assert_non_null(strstr(f.asker.text, "There is no tool late_tol"));
    fixture_deinit(&f);
}

static void a_name_that_is_taken_is_said(void **state)
{
    LazyTools *lazy = NULL;
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.lazy = lazy_tools_free(f.lazy);
    assert_int_equal(add_tool(&f, "describe_tool", ""), 0);
    assert_int_equal(lazy_tools_new(&lazy, f.router, NULL, &diag), LAZY_TOOLS_E_EXISTS);
    assert_non_null(strstr(diag.message, "describe_tool"));
    assert_false(router_hides(f.router));
    assert_false(router_has_tool(f.router, SPAN("search_tools")));
    fixture_deinit(&f);
}

static int everything(void *context)
{
    Fixture f;
    int r = fixture_init(&f);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(everything, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_hold_the_three_and_what_is_shown_always),
        cmocka_unit_test(changes_of_hidden_tools_are_told_to_those_who_see_them),
        cmocka_unit_test(search_names_tools_with_their_parameters),
        cmocka_unit_test(one_tool_is_described_in_full),
        cmocka_unit_test(a_call_that_names_no_tool_is_answered),
        cmocka_unit_test(what_is_about_all_tools_waits_for_them),
        cmocka_unit_test(a_call_of_what_has_yet_to_come_waits_for_it),
        cmocka_unit_test(a_name_that_is_taken_is_said),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
