#include "providers/exec.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "providers/exec_run.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define SEED         ((HashSeed){1, 2})
#define SCHEMA       "\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}"
#define RESULT_BYTES ((size_t)32 * 1024 * 1024)

/* A tool whose command is a shell script. */
#define SCRIPT(name, script)                                                                       \
    "{\"name\":\"" name "\"," SCHEMA ",\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]}"

typedef struct Fixture {
    IoLoop *loop;
    Router *router;
    IoTimer *clock; /* tells the router the time */
    ExecProvider *provider;
    size_t max_request_bytes; /* for the provider */
    size_t max_response_bytes;
    char folder[PATH_MAX];
    char file[PATH_MAX + 16];
} Fixture;

/* One call and what became of it. */
typedef struct Asked {
    Call call; /* first: the door gets a Call */
    Fixture *fixture;
    int n_finished;
    bool stop_at_end;
    CallResultKind kind;
    CallError error;
    bool is_error;
    Bytes content;
    Bytes structured;
    Bytes message;
    Arena arena;
} Asked;

static void keep_time(Fixture *f)
{
    io_timer_start_at(f->clock, router_next_deadline(f->router));
}

static void on_clock(void *context)
{
    Fixture *f = context;

    router_advance(f->router, io_loop_now_ms(f->loop));
    keep_time(f);
}

static void door_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    asked->n_finished++;
    asked->kind = result->kind;
    asked->error = result->error;
    asked->is_error = result->is_error;
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_int_equal(bytes_append_span(&asked->content, result->pieces[i]), 0);
    }
    assert_int_equal(bytes_append_span(&asked->structured, result->structured), 0);
    assert_int_equal(bytes_append_span(&asked->message, result->message), 0);
    if (asked->stop_at_end) {
        io_loop_stop(asked->fixture->loop);
    }
    keep_time(asked->fixture);
}

static const CallDoor door = {.finish = door_finish};

static void ask(Asked *asked, Fixture *f, const char *tool, const char *arguments)
{
    *asked = (Asked){.fixture = f, .stop_at_end = true};
    bytes_init(&asked->content, RESULT_BYTES);
    bytes_init(&asked->structured, RESULT_BYTES);
    bytes_init(&asked->message, RESULT_BYTES);
    arena_init(&asked->arena, RESULT_BYTES * 2);
    call_init(&asked->call);
    asked->call.door = &door;
    asked->call.verb = CALL_TOOL;
    asked->call.target = span_from_str(tool);
    if (arguments != NULL) {
        JsonDoc doc;

        assert_int_equal(json_parse(&doc, &asked->arena, arguments, strlen(arguments), NULL, NULL),
                         0);
        asked->call.arguments = json_root(&doc);
    }
    router_advance(f->router, io_loop_now_ms(f->loop));
    router_dispatch(f->router, NULL, &asked->call);
    keep_time(f);
}

static void forget(Asked *asked)
{
    bytes_deinit(&asked->content);
    bytes_deinit(&asked->structured);
    bytes_deinit(&asked->message);
    arena_deinit(&asked->arena);
    call_deinit(&asked->call);
}

/* Asks and waits for the end. */
static void run(Asked *asked, Fixture *f, const char *tool, const char *arguments)
{
    ask(asked, f, tool, arguments);
    if (asked->n_finished == 0) {
        assert_int_equal(io_loop_run(f->loop), 0);
    } else {
        io_loop_stop(f->loop); /* was asked for inside */
        assert_int_equal(io_loop_run(f->loop), 0);
    }
    assert_int_equal(asked->n_finished, 1);
}

static void assert_span(const Bytes *b, const char *text)
{
    if (b->n != strlen(text) || (b->n > 0 && memcmp(b->data, text, b->n) != 0)) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)b->n, b->data, text);
    }
}

static void assert_text(const Asked *asked, bool is_error, const char *json_text)
{
    char expected[8192];

    (void)snprintf(expected, sizeof(expected), "{\"type\":\"text\",\"text\":\"%s\"}", json_text);
    assert_int_equal(asked->kind, CALL_RESULT_TOOL);
    assert_int_equal(asked->is_error, is_error);
    assert_span(&asked->content, expected);
}

static void put_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static int load_from(Fixture *f, const char *path, Diag *diag)
{
    return exec_provider_load(&f->provider,
                              &(ExecProviderConfig){.router = f->router,
                                                    .loop = f->loop,
                                                    .path = path,
                                                    .max_request_bytes = f->max_request_bytes,
                                                    .max_response_bytes = f->max_response_bytes},
                              diag);
}

static int try_load(Fixture *f, const char *text, Diag *diag)
{
    put_file(f->file, text);
    return load_from(f, f->file, diag);
}

