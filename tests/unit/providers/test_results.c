#include "providers/results.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define MAX_BYTES 1000

typedef struct Asker {
    Call call;
    CallResultKind kind;
    CallError error;
    bool is_error;
    bool has_structured;
    bool has_members;
    bool has_elements;
    size_t n_task; /* bytes of a task's result */
    char text[300000];
} Asker;

static void asker_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;
    size_t n = 0;

    asker->kind = result->kind;
    if (result->kind == CALL_RESULT_TASK) {
        asker->n_task = result->tasks[0].result->pieces[0].n;
    }
    asker->error = result->error;
    asker->is_error = result->is_error;
    asker->has_structured = result->structured.n > 0;
    asker->has_elements = result->elements.node != NULL;
    asker->has_members = result->members.n > 0 && result->meta.n > 0;
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_true(n + result->pieces[i].n < sizeof(asker->text));
        memcpy(asker->text + n, result->pieces[i].p, result->pieces[i].n);
        n += result->pieces[i].n;
    }
    asker->text[n] = '\0';
}

static const CallDoor asker_door = {.finish = asker_finish};
static const CallAsker model = {.dialect = "test", .who = "test", .is_model = true};
static const CallAsker program = {.dialect = "callsock", .who = "test"};

typedef struct Fixture {
    Router *router;
    Results *results;
    Asker asker;
    Arena arena;
    const char *content; /* what the tool answers */
    const char *structured;
    int64_t now_ms;
} Fixture;

/* What the last fixture is told. */
static Fixture *current;

static void tool_start(void *context, Call *call)
{
    Fixture *f = context;
    const Span pieces[] = {span_from_str(f->content)};
    /* Whoever passes on what another server said has parsed it; of what, does not matter here. */
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &f->arena, "[1]", 3, NULL, NULL), 0);
    call_finish(call, &(CallResult){.kind = CALL_RESULT_TOOL,
                                    .pieces = pieces,
                                    .n_pieces = 1,
                                    .elements = json_root(&doc),
                                    .structured = span_from_str(f->structured),
                                    .members = SPAN("\"more\":1.0"),
                                    .meta = SPAN("{\"m\":1}"),
                                    .is_error = true});
}

static const CallProvider tool_provider = {.name = "test", .start = tool_start};

static int64_t now_ms(void *context)
{
    (void)context;
    return current->now_ms;
}

static int count_up(uint8_t *p, size_t n)
{
    static uint32_t last;

    memset(p, 0, n);
    last++;
    memcpy(p, &last, sizeof(last));
    return 0;
}

static int fixture_init(Fixture *f)
{
    int r;

    memset(f, 0, sizeof(*f));
    current = f;
    f->structured = "";
    arena_init(&f->arena, SIZE_MAX);
    call_init(&f->asker.call);
    r = router_new(&f->router, NULL, (HashSeed){1, 2});
    r = r != 0 ? r
               : results_new(&f->results,
                             &(ResultsConfig){.router = f->router,
                                              .max_bytes = MAX_BYTES,
                                              .now_ms = now_ms,
                                              .random = count_up},
                             NULL);
    for (int i = 0; r == 0 && i < 2; i++) {
        r = router_add(f->router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .json = i == 0 ? SPAN("{\"name\":\"t\",\"inputSchema\":{"
                                                           "\"type\":\"object\"}}")
                                                    : SPAN("{\"name\":\"typed\",\"inputSchema\":{"
                                                           "\"type\":\"object\"},\"outputSchema\":"
                                                           "{\"type\":\"object\"}}"),
                                     .provider = &tool_provider,
                                     .context = f},
                       NULL);
    }
    return r;
}

static void fixture_deinit(Fixture *f)
{
    f->results = results_free(f->results);
    f->router = router_free(f->router);
    call_deinit(&f->asker.call);
    arena_deinit(&f->arena);
}

static const char *ask(Fixture *f, CallVerb verb, const char *target, const char *arguments,
                       const char *owner, const CallAsker *asker)
{
    Call *call = &f->asker.call;
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &f->arena, arguments, strlen(arguments), NULL, NULL), 0);
    call_reset(call);
    call->door = &asker_door;
    call->asker = asker;
    call->verb = verb;
    call->target = span_from_str(target);
    call->arguments = json_root(&doc);
    call->owner = span_from_str(owner);
    router_dispatch(f->router, NULL, call);
    return f->asker.text;
}

/* A text block of so many letters, and between them a sign of two bytes. */
static const char *long_text(Fixture *f, size_t n)
{
    char *text = arena_alloc(&f->arena, n + 64);
    size_t at = (size_t)snprintf(text, n + 64, "{\"type\":\"text\",\"text\":\"");

    for (size_t i = 0; i + 1 < n; i += 2) {
        memcpy(text + at, i % 10 == 8 ? "\xC3\xA9" : "ab", 2);
        at += 2;
    }
    memcpy(text + at, "\"}", 3);
    return text;
}

/* The first ID in what was answered. */
static const char *found_id(const Fixture *f)
{
    static char id[33];
    const char *at = strstr(f->asker.text, RESULTS_URI);

    assert_non_null(at);
    memcpy(id, at + strlen(RESULTS_URI), 32);
    return id;
}

