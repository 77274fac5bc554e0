/* `toolwire host` as a bridge meets it: the real program, its socket, every byte.
 *
 *     test_host TOOLWIRE
 */
#include "e2e/callsock_peer.h"
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "support/files.h"

static const char *program;

#define REQUEST(name, arguments)                                                                   \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define SAYS(text)                                                                                 \
    "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}}"
#define TOOLS                                                                                      \
    "[{\"name\":\"cat\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\","              \
    "\"properties\":{\"n\":{\"type\":\"number\"}}},\"output_schema\":{\"type\":\"object\"},"       \
    "\"command\":[\"cat\"]},"                                                                      \
    "{\"name\":\"fails\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"            \
    "\"command\":[\"sh\",\"-c\",\"echo why >&2; exit 3\"]},"                                       \
    "{\"name\":\"much\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"             \
    "\"command\":[\"sh\",\"-c\",\"head -c 10485760 /dev/zero | tr '\\\\0' x\"]},"                  \
    "{\"name\":\"waits\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"            \
    "\"command\":[\"sleep\",\"600\"]}]"

typedef struct Fixture {
    Place place;
    char tools[96];
    HostProcess host;
} Fixture;

static void fixture_start(Fixture *f)
{
    const char *arguments[] = {"host",          "--tools",       f->tools, "--socket",
                               f->place.socket, "--diagnostics", NULL};

    host_start(&f->host, program, arguments);
}

