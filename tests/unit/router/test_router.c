#include "support/cmocka.h"

#include <stdlib.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/router/fake.h"

static void descriptions_that_lack_something_are_refused_by_field(void **state)
{
    static const struct {
        RouterKind kind;
        const char *json;
        const char *field;
    } cases[] = {
        {ROUTER_TOOL, "", ""},
        {ROUTER_TOOL, "[]", ""},
        {ROUTER_TOOL, "{\"name\":", ""},
        {ROUTER_TOOL, "{\"inputSchema\":{\"type\":\"object\"}}", "name"},
        {ROUTER_TOOL, "{\"name\":7,\"inputSchema\":{\"type\":\"object\"}}", "name"},
        {ROUTER_TOOL, "{\"name\":\"\",\"inputSchema\":{\"type\":\"object\"}}", "name"},
        {ROUTER_TOOL, "{\"name\":\"a b\",\"inputSchema\":{\"type\":\"object\"}}", "name"},
        {ROUTER_TOOL, "{\"name\":\"\\u00e4\",\"inputSchema\":{\"type\":\"object\"}}", "name"},
        {ROUTER_TOOL, "{\"name\":\"a\"}", "inputSchema"},
        {ROUTER_TOOL, "{\"name\":\"a\",\"inputSchema\":true}", "inputSchema"},
        {ROUTER_TOOL, "{\"name\":\"a\",\"inputSchema\":{}}", "inputSchema/type"},
        {ROUTER_TOOL, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"array\"}}", "inputSchema/type"},
        {ROUTER_TOOL, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"required\":1}}",
         "inputSchema/required"},
        {ROUTER_TOOL, "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":[]}",
         "outputSchema"},
        {ROUTER_TOOL,
         "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":"
         "{\"properties\":{\"x\":{\"type\":\"int\"}}}}",
         "outputSchema/properties/x/type"},
        {ROUTER_TOOL,
         "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":"
         "{\"readOnlyHint\":\"yes\"}}",
         "annotations/readOnlyHint"},
        {ROUTER_TOOL,
         "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"icons\":[{\"src\":5}]}",
         "icons/0/src"},
        {ROUTER_RESOURCE, "{\"name\":\"a\"}", "uri"},
        {ROUTER_RESOURCE, "{\"uri\":\"u:a\"}", "name"},
        {ROUTER_TEMPLATE, "{\"name\":\"a\"}", "uriTemplate"},
        {ROUTER_TEMPLATE, "{\"name\":\"a\",\"uriTemplate\":\"u:{?a}\"}", "uriTemplate"},
        {ROUTER_TEMPLATE, "{\"uriTemplate\":\"u:{a}\"}", "name"},
        {ROUTER_PROMPT, "{}", "name"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":{}}", "arguments"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":[{\"name\":\"x\"},{}]}", "arguments/1/name"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":[3]}", "arguments/0"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":[{\"name\":\"x\",\"required\":1}]}",
         "arguments/0/required"},
    };
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Diag diag = DIAG_NULL;

        assert_int_equal(fake_add(router, cases[i].kind, cases[i].json, &provider, &diag),
                         ROUTER_E_MALFORMED);
        assert_int_equal(diag.code, ROUTER_E_MALFORMED);
        assert_string_equal(diag.field, cases[i].field);
        assert_true(strlen(diag.message) > 5);
        assert_int_equal(router_count(router, cases[i].kind), 0);
        /* Nobody may want to know. */
        assert_int_equal(fake_add(router, cases[i].kind, cases[i].json, &provider, NULL),
                         ROUTER_E_MALFORMED);
    }
    (void)router_free(router);
    assert_int_equal(provider.n_released, 0);
}

