/* Bridges and hosts one on top of the other: MCP client → bridge → host → host → parent. The
 * client and the parent at the other end are the test.
 *
 *     test_callsock_chain TOOLWIRE
 */
#include "e2e/callsock_peer.h"
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/files.h"

static const char *program;

#define TOOL(name)                                                                                 \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}"
/* A host's answer says in so many words that the tool did not fail. */
#define SAID(id, text)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}}"
#define N_HOSTS 2

typedef struct Fixture {
    Place bottom;          /* of the parent that the test plays */
    Place places[N_HOSTS]; /* the first one's parent is the bottom */
    char configs[N_HOSTS][96];
    HostProcess hosts[N_HOSTS];
    int listening;
} Fixture;

/* A host whose tools are those of the parent at `below`. */
static void chain_host(HostProcess *host, const Place *place, char config[96], const Place *below)
{
    char text[512];
    const char *arguments[] = {"host", "--config", config, "--socket", place->socket, NULL};

    (void)snprintf(config, 96, "%s/config.json", place->folder);
    (void)snprintf(text, sizeof(text), "{\"call_socket\":{\"connect\":\"%s\",\"schema\":\"%s\"}}",
                   below->socket, below->schema);
    place_write(config, text, 0644);
    host_start(host, program, arguments);
}

static void fixture_init(Fixture *f)
{
    place_init(&f->bottom);
    place_write(f->bottom.schema,
                "[" TOOL("any") ",\"title\":\"T\",\"_meta\":{\"k\":1.0}}," TOOL("two") "}]", 0600);
    f->listening = parent_listen(&f->bottom);
    for (size_t i = 0; i < N_HOSTS; i++) {
        place_init(&f->places[i]);
        chain_host(&f->hosts[i], &f->places[i], f->configs[i],
                   i == 0 ? &f->bottom : &f->places[i - 1]);
    }
}

static void fixture_deinit(Fixture *f)
{
    for (size_t i = N_HOSTS; i-- > 0;) {
        assert_int_equal(host_stop(&f->hosts[i], SIGTERM), 0);
        assert_int_equal(unlink(f->configs[i]), 0);
        assert_int_not_equal(access(f->places[i].socket, F_OK), 0);
        assert_int_not_equal(access(f->places[i].schema, F_OK), 0);
        place_deinit(&f->places[i]);
    }
    assert_int_equal(close(f->listening), 0);
    place_deinit(&f->bottom);
}

static void open_bridge(Peer *peer, const Place *place)
{
    const char *arguments[] = {"bridge", place->socket, place->schema, "--rate", "off", NULL};

    peer_open(peer, program, arguments);
}

#define MANY "{\"n\":9007199254740993,\"x\":1.0,\"u\":\"\\u00e9\",\"z\":{\"b\":1E+2,\"a\":[null]}}"
#define REQUEST(name, arguments)                                                                   \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"

static void expect_parts(Peer *peer, const char *const *parts)
{
    char *line = peer_line(peer);

    assert_non_null(line);
    for (size_t i = 0; parts[i] != NULL; i++) {
        if (strstr(line, parts[i]) == NULL) {
            fail_msg("wanted: %s\n   got: %.4000s", parts[i], line);
        }
    }
    free(line);
}

static void everything_passes_the_whole_chain_unchanged(void **state)
{
    static const char *const listed[] = {"\"name\":\"any\"", "\"title\":\"T\"",
                                         "\"_meta\":{\"k\":1.0}", "\"name\":\"two\"", NULL};
    static const char *const answered[] = {
        "\"id\":\"9007199254740993\"",
        "{\"type\":\"text\",\"text\":\"\\u00e9\",\"x-block\":1.0}",
        "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}",
        "\"structuredContent\":{\"n\":9007199254740993,\"x\":1.0}",
        "\"isError\":true",
        "\"_meta\":{\"m\":1.50}",
        "\"x-extra\":{\"b\":[1.0,9007199254740993]}",
        NULL};
    static const char *const failed[] = {"\"id\":9007199254740993,", "no such row", "KeyError",
                                         "\"isError\":true", NULL};
    unsigned ours;
    Fixture f;
    Peer peer;
    int wire;

    (void)state;
    fixture_init(&f);
    open_bridge(&peer, &f.places[N_HOSTS - 1]);
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    expect_parts(&peer, listed);
    assert_true(parent_is_untouched(f.listening));
    ours = peer.watch.ours;
    peer.watch.ours = 0; /* it knows no members but those of the revision */
    peer_send(&peer, CALL("\"9007199254740993\"", "any", MANY));
    wire = parent_accept(f.listening);
    frame_expect(wire, REQUEST("any", MANY));
    frame_write_str(
        wire, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\\u00e9\",\"x-block\":1.0},"
              "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}],"
              "\"structuredContent\":{\"n\":9007199254740993,\"x\":1.0},\"isError\":true,"
              "\"_meta\":{\"m\":1.50},\"x-extra\":{\"b\":[1.0,9007199254740993]}}}");
    expect_parts(&peer, answered);
    peer.watch.ours = ours;
    peer_send(&peer, CALL("9007199254740993", "two", "{}"));
    frame_expect(wire, REQUEST("two", "{}"));
    frame_write_str(wire, "{\"error\":{\"message\":\"no such row\",\"type\":\"KeyError\"}}");
    expect_parts(&peer, failed);
    assert_int_equal(peer_finish(&peer), 0);
    fixture_deinit(&f);
    wire_expect_end(wire);
}

