/* Connections and their time: told, not waited for. */
#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "base/uuid.h"
#include "providers/addin_links.h"
#include "support/alloc_testing.h"
#include "support/turns.h"

#define INTERVAL_MS 30000
#define TIMEOUT_MS  10000
#define LARGE_BYTES ((size_t)1024 * 1024)

typedef struct World {
    IoLoop *loop;
    IoTimer *tick;
    Router *router;
    AddinEntries entries;
    AddinLinks links;
    int fd; /* the add-in's end */
    Bytes got;
} World;

static void world_on_tick(void *context)
{
    const World *world = context;

    io_loop_stop(world->loop);
}

/* One turn of the loop, and what comes before it waits. */
static void world_turn(World *world)
{
    addin_links_settle(&world->links);
    io_timer_start_at(world->tick, io_loop_now_ms(world->loop) + 1);
    assert_int_equal(io_loop_run(world->loop), 0);
    addin_links_settle(&world->links);
}

static void world_start(void *context, Call *call)
{
    const AddinEntry *entry = context;
    World *world = entry->owner;
    AddinLink *link = addin_links_find(&world->links, entry);

    assert_non_null(link);
    addin_link_submit(link, call, entry->key);
}

static void world_cancel(void *context, Call *call)
{
    (void)context;
    addin_link_cancel(call);
}

static const CallProvider world_provider = {.start = world_start, .cancel = world_cancel};

static int setup(void **state)
{
    World *world = calloc(1, sizeof(*world));
    int fds[2];

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(world);
    io_ignore_sigpipe();
    bytes_init(&world->got, 1 << 24);
    assert_int_equal(io_loop_new(&world->loop), 0);
    assert_int_equal(io_timer_new(&world->tick, world->loop, false, world_on_tick, world), 0);
    assert_int_equal(router_new(&world->router, NULL, (HashSeed){1, 2}), 0);
    assert_int_equal(addin_entries_init(&world->entries, world->router, &world_provider,
                                        &world_provider, world, NULL),
                     0);
    world->links = (AddinLinks){.loop = world->loop,
                                .entries = &world->entries,
                                .seed = {3, 4},
                                .ping_interval_ms = INTERVAL_MS,
                                .pong_timeout_ms = TIMEOUT_MS,
                                .max_bytes = LIMIT_PIPE_MESSAGE_BYTES};
    addin_links_init(&world->links);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    world->fd = fds[0];
    addin_links_add(&world->links, fds[1]);
    assert_int_equal(world->links.n, 1);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    World *world = *state;

    addin_entries_hide(&world->entries);
    addin_links_deinit(&world->links);
    addin_links_deinit(&world->links);
    addin_entries_deinit(&world->entries);
    world->router = router_free(world->router);
    world->tick = io_timer_free(world->tick);
    world->loop = io_loop_free(world->loop);
    if (world->fd >= 0) {
        assert_int_equal(close(world->fd), 0);
    }
    bytes_deinit(&world->got);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(world);
    return 0;
}

/* Sends all of it, the hub reading meanwhile. */
static void world_send(World *world, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(world->fd, p, n, 0);

        assert_true(sent > 0 || errno == EAGAIN);
        p += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
        world_turn(world);
    }
}

static void world_say(World *world, const char *message, size_t n)
{
    char header[4] = {(char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24)};

    world_send(world, header, sizeof(header));
    world_send(world, message, n);
}

static void world_receive(World *world)
{
    char piece[65536];
    ssize_t n;

    world_turn(world);
    while ((n = recv(world->fd, piece, sizeof(piece), 0)) > 0) {
        assert_int_equal(bytes_append(&world->got, piece, (size_t)n), 0);
    }
}