static void tool_names_have_1_to_128_bytes(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    char json[256];
    char name[130];

    (void)state;
    memset(name, 'n', sizeof(name));
    (void)snprintf(json, sizeof(json),
                   "{\"name\":\"%.128s\",\"inputSchema\":{\"type\":\"object\"}}", name);
    assert_int_equal(fake_add(router, ROUTER_TOOL, json, &provider, NULL), 0);
    (void)snprintf(json, sizeof(json),
                   "{\"name\":\"%.129s\",\"inputSchema\":{\"type\":\"object\"}}", name);
    assert_int_equal(fake_add(router, ROUTER_TOOL, json, &provider, NULL), ROUTER_E_MALFORMED);
    fake_add_tool(router, "A-z_0.9/x", &provider);
    (void)router_free(router);
}

static JsonValue listed;

static void take_first(Call *call, const CallResult *result)
{
    (void)call;
    assert_int_equal(result->n_entries, 1);
    listed = result->entries[0];
}

static void description_is_kept_without_white_space_and_otherwise_as_it_was(void **state)
{
    static const CallDoor door = {.finish = take_first};
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Call call;

    (void)state;
    assert_int_equal(fake_add(router, ROUTER_TOOL,
                              "{ \"x-new\" : [ 1.50, \"a b\" ],\n \"name\": \"t\\u0031\","
                              " \"inputSchema\": {\"type\" : \"object\"} }",
                              &provider, NULL),
                     0);
    assert_true(router_has_tool(router, SPAN("t1")));
    call_init(&call);
    call.door = &door;
    call.verb = CALL_LIST_TOOLS;
    router_dispatch(router, NULL, &call);
    assert_true(
        span_equals(json_span(listed), SPAN("{\"x-new\":[1.50,\"a b\"],\"name\":\"t\\u0031\","
                                            "\"inputSchema\":{\"type\":\"object\"}}")));
    call_deinit(&call);
    (void)router_free(router);
}

static void names_are_unique_within_their_kind(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider first = {.plan = FAKE_ECHO};
    FakeProvider second = {.plan = FAKE_ECHO};
    Diag diag = DIAG_NULL;

    (void)state;
    fake_add_tool(router, "same", &first);
    assert_int_equal(fake_add(router, ROUTER_TOOL,
                              "{\"name\":\"same\",\"inputSchema\":{\"type\":\"object\"}}", &second,
                              &diag),
                     ROUTER_E_EXISTS);
    assert_non_null(strstr(diag.message, "same"));
    assert_int_equal(fake_add(router, ROUTER_PROMPT, "{\"name\":\"same\"}", &second, NULL), 0);
    assert_int_equal(router_count(router, ROUTER_TOOL), 1);
    assert_int_equal(router_count(router, ROUTER_PROMPT), 1);
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("none")), ROUTER_E_MISSING);
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("same")), 0);
    assert_int_equal(first.n_released, 1);
    assert_false(router_has_tool(router, SPAN("same")));
    (void)router_free(router);
    assert_int_equal(first.n_released, 1);
    assert_int_equal(second.n_released, 1);
}

static void completions_are_there_while_an_entry_has_them(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};

    (void)state;
    fake_add_tool(router, "t", &provider);
    assert_false(router_has_completions(router));
    assert_int_equal(fake_add(router, ROUTER_PROMPT, "{\"name\":\"p\"}", &provider, NULL), 0);
    assert_true(router_has_completions(router));
    assert_int_equal(router_remove(router, ROUTER_PROMPT, SPAN("p")), 0);
    assert_false(router_has_completions(router));
    (void)router_free(router);
}

static void lists_are_in_order_of_addition(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Asker asker;

    (void)state;
    asker_init(&asker);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_int_equal(asker.kind, CALL_RESULT_LIST);
    assert_string_equal(asker.content, "");
    fake_add_tool(router, "z", &provider);
    fake_add_tool(router, "a", &provider);
    fake_add_tool(router, "m", &provider);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_string_equal(asker.content, "z a m");
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("z")), 0);
    fake_add_tool(router, "z", &provider);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_string_equal(asker.content, "a m z");
    assert_string_equal(asker.cursor, "");
    assert_int_equal(
        fake_add(router, ROUTER_RESOURCE, "{\"uri\":\"u:1\",\"name\":\"r\"}", &provider, NULL), 0);
    assert_int_equal(fake_add(router, ROUTER_TEMPLATE, "{\"uriTemplate\":\"u:{x}\",\"name\":\"t\"}",
                              &provider, NULL),
                     0);
    assert_int_equal(fake_add(router, ROUTER_PROMPT, "{\"name\":\"p\"}", &provider, NULL), 0);
    asker_ask(&asker, router, CALL_LIST_RESOURCES, "", NULL);
    assert_string_equal(asker.content, "r");
    asker_ask(&asker, router, CALL_LIST_TEMPLATES, "", NULL);
    assert_string_equal(asker.content, "t");
    asker_ask(&asker, router, CALL_LIST_PROMPTS, "", NULL);
    assert_string_equal(asker.content, "p");
    asker_deinit(&asker);
    (void)router_free(router);
}