#define ASKING(id, name, token)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":{},\"_meta\":{\"progressToken\":\"" token "\"}}}"
#define PROGRESS(token, rest)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                             \
    "progress\",\"params\":{\"progressToken\":\"" token "\",\"progress\":" rest "}}"

/* A parent may report how far it is to a bridge that asked; the hosts in between are both. */
static void progress_of_a_parent_arrives_at_the_client(void **state)
{
    static const char *const failed[] = {"missing both 'result' and 'error'", "\"isError\":true",
                                         NULL};
    Fixture f;
    Peer peer;
    int wire;

    (void)state;
    fixture_init(&f);
    open_bridge(&peer, &f.places[N_HOSTS - 1]);
    peer_send(&peer, ASKING("1", "any", "t"));
    wire = parent_accept(f.listening);
    frame_expect(wire, "{\"method\":\"call_tool\",\"params\":{\"name\":\"any\",\"arguments\":{},"
                       "\"progress\":true}}");
    frame_write_str(wire, "{\"progress\":{\"progress\":1.50,\"total\":3,\"message\":\"half\"}}");
    peer_expect(&peer, PROGRESS("t", "1.50,\"total\":3,\"message\":\"half\""));
    frame_write_str(wire, " { \"progress\" : {\"progress\": 2} }");
    frame_write_str(wire, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}");
    peer_expect(&peer, PROGRESS("t", "2"));
    peer_expect(&peer, SAID("1", "done"));
    /* It breaks the contract to report what nobody asked for. */
    peer_send(&peer, CALL("2", "any", "{}"));
    frame_expect(wire, REQUEST("any", "{}"));
    frame_write_str(wire, "{\"progress\":{\"progress\":1}}");
    expect_parts(&peer, failed);
    assert_int_equal(peer_finish(&peer), 0);
    fixture_deinit(&f);
    wire_expect_end(wire);
}

static void two_bridges_are_served_side_by_side(void **state)
{
    static const char *const arguments[] = {"host", "--diagnostics", "--socket", NULL, NULL};
    const char *with_place[5];
    HostProcess host;
    Peer peers[2];
    Place place;

    (void)state;
    place_init(&place);
    memcpy(with_place, arguments, sizeof(arguments));
    with_place[3] = place.socket;
    host_start(&host, program, with_place);
    open_bridge(&peers[0], &place);
    open_bridge(&peers[1], &place);
    peer_send(&peers[0], CALL("1", "sleep", "{\"ms\":300}"));
    for (size_t i = 0; i < 100; i++) {
        peer_send(&peers[1], CALL("2", "echo", "{\"message\":\"quick\"}"));
        peer_expect(&peers[1], SAID("2", "quick"));
    }
    peer_expect(&peers[0], SAID("1", "slept 300 ms"));
    /* A new parent at the same place is found by both. */
    assert_int_equal(host_stop(&host, SIGKILL), -SIGKILL);
    host_start(&host, program, with_place);
    for (size_t i = 0; i < 2; i++) {
        peer_send(&peers[i], CALL("3", "echo", "{\"message\":\"again\"}"));
        peer_expect(&peers[i], SAID("3", "again"));
        assert_int_equal(peer_finish(&peers[i]), 0);
    }
    assert_int_equal(host_stop(&host, SIGTERM), 0);
    place_deinit(&place);
}

