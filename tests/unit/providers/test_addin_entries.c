/* What is offered by whom, and what of it the router shows. */
#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "providers/addin_entries.h"
#include "providers/addin_words.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define SEED ((HashSeed){1, 2})

#define JSON(name, words)                                                                          \
    "{\"name\":\"" name "\",\"description\":\"" words "\",\"inputSchema\":{\"type\":\"object\"}}"

/* A router, what is in it, and who hears of changes. */
typedef struct World {
    Router *router;
    AddinEntries entries;
    RouterListener listens;
    size_t n_changed;
    Bytes lines;
    LogSink log;
    Call *held;
    char path[64];
} World;

static void world_on_changed(RouterListener *listener, RouterKind kind)
{
    World *world = (World *)((char *)listener - offsetof(World, listens));

    (void)kind;
    world->n_changed++;
}

static void world_on_line(void *context, const char *line, size_t n)
{
    World *world = context;
    size_t fail_at = alloc_testing()->fail_at;

    alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
    assert_int_equal(bytes_append(&world->lines, line, n), 0);
    alloc_testing()->fail_at = fail_at;
}

static void world_start(void *context, Call *call)
{
    const AddinEntry *entry = context;
    World *world = entry->owner;

    world->held = call;
}

static void world_cancel(void *context, Call *call)
{
    const AddinEntry *entry = context;
    World *world = entry->owner;

    assert_ptr_equal(world->held, call);
    world->held = NULL;
}

static const CallProvider world_tools = {.start = world_start, .cancel = world_cancel};

static void world_init(World *world)
{
    size_t fail_at = alloc_testing()->fail_at;

    alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
    *world = (World){.entries = ADDIN_ENTRIES_NULL};
    bytes_init(&world->lines, 1 << 20);
    world->log =
        (LogSink){.level = LOGSINK_LEVEL_DEBUG, .write_fn = world_on_line, .context = world};
    world->listens.changed = world_on_changed;
    assert_int_equal(router_new(&world->router, NULL, SEED), 0);
    router_listen(world->router, &world->listens);
    assert_int_equal(addin_entries_init(&world->entries, world->router, &world_tools, &world_tools,
                                        world, &world->log),
                     0);
    (void)snprintf(world->path, sizeof(world->path), "/tmp/tw-entries-%ld.json", (long)getpid());
    alloc_testing()->fail_at = fail_at;
}

static void world_deinit(World *world)
{
    addin_entries_deinit(&world->entries);
    addin_entries_deinit(&world->entries);
    router_unlisten(world->router, &world->listens);
    world->router = router_free(world->router);
    bytes_deinit(&world->lines);
    (void)unlink(world->path);
}

static int setup(void **state)
{
    World *world = calloc(1, sizeof(*world));

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(world);
    world_init(world);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    World *world = *state;

    world_deinit(world);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(world);
    return 0;
}

static AddinOffers offers_of(const char *name, uint64_t serial)
{
    static char owner;

    return (AddinOffers){.owner = &owner, .name = name, .serial = serial};
}

static int offer(World *world, AddinOffers *offers, const char *key, const char *json)
{
    return addin_entries_offer(&world->entries, offers,
                               &(AddinDescription){.kind = ROUTER_TOOL,
                                                   .key = span_from_str(key),
                                                   .json = span_from_str(json)});
}