/* Asks for the page behind a cursor. */
static void ask_page(Asker *asker, Router *router, CallVerb verb, const char *cursor)
{
    char copy[64];

    fake_copy(copy, sizeof(copy), span_from_str(cursor));
    asker_prepare(asker, verb, "", NULL);
    asker->call.has_cursor = true;
    asker->call.cursor = span_from_str(copy);
    router_dispatch(router, NULL, &asker->call);
}

static void pages_follow_one_another_while_entries_come_and_go(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    char name[2] = "a";
    char cursor[64];
    Asker asker;

    (void)state;
    asker_init(&asker);
    for (; name[0] <= 'g'; name[0]++) {
        fake_add_tool(router, name, &provider);
    }
    router_set_page_size(router, 3);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_string_equal(asker.content, "a b c");
    fake_copy(cursor, sizeof(cursor), span_from_str(asker.cursor));
    ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
    assert_string_equal(asker.content, "d e f");
    /* The entry that the cursor names goes, and so does the next; one comes. */
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("c")), 0);
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("d")), 0);
    fake_add_tool(router, "h", &provider);
    ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
    assert_string_equal(asker.content, "e f g");
    ask_page(&asker, router, CALL_LIST_TOOLS, asker.cursor);
    assert_string_equal(asker.content, "h");
    assert_string_equal(asker.cursor, "");
    /* A page that ends with the list has no next one. */
    router_set_page_size(router, 6);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_string_equal(asker.content, "a b e f g h");
    assert_string_equal(asker.cursor, "");
    /* All behind it are gone: an empty page, not an error. */
    for (name[0] = 'e'; name[0] <= 'h'; name[0]++) {
        assert_int_equal(router_remove(router, ROUTER_TOOL, span_make(name, 1)), 0);
    }
    ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
    assert_int_equal(asker.kind, CALL_RESULT_LIST);
    assert_string_equal(asker.content, "");
    asker_deinit(&asker);
    (void)router_free(router);
}

static void what_is_replaced_has_its_place_again(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    char cursor[64];
    Asker asker;

    (void)state;
    asker_init(&asker);
    fake_add_tool(router, "last", &provider);
    router_set_rank(router, 1);
    fake_add_tool(router, "c", &provider);
    fake_add_tool(router, "d", &provider);
    router_set_rank(router, 0);
    fake_add_tool(router, "a", &provider);
    fake_add_tool(router, "b", &provider);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    assert_string_equal(asker.content, "a b c d last");
    /* Pages go on, whatever has come before. */
    router_set_page_size(router, 2);
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    fake_copy(cursor, sizeof(cursor), span_from_str(asker.cursor));
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("a")), 0);
    fake_add_tool(router, "a", &provider);
    router_set_rank(router, ROUTER_RANK_LAST);
    fake_add_tool(router, "new", &provider);
    ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
    assert_string_equal(asker.content, "a c");
    ask_page(&asker, router, CALL_LIST_TOOLS, asker.cursor);
    assert_string_equal(asker.content, "d last");
    ask_page(&asker, router, CALL_LIST_TOOLS, asker.cursor);
    assert_string_equal(asker.content, "new");
    asker_deinit(&asker);
    (void)router_free(router);
}