static void a_change_at_the_bottom_is_announced_at_the_top(void **state)
{
    static const char *const listed[] = {"[{\"name\":\"new\",", NULL};
    Fixture f;
    Peer peer;

    (void)state;
    fixture_init(&f);
    open_bridge(&peer, &f.places[N_HOSTS - 1]);
    place_write(f.bottom.schema, "[" TOOL("new") "}]", 0600);
    peer_expect(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    expect_parts(&peer, listed);
    assert_int_equal(peer_finish(&peer), 0);
    fixture_deinit(&f);
}

static void a_parents_tools_appear_in_serve(void **state)
{
    static const char *const listed[] = {"\"name\":\"echo\"", "\"name\":\"any\"", NULL};
    static const char *const alone[] = {"serve", "--call-socket", "/s", NULL};
    Place bottom;
    const char *arguments[] = {"serve",       "--diagnostics",        "--call-socket",
                               bottom.socket, "--call-socket-schema", bottom.schema,
                               NULL};
    char *err;
    int listening;
    int wire;
    Peer peer;

    (void)state;
    place_init(&bottom);
    place_write(bottom.schema, "[" TOOL("any") "}]", 0600);
    listening = parent_listen(&bottom);
    peer_open(&peer, program, arguments);
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    expect_parts(&peer, listed);
    peer_send(&peer, CALL("1", "any", "{}"));
    wire = parent_accept(listening);
    frame_expect(wire, REQUEST("any", "{}"));
    frame_write_str(wire, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}}");
    peer_expect(&peer, TEXT("1", "x"));
    place_write(bottom.schema, "[]", 0600);
    peer_expect(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    assert_int_equal(peer_finish(&peer), 0);
    wire_expect_end(wire);
    assert_int_equal(close(listening), 0);
    place_deinit(&bottom);
    assert_int_equal(run_program(program, alone, NULL, &err), 2);
    assert_non_null(strstr(err, "belong together"));
    free(err);
}

/* A tool's own time reaches the bridge in the schema file; a tool without one is cut by the
 * bridge's option, which the message names. */
static void a_tools_own_timeout_counts_in_the_bridge(void **state)
{
    static const char *const done[] = {"\"id\":1,", "\"text\":\"done\"", NULL};
    static const char *const cut[] = {
        "\"id\":2,", "deadline passed after 300 ms: the tool sets no timeout_ms",
        "--call-timeout-ms (30s unless given)", "\"isError\":true", NULL};
    Place place;
    char tools[96];
    const char *host_arguments[] = {"host", "--tools", tools, "--socket", place.socket, NULL};
    const char *arguments[] = {"bridge", place.socket, place.schema, "--call-timeout-ms",
                               "300",    NULL};
    HostProcess host;
    size_t n;
    char *schema;
    Peer peer;

    (void)state;
    place_init(&place);
    (void)snprintf(tools, sizeof(tools), "%s/tools.json", place.folder);
    place_write(tools,
                "[" TOOL("slow") ",\"timeout_ms\":60000,\"command\":[\"sh\",\"-c\",\"sleep 1; echo "
                                 "done\"]}," TOOL("waits") ",\"command\":[\"sleep\",\"600\"]}]",
                0600);
    host_start(&host, program, host_arguments);
    schema = files_read(place.schema, &n);
    assert_non_null(strstr(schema, "\"timeout_ms\":60000"));
    free(schema);
    peer_open(&peer, program, arguments);
    peer_send(&peer, CALL("1", "slow", "{}"));
    expect_parts(&peer, done);
    peer_send(&peer, CALL("2", "waits", "{}"));
    expect_parts(&peer, cut);
    assert_int_equal(peer_finish(&peer), 0);
    assert_int_equal(host_stop(&host, SIGTERM), 0);
    assert_int_equal(unlink(tools), 0);
    place_deinit(&place);
}

static void a_parent_that_exceeds_a_tools_own_timeout_is_cut(void **state)
{
    static const char *const cut[] = {"\"id\":1,",
                                      "deadline passed after 200 ms: the tool's timeout_ms",
                                      "\"isError\":true", NULL};
    Place place;
    const char *arguments[] = {"bridge", place.socket, place.schema, NULL};
    int listening;
    int wire;
    Peer peer;

    (void)state;
    place_init(&place);
    place_write(place.schema, "[" TOOL("brief") ",\"timeout_ms\":200}]", 0600);
    listening = parent_listen(&place);
    peer_open(&peer, program, arguments);
    peer_send(&peer, CALL("1", "brief", "{}"));
    wire = parent_accept(listening);
    frame_expect(wire, REQUEST("brief", "{}"));
    expect_parts(&peer, cut);
    assert_int_equal(peer_finish(&peer), 0);
    wire_expect_end(wire);
    assert_int_equal(close(listening), 0);
    place_deinit(&place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_passes_the_whole_chain_unchanged),
        cmocka_unit_test(progress_of_a_parent_arrives_at_the_client),
        cmocka_unit_test(two_bridges_are_served_side_by_side),
        cmocka_unit_test(a_change_at_the_bottom_is_announced_at_the_top),
        cmocka_unit_test(a_parents_tools_appear_in_serve),
        cmocka_unit_test(a_tools_own_timeout_counts_in_the_bridge),
        cmocka_unit_test(a_parent_that_exceeds_a_tools_own_timeout_is_cut),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_callsock_chain TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