static void load(Fixture *f, const char *text)
{
    Diag diag = DIAG_NULL;

    if (try_load(f, text, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));
    char template[] = "/tmp/tw-exec-XXXXXX";

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(f);
    assert_non_null(mkdtemp(template));
    assert_non_null(realpath(template, f->folder));
    (void)snprintf(f->file, sizeof(f->file), "%s/tools.json", f->folder);
    assert_int_equal(io_loop_new(&f->loop), 0);
    assert_int_equal(router_new(&f->router, NULL, SEED), 0);
    assert_int_equal(io_timer_new(&f->clock, f->loop, false, on_clock, f), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    f->provider = exec_provider_free(f->provider);
    f->router = router_free(f->router);
    f->clock = io_timer_free(f->clock);
    f->loop = io_loop_free(f->loop);
    (void)unlink(f->file);
    assert_int_equal(rmdir(f->folder), 0);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, dead or alive, is left */
    free(f);
    return 0;
}

static void output_becomes_text(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("hello", "echo 'a \\\"b\\\"'; echo; echo") "]");
    run(&asked, f, "hello", NULL);
    assert_text(&asked, false, "a \\\"b\\\"\\n\\n"); /* without one newline at the end */
    assert_int_equal(asked.structured.n, 0);
    forget(&asked);
}

static void a_newline_of_two_characters_is_taken_off_whole(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("hello", "printf 'a\\\\r\\\\nb\\\\r\\\\n'") "]");
    run(&asked, f, "hello", NULL);
    assert_text(&asked, false, "a\\r\\nb");
    forget(&asked);
}

static void arguments_reach_stdin_byte_for_byte(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[{\"name\":\"cat\"," SCHEMA ",\"command\":[\"cat\"]}]");
    run(&asked, f, "cat", "{ \"b\": 1.50,\n \"a\": [ \"\\u00e4\" ] }");
    assert_text(&asked, false, "{ \\\"b\\\": 1.50,\\n \\\"a\\\": [ \\\"\\\\u00e4\\\" ] }");
    forget(&asked);
    run(&asked, f, "cat", NULL);
    assert_text(&asked, false, "{}");
    forget(&asked);
}

static void a_newline_ends_the_arguments(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("read", "IFS= read -r line && echo got $line") "]");
    run(&asked, f, "read", "{}");
    assert_text(&asked, false, "got {}");
    forget(&asked);
}

static void large_arguments_reach_a_slow_reader_and_come_back(void **state)
{
    Fixture *f = *state;
    size_t n = 900000;
    char *arguments = malloc(n + 16);
    Asked asked;

    assert_non_null(arguments);
    memcpy(arguments, "{\"x\":\"", 6);
    memset(arguments + 6, 'y', n);
    memcpy(arguments + 6 + n, "\"}", 3);
    load(f, "[{\"name\":\"cat\"," SCHEMA ",\"command\":[\"cat\"]}]");
    run(&asked, f, "cat", arguments);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_int_equal(asked.content.n,
                     n + strlen("{\"type\":\"text\",\"text\":\"{\\\"x\\\":\\\"\\\"}\"}"));
    forget(&asked);
    free(arguments);
}

static void a_tool_need_not_read_its_arguments(void **state)
{
    Fixture *f = *state;
    size_t n = 900000;
    char *arguments = malloc(n + 16);
    Asked asked;

    assert_non_null(arguments);
    memcpy(arguments, "{\"x\":\"", 6);
    memset(arguments + 6, 'y', n);
    memcpy(arguments + 6 + n, "\"}", 3);
    load(f, "[" SCRIPT("deaf", "exec <&-; echo done") "]");
    run(&asked, f, "deaf", arguments);
    assert_text(&asked, false, "done");
    forget(&asked);
    free(arguments);
}

static void an_object_is_structured_if_there_is_an_output_schema(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f,
         "[{\"name\":\"s\"," SCHEMA ",\"output_schema\":{\"type\":\"object\",\"required\":[\"n\"]},"
         "\"command\":[\"/bin/sh\",\"-c\",\"cat\"]}," SCRIPT("plain", "cat") "]");
    run(&asked, f, "s", "{\"n\": 1}");
    assert_text(&asked, false, "{\\\"n\\\":1}"); /* for clients that know only text */
    assert_span(&asked.structured, "{\"n\":1}");
    forget(&asked);
    run(&asked, f, "plain", "{\"n\": 1}");
    assert_text(&asked, false, "{\\\"n\\\": 1}"); /* text is not touched */
    assert_int_equal(asked.structured.n, 0);
    forget(&asked);
    run(&asked, f, "s", "{\"m\": 1}"); /* breaks its own schema */
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_BAD_RESULT);
    forget(&asked);
}

static void text_where_an_object_was_promised_is_the_routers_to_judge(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[{\"name\":\"s\"," SCHEMA ",\"output_schema\":{\"type\":\"object\"},"
            "\"command\":[\"echo\",\"[1]\"]}]");
    run(&asked, f, "s", NULL);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_BAD_RESULT);
    forget(&asked);
}

static void an_exit_status_is_a_tool_error_with_the_end_of_stderr(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "echo out; echo why >&2; exit 3") "," SCRIPT("b", "exit 1") "]");
    run(&asked, f, "a", NULL);
    assert_text(&asked, true, "out\\nexit status 3\\nwhy");
    forget(&asked);
    run(&asked, f, "b", NULL);
    assert_text(&asked, true, "exit status 1");
    forget(&asked);
}

