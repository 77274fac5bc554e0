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

static int offer_only(World *world, AddinOffers *offers, const char *key, const char *json)
{
    return addin_entries_offer(&world->entries, offers,
                               &(AddinDescription){.kind = ROUTER_TOOL,
                                                   .key = span_from_str(key),
                                                   .json = span_from_str(json)});
}

static void settle(World *world)
{
    assert_false(addin_entries_settle(&world->entries, SIZE_MAX));
    assert_false(addin_entries_are_due(&world->entries));
}

static int offer(World *world, AddinOffers *offers, const char *key, const char *json)
{
    int r = offer_only(world, offers, key, json);

    settle(world);
    return r;
}

static void withdraw(World *world, AddinOffers *offers)
{
    addin_entries_withdraw(&world->entries, offers);
    settle(world);
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
    withdraw(world, &middle);
    assert_shown(world, JSON("t", "new") "\n");
    assert_int_equal(world->n_changed, 2); /* added; replaced; and nothing since */
    withdraw(world, &new);
    assert_shown(world, JSON("t", "old") "\n");
    withdraw(world, &old);
    assert_shown(world, "");
    withdraw(world, &old);
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
    withdraw(world, &new);
    withdraw(world, &old);
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
    withdraw(world, &good);
    assert_shown(world, "");
    withdraw(world, &bad);
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
    settle(world);
    assert_int_equal(world->n_changed, 2);
    withdraw(world, &old);
    assert_int_equal(world->n_changed, 2);
    withdraw(world, &new);
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
    withdraw(world, &new);
    assert_ptr_equal(entry->shown, old.first);
    assert_int_equal(world->n_changed, 1);
    withdraw(world, &old);
}

static void one_offers_a_thing_once_and_only_so_many(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    char key[32];
    char json[128];

    assert_int_equal(offer(world, &offers, "t", JSON("t", "x")), 0);
    assert_int_equal(offer(world, &offers, "t", JSON("t", "y")), ADDIN_ENTRIES_E_TWICE);
    for (size_t i = 1; i < ADDIN_MAX_OFFERS; i++) {
        (void)snprintf(key, sizeof(key), "t%zu", i);
        (void)snprintf(json, sizeof(json),
                       "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", key);
        assert_int_equal(offer_only(world, &offers, key, json), 0);
    }
    settle(world);
    assert_int_equal(world->n_changed, 2);
    assert_int_equal(offer(world, &offers, "more", JSON("more", "x")), ADDIN_ENTRIES_E_FULL);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), ADDIN_MAX_OFFERS);
    withdraw(world, &offers);
    assert_int_equal(world->n_changed, 3);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), 0);
}

/* Descriptions of that many bytes. */
static void offer_long(World *world, AddinOffers *offers, const char *key, size_t n, int expected)
{
    static const char tail[] = "\",\"inputSchema\":{\"type\":\"object\"}}";
    char *json = malloc(n + 1);
    size_t n_head;

    assert_non_null(json);
    n_head = (size_t)snprintf(json, n + 1, "{\"name\":\"%s\",\"description\":\"", key);
    (void)memset(json + n_head, 'x', n - n_head);
    memcpy(json + n + 1 - sizeof(tail), tail, sizeof(tail));
    assert_int_equal(offer(world, offers, key, json), expected);
    free(json);
}

static void descriptions_have_a_limit_in_bytes(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    AddinOffers other = offers_of("b", 2);

    offer_long(world, &offers, "one", ADDIN_MAX_ONE_BYTES + 1, ADDIN_ENTRIES_E_LARGE);
    for (size_t i = 0; i < ADDIN_MAX_BYTES / ADDIN_MAX_ONE_BYTES; i++) {
        char key[8];

        (void)snprintf(key, sizeof(key), "t%zu", i);
        offer_long(world, &offers, key, ADDIN_MAX_ONE_BYTES, 0);
    }
    assert_int_equal(offers.n_bytes, ADDIN_MAX_BYTES);
    assert_int_equal(offer(world, &offers, "t", JSON("t", "x")), ADDIN_ENTRIES_E_LARGE);
    assert_int_equal(offer(world, &other, "t", JSON("t", "x")), 0);
    withdraw(world, &offers);
    assert_int_equal(world->entries.n_bytes, other.n_bytes);
    assert_int_equal(offer(world, &offers, "u", JSON("u", "x")), 0);
    /* All together. */
    world->entries.n_bytes += ADDIN_MAX_ALL_BYTES - world->entries.n_bytes;
    assert_int_equal(offer(world, &offers, "v", JSON("v", "x")), ADDIN_ENTRIES_E_FULL);
    world->entries.n_bytes = offers.n_bytes + other.n_bytes;
    withdraw(world, &offers);
    withdraw(world, &other);
    assert_int_equal(world->entries.n_bytes, 0);
}