static bool world_got(const World *world, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= world->got.n; i++) {
        if (memcmp(world->got.data + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* An `error` about nothing, with a long message. */
static void world_say_much(World *world)
{
    static const char head[] = "{\"id\":\"1\",\"type\":\"error\",\"payload\":{\"message\":\"";
    size_t n = LARGE_BYTES + sizeof(head) + 3;
    char *text = malloc(n);

    assert_non_null(text);
    (void)memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 3, "\"}}", 3);
    world_say(world, text, n);
    free(text);
}

static void one_that_came_is_looked_at_when_its_first_ping_is_due(void **state)
{
    World *world = *state;
    int64_t now_ms = io_loop_now_ms(world->loop);

    world_turn(world);
    assert_int_equal(world->links.due_ms, now_ms + INTERVAL_MS);
    world_receive(world);
    assert_true(world_got(world, "toolwire.list_tools"));
    assert_false(world_got(world, "ping"));
    addin_links_tick(&world->links, now_ms + INTERVAL_MS);
    assert_int_equal(world->links.due_ms, now_ms + INTERVAL_MS + TIMEOUT_MS);
    world_receive(world);
    assert_true(world_got(world, "\"type\":\"ping\""));
    addin_links_tick(&world->links, now_ms + INTERVAL_MS + TIMEOUT_MS - 1);
    world_turn(world);
    assert_int_equal(world->links.n, 1);
    addin_links_tick(&world->links, now_ms + INTERVAL_MS + TIMEOUT_MS);
    addin_links_settle(&world->links);
    assert_int_equal(world->links.n, 0);
    assert_int_equal(addin_links_counts(&world->links).dead, 1);
}

static void messages_do_not_move_what_is_due(void **state)
{
    static const char pong[] = "{\"type\":\"pong\"}";
    World *world = *state;
    int64_t due_ms;

    world_turn(world);
    due_ms = world->links.due_ms;
    world_say(world, pong, sizeof(pong) - 1);
    world_say(world, pong, sizeof(pong) - 1);
    assert_int_equal(world->links.due_ms, due_ms);
    assert_int_equal(addin_links_counts(&world->links).bad, 0);
}

static void memory_goes_back_after_a_second_of_silence(void **state)
{
    static const char pong[] = "{\"type\":\"pong\"}";
    World *world = *state;
    AddinLink *link = world->links.newest;
    int64_t now_ms;

    world_turn(world);
    world_say_much(world);
    assert_true(pipe_link_keeps_much(&link->wire));
    now_ms = link->touched_ms;
    assert_true(world->links.due_ms <= io_loop_now_ms(world->loop) + ADDIN_IDLE_MS);
    addin_links_tick(&world->links, now_ms + ADDIN_IDLE_MS - 1);
    assert_true(pipe_link_keeps_much(&link->wire));
    /* Heard again meanwhile: a second from then. */
    link->touched_ms = now_ms + 500;
    addin_links_tick(&world->links, link->idle_ms);
    assert_true(pipe_link_keeps_much(&link->wire));
    assert_int_equal(world->links.due_ms, now_ms + 500 + ADDIN_IDLE_MS);
    addin_links_tick(&world->links, now_ms + 500 + ADDIN_IDLE_MS);
    assert_false(pipe_link_keeps_much(&link->wire));
    world_say(world, pong, sizeof(pong) - 1);
    assert_int_equal(world->links.n, 1);
}

static void when_some_have_gone_memory_is_looked_at_once(void **state)
{
    World *world = *state;

    world_turn(world);
    assert_int_equal(close(world->fd), 0);
    world->fd = -1;
    while (world->links.n > 0) {
        world_turn(world);
    }
    assert_true(world->links.due_ms <= io_loop_now_ms(world->loop) + ADDIN_IDLE_MS);
    addin_links_tick(&world->links, world->links.due_ms);
    assert_int_equal(world->links.due_ms, INT64_MAX);
}

typedef struct Asked {
    Call call;
    size_t n_finished;
    CallError error;
    bool is_error;
} Asked;

static void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    asked->n_finished++;
    asked->error = result->error;
    asked->is_error = result->is_error;
}

static const CallDoor asked_door = {.finish = asked_finish};

static void asked_ask(Asked *asked, World *world, JsonValue arguments)
{
    asked->call.door = &asked_door;
    asked->call.verb = CALL_TOOL;
    asked->call.target = SPAN("t");
    asked->call.arguments = arguments;
    router_dispatch(world->router, NULL, &asked->call);
}

static void world_offer(World *world)
{
    assert_int_equal(
        addin_entries_offer(
            &world->entries, &world->links.newest->offers,
            &(AddinDescription){
                .kind = ROUTER_TOOL,
                .key = SPAN("t"),
                .json = SPAN("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}")}),
        0);
    assert_false(addin_entries_settle(&world->entries, SIZE_MAX));
}

static void one_that_is_refused_and_does_not_read_goes_after_a_second(void **state)
{
    World *world = *state;
    AddinLink *link = world->links.newest;
    char *text = malloc(LARGE_BYTES);
    Asked asked = {.n_finished = 0};
    Arena arena;
    JsonDoc doc;

    assert_non_null(text);
    (void)memset(text, ' ', LARGE_BYTES);
    text[0] = '{';
    text[LARGE_BYTES - 1] = '}';
    arena_init(&arena, 1 << 24);
    call_init(&asked.call);
    assert_int_equal(json_parse(&doc, &arena, text, LARGE_BYTES, NULL, NULL), 0);
    world_turn(world);
    world_offer(world);
    asked_ask(&asked, world, json_root(&doc));
    assert_true(asked.call.took_arguments);
    world_turn(world);
    assert_true(pipe_link_pending(&link->wire) > 0);
    world_say(world, "nothing", 7);
    /* Its calls do not wait for that. */
    assert_int_equal(asked.n_finished, 1);
    assert_true(asked.is_error);
    assert_int_equal(link->state, ADDIN_LINK_CLOSING);
    addin_links_tick(&world->links, link->close_by_ms - 1);
    addin_links_settle(&world->links);
    assert_int_equal(world->links.n, 1);
    assert_true(world->links.due_ms <= link->close_by_ms);
    addin_links_tick(&world->links, link->close_by_ms);
    addin_links_settle(&world->links);
    assert_int_equal(world->links.n, 0);
    call_deinit(&asked.call);
    arena_deinit(&arena);
    free(text);
}

static void a_call_without_memory_fails_and_the_link_stays(void **state)
{
    World *world = *state;
    Asked asked = {.n_finished = 0};

    call_init(&asked.call);
    world_turn(world);
    world_offer(world);
    alloc_testing_reset(0);
    asked_ask(&asked, world, JSON_VALUE_NULL);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(asked.n_finished, 1);
    assert_int_equal(asked.error, CALL_ERROR_INTERNAL);
    world_turn(world);
    assert_int_equal(world->links.n, 1);
    asked_ask(&asked, world, JSON_VALUE_NULL);
    assert_int_equal(asked.n_finished, 1);
    router_cancel(world->router, &asked.call);
    call_deinit(&asked.call);
}

static void one_that_is_over_gets_no_call(void **state)
{
    World *world = *state;
    AddinLink *link = world->links.newest;
    const AddinEntry *entry;

    world_offer(world);
    entry = map_get(&world->entries.by_key[ROUTER_TOOL], SPAN("t"));
    assert_ptr_equal(addin_links_find(&world->links, entry), link);
    for (AddinLinkState over = ADDIN_LINK_CLOSING; over <= ADDIN_LINK_DEAD; over++) {
        link->state = over;
        assert_null(addin_links_find(&world->links, entry));
    }
    link->state = ADDIN_LINK_OPEN;
}

static void one_whose_description_is_refused_gets_no_call(void **state)
{
    World *world = *state;
    AddinLink *link = world->links.newest;
    AddinOffer bad = {.owner = link, .serial = 2, .is_bad = true};
    AddinOffer of_file = {.serial = UINT64_MAX, .next = &bad};
    AddinEntry entry = {.kind = ROUTER_TOOL, .offers = &bad};

    link->list = ADDIN_LIST_TOLD;
    assert_null(addin_links_find(&world->links, &entry));
    entry.offers = &of_file;
    assert_null(addin_links_find(&world->links, &entry));
}

/* One that hands over to a new connection closes the old one when its list was read there, however
 * long it takes to settle it. */
static void the_newest_gets_the_call_before_its_description_is_settled(void **state)
{
    World *world = *state;
    AddinLink *link = world->links.newest;
    AddinLink other = {.state = ADDIN_LINK_OPEN, .list = ADDIN_LIST_TOLD};
    AddinOffer settled = {.owner = &other, .serial = 1};
    AddinOffer fresh = {.owner = link, .serial = 2, .is_new = true, .next = &settled};
    AddinEntry entry = {.kind = ROUTER_TOOL, .offers = &fresh};

    link->list = ADDIN_LIST_TOLD;
    assert_ptr_equal(addin_links_find(&world->links, &entry), link);
    fresh.is_new = false;
    assert_ptr_equal(addin_links_find(&world->links, &entry), link);
    fresh.is_bad = true;
    assert_ptr_equal(addin_links_find(&world->links, &entry), &other);
}

static void one_that_is_over_gets_no_call_of_the_file(void **state)
{
    static const AddinListState lists[] = {ADDIN_LIST_ASKED, ADDIN_LIST_SILENT};
    World *world = *state;
    AddinLink *link = world->links.newest;
    AddinOffer of_file = {.serial = UINT64_MAX};
    AddinEntry entry = {.kind = ROUTER_TOOL, .offers = &of_file};

    for (size_t i = 0; i < 2; i++) {
        link->list = lists[i];
        assert_ptr_equal(addin_links_find(&world->links, &entry), link);
        link->state = ADDIN_LINK_CLOSING;
        assert_null(addin_links_find(&world->links, &entry));
        link->state = ADDIN_LINK_OPEN;
    }
}

static void a_call_that_is_taken_back_is_an_excuse_until_it_was_due(void **state)
{
    static const char pong[] = "{\"type\":\"pong\"}";
    World *world = *state;
    Asked asked = {.n_finished = 0};
    int64_t now_ms = io_loop_now_ms(world->loop);

    call_init(&asked.call);
    world_turn(world);
    world_say(world, pong, sizeof(pong) - 1);
    world_offer(world);
    asked_ask(&asked, world, JSON_VALUE_NULL);
    addin_links_tick(&world->links, now_ms + INTERVAL_MS);
    world_turn(world);
    assert_int_equal(world->links.due_ms, now_ms + 2 * INTERVAL_MS);
    now_ms = io_loop_now_ms(world->loop) + 5000;
    asked.call.deadline_ms = now_ms;
    router_cancel(world->router, &asked.call);
    assert_int_equal(world->links.due_ms, now_ms);
    addin_links_tick(&world->links, now_ms);
    assert_int_equal(world->links.due_ms, now_ms + TIMEOUT_MS);
    call_deinit(&asked.call);
}

static void ids_differ_and_are_of_version_4(void **state)
{
    enum {
        N_IDS = 3 * ADDIN_SOURCE_IDS
    };
    static char ids[N_IDS][UUID_SIZE];
    World *world = *state;
    const PipeSource *source = &world->links.source.source;

    for (size_t i = 0; i < N_IDS; i++) {
        source->uuid(source->context, ids[i]);
        assert_true(uuid_is_v4(span_from_str(ids[i])));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(ids[i], ids[j]);
        }
    }
    assert_true(source->unix_ms(source->context) > 0);
    assert_int_equal(source->now_ms(source->context), io_loop_now_ms(world->loop));
}