static void a_signal_is_a_tool_error(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "kill -KILL $$") "]");
    run(&asked, f, "a", NULL);
    assert_text(&asked, true, "ended by signal SIGKILL");
    forget(&asked);
}

static void only_the_end_of_stderr_is_kept(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; "
                            "exit 1") "]");
    run(&asked, f, "a", NULL);
    assert_true(asked.is_error);
    assert_true(asked.content.n < EXEC_RUN_TAIL_BYTES * 2);
    assert_true(asked.content.n > EXEC_RUN_TAIL_BYTES);
    assert_int_equal(bytes_append_byte(&asked.content, '\0'), 0);
    assert_non_null(strstr(asked.content.data, "exit status 1\\n[...]"));
    assert_non_null(strstr(asked.content.data, "line 2999\""));
    assert_null(strstr(asked.content.data, "line 2000\\n"));
    forget(&asked);
}

/* Characters of two bytes, and one byte more than is kept: what is left of the first one goes. */
static void the_end_of_stderr_begins_with_a_whole_character(void **state)
{
    Fixture *f = *state;
    Asked asked;
    Bytes expected;

    load(f,
         "[" SCRIPT("a", "printf '\\\\303\\\\251%.0s' $(seq 2048) >&2; printf x >&2; exit 1") "]");
    run(&asked, f, "a", NULL);
    bytes_init(&expected, RESULT_BYTES);
    assert_int_equal(
        bytes_append_format(&expected, "{\"type\":\"text\",\"text\":\"exit status 1\\n[...]"), 0);
    for (size_t i = 1; i < EXEC_RUN_TAIL_BYTES / 2; i++) {
        assert_int_equal(bytes_append_format(&expected, "\xC3\xA9"), 0);
    }
    assert_int_equal(bytes_append_format(&expected, "x\"}"), 0);
    assert_int_equal(asked.content.n, expected.n);
    assert_memory_equal(asked.content.data, expected.data, expected.n);
    bytes_deinit(&expected);
    forget(&asked);
}

static void stderr_of_a_success_is_not_part_of_the_result(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "echo noise >&2; echo fine") "]");
    run(&asked, f, "a", NULL);
    assert_text(&asked, false, "fine");
    forget(&asked);
}

static void bytes_that_are_not_text_are_replaced(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "printf 'a\\\\377b'") "]");
    run(&asked, f, "a", NULL);
    assert_text(&asked, false,
                "a\xEF\xBF\xBD"
                "b");
    forget(&asked);
}

static void too_much_output_ends_the_command(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("flood", "trap '' PIPE; tr '\\\\0' x < /dev/zero 2>&-; while :; do sleep "
                                "1000; done") "," SCRIPT("ok", "echo ok") "]");
    run(&asked, f, "flood", NULL);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_TOO_LARGE);
    forget(&asked);
    run(&asked, f, "ok", NULL);
    assert_text(&asked, false, "ok");
    forget(&asked);
}

#define CAT_TOOL "[{\"name\":\"cat\"," SCHEMA ",\"command\":[\"cat\"]}]"

/* {"x":"yyy…"} of n bytes, to be freed. */
static char *arguments_of(size_t n)
{
    char *arguments = malloc(n + 1);

    assert_non_null(arguments);
    memset(arguments, 'y', n);
    memcpy(arguments, "{\"x\":\"", 6);
    memcpy(arguments + n - 2, "\"}", 3);
    return arguments;
}

/* Calls cat with arguments of n bytes. */
static void assert_arguments_pass(Fixture *f, size_t n, bool pass)
{
    char *arguments = arguments_of(n);
    Asked asked;

    run(&asked, f, "cat", arguments);
    if (pass) {
        assert_int_equal(asked.kind, CALL_RESULT_TOOL);
        assert_int_equal(asked.content.n,
                         n + strlen("{\"type\":\"text\",\"text\":\"\"}") + strlen("\\\\\\\\"));
    } else {
        assert_int_equal(asked.kind, CALL_RESULT_ERROR);
        assert_int_equal(asked.error, CALL_ERROR_TOO_LARGE);
        assert_span(&asked.message, "the arguments are too large for a command");
    }
    forget(&asked);
    free(arguments);
}

static void arguments_may_be_as_long_as_a_request(void **state)
{
    Fixture *f = *state;

    load(f, CAT_TOOL);
    assert_arguments_pass(f, LIMIT_MCP_REQUEST_BYTES, true);
    assert_arguments_pass(f, LIMIT_MCP_REQUEST_BYTES + 1, false);
    assert_arguments_pass(f, 100, true); /* the next call has the room again */
    f->provider = exec_provider_free(f->provider);
    f->max_request_bytes = LIMIT_MCP_REQUEST_BYTES * 3;
    load(f, CAT_TOOL);
    assert_arguments_pass(f, LIMIT_MCP_REQUEST_BYTES * 3, true);
    assert_arguments_pass(f, LIMIT_MCP_REQUEST_BYTES * 3 + 1, false);
}

