/* What `toolwire up` prints: the JSON in it is read again, as a client would. */
#include "cli/up_text.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "support/oom_sweep.h"
#include "json/json.h"

#define MAX_BYTES ((size_t)256 * 1024)

static const UpTextWith with = {.program = "/opt/tool wire", .state = NULL, .pid = 7};
static const UpTextWith with_state = {.program = "/bin/toolwire", .state = "/s t", .pid = 7};

static const UpFacts plain = {.http = "127.0.0.1:7410",
                              .http_path = "/mcp",
                              .pipe = "/tmp/P",
                              .socket = "/run/h",
                              .n_tools = 1};

/* ---- for people ---- */

static void write_people(Bytes *out, const UpFacts *facts, const UpTextWith *how)
{
    bytes_init(out, MAX_BYTES);
    assert_int_equal(up_text_write(out, facts, how), 0);
    assert_int_equal(bytes_append_byte(out, '\0'), 0);
}

/* The JSON that follows a title, up to its end at the beginning of a line. */
static JsonValue find_json(Arena *arena, const char *text, const char *title)
{
    const char *begin = strstr(text, title);
    const char *end;
    JsonDoc doc;

    assert_non_null(begin);
    begin = strchr(begin, '{');
    assert_non_null(begin);
    end = strstr(begin, "\n}\n");
    assert_non_null(end);
    assert_int_equal(json_parse(&doc, arena, begin, (size_t)(end + 2 - begin), NULL, NULL), 0);
    return json_root(&doc);
}

static void assert_at(JsonValue root, const char *pointer, const char *wanted)
{
    JsonValue value;

    assert_int_equal(json_pointer(root, span_from_str(pointer), &value), 0);
    assert_true(json_string_equals(value, span_from_str(wanted)));
}

static void assert_not_at(JsonValue root, const char *pointer)
{
    JsonValue value;

    assert_int_not_equal(json_pointer(root, span_from_str(pointer), &value), 0);
}

static void everything_that_listens_is_said(void **state)
{
    Bytes out;

    (void)state;
    write_people(&out, &plain, &with);
    assert_non_null(strstr(out.data, " serves 1 tool\n"));
    assert_non_null(strstr(out.data, "http://127.0.0.1:7410/mcp\n"));
    assert_non_null(strstr(out.data, "http://127.0.0.1:7410/healthz"));
    assert_non_null(strstr(out.data, "  add-ins   /tmp/P\n"));
    assert_non_null(strstr(out.data, "  fronts    /run/h\n"));
    assert_non_null(strstr(out.data, "embedded defaults"));
    bytes_deinit(&out);
}