/* An entry of any kind whose description has n_bytes. */
static void add_long(Router *router, RouterKind kind, char name, size_t n_bytes,
                     FakeProvider *provider)
{
    char *json = malloc(n_bytes + 1);
    int n;

    assert_non_null(json);
    n = snprintf(json, n_bytes,
                 "{\"name\":\"%c\",\"uri\":\"u:%c\",\"uriTemplate\":\"u:%c{x}\","
                 "\"inputSchema\":{\"type\":\"object\"},\"description\":\"",
                 name, name, name);
    assert_true(n > 0 && (size_t)n + 2 < n_bytes);
    memset(json + n, 'd', n_bytes - (size_t)n - 2);
    memcpy(json + n_bytes - 2, "\"}", 3);
    assert_int_equal(fake_add(router, kind, json, provider, NULL), 0);
    free(json);
}

static void page_ends_before_it_is_too_long(void **state)
{
    static const CallVerb verbs[ROUTER_N_KINDS] = {
        [ROUTER_TOOL] = CALL_LIST_TOOLS,
        [ROUTER_RESOURCE] = CALL_LIST_RESOURCES,
        [ROUTER_TEMPLATE] = CALL_LIST_TEMPLATES,
        [ROUTER_PROMPT] = CALL_LIST_PROMPTS,
    };
    static const char *const pages[] = {"a b c d", "e f g h", "i"};
    const size_t quarter = LIMIT_LIST_PAGE_BYTES / 4;
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Asker asker;

    (void)state;
    asker_init(&asker);
    for (RouterKind kind = ROUTER_TOOL; kind < ROUTER_N_KINDS; kind++) {
        /* Four quarters just fit; with something small among them the fourth does not. */
        for (char name = 'a'; name <= 'i'; name++) {
            add_long(router, kind, name, name == 'e' ? 200 : quarter, &provider);
        }
        asker_ask(&asker, router, verbs[kind], "", NULL);
        for (size_t i = 0; i < TW_ARRAY_SIZE(pages); i++) {
            assert_int_equal(asker.kind, CALL_RESULT_LIST);
            assert_string_equal(asker.content, pages[i]);
            assert_int_equal(asker.cursor[0] == '\0', i + 1 == TW_ARRAY_SIZE(pages));
            if (i + 1 < TW_ARRAY_SIZE(pages)) {
                ask_page(&asker, router, verbs[kind], asker.cursor);
            }
        }
        /* The number of entries ends it, too. */
        router_set_page_size(router, 1);
        asker_ask(&asker, router, verbs[kind], "", NULL);
        assert_string_equal(asker.content, "a");
        router_set_page_size(router, 0);
    }
    asker_deinit(&asker);
    (void)router_free(router);
}

static void invented_cursors_are_refused(void **state)
{
    static const char *const invented[] = {"",
                                           "2",
                                           "abc",
                                           "AAAAAAAAAAAAAAAAAAAAAA",
                                           "AAAAAAAAAAEAAAAAAAAAAA",
                                           "!!!!!!!!!!!!!!!!!!!!!!"};
    Router *router = fake_router(NULL);
    Router *other = NULL;
    FakeProvider provider = {.plan = FAKE_ECHO};
    char cursor[64];
    Asker asker;

    (void)state;
    asker_init(&asker);
    fake_add_tool(router, "a", &provider);
    fake_add_tool(router, "b", &provider);
    router_set_page_size(router, 1);
    for (size_t i = 0; i < TW_ARRAY_SIZE(invented); i++) {
        ask_page(&asker, router, CALL_LIST_TOOLS, invented[i]);
        assert_int_equal(asker.error, CALL_ERROR_INVALID_CURSOR);
    }
    asker_ask(&asker, router, CALL_LIST_TOOLS, "", NULL);
    fake_copy(cursor, sizeof(cursor), span_from_str(asker.cursor));
    /* Right, but of another list; of another router; with one letter changed. */
    ask_page(&asker, router, CALL_LIST_PROMPTS, cursor);
    assert_int_equal(asker.error, CALL_ERROR_INVALID_CURSOR);
    assert_int_equal(router_new(&other, NULL, (HashSeed){1, 2}), 0);
    ask_page(&asker, other, CALL_LIST_TOOLS, cursor);
    assert_int_equal(asker.error, CALL_ERROR_INVALID_CURSOR);
    for (size_t i = 0; i < strlen(cursor); i++) {
        char kept = cursor[i];

        cursor[i] = kept == 'A' ? 'B' : 'A';
        ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
        assert_int_equal(asker.error, CALL_ERROR_INVALID_CURSOR);
        cursor[i] = kept;
    }
    ask_page(&asker, router, CALL_LIST_TOOLS, cursor);
    assert_string_equal(asker.content, "b");
    asker_deinit(&asker);
    (void)router_free(router);
    (void)router_free(other);
}