/* A tool that prints n bytes, of which the last is not a newline. */
static void assert_output_passes(Fixture *f, size_t n, bool pass)
{
    char file[512];
    Asked asked;

    (void)snprintf(file, sizeof(file),
                   "[" SCRIPT("print", "head -c %zu /dev/zero | tr '\\\\0' x") "]", n);
    load(f, file);
    run(&asked, f, "print", NULL);
    if (pass) {
        assert_int_equal(asked.kind, CALL_RESULT_TOOL);
        assert_int_equal(asked.content.n, n + strlen("{\"type\":\"text\",\"text\":\"\"}"));
    } else {
        assert_int_equal(asked.kind, CALL_RESULT_ERROR);
        assert_int_equal(asked.error, CALL_ERROR_TOO_LARGE);
        assert_true(span_starts_with(bytes_span(&asked.message), SPAN("the result is too large")));
    }
    forget(&asked);
    f->provider = exec_provider_free(f->provider);
}

static void output_may_be_as_long_as_a_response(void **state)
{
    Fixture *f = *state;
    size_t n_around = strlen("{\"type\":\"text\",\"text\":\"\"}");

    assert_output_passes(f, LIMIT_MCP_RESPONSE_BYTES - n_around, true);
    assert_output_passes(f, LIMIT_MCP_RESPONSE_BYTES - n_around + 1, false);
    f->max_response_bytes = LIMIT_MCP_RESPONSE_BYTES * 2;
    assert_output_passes(f, LIMIT_MCP_RESPONSE_BYTES * 2 - n_around, true);
    assert_output_passes(f, LIMIT_MCP_RESPONSE_BYTES * 2 + 1, false);
    f->max_response_bytes = 2048;
    assert_output_passes(f, 2048 - n_around, true);
    assert_output_passes(f, 2048, false);
}

/* A tool that prints objects nested as deep as the argument says. */
#define NEST                                                                                       \
    "[{\"name\":\"nest\"," SCHEMA ",\"output_schema\":{\"type\":\"object\"},\"command\":"          \
    "[\"awk\",\"{ gsub(/[^0-9]/, \\\"\\\"); for (i = 1; i < $0 + 0; i++) printf \\\"{\\\\\\\"a"    \
    "\\\\\\\":\\\"; printf \\\"{}\\\"; for (i = 1; i < $0 + 0; i++) printf \\\"}\\\" }\"]}]"

static void output_that_is_nested_too_deeply_is_refused_by_that_name(void **state)
{
    static const size_t depths[] = {LIMIT_RESULT_DEPTH, LIMIT_RESULT_DEPTH + 1, LIMIT_JSON_DEPTH,
                                    LIMIT_JSON_DEPTH + 1};
    Fixture *f = *state;

    load(f, NEST);
    for (size_t i = 0; i < TW_ARRAY_SIZE(depths); i++) {
        char arguments[32];
        Asked asked;

        (void)snprintf(arguments, sizeof(arguments), "{\"n\":%zu}", depths[i]);
        run(&asked, f, "nest", arguments);
        if (i == 0) {
            assert_int_equal(asked.kind, CALL_RESULT_TOOL);
            assert_int_equal(asked.structured.n, 6 * (depths[i] - 1) + 2);
        } else {
            assert_int_equal(asked.error, CALL_ERROR_BAD_RESULT);
            assert_span(&asked.message, "the provider's answer is nested too deeply");
        }
        forget(&asked);
    }
}

static void a_program_that_is_not_there_is_unavailable(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[{\"name\":\"a\"," SCHEMA ",\"command\":[\"./no-such-program\"]}]");
    run(&asked, f, "a", NULL);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_UNAVAILABLE);
    assert_int_equal(bytes_append_byte(&asked.message, '\0'), 0);
    assert_non_null(strstr(asked.message.data, "no-such-program: no such file"));
    forget(&asked);
}

static void a_command_with_a_slash_is_found_beside_the_file(void **state)
{
    Fixture *f = *state;
    char script[PATH_MAX + 16];
    Asked asked;

    (void)snprintf(script, sizeof(script), "%s/tool", f->folder);
    put_file(script, "#!/bin/sh\necho beside in $(pwd)\n");
    assert_int_equal(chmod(script, 0700), 0);
    load(f, "[{\"name\":\"a\"," SCHEMA ",\"command\":[\"./tool\"],\"cwd\":\"/usr\"}]");
    run(&asked, f, "a", NULL);
    assert_text(&asked, false, "beside in /usr");
    forget(&asked);
    assert_int_equal(unlink(script), 0);
}