static void offer_many(World *world, AddinOffers *offers, size_t n)
{
    char key[32];
    char json[128];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(key, sizeof(key), "t%03zu", i);
        (void)snprintf(json, sizeof(json),
                       "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}", key);
        assert_int_equal(offer_only(world, offers, key, json), 0);
    }
}

static void what_is_offered_comes_and_goes_in_slices(void **state)
{
    enum {
        N_OFFERS = 100,
        COST = 4096,
        N_SLICE = COST / 256 + 1 /* at most: each costs something besides its length */
    };
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    size_t n_slices = 0;
    size_t n_before = 0;
    size_t n_now = 0;

    offer_many(world, &offers, N_OFFERS);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), 0);
    assert_int_equal(offers.n_new, N_OFFERS);
    do {
        n_before = n_now;
        (void)addin_entries_settle(&world->entries, COST);
        n_now = router_count(world->router, ROUTER_TOOL);
        n_slices++;
        assert_true(n_now > n_before && n_now - n_before <= N_SLICE);
        assert_int_equal(world->n_changed, n_slices);
        assert_int_equal(offers.n_new, N_OFFERS - n_now);
    } while (addin_entries_are_due(&world->entries));
    assert_int_equal(n_now, N_OFFERS);
    addin_entries_withdraw(&world->entries, &offers);
    assert_int_equal(router_count(world->router, ROUTER_TOOL), N_OFFERS);
    do {
        n_before = n_now;
        (void)addin_entries_settle(&world->entries, COST);
        n_now = router_count(world->router, ROUTER_TOOL);
        n_slices++;
        assert_true(n_now < n_before && n_before - n_now <= N_SLICE);
        assert_int_equal(world->n_changed, n_slices);
    } while (addin_entries_are_due(&world->entries));
    assert_int_equal(n_now, 0);
    assert_int_equal(world->entries.by_key[ROUTER_TOOL].n, 0);
}

static void what_comes_back_before_it_is_hidden_is_not_touched(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);
    const AddinEntry *entry;

    assert_int_equal(offer(world, &old, "t", JSON("t", "x")), 0);
    addin_entries_withdraw(&world->entries, &old);
    assert_shown(world, JSON("t", "x") "\n");
    assert_int_equal(offer_only(world, &new, "t", JSON("t", "x")), 0);
    settle(world);
    entry = map_get(&world->entries.by_key[ROUTER_TOOL], SPAN("t"));
    assert_ptr_equal(entry->shown, new.first);
    assert_int_equal(world->n_changed, 1);
    withdraw(world, &new);
    assert_shown(world, "");
}

static void what_is_not_settled_at_the_end_is_freed(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);

    assert_int_equal(offer(world, &old, "t", JSON("t", "old")), 0);
    assert_int_equal(offer_only(world, &new, "t", JSON("t", "new")), 0);
    assert_int_equal(offer_only(world, &new, "u", JSON("u", "new")), 0);
    addin_entries_withdraw(&world->entries, &old);
    addin_entries_hide(&world->entries);
    assert_false(addin_entries_are_due(&world->entries));
    addin_entries_withdraw(&world->entries, &new);
}

/* What a slice compiled, in bytes of descriptions. */
static size_t compiled(const World *world, size_t n_entries)
{
    return world->entries.cost - n_entries * 256;
}

static void what_was_taken_before_is_compiled_once(void **state)
{
    World *world = *state;
    AddinOffers old = offers_of("old", 1);
    AddinOffers new = offers_of("new", 2);

    assert_int_equal(offer(world, &old, "t", JSON("t", "old")), 0);
    assert_int_equal(compiled(world, 1), strlen(JSON("t", "old")));
    assert_int_equal(offer(world, &new, "t", JSON("t", "newer")), 0);
    withdraw(world, &new);
    assert_shown(world, JSON("t", "old") "\n");
    assert_int_equal(compiled(world, 1), strlen(JSON("t", "old")));
    withdraw(world, &old);
    assert_int_equal(compiled(world, 1), 0);
}