static void world_put_file(const World *world, const char *text)
{
    FILE *out = fopen(world->path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* ---- what the router shows ---- */

typedef struct Listing {
    Call call;
    char text[2048];
    CallError error;
} Listing;

static void listing_finish(Call *call, const CallResult *result)
{
    Listing *listing = (Listing *)call;
    size_t n = 0;

    listing->error = result->error;
    for (size_t i = 0; i < result->n_entries; i++) {
        Span json = json_span(result->entries[i]);

        n += (size_t)snprintf(listing->text + n, sizeof(listing->text) - n, "%.*s\n", (int)json.n,
                              json.p);
    }
}

static const CallDoor listing_door = {.finish = listing_finish};

static void assert_shown(World *world, const char *expected)
{
    Listing listing = {.text = ""};

    call_init(&listing.call);
    listing.call.door = &listing_door;
    listing.call.verb = CALL_LIST_TOOLS;
    router_dispatch(world->router, NULL, &listing.call);
    assert_string_equal(listing.text, expected);
    call_deinit(&listing.call);
}

static void assert_logged(const World *world, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= world->lines.n; i++) {
        if (memcmp(world->lines.data + i, part, n) == 0) {
            return;
        }
    }
    fail_msg("\"%.*s\" does not hold \"%s\"", (int)world->lines.n, world->lines.data, part);
}

/* ---- tests ---- */

static void the_newest_is_shown_in_whatever_order_they_come(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers middle = offers_of("middle", 2);
    AddinOffers new = offers_of("new", 3);

    assert_int_equal(offer(world, &middle, "t", JSON("t", "middle")), 0);
    assert_int_equal(offer(world, &new, "t", JSON("t", "new")), 0);
    assert_int_equal(offer(world, &old, "t", JSON("t", "old")), 0);
    assert_shown(world, JSON("t", "new") "\n");
    addin_entries_withdraw(&world->entries, &middle);
    assert_shown(world, JSON("t", "new") "\n");
    assert_int_equal(world->n_changed, 3); /* added; removed and added; and nothing since */
    addin_entries_withdraw(&world->entries, &new);
    assert_shown(world, JSON("t", "old") "\n");
    addin_entries_withdraw(&world->entries, &old);
    assert_shown(world, "");
    addin_entries_withdraw(&world->entries, &old);
}

static void offers_are_told_from_the_newest_and_the_file_is_none(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);
    const AddinEntry *entry;

    world_put_file(world, "["
                          "{\"name\":\"t\",\"description\":\"file\",\"input_schema\":{\"type\":"
                          "\"object\"}}]");
    assert_int_equal(addin_entries_load(&world->entries, world->path, NULL), 0);
    entry = map_get(&world->entries.by_key[ROUTER_TOOL], SPAN("t"));
    assert_true(addin_entry_is_in_file(entry));
    assert_null(addin_entry_offers(entry));
    assert_int_equal(offer(world, &old, "t", JSON("t", "old")), 0);
    assert_int_equal(offer(world, &new, "t", JSON("t", "new")), 0);
    assert_int_equal(offer(world, &new, "u", JSON("u", "new")), 0);
    assert_ptr_equal(addin_entry_offers(entry)->name, new.name);
    assert_ptr_equal(addin_entry_offers(entry)->next->name, old.name);
    assert_false(addin_entry_is_in_file(map_get(&world->entries.by_key[ROUTER_TOOL], SPAN("u"))));
    assert_shown(world, JSON("t", "file") "\n" JSON("u", "new") "\n");
    addin_entries_withdraw(&world->entries, &new);
    addin_entries_withdraw(&world->entries, &old);
    assert_shown(world, JSON("t", "file") "\n");
}

static void a_bad_description_gives_way_without_touching_what_is_shown(void **state)
{
    World *world = *state;
    AddinOffers good = offers_of("good", 1);
    AddinOffers bad = offers_of("bad", 2);

    assert_int_equal(offer(world, &good, "t", JSON("t", "good")), 0);
    assert_int_equal(offer(world, &bad, "t", "{\"name\":\"t\",\"inputSchema\":7}"), 0);
    assert_int_equal(world->n_changed, 1);
    assert_logged(world, "bad: its description of the tool \"t\" is left out: ");
    assert_shown(world, JSON("t", "good") "\n");
    addin_entries_withdraw(&world->entries, &good);
    assert_shown(world, "");
    addin_entries_withdraw(&world->entries, &bad);
    assert_int_equal(world->entries.by_key[ROUTER_TOOL].n, 0);
}