static void the_environment_is_cleaned(void **state)
{
    Fixture *f = *state;
    Asked asked;

    assert_int_equal(setenv("TW_SECRET", "s3cret", 1), 0);
    assert_int_equal(setenv("TW_NAMED", "named", 1), 0);
    assert_int_equal(setenv("LC_TW", "locale", 1), 0);
    assert_int_equal(setenv("TZ", "ours", 1), 0);
    load(f, "[{\"name\":\"bare\"," SCHEMA ",\"command\":[\"/bin/sh\",\"-c\","
            "\"echo $TW_SECRET,$TW_NAMED,$LC_TW,$TZ,$MADE\"]},"
            "{\"name\":\"map\"," SCHEMA ",\"env\":{\"MADE\":\"up\",\"TZ\":\"theirs\"},"
            "\"command\":[\"/bin/sh\",\"-c\",\"echo $TW_SECRET,$TW_NAMED,$LC_TW,$TZ,$MADE\"]},"
            "{\"name\":\"list\"," SCHEMA ",\"env\":[\"TW_NAMED\",\"TW_NOT_SET\"],"
            "\"command\":[\"/bin/sh\",\"-c\",\"echo $TW_SECRET,$TW_NAMED,$LC_TW,$TZ,$MADE\"]}]");
    run(&asked, f, "bare", NULL);
    assert_text(&asked, false, ",,locale,ours,");
    forget(&asked);
    run(&asked, f, "map", NULL);
    assert_text(&asked, false, ",,locale,theirs,up");
    forget(&asked);
    run(&asked, f, "list", NULL);
    assert_text(&asked, false, ",named,locale,ours,");
    forget(&asked);
    assert_int_equal(unsetenv("TZ"), 0);
}

/* Waits until the script has written the pid of its grandchild. */
static pid_t wait_for_pid(const Fixture *f)
{
    char path[PATH_MAX + 16];
    long pid = 0;

    (void)snprintf(path, sizeof(path), "%s/pid", f->folder);
    while (pid == 0) {
        FILE *in = fopen(path, "r");
        char line[32] = {0};

        if (in != NULL) {
            if (fgets(line, sizeof(line), in) != NULL && strchr(line, '\n') != NULL) {
                pid = strtol(line, NULL, 10);
            }
            (void)fclose(in);
        }
    }
    assert_int_equal(unlink(path), 0);
    return (pid_t)pid;
}

/* Gone, or dead and left to whoever reaps orphans here. */
static bool is_dead(pid_t pid)
{
    char path[64];
    char line[256] = {0};
    FILE *in;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    in = fopen(path, "r");
    if (in == NULL) {
        return true;
    }
    (void)!fgets(line, sizeof(line), in);
    (void)fclose(in);
    return strstr(line, ") Z") != NULL || line[0] == '\0';
}

static void a_deadline_ends_the_whole_group(void **state)
{
    Fixture *f = *state;
    Asked asked;
    pid_t pid;

    load(f,
         "[{\"name\":\"a\"," SCHEMA ",\"timeout_ms\":100,\"cwd\":\".\","
         "\"command\":[\"/bin/sh\",\"-c\",\"sleep 1000 & echo $! > pid.x; mv pid.x pid; wait\"]}]");
    ask(&asked, f, "a", NULL);
    pid = wait_for_pid(f); /* the deadline counts only in the loop: no child is too slow for it */
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(asked.kind, CALL_RESULT_ERROR);
    assert_int_equal(asked.error, CALL_ERROR_TIMEOUT);
    assert_int_equal(io_loop_run(f->loop), 0); /* until the child is reaped */
    assert_int_equal(asked.n_finished, 1);
    while (!is_dead(pid)) { /* the grandchild dies on its own processor */
    }
    forget(&asked);
}

static void a_cancelled_call_is_forgotten_at_once(void **state)
{
    Fixture *f = *state;
    Asked asked;
    Asked other;
    pid_t pid;

    load(f,
         "[{\"name\":\"a\"," SCHEMA ",\"cwd\":\".\",\"command\":[\"/bin/sh\",\"-c\","
         "\"trap '' TERM; echo $$ > pid.x; mv pid.x pid; while :; do sleep 1000; done\"]}," SCRIPT(
             "b", "echo b") "]");
    ask(&asked, f, "a", NULL);
    pid = wait_for_pid(f);
    router_cancel(f->router, &asked.call);
    keep_time(f);
    forget(&asked); /* the call's memory is the door's again */
    run(&other, f, "b", NULL);
    assert_text(&other, false, "b");
    forget(&other);
    assert_false(is_dead(pid)); /* it does not listen to TERM */
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_true(is_dead(pid)); /* but KILL followed */
    assert_int_equal(asked.n_finished, 0);
}

static void a_cancelled_call_is_forgotten_by_free_too(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "trap '' TERM; while :; do sleep 1000; done") "]");
    ask(&asked, f, "a", NULL);
    asked.stop_at_end = false;
    router_cancel(f->router, &asked.call);
    f->provider = exec_provider_free(f->provider); /* the command has not ended yet */
    assert_int_equal(asked.n_finished, 0);
    forget(&asked);
}

/* Calling and cancelling in turn must not collect commands that do not listen to TERM. */
static void commands_that_do_not_end_keep_new_ones_out(void **state)
{
    Fixture *f = *state;
    Asked asked;

    load(f, "[" SCRIPT("a", "trap '' TERM; while :; do sleep 1000; done") "]");
    for (size_t i = 0; i < LIMIT_CALLS_IN_FLIGHT; i++) {
        ask(&asked, f, "a", NULL);
        assert_int_equal(asked.n_finished, 0);
        router_cancel(f->router, &asked.call);
        forget(&asked);
    }
    ask(&asked, f, "a", NULL);
    assert_int_equal(asked.n_finished, 1);
    assert_int_equal(asked.error, CALL_ERROR_BUSY);
    forget(&asked);
}