static void clients_get_what_they_read(void **state)
{
    Arena arena;
    Bytes out;

    (void)state;
    arena_init(&arena, MAX_BYTES * 20);
    write_people(&out, &plain, &with);
    assert_non_null(strstr(out.data, "\nclaude mcp add --transport http toolwire "
                                     "http://127.0.0.1:7410/mcp\n"));
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/command",
              "/opt/tool wire");
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/0",
              "serve");
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/1",
              "--config");
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/2", "none");
    assert_not_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/3");
    assert_not_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/env");
    assert_at(find_json(&arena, out.data, "Cursor"), "/mcpServers/toolwire/url",
              "http://127.0.0.1:7410/mcp");
    assert_not_at(find_json(&arena, out.data, "Cursor"), "/mcpServers/toolwire/headers");
    assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/type", "http");
    assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/url",
              "http://127.0.0.1:7410/mcp");
    assert_not_at(find_json(&arena, out.data, "VS Code"), "/inputs");
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void a_token_has_its_place_in_each(void **state)
{
    UpFacts facts = plain;
    Arena arena;
    Bytes out;

    (void)state;
    facts.needs_token = true;
    arena_init(&arena, MAX_BYTES * 20);
    write_people(&out, &facts, &with);
    assert_non_null(strstr(out.data, "http://127.0.0.1:7410/mcp --header 'Authorization: Bearer "
                                     "YOUR_TOKEN'\n"));
    assert_at(find_json(&arena, out.data, "Cursor"), "/mcpServers/toolwire/headers/Authorization",
              "Bearer ${env:TOOLWIRE_TOKEN}");
    assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/headers/Authorization",
              "Bearer ${input:toolwire-token}");
    assert_at(find_json(&arena, out.data, "VS Code"), "/inputs/0/id", "toolwire-token");
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void a_wide_address_is_reached_by_loopback(void **state)
{
    static const char *const cases[][2] = {
        {"0.0.0.0:80", "http://127.0.0.1:80/rpc"},
        {"[::]:81", "http://[::1]:81/rpc"},
        {"[::1]:82", "http://[::1]:82/rpc"},
        {"10.0.0.0:83", "http://10.0.0.0:83/rpc"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        UpFacts facts = {.http = cases[i][0], .http_path = "/rpc"};
        Bytes out;

        write_people(&out, &facts, &with);
        assert_non_null(strstr(out.data, cases[i][1]));
        assert_int_equal(strstr(out.data, "all addresses of this machine") != NULL, i < 2);
        bytes_deinit(&out);
    }
}

/* Clients cannot reach a Unix socket by URL; the front can. */
static void without_tcp_clients_start_a_front(void **state)
{
    static const char *const addresses[] = {NULL, "unix:/run/h.sock"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(addresses); i++) {
        UpFacts facts = {.http = addresses[i], .http_path = "/mcp", .socket = "/run/h"};
        Arena arena;
        Bytes out;

        arena_init(&arena, MAX_BYTES * 20);
        write_people(&out, &facts, &with_state);
        assert_non_null(strstr(out.data, "claude mcp add toolwire -- /bin/toolwire serve --config "
                                         "none --state '/s t'\n"));
        assert_at(find_json(&arena, out.data, "Cursor"), "/mcpServers/toolwire/args/4", "/s t");
        assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/command",
                  "/bin/toolwire");
        assert_not_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/url");
        assert_null(strstr(out.data, "http://"));
        bytes_deinit(&out);
        arena_deinit(&arena);
    }
}

/* `serve`, started by a client in whatever folder, must find this hub. */
static void a_front_is_told_of_the_settings(void **state)
{
    UpFacts facts = {.socket = "/run/h", .config = "/a b/c.json"};
    Arena arena;
    Bytes out;

    (void)state;
    arena_init(&arena, MAX_BYTES * 20);
    write_people(&out, &facts, &with_state);
    assert_non_null(strstr(out.data, "claude mcp add toolwire -- /bin/toolwire serve --config "
                                     "'/a b/c.json' --state '/s t'\n"));
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/1",
              "--config");
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/args/2",
              "/a b/c.json");
    assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/args/4", "/s t");
    bytes_deinit(&out);
    arena_deinit(&arena);
}