static void a_name_that_is_taken_is_tried_again_and_nothing_compiled(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    RouterSpec taken = {
        .kind = ROUTER_TOOL, .json = SPAN(JSON("t", "other")), .provider = &world_tools};

    assert_int_equal(router_add(world->router, &taken, NULL), 0);
    assert_int_equal(offer(world, &offers, "t", JSON("t", "x")), 0);
    assert_logged(world, "the tool \"t\" of a is left out: another provider has that name");
    assert_int_equal(compiled(world, 1), 0);
    assert_int_equal(offer(world, &offers, "u", JSON("u", "x")), 0);
    assert_int_equal(compiled(world, 2), strlen(JSON("u", "x")));
    assert_int_equal(router_remove(world->router, ROUTER_TOOL, SPAN("t")), 0);
    assert_int_equal(offer(world, &offers, "v", JSON("v", "x")), 0);
    assert_shown(world, JSON("u", "x") "\n" JSON("v", "x") "\n" JSON("t", "x") "\n");
    withdraw(world, &offers);
}

static void only_so_many_that_are_left_out_are_named(void **state)
{
    World *world = *state;
    AddinOffers offers = offers_of("a", 1);
    char key[16];

    for (size_t i = 0; i < ADDIN_MAX_SAID + 5; i++) {
        (void)snprintf(key, sizeof(key), "t%zu", i);
        assert_int_equal(offer(world, &offers, key, "{\"name\":\"t\"}"), 0);
    }
    assert_int_equal(offers.n_bad, ADDIN_MAX_SAID + 5);
    assert_int_equal(offers.n_said, ADDIN_MAX_SAID);
    assert_int_equal(offers.n_unsaid, 5);
    assert_logged(world, "\"t7\"");
    for (size_t i = 0; i + 4 <= world->lines.n; i++) {
        assert_memory_not_equal(world->lines.data + i, "\"t8\"", 4);
    }
    withdraw(world, &offers);
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
    withdraw(world, &offers);
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
    withdraw(world, &new);
    assert_shown(world, "");
    withdraw(world, &old);
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
        &result, &arena, &(CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL}));
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

static void a_result_that_breaks_its_schema_is_said_to_have_run(void **state)
{
    Arena arena;
    CallResult result;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_true(addin_words_for(&result, &arena,
                                &(CallResult){.kind = CALL_RESULT_ERROR,
                                              .error = CALL_ERROR_BAD_RESULT,
                                              .message = SPAN("structuredContent/n: must be a "
                                                              "number"),
                                              .data = SPAN("[{\"path\":\"/n\",\"message\":"
                                                           "\"must be a number\"}]")}));
    assert_true(result.is_error);
    assert_true(span_equals(
        result.structured,
        SPAN("{\"error\":{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"the add-in's result "
             "breaks the tool's output schema: structuredContent/n: must be a number; the call has "
             "run\",\"data\":[{\"path\":\"/n\",\"message\":\"must be a number\"}]}}")));
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
                      .message = SPAN("arguments/aA: no; arguments: nor"),
                      .data = SPAN("[{\"path\":\"/a\\u0041\",\"message\":\"no\"},{\"path\":\"\","
                                   "\"message\":\"nor\"}]")});
    if (is_said) {
        assert_true(span_equals(
            result.structured,
            SPAN("{\"error\":{\"code\":\"SCHEMA_VALIDATION_FAILED\",\"message\":\"Argument "
                 "validation failed: arguments/aA: no; arguments: nor\",\"data\":[{\"path\":"
                 "\"/a\\u0041\",\"message\":\"no\"},{\"path\":\"\",\"message\":\"nor\"}]}}")));
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
    withdraw(world, &new);
    /* What found no memory is left out, and never shown wrongly. */
    is_shown = router_has_tool(world->router, SPAN("t"));
    withdraw(world, &old);
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
        WORLD_TEST(descriptions_have_a_limit_in_bytes),
        WORLD_TEST(what_is_offered_comes_and_goes_in_slices),
        WORLD_TEST(what_comes_back_before_it_is_hidden_is_not_touched),
        WORLD_TEST(what_is_not_settled_at_the_end_is_freed),
        WORLD_TEST(what_was_taken_before_is_compiled_once),
        WORLD_TEST(a_name_that_is_taken_is_tried_again_and_nothing_compiled),
        WORLD_TEST(only_so_many_that_are_left_out_are_named),
        WORLD_TEST(a_call_that_runs_keeps_its_entry),
        WORLD_TEST(what_is_hidden_does_not_come_back),
        WORLD_TEST(a_file_is_put_in_whole_or_not_at_all),
        cmocka_unit_test(errors_that_the_pipe_has_no_words_for_stay),
        cmocka_unit_test(a_result_that_breaks_its_schema_is_said_to_have_run),
        cmocka_unit_test(arguments_without_a_list_of_faults_have_the_message),
        cmocka_unit_test(without_memory_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