/* True if fd ends: nobody holds its other side any more. A generous time, which only a failure
 * takes. */
static bool comes_to_its_end(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char c;
    int n;

    do {
        n = poll(&wait, 1, 20000);
    } while (n < 0 && errno == EINTR);
    return n == 1 && read(fd, &c, 1) == 0;
}

/* The writing end of the pipe is open in commands, too: while one lives, the pipe does not end. */
static void run_with_witness(Asked *asked, Fixture *f, const char *text, int *ret_fd)
{
    int fds[2];

    load(f, text);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFD, FD_CLOEXEC), 0);
    run(asked, f, "a", NULL);
    (void)close(fds[1]);
    *ret_fd = fds[0];
}

static void what_holds_the_output_open_does_not_hold_the_call_and_is_ended(void **state)
{
    Fixture *f = *state;
    Asked asked;
    int fd;

    run_with_witness(&asked, f, "[" SCRIPT("a", "echo hi; sleep 1000 & exit 0") "]", &fd);
    assert_text(&asked, false, "hi");
    assert_true(comes_to_its_end(fd));
    (void)close(fd);
    forget(&asked);
}

static void what_a_command_left_without_its_output_is_ended_too(void **state)
{
    Fixture *f = *state;
    Asked asked;
    int fd;

    run_with_witness(&asked, f, "[" SCRIPT("a", "echo hi; sleep 1000 >&- 2>&- & exit 0") "]", &fd);
    assert_text(&asked, false, "hi");
    assert_true(comes_to_its_end(fd));
    (void)close(fd);
    forget(&asked);
}

static void what_is_left_and_does_not_listen_is_killed_later(void **state)
{
    Fixture *f = *state;
    Asked asked;
    int fd;

    run_with_witness(&asked, f, "[" SCRIPT("a", "trap '' TERM; sleep 1000 & echo hi") "]", &fd);
    assert_text(&asked, false, "hi");
    forget(&asked);
    /* Freed: it is not waited for, but killed with the loop at the latest. */
    f->provider = exec_provider_free(f->provider);
    f->clock = io_timer_free(f->clock);
    f->loop = io_loop_free(f->loop);
    assert_true(comes_to_its_end(fd));
    (void)close(fd);
    f->router = router_free(f->router);
    assert_int_equal(io_loop_new(&f->loop), 0);
    assert_int_equal(router_new(&f->router, NULL, SEED), 0);
}

typedef struct Reaping {
    Fixture *fixture;
    IoTimer *timer;
    pid_t pid;
} Reaping;

/* Looks every millisecond whether the loop has reaped the process. */
static void look_for_reaping(void *context)
{
    Reaping *reaping = context;

    if (kill(reaping->pid, 0) == 0) {
        io_timer_start_at(reaping->timer, io_loop_now_ms(reaping->fixture->loop) + 1);
    } else {
        io_loop_stop(reaping->fixture->loop);
    }
}

static void what_is_left_of_a_command_ends_with_the_provider(void **state)
{
    Fixture *f = *state;
    Reaping reaping = {.fixture = f};
    Asked asked;
    int fds[2];

    load(f, "[{\"name\":\"a\"," SCHEMA ",\"cwd\":\".\",\"command\":[\"/bin/sh\",\"-c\","
            "\"sleep 1000 & echo $$ > pid.x; mv pid.x pid\"]}]");
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFD, FD_CLOEXEC), 0);
    ask(&asked, f, "a", NULL);
    asked.stop_at_end = false;
    (void)close(fds[1]);
    /* The command has exited; its call still waits for the output that another holds. */
    reaping.pid = wait_for_pid(f);
    assert_int_equal(io_timer_new(&reaping.timer, f->loop, false, look_for_reaping, &reaping), 0);
    look_for_reaping(&reaping);
    assert_int_equal(io_loop_run(f->loop), 0);
    reaping.timer = io_timer_free(reaping.timer);
    f->provider = exec_provider_free(f->provider);
    assert_int_equal(asked.n_finished, 1);
    assert_true(comes_to_its_end(fds[0]));
    (void)close(fds[0]);
    forget(&asked);
}

static void calls_run_side_by_side(void **state)
{
    Fixture *f = *state;
    Asked asked[8];
    size_t n = TW_ARRAY_SIZE(asked);

    /* Each waits for the file of the next one: one after the other they would wait for ever. */
    load(f, "[{\"name\":\"a\"," SCHEMA ",\"cwd\":\".\",\"command\":[\"/bin/sh\",\"-c\","
            "\"read x; touch f$x; while [ $(ls f* | wc -l) -lt 8 ]; do :; done; echo $x\"]}]");
    for (size_t i = 0; i < n; i++) {
        char arguments[32];

        (void)snprintf(arguments, sizeof(arguments), "{\"i\":%zu}", i);
        ask(&asked[i], f, "a", arguments);
        asked[i].stop_at_end = false;
    }
    assert_int_equal(io_loop_run(f->loop), 0);
    for (size_t i = 0; i < n; i++) {
        char path[PATH_MAX + 32];
        char expected[64];

        (void)snprintf(expected, sizeof(expected), "{\\\"i\\\":%zu}", i);
        assert_int_equal(asked[i].n_finished, 1);
        assert_text(&asked[i], false, expected);
        forget(&asked[i]);
        (void)snprintf(path, sizeof(path), "%s/f{\"i\":%zu}", f->folder, i);
        assert_int_equal(unlink(path), 0);
    }
}