static const char *uri_of(const char *id, const char *query)
{
    static char uri[256];

    (void)snprintf(uri, sizeof(uri), RESULTS_URI "%s%s", id, query);
    return uri;
}

static void short_results_and_those_for_programs_are_left_alone(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.content = long_text(&f, 900);
    assert_string_equal(ask(&f, CALL_TOOL, "t", "{}", "", &model), f.content);
    f.content = long_text(&f, 5000);
    assert_string_equal(ask(&f, CALL_TOOL, "t", "{}", "", &program), f.content);
    fixture_deinit(&f);
}

static void a_long_text_becomes_a_beginning_and_a_link(void **state)
{
    Fixture f;
    char arguments[128];
    const char *id;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.content = long_text(&f, 5000);
    (void)ask(&f, CALL_TOOL, "t", "{}", "ann", &model);
    assert_true(strlen(f.asker.text) < 2 * MAX_BYTES);
    assert_true(f.asker.is_error && f.asker.has_members);
    assert_false(f.asker.has_elements); /* they are others now */
    assert_non_null(strstr(f.asker.text, "[The result is shortened: 1000 of 5000 bytes"));
    assert_non_null(strstr(f.asker.text, "{\"type\":\"resource_link\",\"uri\":\"" RESULTS_URI));
    id = found_id(&f);
    /* All of it, and parts, from the beginning of a character to the end of one. */
    assert_int_equal(strlen(ask(&f, CALL_READ, uri_of(id, ""), "{}", "ann", &model)),
                     5000 + strlen("{\"uri\":\"\",\"mimeType\":\"text/plain\",\"text\":\"\"}") +
                         strlen(uri_of(id, "")));
    assert_non_null(
        strstr(ask(&f, CALL_READ, uri_of(id, "?offset=4&length=6"), "{}", "ann", &model),
               "\"text\":\"abab\xC3\xA9\""));
    assert_non_null(
        strstr(ask(&f, CALL_READ, uri_of(id, "?offset=9&length=1"), "{}", "ann", &model),
               "\"text\":\"\xC3\xA9\""));
    assert_non_null(strstr(ask(&f, CALL_READ, uri_of(id, "?offset=9999"), "{}", "ann", &model),
                           "\"text\":\"\""));
    (void)ask(&f, CALL_READ, uri_of(id, "?offset=x"), "{}", "ann", &model);
    assert_int_equal(f.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    /* By the tool, which is not shortened itself. */
    (void)snprintf(arguments, sizeof(arguments), "{\"id\":\"%s\",\"offset\":4998,\"length\":90000}",
                   id);
    assert_non_null(strstr(ask(&f, CALL_TOOL, "read_result", arguments, "ann", &model),
                           "[bytes 4998 to 5000 of 5000]"));
    (void)snprintf(arguments, sizeof(arguments), "{\"id\":\"%s\"}", uri_of(id, ""));
    assert_non_null(strstr(ask(&f, CALL_TOOL, "read_result", arguments, "ann", &model),
                           "[bytes 0 to 1000 of 5000]"));
    fixture_deinit(&f);
}

static void nobody_else_reads_it_and_it_does_not_stay_for_ever(void **state)
{
    Fixture f;
    char arguments[128];
    const char *id;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.content = long_text(&f, 5000);
    (void)ask(&f, CALL_TOOL, "t", "{}", "ann", &model);
    id = found_id(&f);
    (void)ask(&f, CALL_READ, uri_of(id, ""), "{}", "bob", &model);
    assert_int_equal(f.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    (void)snprintf(arguments, sizeof(arguments), "{\"id\":\"%s\"}", id);
    (void)ask(&f, CALL_TOOL, "read_result", arguments, "bob", &model);
    assert_true(f.asker.is_error);
    /* The same again is the same. */
    (void)ask(&f, CALL_TOOL, "t", "{}", "ann", &model);
    assert_non_null(strstr(f.asker.text, id));
    f.now_ms += LIMIT_RESULTS_MS + 1;
    (void)ask(&f, CALL_READ, uri_of(id, ""), "{}", "ann", &model);
    assert_int_equal(f.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    fixture_deinit(&f);
}

static void who_has_most_makes_room_first(void **state)
{
    Fixture f;
    char id[33];

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.content = long_text(&f, 2000);
    (void)ask(&f, CALL_TOOL, "t", "{}", "ann", &model);
    memcpy(id, found_id(&f), sizeof(id));
    for (size_t i = 0; i < LIMIT_RESULTS_COUNT + 10; i++) {
        f.content = long_text(&f, 3000 + 2 * i);
        (void)ask(&f, CALL_TOOL, "t", "{}", "bob", &model);
        arena_reset(&f.arena, 0);
    }
    (void)ask(&f, CALL_READ, uri_of(id, ""), "{}", "ann", &model);
    assert_int_equal(f.asker.kind, CALL_RESULT_RESOURCE);
    fixture_deinit(&f);
}

static void structured_content_is_left_out_unless_a_schema_wants_it(void **state)
{
    Fixture f;
    char structured[3000];

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    memset(structured, ' ', sizeof(structured));
    memcpy(structured, "{\"a\":\"", 6);
    memset(structured + 6, 'x', 2000);
    memcpy(structured + 2006, "\"}", 3);
    f.structured = structured;
    f.content = "{\"type\":\"text\",\"text\":\"short\"}";
    (void)ask(&f, CALL_TOOL, "t", "{}", "", &model);
    assert_false(f.asker.has_structured);
    assert_non_null(strstr(f.asker.text, "\"mimeType\":\"application/json\""));
    assert_non_null(strstr(ask(&f, CALL_READ, uri_of(found_id(&f), ""), "{}", "", &model),
                           "{\\\"a\\\":\\\"xxx"));
    f.content = long_text(&f, 5000);
    (void)ask(&f, CALL_TOOL, "typed", "{}", "", &model);
    assert_true(f.asker.has_structured);
    assert_non_null(strstr(f.asker.text, "shortened"));
    fixture_deinit(&f);
}

static void other_blocks_become_links_of_their_own(void **state)
{
    Fixture f;
    char content[8192];
    int n = snprintf(content, sizeof(content),
                     "{\"type\":\"text\",\"text\":\"first\"},{\"type\":\"image\","
                     "\"mimeType\":\"image/png\",\"data\":\"");

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    memset(content + n, 'A', 2000);
    (void)snprintf(content + n + 2000, 100, "\"},{\"type\":\"text\",\"text\":\"last\",\"x\":1.0}");
    f.content = content;
    (void)ask(&f, CALL_TOOL, "t", "{}", "", &model);
    assert_ptr_equal(strstr(f.asker.text, "{\"type\":\"text\",\"text\":\"first\"},{\"type\":"
                                          "\"resource_link\""),
                     f.asker.text);
    assert_non_null(strstr(f.asker.text, ",{\"type\":\"text\",\"text\":\"last\",\"x\":1.0}"));
    assert_null(strstr(f.asker.text, "shortened"));
    assert_non_null(strstr(ask(&f, CALL_READ, uri_of(found_id(&f), ""), "{}", "", &model),
                           "\"mimeType\":\"image/png\",\"blob\":\"AAAA"));
    fixture_deinit(&f);
}

/* Who takes tasks: each has ended with the content of the fixture. */
static void later_start(void *context, Call *call)
{
    Fixture *f = context;
    const Span pieces[] = {span_from_str(f->content)};
    CallResult end = CALL_RESULT_TOOL_PIECES(pieces, 1);
    CallTask task = {.id = SPAN("t1"), .status = CALL_TASK_COMPLETED, .result = &end};

    if (call->verb == CALL_TASK_RESULT) {
        call_finish(call, &end);
    } else {
        call_finish(call, &(CallResult){.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1});
    }
}

static const CallProvider later_provider = {.name = "later", .start = later_start};

static size_t n_told;

static void on_task(RouterListener *listener, const CallTask *task, Span owner)
{
    (void)listener;
    (void)owner;
    n_told = task->result->pieces[0].n;
}

static void results_of_tasks_are_shortened_when_they_are_fetched(void **state)
{
    RouterListener listener = {.task = on_task};
    CallResult end = {.kind = CALL_RESULT_TOOL};
    Span piece;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    f.content = long_text(&f, 5000);
    router_set_later(f.router, &later_provider, &f);
    assert_non_null(strstr(ask(&f, CALL_TASK_RESULT, "t1", "{}", "ann", &model), "shortened"));
    (void)ask(&f, CALL_TASK_GET, "t1", "{}", "ann", &model);
    assert_int_equal(f.asker.kind, CALL_RESULT_TASK);
    assert_true(f.asker.n_task > 0 && f.asker.n_task < 2 * MAX_BYTES);
    /* And when their end is told. */
    piece = span_from_str(f.content);
    end.pieces = &piece;
    end.n_pieces = 1;
    router_listen(f.router, &listener);
    router_task_changed(
        f.router, &(CallTask){.id = SPAN("t1"), .status = CALL_TASK_COMPLETED, .result = &end},
        SPAN("ann"));
    router_unlisten(f.router, &listener);
    assert_true(n_told > 0 && n_told < 2 * MAX_BYTES);
    fixture_deinit(&f);
}

static int everything(void *context)
{
    Fixture *f = context;
    int r = fixture_init(f);

    fixture_deinit(f);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    static Fixture f;

    (void)state;
    test_oom_sweep(everything, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_results_and_those_for_programs_are_left_alone),
        cmocka_unit_test(a_long_text_becomes_a_beginning_and_a_link),
        cmocka_unit_test(nobody_else_reads_it_and_it_does_not_stay_for_ever),
        cmocka_unit_test(who_has_most_makes_room_first),
        cmocka_unit_test(structured_content_is_left_out_unless_a_schema_wants_it),
        cmocka_unit_test(other_blocks_become_links_of_their_own),
        cmocka_unit_test(results_of_tasks_are_shortened_when_they_are_fetched),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