static void fixture_init(Fixture *f)
{
    place_init(&f->place);
    (void)snprintf(f->tools, sizeof(f->tools), "%s/tools.json", f->place.folder);
    place_write(f->tools, TOOLS, 0644);
    fixture_start(f);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void fixture_deinit(Fixture *f)
{
    if (f->host.pid > 0) {
        assert_int_equal(host_stop(&f->host, SIGTERM), 0);
    }
    assert_false(exists(f->place.socket));
    assert_false(exists(f->place.schema));
    assert_int_equal(unlink(f->tools), 0);
    place_deinit(&f->place);
}

static void is_served(int fd)
{
    frame_write_str(fd, REQUEST("echo", "{\"message\":\"served\"}"));
    frame_expect(fd, SAYS("served"));
}

/* ---- the place ---- */

static void both_files_are_private_and_named_when_it_can_be_reached(void **state)
{
    struct stat info;
    size_t n;
    char *text;
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_non_null(strstr(f.host.ready, f.place.socket));
    assert_non_null(strstr(f.host.ready, f.place.schema));
    assert_non_null(strstr(f.host.ready, "7 tools"));
    assert_int_equal(lstat(f.place.socket, &info), 0);
    assert_int_equal(info.st_mode, S_IFSOCK | 0600);
    assert_int_equal(lstat(f.place.schema, &info), 0);
    assert_int_equal(info.st_mode, S_IFREG | 0600);
    text = files_read(f.place.schema, &n);
    assert_ptr_equal(strstr(text, "[{\"name\":\"cat\",\"description\":\"d\",\"input_schema\":{"),
                     text);
    assert_null(strstr(text, "command"));
    free(text);
    fixture_deinit(&f);
}

static void the_default_place_is_the_runtime_folder(void **state)
{
    static const char *const arguments[] = {"host", "--diagnostics", NULL};
    static const char *const print[] = {"host", "--print-config", NULL};
    char folder[96];
    char *out;
    char *err;
    HostProcess host;
    Place place;

    (void)state;
    place_init(&place);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", place.folder, 1), 0);
    host_start(&host, program, arguments);
    (void)snprintf(folder, sizeof(folder), "%s/toolwire/host.sock", place.folder);
    assert_non_null(strstr(host.ready, folder));
    assert_int_equal(run_program(program, print, &out, &err), 0);
    assert_string_equal(err, "");
    assert_non_null(strstr(out, folder));
    assert_non_null(strstr(out, program));
    assert_non_null(strstr(out, "\"bridge\""));
    free(out);
    free(err);
    assert_int_equal(host_stop(&host, SIGTERM), 0);
    /* Nothing is started by it, nor left. */
    assert_int_equal(run_program(program, print, NULL, NULL), 0);
    (void)snprintf(folder, sizeof(folder), "%s/toolwire", place.folder);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    place_deinit(&place);
}

static void a_live_parent_is_named_and_not_disturbed(void **state)
{
    const char *arguments[] = {"host", "--diagnostics", "--socket", NULL, NULL};
    char words[64];
    char *err;
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    is_served(fd);
    arguments[3] = f.place.socket;
    assert_int_equal(run_program(program, arguments, NULL, &err), 1);
    (void)snprintf(words, sizeof(words), "process %ld", (long)f.host.pid);
    if (strstr(err, words) == NULL) {
        fail_msg("wanted: %s\n   got: %s", words, err);
    }
    free(err);
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void assert_content(const char *path, const char *content)
{
    size_t n;
    char *text = files_read(path, &n);

    assert_string_equal(text, content);
    free(text);
}

/* The program refuses to start, with these words. */
static void expect_refused(const char *const *arguments, const char *words)
{
    char *err;

    assert_int_equal(run_program(program, arguments, NULL, &err), 1);
    if (strstr(err, words) == NULL) {
        fail_msg("wanted: %s\n   got: %s", words, err);
    }
    free(err);
}

/* The schema file of tools.sock would be tools.json, which is somebody's own. */
static void the_file_of_tools_is_not_taken_for_a_schema_file(void **state)
{
    char socket_path[96];
    char tools[96];
    const char *arguments[] = {"host", "--tools", tools, "--socket", socket_path, NULL};
    Place place;

    (void)state;
    place_init(&place);
    (void)snprintf(tools, sizeof(tools), "%s/tools.json", place.folder);
    (void)snprintf(socket_path, sizeof(socket_path), "%s/tools.sock", place.folder);
    place_write(tools, TOOLS, 0644);
    expect_refused(arguments, "tools.json is there and was not left by a parent: remove it, or "
                              "choose another path (--schema)");
    assert_content(tools, TOOLS);
    assert_false(exists(socket_path));
    assert_int_equal(unlink(tools), 0);
    place_deinit(&place);
}

/* A parent of another make: it locks nothing, and its schema file may even end as ours do. */
static void a_live_parent_of_another_make_keeps_its_files(void **state)
{
    static const char *const schemas[] = {"[]\n", "[]\t\n"};
    char words[64];
    Place place;
    const char *arguments[] = {"host", "--diagnostics", "--socket", place.socket, NULL};
    int listening;

    (void)state;
    place_init(&place);
    listening = parent_listen(&place);
    (void)snprintf(words, sizeof(words), "process %ld", (long)getpid());
    for (size_t i = 0; i < TW_ARRAY_SIZE(schemas); i++) {
        place_write(place.schema, schemas[i], 0600);
        expect_refused(arguments, words);
        assert_content(place.schema, schemas[i]);
        assert_int_equal(close(bridge_connect(place.socket)), 0);
    }
    assert_int_equal(close(listening), 0);
    place_deinit(&place);
}

static void printing_the_configuration_removes_nothing(void **state)
{
    static const char *const print[] = {"host", "--print-config", NULL};
    char folder[96];
    char left[128];
    Place place;

    (void)state;
    place_init(&place);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", place.folder, 1), 0);
    (void)snprintf(folder, sizeof(folder), "%s/toolwire", place.folder);
    (void)snprintf(left, sizeof(left), "%s/host-1.json", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    place_write(left, "[]\t\n", 0600);
    assert_int_equal(run_program(program, print, NULL, NULL), 0);
    assert_int_equal(unlink(left), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    place_deinit(&place);
}

/* Of the tests' own tools: what a test that fails leaves running goes with it. */
static void a_host_does_not_outlive_its_tester(void **state)
{
    Place place;
    const char *arguments[] = {"host", "--diagnostics", "--socket", place.socket, NULL};
    int alive[2];
    pid_t tester;

    (void)state;
    place_init(&place);
    assert_int_equal(pipe(alive), 0); /* which the host has too, for as long as it lives */
    tester = fork();
    assert_true(tester >= 0);
    if (tester == 0) {
        HostProcess host;

        host_start(&host, program, arguments);
        _exit(0);
    }
    assert_int_equal(close(alive[1]), 0);
    assert_int_equal(peer_wait(tester), 0);
    wire_expect_end(alive[0]);
    place_deinit(&place);
}

static void what_a_killed_parent_left_is_replaced(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    assert_int_equal(host_stop(&f.host, SIGKILL), -SIGKILL);
    assert_true(exists(f.place.socket));
    assert_true(exists(f.place.schema));
    fixture_start(&f);
    fd = bridge_connect(f.place.socket);
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

/* The second begins when the first has ended, in a turn of its own of the loop. */
static void a_request_that_was_sent_ahead_has_its_deadline_too(void **state)
{
    Place place;
    const char *arguments[] = {
        "host", "--diagnostics", "--socket", place.socket, "--call-timeout-ms", "50", NULL};
    HostProcess host;
    int fd;

    (void)state;
    place_init(&place);
    host_start(&host, program, arguments);
    fd = bridge_connect(place.socket);
    frame_write_str(fd, REQUEST("sleep", "{\"ms\":60000}"));
    frame_write_str(fd, REQUEST("sleep", "{\"ms\":60000}"));
    frame_expect_error(fd, "TimeoutError", "50 ms");
    frame_expect_error(fd, "TimeoutError", "50 ms");
    assert_int_equal(close(fd), 0);
    assert_int_equal(host_stop(&host, SIGTERM), 0);
    place_deinit(&place);
}

static void wrong_use_is_explained(void **state)
{
    static const char *const rows[][5] = {
        {"host", NULL},
        {"host", "--diagnostics", "operand", NULL},
        {"host", "--tools", "/no/such/tools.json", NULL},
        {"host", "--config", "/no/such/config.json", NULL},
        {"host", "--diagnostics", "--drain-ms", "soon", NULL},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        char *err;

        assert_int_equal(run_program(program, rows[i], NULL, &err), 2);
        assert_memory_equal(err, "toolwire host: ", 15);
        free(err);
    }
}

/* ---- the contract's errors ---- */

static void wrong_requests_are_answered_and_the_next_is_served(void **state)
{
    static const struct {
        const char *request;
        const char *type;
        const char *words;
    } rows[] = {
        {"{\"method\":\"list_tools\"}", "ValueError", "Unknown method: list_tools"},
        {"{\"params\":{}}", "ValueError", "Unknown method: None"},
        {"{\"method\":\"call_tool\"}", "ValueError", "Invalid params: expected dict"},
        {"{\"method\":\"call_tool\",\"params\":{}}", "ValueError",
         "Invalid tool name: expected string"},
        {REQUEST("echo", "5"), "ValueError", "Invalid arguments: expected dict"},
        {REQUEST("none", "{}"), "ToolNotFoundError", "Unknown tool: none"},
        {REQUEST("cat", "{\"n\":\"x\"}"), "ValueError", "expected number, got string"},
    };
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        frame_write_str(fd, rows[i].request);
        frame_expect_error(fd, rows[i].type, rows[i].words);
        is_served(fd);
    }
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void a_broken_stream_is_told_why_and_closed(void **state)
{
    static const struct {
        Span bytes;
        const char *type;
        const char *words;
    } rows[] = {
        {SPAN_INIT("\0\0\0\5hello"), "IPCError", "Invalid JSON"},
        {SPAN_INIT("\0\0\0\0"), "IPCError", "Invalid JSON"},
        {SPAN_INIT("\0\0\0\2[]"), "IPCError", "expected an object"},
        {SPAN_INIT("\0\xa0\0\1"), "IPCMessageSizeError", "10485761 bytes"},
        {SPAN_INIT("\xff\xff\xff\xff"), "IPCMessageSizeError", "4294967295 bytes"},
        {SPAN_INIT("\x78\0\0\0"), "IPCMessageSizeError",
         "in the other byte order the length is 120"},
        {SPAN_INIT("\0\0\0\x20{\"method\":"), "IPCError", "ended before the length"},
    };
    int witness;
    Fixture f;

    (void)state;
    fixture_init(&f);
    witness = bridge_connect(f.place.socket);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        int fd = bridge_connect(f.place.socket);

        wire_write(fd, rows[i].bytes.p, rows[i].bytes.n);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        frame_expect_error(fd, rows[i].type, rows[i].words);
        wire_expect_end(fd);
        is_served(witness);
    }
    assert_int_equal(close(witness), 0);
    fixture_deinit(&f);
}

/* As the contract has it, so that a bridge which copies nothing but content still shows an error.
 */
static void a_command_that_fails_is_answered_with_an_error(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    frame_write_str(fd, REQUEST("fails", "{}"));
    frame_expect(fd, "{\"error\":{\"message\":\"exit status 3\\nwhy\",\"type\":"
                     "\"CalledProcessError\"}}");
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void results_of_commands_arrive(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    frame_write_str(fd, REQUEST("cat", "{\"n\":9007199254740993,\"x\":1.0}"));
    frame_expect(fd, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":"
                     "9007199254740993,\\\"x\\\":1.0}\"}],\"isError\":false,\"structuredContent\":"
                     "{\"n\":9007199254740993,\"x\":1.0}}}");
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void a_result_over_the_limit_is_an_error_and_the_next_call_is_served(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    frame_write_str(fd, REQUEST("much", "{}"));
    frame_expect_error(fd, "IPCMessageSizeError", "");
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void a_request_at_the_limit_passes(void **state)
{
    static const char head[] =
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"echo\",\"arguments\":{\"message\":\"";
    static const char tail[] = "\"}}}";
    size_t n = LIMIT_CALLSOCK_MESSAGE_BYTES;
    char *request = malloc(n);
    char *got;
    Fixture f;
    int fd;

    (void)state;
    assert_non_null(request);
    memset(request, 'x', n);
    memcpy(request, head, sizeof(head) - 1);
    memcpy(request + n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    fixture_init(&f);
    fd = bridge_connect(f.place.socket);
    frame_write(fd, request, n);
    got = frame_read(fd, &n);
    assert_non_null(got);
    assert_true(n > LIMIT_CALLSOCK_MESSAGE_BYTES - 100);
    assert_non_null(strstr(got, "\"isError\":false"));
    free(got);
    free(request);
    is_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_deinit(&f);
}

static void connections_run_side_by_side(void **state)
{
    Fixture f;
    int slow;
    int quick;

    (void)state;
    fixture_init(&f);
    slow = bridge_connect(f.place.socket);
    quick = bridge_connect(f.place.socket);
    frame_write_str(slow, REQUEST("waits", "{}"));
    is_served(quick);
    is_served(quick);
    /* Its end cancels the call: the drain has nothing to wait for. */
    assert_int_equal(close(slow), 0);
    assert_int_equal(close(quick), 0);
    fixture_deinit(&f);
}

/* ---- the end ---- */

static void a_signal_lets_calls_finish_and_removes_both_files(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        Fixture f;
        int idle;
        int fd;

        fixture_init(&f);
        idle = bridge_connect(f.place.socket);
        fd = bridge_connect(f.place.socket);
        frame_write_str(fd, REQUEST("sleep", "{\"ms\":300}"));
        is_served(idle);
        assert_int_equal(kill(f.host.pid, signums[i]), 0);
        wire_expect_end(idle);
        assert_false(exists(f.place.socket));
        frame_expect(fd, SAYS("slept 300 ms"));
        wire_expect_end(fd);
        assert_int_equal(host_finish(&f.host), 0);
        fixture_deinit(&f);
    }
}

static void a_second_signal_does_not_wait(void **state)
{
    Fixture f;
    int idle;
    int fd;

    (void)state;
    fixture_init(&f);
    idle = bridge_connect(f.place.socket);
    fd = bridge_connect(f.place.socket);
    frame_write_str(fd, REQUEST("waits", "{}"));
    is_served(idle);
    assert_int_equal(kill(f.host.pid, SIGTERM), 0);
    wire_expect_end(idle);
    assert_int_equal(kill(f.host.pid, SIGTERM), 0);
    wire_expect_end(fd);
    assert_int_equal(host_finish(&f.host), 0);
    fixture_deinit(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_files_are_private_and_named_when_it_can_be_reached),
        cmocka_unit_test(the_default_place_is_the_runtime_folder),
        cmocka_unit_test(a_live_parent_is_named_and_not_disturbed),
        cmocka_unit_test(the_file_of_tools_is_not_taken_for_a_schema_file),
        cmocka_unit_test(a_live_parent_of_another_make_keeps_its_files),
        cmocka_unit_test(printing_the_configuration_removes_nothing),
        cmocka_unit_test(a_host_does_not_outlive_its_tester),
        cmocka_unit_test(what_a_killed_parent_left_is_replaced),
        cmocka_unit_test(wrong_use_is_explained),
        cmocka_unit_test(wrong_requests_are_answered_and_the_next_is_served),
        cmocka_unit_test(a_broken_stream_is_told_why_and_closed),
        cmocka_unit_test(results_of_commands_arrive),
        cmocka_unit_test(a_command_that_fails_is_answered_with_an_error),
        cmocka_unit_test(a_result_over_the_limit_is_an_error_and_the_next_call_is_served),
        cmocka_unit_test(a_request_at_the_limit_passes),
        cmocka_unit_test(a_request_that_was_sent_ahead_has_its_deadline_too),
        cmocka_unit_test(connections_run_side_by_side),
        cmocka_unit_test(a_signal_lets_calls_finish_and_removes_both_files),
        cmocka_unit_test(a_second_signal_does_not_wait),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_host TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