static void freeing_the_provider_ends_calls_and_removes_tools(void **state)
{
    Fixture *f = *state;
    Asked asked;
    Asked later;

    load(f, "[" SCRIPT("a", "trap '' TERM; while :; do sleep 1000; done") "]");
    assert_int_equal(exec_provider_count(f->provider), 1);
    ask(&asked, f, "a", NULL);
    asked.stop_at_end = false;
    assert_int_equal(asked.n_finished, 0);
    f->provider = exec_provider_free(f->provider);
    assert_int_equal(asked.n_finished, 1);
    assert_int_equal(asked.error, CALL_ERROR_UNAVAILABLE);
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 0);
    ask(&later, f, "a", NULL);
    assert_int_equal(later.error, CALL_ERROR_UNKNOWN_TOOL);
    forget(&later);
    forget(&asked);
}

static void the_same_objects_serve_the_next_call(void **state)
{
    Fixture *f = *state;
    size_t n_calls = 0;

    load(f, "[" SCRIPT("a", "echo a") "]");
    for (int i = 0; i < 4; i++) {
        Asked asked;
        size_t n_before;

        n_before = alloc_testing()->n_calls;
        run(&asked, f, "a", NULL);
        assert_text(&asked, false, "a");
        forget(&asked);
        n_calls = alloc_testing()->n_calls - n_before;
        if (i > 0) {
            /* The child, its three streams, and what this test keeps of a call. */
            assert_true(n_calls < 12);
        }
    }
}

static void mistakes_name_the_file_and_nothing_is_added(void **state)
{
    Fixture *f = *state;
    Diag diag = DIAG_NULL;

    assert_int_equal(try_load(f, "[" SCRIPT("a", "x") ",\n{\"name\":\"b\"," SCHEMA "}]", &diag),
                     EXEC_PROVIDER_E_MALFORMED);
    assert_non_null(strstr(diag.message, "tools.json:2: [1].command: is missing"));
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 0);
    assert_int_equal(
        try_load(f,
                 "[" SCRIPT("a", "x") ",\n{\"name\":\"b\",\"description\":\"d\","
                                      "\"input_schema\":{\"type\":1},\"command\":[\"x\"]}]",
                 &diag),
        EXEC_PROVIDER_E_MALFORMED);
    assert_non_null(strstr(diag.message, "tools.json:2: "));
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 0);
    assert_int_equal(try_load(f,
                              "[{\"name\":\"a\"," SCHEMA ",\"command\":[\"x\"],"
                              "\"annotations\":{\"readOnlyHint\":\"yes\"}}]",
                              &diag),
                     EXEC_PROVIDER_E_MALFORMED);
    assert_string_equal(diag.field, "[0].annotations/readOnlyHint");
    assert_non_null(strstr(diag.message, "tools.json:1: [0].annotations/readOnlyHint: must be true "
                                         "or false, and is \"yes\""));
    assert_int_equal(load_from(f, "/no/such/file", &diag), EXEC_PROVIDER_E_UNREADABLE);
    assert_string_equal(diag.message, "/no/such/file: No such file or directory");
    assert_null(f->provider);
}

static void a_name_that_is_taken_is_refused(void **state)
{
    Fixture *f = *state;
    ExecProvider *first;
    Diag diag = DIAG_NULL;

    load(f, "[" SCRIPT("a", "x") "]");
    first = f->provider;
    f->provider = NULL;
    assert_int_equal(try_load(f, "[" SCRIPT("b", "x") "," SCRIPT("a", "x") "]", &diag),
                     EXEC_PROVIDER_E_MALFORMED);
    assert_non_null(strstr(diag.message, "tools.json:1: [1].name: there is a tool"));
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 1);
    first = exec_provider_free(first);
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 0);
}

static void a_tool_whose_name_is_taken_yields_if_it_is_told_to(void **state)
{
    Fixture *f = *state;
    ExecProvider *second = NULL;
    ExecProviderConfig config = {
        .router = f->router, .loop = f->loop, .path = f->file, .yields = true};
    Diag diag = DIAG_NULL;
    Asked asked;

    load(f, "[" SCRIPT("a", "echo first") "]");
    put_file(f->file, "[" SCRIPT("a", "echo second") "," SCRIPT("b", "echo b") "]");
    assert_int_equal(exec_provider_load(&second, &config, &diag), 0);
    assert_int_equal(exec_provider_count(second), 1);
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 2);
    /* It takes away, and puts back, only what is its own. */
    exec_provider_withdraw(second);
    assert_true(router_has_tool(f->router, SPAN("a")));
    assert_false(router_has_tool(f->router, SPAN("b")));
    assert_int_equal(exec_provider_offer(second), 0);
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 2);
    ask(&asked, f, "a", NULL);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_text(&asked, false, "first");
    forget(&asked);
    second = exec_provider_free(second);
    assert_true(router_has_tool(f->router, SPAN("a")));
    /* A name that the file itself has twice is a mistake all the same. */
    put_file(f->file, "[" SCRIPT("c", "x") "," SCRIPT("c", "x") "]");
    assert_int_equal(exec_provider_load(&second, &config, &diag), EXEC_PROVIDER_E_MALFORMED);
    assert_int_equal(router_count(f->router, ROUTER_TOOL), 1);
}