static void another_timeout_is_another_description(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);
    AddinDescription description = {
        .kind = ROUTER_TOOL, .key = SPAN("t"), .json = SPAN(JSON("t", "x")), .timeout_ms = 5};

    assert_int_equal(offer(world, &old, "t", JSON("t", "x")), 0);
    assert_int_equal(addin_entries_offer(&world->entries, &new, &description), 0);
    assert_int_equal(world->n_changed, 3);
    addin_entries_withdraw(&world->entries, &old);
    assert_int_equal(world->n_changed, 3);
    addin_entries_withdraw(&world->entries, &new);
}

static void what_is_shown_is_of_one_who_is_there(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);
    const AddinEntry *entry;

    assert_int_equal(offer(world, &old, "t", JSON("t", "x")), 0);
    assert_int_equal(offer(world, &new, "t", JSON("t", "x")), 0);
    entry = map_get(&world->entries.by_key[ROUTER_TOOL], SPAN("t"));
    assert_ptr_equal(entry->shown, new.first);
    addin_entries_withdraw(&world->entries, &new);
    assert_ptr_equal(entry->shown, old.first);
    assert_int_equal(world->n_changed, 1);
    addin_entries_withdraw(&world->entries, &old);
}

static void one_offers_a_thing_once_and_only_so_many(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    char key[32];
    char json[128];

    assert_int_equal(offer(world, &offers, "t", JSON("t", "x")), 0);
    assert_int_equal(offer(world, &offers, "t", JSON("t", "y")), ADDIN_ENTRIES_E_TWICE);
    addin_entries_begin(&world->entries);
    for (size_t i = 1; i < ADDIN_MAX_OFFERS; i++) {
        (void)snprintf(key, sizeof(key), "t%zu", i);
        (void)snprintf(json, sizeof(json),
                       "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", key);
        assert_int_equal(offer(world, &offers, key, json), 0);
    }
    addin_entries_end(&world->entries);
    assert_int_equal(world->n_changed, 2);
    assert_int_equal(offer(world, &offers, "more", JSON("more", "x")), ADDIN_ENTRIES_E_FULL);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), ADDIN_MAX_OFFERS);
    addin_entries_withdraw(&world->entries, &offers);
    assert_int_equal(world->n_changed, 3);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), 0);
}

static void a_call_that_runs_keeps_its_entry(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    Listing asked = {.text = ""};

    assert_int_equal(offer(world, &offers, "t", JSON("t", "x")), 0);
    call_init(&asked.call);
    asked.call.door = &listing_door;
    asked.call.verb = CALL_TOOL;
    asked.call.target = SPAN("t");
    router_dispatch(world->router, NULL, &asked.call);
    assert_ptr_equal(world->held, &asked.call);
    addin_entries_withdraw(&world->entries, &offers);
    assert_shown(world, "");
    router_cancel(world->router, &asked.call);
    assert_null(world->held);
    call_deinit(&asked.call);
}

static void what_is_hidden_does_not_come_back(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);

    assert_int_equal(offer(world, &old, "t", JSON("t", "old")), 0);
    assert_int_equal(offer(world, &new, "t", JSON("t", "new")), 0);
    addin_entries_hide(&world->entries);
    assert_shown(world, "");
    addin_entries_withdraw(&world->entries, &new);
    assert_shown(world, "");
    addin_entries_withdraw(&world->entries, &old);
}

static void a_file_is_put_in_whole_or_not_at_all(void **state)
{
    World *world = *state;
    Diag diag = DIAG_NULL;

    world_put_file(world, "[{\"name\":\"a\",\"description\":\"d\",\"input_schema\":{\"type\":"
                          "\"object\"}},\n{\"name\":\"b\",\"description\":\"d\",\"input_schema\":{"
                          "\"type\":\"array\"}}]");
    assert_int_equal(addin_entries_load(&world->entries, world->path, &diag), ADDIN_ENTRIES_E_FILE);
    assert_non_null(strstr(diag.message, ".json:2: [1].inputSchema"));
    assert_shown(world, "");
}

/* ---- words ---- */

static void errors_that_the_pipe_has_no_words_for_stay(void **state)
{
    Arena arena;
    CallResult result;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_false(addin_words_for(
        &result, &arena, &(CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BAD_RESULT}));
    arena_deinit(&arena);
}