typedef struct Ear {
    RouterListener listener;
    size_t n_changed[ROUTER_N_KINDS];
    char updated[32];
    Router *leaves;       /* unlistens when told */
    RouterListener *goer; /* the one that does so; NULL: itself */
} Ear;

static void ear_changed(RouterListener *listener, RouterKind kind)
{
    Ear *ear = (Ear *)listener;

    ear->n_changed[kind]++;
    if (ear->leaves != NULL) {
        router_unlisten(ear->leaves, ear->goer == NULL ? listener : ear->goer);
        ear->leaves = NULL;
    }
}

static void ear_updated(RouterListener *listener, Span uri)
{
    Ear *ear = (Ear *)listener;

    fake_copy(ear->updated, sizeof(ear->updated), uri);
}

static void listeners_are_told_and_may_leave_while_they_are(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Ear ears[3] = {{.leaves = NULL}, {.leaves = router}, {.leaves = NULL}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ears[i].listener = (RouterListener){.changed = ear_changed, .updated = ear_updated};
        router_listen(router, &ears[i].listener);
    }
    fake_add_tool(router, "a", &provider);
    fake_add_tool(router, "b", &provider);
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("a")), 0);
    assert_int_equal(router_remove(router, ROUTER_TOOL, SPAN("a")), ROUTER_E_MISSING);
    assert_int_equal(ears[0].n_changed[ROUTER_TOOL], 3);
    assert_int_equal(ears[1].n_changed[ROUTER_TOOL], 1);
    assert_int_equal(ears[2].n_changed[ROUTER_TOOL], 3);
    router_resource_updated(router, SPAN("u:1"));
    assert_string_equal(ears[0].updated, "u:1");
    assert_string_equal(ears[1].updated, "");
    router_unlisten(router, &ears[2].listener);
    router_resource_updated(router, SPAN("u:2"));
    assert_string_equal(ears[0].updated, "u:2");
    assert_string_equal(ears[2].updated, "u:1");
    router_unlisten(router, &ears[0].listener);
    (void)router_free(router);
}

static void listener_that_was_to_be_told_next_may_be_taken_away(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Ear ears[3] = {{.leaves = NULL}, {.leaves = NULL}, {.leaves = router}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        ears[i].listener = (RouterListener){.changed = ear_changed};
        router_listen(router, &ears[i].listener);
    }
    /* The newest is told first, and takes the one behind it away. */
    ears[2].goer = &ears[1].listener;
    fake_add_tool(router, "a", &provider);
    assert_int_equal(ears[2].n_changed[ROUTER_TOOL], 1);
    assert_int_equal(ears[1].n_changed[ROUTER_TOOL], 0);
    assert_int_equal(ears[0].n_changed[ROUTER_TOOL], 1);
    router_unlisten(router, &ears[0].listener);
    router_unlisten(router, &ears[2].listener);
    (void)router_free(router);
}

static void batch_tells_once_for_each_kind_at_its_end(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    Ear ear = {.listener = {.changed = ear_changed}};

    (void)state;
    router_listen(router, &ear.listener);
    router_batch_begin(router);
    fake_add_tool(router, "a", &provider);
    router_batch_begin(router);
    fake_add_tool(router, "b", &provider);
    assert_int_equal(fake_add(router, ROUTER_PROMPT, "{\"name\":\"p\"}", &provider, NULL), 0);
    router_batch_end(router);
    assert_int_equal(ear.n_changed[ROUTER_TOOL], 0);
    router_batch_end(router);
    assert_int_equal(ear.n_changed[ROUTER_TOOL], 1);
    assert_int_equal(ear.n_changed[ROUTER_PROMPT], 1);
    assert_int_equal(ear.n_changed[ROUTER_RESOURCE], 0);
    router_batch_begin(router);
    router_batch_end(router);
    assert_int_equal(ear.n_changed[ROUTER_TOOL], 1);
    router_unlisten(router, &ear.listener);
    (void)router_free(router);
}

