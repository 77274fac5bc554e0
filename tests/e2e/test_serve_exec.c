/* The commands of a tools file, run by the real program.
 *
 *     test_serve_exec TOOLWIRE
 */
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only ends a test that would hang; nothing is measured by it. */
#define HANG_MS 60000
#define STEP_MS 10

/* For a test whose program waits for ever; longer than HANG_MS, which explains itself better. */
#define WATCHDOG_S 100

static const char *program;

static int watchdog_start(void **state)
{
    (void)state;
    (void)alarm(WATCHDOG_S);
    return 0;
}

static int watchdog_stop(void **state)
{
    (void)state;
    (void)alarm(0);
    return 0;
}

/* A tool whose command runs in the folder of the file. */
#define TOOL(name, more)                                                                           \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"         \
    "\"cwd\":\".\"," more "}"
#define SCRIPT(script) "\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]"

/* Which processes it has: its shell, and the shell's child. */
#define NOTE_PROCESSES "echo $$ $! >new; mv new pids; "

static const char *const tools[] = {
    TOOL("argv",
         "\"command\":[\"printf\",\"%s|\",\"$(touch x)\",\"; touch y\",\"`touch z`\",\"*\"]"),
    TOOL("cat", "\"command\":[\"cat\"]"),
    TOOL("env", "\"command\":[\"env\"],\"env\":{\"TW_E2E_SAID\":\"by the file\"}"),
    TOOL("passed", "\"command\":[\"env\"],\"env\":[\"TW_E2E_PASSED\"]"),
    TOOL("fail", SCRIPT("echo out; echo why >&2; exit 3")),
    TOOL("killed", SCRIPT("kill -9 $$")),
    TOOL("structured", SCRIPT("echo '{\\\"n\\\":1}'") ",\"output_schema\":{\"type\":\"object\","
                                                      "\"required\":[\"n\"]}"),
    TOOL("hang", SCRIPT("sleep 1000 & " NOTE_PROCESSES "wait") ",\"timeout_ms\":1500"),
    TOOL("stubborn",
         SCRIPT("trap '' TERM; sleep 1000 & " NOTE_PROCESSES "wait") ",\"timeout_ms\":1500"),
    TOOL("flood", SCRIPT("yes & " NOTE_PROCESSES "wait")),
    TOOL("sleep", SCRIPT("sleep 1000 & " NOTE_PROCESSES "wait")),
    TOOL("deaf", SCRIPT("trap '' TERM; sleep 1000 & " NOTE_PROCESSES "wait")),
    TOOL("polite", SCRIPT("trap 'echo >told; exit' TERM; sleep 1000 & " NOTE_PROCESSES "wait")),
    TOOL("alone", SCRIPT("echo $$ $$ >new; mv new pids; exec sleep 1000")),
};

typedef struct Folder {
    char path[64];
    char tools[80];
    char pids[80];
} Folder;