static int load_once(void *context)
{
    Fixture *f = context;
    IoLoop *loop = NULL;
    Router *router = NULL;
    ExecProvider *provider = NULL;
    int r = io_loop_new(&loop);

    if (r == 0) {
        r = router_new(&router, NULL, SEED);
    }
    if (r == 0) {
        r = exec_provider_load(
            &provider, &(ExecProviderConfig){.router = router, .loop = loop, .path = f->file},
            NULL);
    }
    provider = exec_provider_free(provider);
    router = router != NULL ? router_free(router) : NULL;
    loop = io_loop_free(loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    Fixture *f = *state;

    put_file(f->file, "[" SCRIPT("a", "x") "]");
    test_oom_sweep(load_once, f);
}

/* Memory runs out at each point of a call in turn: it always ends, in one way or the other. */
static void a_call_without_memory_ends_too(void **state)
{
    Fixture *f = *state;
    bool is_done = false;

    load(f, "[" SCRIPT("a", "echo a") "]");
    for (size_t n = 0; !is_done; n++) {
        Asked asked;

        alloc_testing_reset(ALLOC_TESTING_NEVER);
        ask(&asked, f, "nobody", NULL); /* so that only the call itself lacks memory */
        assert_int_equal(bytes_reserve(&asked.content, 256), 0);
        assert_int_equal(bytes_reserve(&asked.message, 256), 0);
        bytes_clear(&asked.message);
        asked.n_finished = 0;
        call_reset(&asked.call);
        asked.call.door = &door;
        asked.call.verb = CALL_TOOL;
        asked.call.target = SPAN("a");
        io_loop_stop(f->loop);
        assert_int_equal(io_loop_run(f->loop), 0);
        alloc_testing_reset(n);
        router_dispatch(f->router, NULL, &asked.call);
        if (asked.n_finished == 0) {
            assert_int_equal(io_loop_run(f->loop), 0);
        }
        assert_int_equal(asked.n_finished, 1);
        is_done = alloc_testing()->n_failed == 0;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        /* Never half an answer. */
        if (is_done || asked.kind != CALL_RESULT_ERROR) {
            assert_text(&asked, false, "a");
        }
        forget(&asked);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(output_becomes_text),
        TEST(a_newline_of_two_characters_is_taken_off_whole),
        TEST(arguments_reach_stdin_byte_for_byte),
        TEST(a_newline_ends_the_arguments),
        TEST(large_arguments_reach_a_slow_reader_and_come_back),
        TEST(a_tool_need_not_read_its_arguments),
        TEST(an_object_is_structured_if_there_is_an_output_schema),
        TEST(text_where_an_object_was_promised_is_the_routers_to_judge),
        TEST(an_exit_status_is_a_tool_error_with_the_end_of_stderr),
        TEST(a_signal_is_a_tool_error),
        TEST(only_the_end_of_stderr_is_kept),
        TEST(the_end_of_stderr_begins_with_a_whole_character),
        TEST(stderr_of_a_success_is_not_part_of_the_result),
        TEST(bytes_that_are_not_text_are_replaced),
        TEST(too_much_output_ends_the_command),
        TEST(arguments_may_be_as_long_as_a_request),
        TEST(output_may_be_as_long_as_a_response),
        TEST(output_that_is_nested_too_deeply_is_refused_by_that_name),
        TEST(a_program_that_is_not_there_is_unavailable),
        TEST(a_command_with_a_slash_is_found_beside_the_file),
        TEST(the_environment_is_cleaned),
        TEST(a_deadline_ends_the_whole_group),
        TEST(a_cancelled_call_is_forgotten_at_once),
        TEST(a_cancelled_call_is_forgotten_by_free_too),
        TEST(commands_that_do_not_end_keep_new_ones_out),
        TEST(what_holds_the_output_open_does_not_hold_the_call_and_is_ended),
        TEST(what_a_command_left_without_its_output_is_ended_too),
        TEST(what_is_left_and_does_not_listen_is_killed_later),
        TEST(what_is_left_of_a_command_ends_with_the_provider),
        TEST(calls_run_side_by_side),
        TEST(freeing_the_provider_ends_calls_and_removes_tools),
        TEST(the_same_objects_serve_the_next_call),
        TEST(mistakes_name_the_file_and_nothing_is_added),
        TEST(a_name_that_is_taken_is_refused),
        TEST(a_tool_whose_name_is_taken_yields_if_it_is_told_to),
        TEST(memory_that_runs_out_is_reported),
        TEST(a_call_without_memory_ends_too),
    };

    io_ignore_sigpipe();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