static void kind_that_is_full_takes_no_more(void **state)
{
    Router *router = fake_router(NULL);
    FakeProvider provider = {.plan = FAKE_ECHO};
    char json[64];

    (void)state;
    for (int i = 0; i < LIMIT_ROUTER_ENTRIES; i++) {
        (void)snprintf(json, sizeof(json), "{\"name\":\"r\",\"uri\":\"u:%d\"}", i);
        assert_int_equal(fake_add(router, ROUTER_RESOURCE, json, &provider, NULL), 0);
    }
    assert_int_equal(
        fake_add(router, ROUTER_RESOURCE, "{\"name\":\"r\",\"uri\":\"u:x\"}", &provider, NULL),
        ROUTER_E_FULL);
    assert_int_equal(router_count(router, ROUTER_RESOURCE), LIMIT_ROUTER_ENTRIES);
    assert_int_equal(router_remove(router, ROUTER_RESOURCE, SPAN("u:7")), 0);
    assert_int_equal(
        fake_add(router, ROUTER_RESOURCE, "{\"name\":\"r\",\"uri\":\"u:x\"}", &provider, NULL), 0);
    (void)router_free(router);
}

static int fill(void *context)
{
    static const struct {
        RouterKind kind;
        const char *json;
    } entries[] = {
        {ROUTER_TOOL, "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
                      "{\"n\":{\"type\":\"integer\"}}},\"outputSchema\":{\"type\":\"object\"}}"},
        {ROUTER_RESOURCE, "{\"uri\":\"u:\\u0031\",\"name\":\"r\"}"},
        {ROUTER_TEMPLATE, "{\"uriTemplate\":\"u:{x}\",\"name\":\"t\"}"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\",\"required\":true}]}"},
    };
    FakeProvider provider = {.plan = FAKE_ECHO};
    Router *router = NULL;
    size_t n_added = 0;
    int r = router_new(&router, NULL, fake_seed);

    (void)context;
    for (size_t i = 0; i < TW_ARRAY_SIZE(entries) && r == 0; i++) {
        r = fake_add(router, entries[i].kind, entries[i].json, &provider, NULL);
        n_added += r == 0;
    }
    (void)router_free(router);
    /* What was not put in is not released. */
    assert_int_equal(provider.n_released, n_added);
    return r;
}

static void want_of_memory_leaves_the_registry_whole(void **state)
{
    (void)state;
    test_oom_sweep(fill, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_that_lack_something_are_refused_by_field),
        cmocka_unit_test(tool_names_have_1_to_128_bytes),
        cmocka_unit_test(description_is_kept_without_white_space_and_otherwise_as_it_was),
        cmocka_unit_test(names_are_unique_within_their_kind),
        cmocka_unit_test(completions_are_there_while_an_entry_has_them),
        cmocka_unit_test(lists_are_in_order_of_addition),
        cmocka_unit_test(what_is_replaced_has_its_place_again),
        cmocka_unit_test(pages_follow_one_another_while_entries_come_and_go),
        cmocka_unit_test(page_ends_before_it_is_too_long),
        cmocka_unit_test(invented_cursors_are_refused),
        cmocka_unit_test(listeners_are_told_and_may_leave_while_they_are),
        cmocka_unit_test(listener_that_was_to_be_told_next_may_be_taken_away),
        cmocka_unit_test(batch_tells_once_for_each_kind_at_its_end),
        cmocka_unit_test(kind_that_is_full_takes_no_more),
        cmocka_unit_test(want_of_memory_leaves_the_registry_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