static void folder_open(Folder *folder)
{
    FILE *file;

    *folder = (Folder){.path = "/tmp/tw-serve-exec-XXXXXX"};
    assert_non_null(mkdtemp(folder->path));
    (void)snprintf(folder->tools, sizeof(folder->tools), "%s/tools.json", folder->path);
    (void)snprintf(folder->pids, sizeof(folder->pids), "%s/pids", folder->path);
    file = fopen(folder->tools, "w");
    assert_non_null(file);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        assert_true(fprintf(file, "%c%s\n", i == 0 ? '[' : ',', tools[i]) > 0);
    }
    assert_true(fputs("]", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Nothing else may lie in the folder. */
static void folder_close(Folder *folder)
{
    assert_int_equal(unlink(folder->tools), 0);
    (void)unlink(folder->pids);
    assert_int_equal(rmdir(folder->path), 0);
}

static void start(Peer *peer, const Folder *folder)
{
    const char *const arguments[] = {"serve", "--tools", folder->tools, NULL};

    peer_open(peer, program, arguments);
}

/* Calls the tool and gives the answer's line. */
static char *call(Peer *peer, const char *tool, const char *arguments)
{
    char line[1024];
    char *answer;

    (void)snprintf(line, sizeof(line), CALL("1", "%s", "%s"), tool, arguments);
    peer_send(peer, line);
    answer = peer_line(peer);
    assert_non_null(answer);
    assert_non_null(strstr(answer, "\"id\":1"));
    return answer;
}

static void arguments_meet_no_shell(void **state)
{
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start(&peer, &folder);
    peer_send(&peer, CALL("1", "argv", "{}"));
    peer_expect(&peer, TEXT("1", "$(touch x)|; touch y|`touch z`|*|"));
    answer = call(&peer, "cat", "{\"a\":\"$(touch x)\",\"b\":\"'; touch y #\"}");
    assert_non_null(
        strstr(answer, "{\\\"a\\\":\\\"$(touch x)\\\",\\\"b\\\":\\\"'; touch y #\\\"}"));
    assert_null(strstr(answer, "isError"));
    free(answer);
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

static void the_environment_is_clean(void **state)
{
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    assert_int_equal(setenv("TW_E2E_SECRET", "secret", 1), 0);
    assert_int_equal(setenv("TW_E2E_PASSED", "passed on", 1), 0);
    start(&peer, &folder);
    answer = call(&peer, "env", "{}");
    assert_non_null(strstr(answer, "TW_E2E_SAID=by the file"));
    assert_non_null(strstr(answer, "PATH="));
    assert_null(strstr(answer, "TW_E2E_SECRET"));
    assert_null(strstr(answer, "TW_E2E_PASSED"));
    free(answer);
    answer = call(&peer, "passed", "{}");
    assert_non_null(strstr(answer, "TW_E2E_PASSED=passed on"));
    assert_null(strstr(answer, "TW_E2E_SECRET"));
    assert_null(strstr(answer, "TW_E2E_SAID"));
    free(answer);
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

static void a_failing_command_is_a_tool_error(void **state)
{
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start(&peer, &folder);
    answer = call(&peer, "fail", "{}");
    assert_non_null(strstr(answer, "\"isError\":true"));
    assert_non_null(strstr(answer, "out\\nexit status 3\\nwhy"));
    free(answer);
    answer = call(&peer, "killed", "{}");
    assert_non_null(strstr(answer, "\"isError\":true"));
    free(answer);
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

static void an_object_is_structured(void **state)
{
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start(&peer, &folder);
    answer = call(&peer, "structured", "{}");
    assert_non_null(strstr(answer, "\"structuredContent\":{\"n\":1}"));
    free(answer);
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

/* A zombie has ended too; who collects it is not the program's matter once its parent is gone. */
static bool has_ended(pid_t pid)
{
    char path[64];
    char name[64];
    char process_state = '?';
    FILE *file;
    int n;

    if (kill(pid, 0) != 0) {
        return errno == ESRCH;
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return false; /* asked again */
    }
    n = fscanf(file, "%*d (%63[^)]) %c", name, &process_state);
    (void)fclose(file);
    return n == 2 && process_state == 'Z';
}

static void wait_until_ended(pid_t pid)
{
    for (int ms = 0; !has_ended(pid); ms += STEP_MS) {
        if (ms >= HANG_MS) {
            fail_msg("process %d still runs", (int)pid);
        }
        (void)poll(NULL, 0, STEP_MS);
    }
}

/* The processes of the last call, which it wrote into its file: its shell, and the shell's child.
 */
static void wait_until_group_ended(const Folder *folder)
{
    FILE *file = fopen(folder->pids, "r");
    int shell = 0;
    int child = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d %d", &shell, &child), 2);
    (void)fclose(file);
    assert_true(shell > 1 && child > 1);
    wait_until_ended(shell);
    wait_until_ended(child);
}

static void the_deadline_ends_the_whole_process_group(void **state)
{
    static const char *const names[] = {"hang", "stubborn"};
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start(&peer, &folder);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        print_message("%s\n", names[i]);
        answer = call(&peer, names[i], "{}");
        assert_non_null(strstr(answer, "\"isError\":true"));
        assert_non_null(strstr(answer, "1500 ms"));
        free(answer);
        wait_until_group_ended(&folder);
    }
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

static void too_much_output_ends_the_command(void **state)
{
    Folder folder;
    char *answer;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start(&peer, &folder);
    answer = call(&peer, "flood", "{}");
    assert_true(strlen(answer) < 1000);
    assert_true(strstr(answer, "\"error\"") != NULL || strstr(answer, "\"isError\":true") != NULL);
    free(answer);
    wait_until_group_ended(&folder);
    peer_send(&peer, CALL("2", "argv", "{}"));
    peer_expect(&peer, TEXT("2", "$(touch x)|; touch y|`touch z`|*|"));
    assert_int_equal(peer_finish(&peer), 0);
    folder_close(&folder);
}

/* Until the tool has noted its processes, which was not called before in this folder. */
static void start_command(Peer *peer, const Folder *folder, const char *tool)
{
    const char *const arguments[] = {"serve",   "--drain-ms",  "600000",
                                     "--tools", folder->tools, NULL};
    char line[256];

    (void)unlink(folder->pids);
    peer_open(peer, program, arguments);
    (void)snprintf(line, sizeof(line), CALL("1", "%s", "{}"), tool);
    peer_send(peer, line);
    for (int ms = 0; access(folder->pids, R_OK) != 0; ms += STEP_MS) {
        assert_true(ms < HANG_MS);
        (void)poll(NULL, 0, STEP_MS);
    }
}

static void a_drain_that_is_cut_tells_commands_to_end_and_kills_them_then(void **state)
{
    static const char *const names[] = {"sleep", "polite", "deaf"};
    char told[128];
    Folder folder;

    (void)state;
    folder_open(&folder);
    (void)snprintf(told, sizeof(told), "%s/told", folder.path);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        Peer peer;

        print_message("%s\n", names[i]);
        start_command(&peer, &folder, names[i]);
        peer_close_input(&peer);
        assert_int_equal(kill(peer.pid, SIGTERM), 0);
        assert_int_equal(peer_finish(&peer), 0);
        wait_until_group_ended(&folder);
    }
    assert_int_equal(unlink(told), 0); /* it had the time to write it */
    folder_close(&folder);
}

/* So many signals without a pause; then the program gets a millisecond between two, since one that
 * does nothing but take signals, as the thread sanitizer makes it, need never come to its end. */
#define FLOOD 20000

/* As fast as they can be sent, from the first to the end. */
static void no_number_of_signals_spoils_the_end(void **state)
{
    static const char *const names[] = {"sleep", "deaf"};
    Folder folder;

    (void)state;
    folder_open(&folder);
    for (size_t i = 0; i < 10; i++) {
        Peer peer;
        siginfo_t info = {.si_pid = 0};

        start_command(&peer, &folder, names[i % TW_ARRAY_SIZE(names)]);
        for (size_t n = 0; info.si_pid == 0; n++) {
            assert_int_equal(kill(peer.pid, SIGTERM), 0);
            assert_int_equal(waitid(P_PID, (id_t)peer.pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
            if (n >= FLOOD) {
                (void)poll(NULL, 0, 1);
            }
        }
        assert_int_equal(peer_finish(&peer), 0);
        wait_until_group_ended(&folder);
    }
    folder_close(&folder);
}

#ifdef __linux__
static void a_command_does_not_outlive_a_program_that_was_killed(void **state)
{
    Folder folder;
    Peer peer;

    (void)state;
    folder_open(&folder);
    start_command(&peer, &folder, "alone");
    assert_int_equal(kill(peer.pid, SIGKILL), 0);
    assert_int_equal(peer_finish(&peer), -SIGKILL);
    wait_until_group_ended(&folder);
    folder_close(&folder);
}
#endif

static void a_client_that_goes_takes_its_commands_with_it(void **state)
{
    const char *arguments[] = {"serve", "--drain-ms", "1", "--tools", NULL, NULL};
    Folder folder;
    Peer peer;

    (void)state;
    folder_open(&folder);
    arguments[4] = folder.tools;
    peer_open(&peer, program, arguments);
    peer_send(&peer, CALL("1", "sleep", "{}"));
    for (int ms = 0; access(folder.pids, R_OK) != 0 && ms < HANG_MS; ms += STEP_MS) {
        (void)poll(NULL, 0, STEP_MS);
    }
    assert_int_equal(close(peer.from), 0);
    peer.from = -1;
    assert_int_equal(peer_finish(&peer), 0);
    wait_until_group_ended(&folder);
    folder_close(&folder);
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, watchdog_start, watchdog_stop)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WATCHED(arguments_meet_no_shell),
        WATCHED(the_environment_is_clean),
        WATCHED(a_failing_command_is_a_tool_error),
        WATCHED(an_object_is_structured),
        WATCHED(the_deadline_ends_the_whole_process_group),
        WATCHED(too_much_output_ends_the_command),
        WATCHED(a_drain_that_is_cut_tells_commands_to_end_and_kills_them_then),
        WATCHED(no_number_of_signals_spoils_the_end),
#ifdef __linux__
        WATCHED(a_command_does_not_outlive_a_program_that_was_killed),
#endif
        WATCHED(a_client_that_goes_takes_its_commands_with_it),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_serve_exec TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