/* ---- turns that take too long ---- */

typedef struct SlowLog {
    size_t n;
    bool has_why; /* it has been said why one has gone */
} SlowLog;

static void slow_write(void *context, const char *line, size_t n)
{
    SlowLog *slow = context;
    char text[256];

    (void)snprintf(text, sizeof(text), "%.*s", (int)n, line);
    slow->has_why = slow->has_why || strstr(text, "has gone: what it sent kept everybody") != NULL;
    if (strstr(text, " says ") != NULL) {
        slow->n++;
        turns_burn();
    }
}

/* Each of its messages takes a while, and hundreds have come at once: the others wait. */
static void world_say_slowly(World *world, Turns *turns, const char *who)
{
    static const char message[] = "{\"type\":\"error\",\"payload\":{\"message\":\"m\"}}";
    static char frames[TURNS_MESSAGES * (4 + sizeof(message))];
    size_t n = 0;
    SlowLog slow = {.n = 0};
    const LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = slow_write, .context = &slow};

    world->links.log = &log;
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        memcpy(frames + n, (char[]){sizeof(message) - 1, 0, 0, 0}, 4);
        memcpy(frames + n + 4, message, sizeof(message) - 1);
        n += 4 + sizeof(message) - 1;
    }
    assert_int_equal(send(world->fd, frames, n, 0), n);
    while (world->links.n > 0) {
        world_turn(world);
    }
    world->links.log = NULL;
    assert_true(slow.has_why);
    assert_true(slow.n > 0 && slow.n < TURNS_MESSAGES);
    turns_assert_blamed(turns, who);
}