static void arguments_without_a_list_of_faults_have_the_message(void **state)
{
    Arena arena;
    CallResult result;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_true(addin_words_for(&result, &arena,
                                &(CallResult){.kind = CALL_RESULT_ERROR,
                                              .error = CALL_ERROR_INVALID_ARGUMENTS,
                                              .message = SPAN("arguments: too deep")}));
    assert_true(span_equals(result.structured,
                            SPAN("{\"error\":{\"code\":\"SCHEMA_VALIDATION_FAILED\",\"message\":"
                                 "\"Argument validation failed: arguments: too deep\"}}")));
    arena_deinit(&arena);
}

static int words_scenario(void *context)
{
    Arena arena;
    CallResult result;
    bool is_said;

    (void)context;
    arena_init(&arena, 1 << 20);
    is_said = addin_words_for(
        &result, &arena,
        &(CallResult){.kind = CALL_RESULT_ERROR,
                      .error = CALL_ERROR_INVALID_ARGUMENTS,
                      .data = SPAN("[{\"path\":\"/a\\u0041\",\"message\":\"no\"},{\"path\":\"\","
                                   "\"message\":\"nor\"}]")});
    if (is_said) {
        assert_true(span_equals(
            result.structured,
            SPAN("{\"error\":{\"code\":\"SCHEMA_VALIDATION_FAILED\",\"message\":\"Argument "
                 "validation failed: /aA: no; nor\",\"data\":[{\"path\":\"/a\\u0041\",\"message\":"
                 "\"no\"},{\"path\":\"\",\"message\":\"nor\"}]}}")));
        is_said = addin_words_for(&result, &arena,
                                  &(CallResult){.kind = CALL_RESULT_ERROR,
                                                .error = CALL_ERROR_TIMEOUT,
                                                .message = SPAN("too late")});
    }
    arena_deinit(&arena);
    return is_said ? 0 : -ENOMEM;
}

/* ---- memory ---- */

static int entries_scenario(void *context)
{
    World *world = context;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);
    bool is_shown;
    int r;

    world_init(world);
    world_put_file(world, "[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":{\"type\":"
                          "\"object\"}}]");
    r = addin_entries_load(&world->entries, world->path, NULL);
    r = r == 0 ? offer(world, &old, "t", JSON("t", "old")) : r;
    r = r == 0 ? offer(world, &new, "t", JSON("t", "new")) : r;
    addin_entries_withdraw(&world->entries, &new);
    /* What found no memory is left out, and never shown wrongly. */
    is_shown = router_has_tool(world->router, SPAN("t"));
    addin_entries_withdraw(&world->entries, &old);
    assert_false(router_has_tool(world->router, SPAN("t")));
    world_deinit(world);
    return r != 0 || is_shown ? r : -ENOMEM;
}

static void without_memory_nothing_leaks(void **state)
{
    World *world = calloc(1, sizeof(*world));

    (void)state;
    assert_non_null(world);
    test_oom_sweep(entries_scenario, world);
    test_oom_sweep(words_scenario, NULL);
    free(world);
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_newest_is_shown_in_whatever_order_they_come),
        WORLD_TEST(offers_are_told_from_the_newest_and_the_file_is_none),
        WORLD_TEST(a_bad_description_gives_way_without_touching_what_is_shown),
        WORLD_TEST(another_timeout_is_another_description),
        WORLD_TEST(what_is_shown_is_of_one_who_is_there),
        WORLD_TEST(one_offers_a_thing_once_and_only_so_many),
        WORLD_TEST(a_call_that_runs_keeps_its_entry),
        WORLD_TEST(what_is_hidden_does_not_come_back),
        WORLD_TEST(a_file_is_put_in_whole_or_not_at_all),
        cmocka_unit_test(errors_that_the_pipe_has_no_words_for_stay),
        cmocka_unit_test(arguments_without_a_list_of_faults_have_the_message),
        cmocka_unit_test(without_memory_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