/* And in the same runtime folder. */
static void a_front_is_told_of_its_environment(void **state)
{
    static const PrivateFolderVariable variables[] = {{"XDG_RUNTIME_DIR", ""}, {"TMPDIR", "/t m"}};
    UpTextWith there = with_state;
    UpFacts facts = {.socket = "/run/h"};
    Arena arena;
    Bytes out;

    (void)state;
    there.variables = variables;
    there.n_variables = TW_ARRAY_SIZE(variables);
    arena_init(&arena, MAX_BYTES * 20);
    write_people(&out, &facts, &there);
    assert_non_null(strstr(out.data, "claude mcp add toolwire --env XDG_RUNTIME_DIR= --env "
                                     "TMPDIR='/t m' -- /bin/toolwire serve --config none "));
    assert_at(find_json(&arena, out.data, "Claude Desktop"), "/mcpServers/toolwire/env/TMPDIR",
              "/t m");
    assert_at(find_json(&arena, out.data, "VS Code"), "/servers/toolwire/env/XDG_RUNTIME_DIR", "");
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void without_a_way_there_is_no_configuration(void **state)
{
    UpFacts facts = {.http = "127.0.0.1:1", .http_path = "/mcp"};
    Bytes out;

    (void)state;
    write_people(&out, &facts, &with);
    assert_null(strstr(out.data, "Claude Desktop"));
    assert_null(strstr(out.data, "serve\""));
    assert_non_null(strstr(out.data, "Cursor"));
    bytes_deinit(&out);
    facts.http = "unix:/h";
    write_people(&out, &facts, &with);
    assert_null(strstr(out.data, "Cla"));
    assert_null(strstr(out.data, "Cursor"));
    assert_null(strstr(out.data, "VS Code"));
    bytes_deinit(&out);
}

/* ---- for programs ---- */

static void json_is_one_line_with_the_same_facts(void **state)
{
    UpFacts facts = plain;
    Arena arena;
    JsonValue value;
    JsonDoc doc;
    Bytes out;

    (void)state;
    facts.config = "/c.json";
    facts.needs_token = true;
    arena_init(&arena, MAX_BYTES * 20);
    bytes_init(&out, MAX_BYTES);
    assert_int_equal(up_text_write_json(&out, &facts, &with), 0);
    assert_ptr_equal(memchr(out.data, '\n', out.n), out.data + out.n - 1);
    assert_int_equal(json_parse(&doc, &arena, out.data, out.n, NULL, NULL), 0);
    assert_at(json_root(&doc), "/http/url", "http://127.0.0.1:7410/mcp");
    assert_at(json_root(&doc), "/http/address", "127.0.0.1:7410");
    assert_at(json_root(&doc), "/pipe", "/tmp/P");
    assert_at(json_root(&doc), "/socket", "/run/h");
    assert_at(json_root(&doc), "/config", "/c.json");
    assert_at(json_root(&doc), "/clients/claude_code",
              "claude mcp add --transport http toolwire http://127.0.0.1:7410/mcp --header "
              "'Authorization: Bearer YOUR_TOKEN'");
    assert_at(json_root(&doc), "/clients/vscode/servers/toolwire/type", "http");
    assert_at(json_root(&doc), "/clients/cursor/mcpServers/toolwire/url",
              "http://127.0.0.1:7410/mcp");
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/http/token"), &value), 0);
    assert_int_equal(json_kind(value), JSON_TRUE);
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/tools"), &value), 0);
    assert_true(span_equals(json_span(value), SPAN("1")));
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void what_is_not_there_is_null(void **state)
{
    UpFacts facts = {.n_tools = 0};
    Bytes out;

    (void)state;
    bytes_init(&out, MAX_BYTES);
    assert_int_equal(up_text_write_json(&out, &facts, &with), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_non_null(strstr(out.data, "\"tools\":0,\"http\":null,\"socket\":null,\"pipe\":null,"
                                     "\"queue\":null,\"config\":null,\"clients\":{}}"));
    bytes_clear(&out);
    facts.queue = "/state/queue.db";
    assert_int_equal(up_text_write_json(&out, &facts, &with), 0);
    assert_int_equal(up_text_write(&out, &facts, &with), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_non_null(strstr(out.data, "\"queue\":\"/state/queue.db\","));
    assert_non_null(strstr(out.data, "\n  queue     /state/queue.db\n"));
    bytes_deinit(&out);
}

/* ---- memory ---- */

static int write_both(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, MAX_BYTES);
    r = up_text_write(&out, &plain, &with);
    r = r != 0 ? r : up_text_write_json(&out, &plain, &with);
    bytes_deinit(&out);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    Bytes out;

    (void)state;
    test_oom_sweep(write_both, NULL);
    bytes_init(&out, 100);
    assert_int_equal(up_text_write(&out, &plain, &with), BYTES_E_FULL);
    assert_int_equal(up_text_write_json(&out, &plain, &with), BYTES_E_FULL);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_listens_is_said),
        cmocka_unit_test(clients_get_what_they_read),
        cmocka_unit_test(a_token_has_its_place_in_each),
        cmocka_unit_test(a_wide_address_is_reached_by_loopback),
        cmocka_unit_test(without_tcp_clients_start_a_front),
        cmocka_unit_test(a_front_is_told_of_the_settings),
        cmocka_unit_test(a_front_is_told_of_its_environment),
        cmocka_unit_test(without_a_way_there_is_no_configuration),
        cmocka_unit_test(json_is_one_line_with_the_same_facts),
        cmocka_unit_test(what_is_not_there_is_null),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