static void one_whose_turn_takes_too_long_is_closed(void **state)
{
    static Turns turns;
    World *world = *state;

    turns_watch(&turns, world->loop);
    world_turn(world);
    world_say_slowly(world, &turns, "an add-in");
}

/* By the name that it has given itself. */
static void one_whose_turn_takes_too_long_is_named(void **state)
{
    static const char id[] = "\"id\":\"";
    static Turns turns;
    World *world = *state;
    const char *at;
    char answer[256];
    int n;

    turns_watch(&turns, world->loop);
    world_receive(world);
    assert_int_equal(bytes_append_byte(&world->got, '\0'), 0);
    at = strstr(world->got.data + 4, id);
    assert_non_null(at);
    n = snprintf(answer, sizeof(answer),
                 "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"%.36s\",\"success\":true,"
                 "\"data\":{\"name\":\"Sheets\",\"tools\":[]}}}",
                 at + sizeof(id) - 1);
    world_say(world, answer, (size_t)n);
    assert_string_equal(world->links.newest->name, "Sheets");
    world_say_slowly(world, &turns, "the add-in Sheets");
}

#define WORLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(one_that_came_is_looked_at_when_its_first_ping_is_due),
        WORLD_TEST(messages_do_not_move_what_is_due),
        WORLD_TEST(memory_goes_back_after_a_second_of_silence),
        WORLD_TEST(when_some_have_gone_memory_is_looked_at_once),
        WORLD_TEST(one_that_is_refused_and_does_not_read_goes_after_a_second),
        WORLD_TEST(a_call_without_memory_fails_and_the_link_stays),
        WORLD_TEST(ids_differ_and_are_of_version_4),
        WORLD_TEST(one_that_is_over_gets_no_call),
        WORLD_TEST(one_whose_description_is_refused_gets_no_call),
        WORLD_TEST(the_newest_gets_the_call_before_its_description_is_settled),
        WORLD_TEST(one_that_is_over_gets_no_call_of_the_file),
        WORLD_TEST(a_call_that_is_taken_back_is_an_excuse_until_it_was_due),
        WORLD_TEST(one_whose_turn_takes_too_long_is_closed),
        WORLD_TEST(one_whose_turn_takes_too_long_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
