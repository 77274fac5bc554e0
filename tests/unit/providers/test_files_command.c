/* nftw, setenv */
#define _GNU_SOURCE

#include "unit/providers/files_rig.h"

#include <signal.h>
#include <stdlib.h>

#include "providers/files_impl.h"

static const char *const commands[] = {"echo", "cat", "env", "sh",    "sleep",     "ls",
                                       "pwd",  "wc",  "yes", "false", "none-such", NULL};

/* Skips where commands cannot be confined. */
static void begin(void)
{
    assert_int_equal(
        rig_init_with(
            &(FilesConfig){.commands = commands, .max_output_bytes = 4000, .command_ms = 60000},
            NULL),
        0);
    if (strcmp(files_commands_state(rig.files), "confined") != 0) {
        print_message("skipped: %s\n", files_commands_state(rig.files));
        rig_deinit();
        skip();
    }
}

static void a_command_gives_what_it_prints_and_how_it_ended(void **state)
{
    (void)state;
    begin();
    rig_expect("run_command", "{\"command\":\"echo\",\"args\":[\"a  b\",\"c\"]}",
               "{\"stdout\":\"a  b c\\n\",\"stderr\":\"\",\"exitCode\":0,\"command\":\"echo\","
               "\"args\":[\"a  b\",\"c\"]}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"a  b c\\n\"}");
    rig_expect("run_command", "{\"command\":\"false\"}",
               "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":1,\"command\":\"false\",\"args\":[]"
               "}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"(exit code 1)\"}");
    rig_expect("run_command", "{\"command\":\"sh\",\"args\":[\"-c\",\"kill -SEGV $$\"]}",
               "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":null,\"signal\":\"SEGV\","
               "\"command\":\"sh\",\"args\":[\"-c\",\"kill -SEGV $$\"]}");
    rig_expect("run_command", "{\"command\":\"sh\",\"args\":[\"-c\",\"printf '\\\\377'; exit 3\"]}",
               "{\"stdout\":\"\xef\xbf\xbd\",\"stderr\":\"\",\"exitCode\":3,\"command\":\"sh\","
               "\"args\":[\"-c\",\"printf '\\\\377'; exit 3\"]}");
    rig_deinit();
}

static void it_runs_in_the_root_and_reads_nothing(void **state)
{
    char expected[300];

    (void)state;
    begin();
    (void)snprintf(expected, sizeof(expected), "\"stdout\":\"%s/root\\n\"", scratch);
    rig_ask("run_command", "{\"command\":\"pwd\"}");
    assert_non_null(strstr(rig.structured.data, expected));
    rig_expect("run_command", "{\"command\":\"cat\"}",
               "{\"stdout\":\"\",\"stderr\":\"\",\"exitCode\":0,\"command\":\"cat\",\"args\":[]}");
    rig_expect("run_command", "{\"command\":\"cat\",\"args\":[\"note.txt\"]}",
               "{\"stdout\":\"one\\ntwo\\nthree\",\"stderr\":\"\",\"exitCode\":0,\"command\":"
               "\"cat\",\"args\":[\"note.txt\"]}");
    rig_deinit();
}

static void no_shell_reads_the_arguments(void **state)
{
    static const char *const lines[] = {"hi; id", "$(id)",      "`id`", "a | wc -c",
                                        "> file", "&& touch x", "*",    "$HOME"};

    (void)state;
    begin();
    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        char arguments[200];
        char expected[200];

        (void)snprintf(arguments, sizeof(arguments), "{\"command\":\"echo\",\"args\":[\"%s\"]}",
                       lines[i]);
        (void)snprintf(expected, sizeof(expected), "{\"stdout\":\"%s\\n\",", lines[i]);
        rig_ask("run_command", arguments);
        assert_memory_equal(rig.structured.data, expected, strlen(expected));
    }
    assert_false(scratch_exists(scratch_path("root/file")));
    assert_false(scratch_exists(scratch_path("root/x")));
    rig_deinit();
}

static void only_names_of_the_list_are_started(void **state)
{
    (void)state;
    /* In the root, and executable: not looked for here. */
    scratch_write(scratch_path("root/none-such"), "#!/bin/sh\necho ran\n", 0700);
    begin();
    rig_refused("run_command", "{\"command\":\"id\"}", "Command not allowed: id");
    rig_refused("run_command", "{\"command\":\"echo hi\"}", "Command not allowed: echo hi");
    rig_refused("run_command", "{\"command\":\"/bin/echo\"}", "Command not allowed: /bin/echo");
    rig_refused("run_command", "{\"command\":\"./none-such\"}", "Command not allowed");
    rig_refused("run_command", "{\"command\":\"../../bin/echo\"}", "Command not allowed");
    rig_refused("run_command", "{\"command\":\"\"}", "Command not allowed");
    rig_refused("run_command", "{\"command\":\"echo\\u0000x\"}", "must not hold a NUL");
    rig_refused("run_command", "{\"command\":\"none-such\"}", "cannot start none-such");
    rig_refused("run_command", "{\"command\":\"echo\",\"args\":[\"a\\u0000b\"]}", "NUL");
    rig_ask("run_command", "{\"command\":\"echo\",\"args\":\"a\"}");
    assert_int_equal(rig.error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_deinit();
}

static void arguments_that_name_files_outside_reach_nothing(void **state)
{
    char line[300];

    (void)state;
    begin();
    (void)snprintf(line, sizeof(line), "{\"command\":\"cat\",\"args\":[\"%s/secret\"]}", scratch);
    rig_ask("run_command", line);
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"\","));
    assert_non_null(strstr(rig.structured.data, "Permission denied"));
    rig_ask("run_command", "{\"command\":\"cat\",\"args\":[\"/etc/passwd\"]}");
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"\","));
    rig_ask("run_command", "{\"command\":\"cat\",\"args\":[\"../secret\"]}");
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"\","));
    rig_ask("run_command", "{\"command\":\"ls\",\"args\":[\"/home\",\"/root\",\"..\"]}");
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"\","));
    rig_ask("run_command",
            "{\"command\":\"sh\",\"args\":[\"-c\",\"echo x > ../new; rm ../secret; ls ..\"]}");
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"\","));
    assert_false(scratch_exists(scratch_path("new")));
    assert_true(scratch_exists(scratch_path("secret")));
    rig_deinit();
}

static void the_environment_holds_no_keys(void **state)
{
    (void)state;
    assert_int_equal(setenv("OPENAI_API_KEY", "sk-key", 1), 0);
    assert_int_equal(setenv("GITHUB_TOKEN", "gh-token", 1), 0);
    assert_int_equal(setenv("MY_PASSWORD", "word", 1), 0);
    assert_int_equal(setenv("LD_PRELOAD_X", "x", 1), 0);
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    begin();
    rig_ask("run_command", "{\"command\":\"env\"}");
    assert_false(rig.is_error);
    assert_null(strstr(rig.structured.data, "sk-key"));
    assert_null(strstr(rig.structured.data, "gh-token"));
    assert_null(strstr(rig.structured.data, "PASSWORD"));
    assert_null(strstr(rig.structured.data, "LD_PRELOAD_X"));
    assert_non_null(strstr(rig.structured.data, "LC_ALL=C\\n"));
    assert_non_null(strstr(rig.structured.data, "PATH=" FILES_PATH "\\n"));
    assert_non_null(strstr(rig.structured.data, "/root\\nTMPDIR="));
    rig_deinit();
    assert_int_equal(unsetenv("OPENAI_API_KEY"), 0);
    assert_int_equal(unsetenv("GITHUB_TOKEN"), 0);
}

static void output_is_bounded_and_the_command_ends_all_the_same(void **state)
{
    (void)state;
    begin();
    rig_ask("run_command",
            "{\"command\":\"sh\",\"args\":[\"-c\",\"yes | head -c 500000; echo no >&2; exit 7\"]}");
    assert_non_null(strstr(rig.structured.data, "\"stderr\":\"no\\n\",\"exitCode\":7,"
                                                "\"truncated\":true,"));
    assert_true(rig.structured.n > 4000 && rig.structured.n < 9000);
    rig_deinit();
}

/* Whether a process of that number runs (a zombie does not). */
static bool is_alive(long pid)
{
    char path[64];
    char how[8] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    (void)!fscanf(file, "%*d %*s %7s", how);
    (void)fclose(file);
    return how[0] != 'Z' && how[0] != 'X' && how[0] != '\0';
}

static long read_pid(const char *path)
{
    FILE *file = fopen(path, "re");
    long pid = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pid), 1);
    (void)fclose(file);
    return pid;
}

static void a_command_that_takes_too_long_is_killed_with_its_group(void **state)
{
    long pid;

    (void)state;
    /* Time enough for a shell to begin on a machine that has much to do. */
    assert_int_equal(rig_init_with(&(FilesConfig){.commands = commands, .command_ms = 2000}, NULL),
                     0);
    if (strcmp(files_commands_state(rig.files), "confined") != 0) {
        print_message("skipped: %s\n", files_commands_state(rig.files));
        rig_deinit();
        skip();
    }
    rig_ask("run_command", "{\"command\":\"sh\",\"args\":[\"-c\",\"trap '' TERM; echo begun; "
                           "(trap '' TERM; sleep 1000) & echo $! > pid; wait; sleep 1000\"]}");
    assert_true(rig.is_error);
    assert_non_null(strstr(rig.structured.data, "{\"stdout\":\"begun\\n\",\"stderr\":\"\","
                                                "\"exitCode\":null,\"timedOut\":true,"));
    assert_non_null(strstr(rig.text.data, "(ended after 2000 ms: its time was over)"));
    pid = read_pid(scratch_path("root/pid"));
    while (is_alive(pid)) {
        (void)usleep(1000);
    }
    rig_deinit();
}

static void what_a_command_leaves_running_is_killed(void **state)
{
    long pid;

    (void)state;
    begin();
    rig_ask("run_command", "{\"command\":\"sh\",\"args\":[\"-c\",\"sleep 1000 >/dev/null 2>&1 & "
                           "echo $! > pid\"]}");
    assert_false(rig.is_error);
    pid = read_pid(scratch_path("root/pid"));
    while (is_alive(pid)) {
        (void)usleep(1000);
    }
    rig_deinit();
}

static void a_cancelled_command_ends(void **state)
{
    (void)state;
    begin();
    rig_begin("run_command", "{\"command\":\"sleep\",\"args\":[\"1000\"]}");
    router_cancel(rig.router, &rig.call);
    assert_int_equal(io_loop_run(rig.loop), 0); /* ends, since nothing is left */
    assert_int_equal(rig.n_finished, 0);
    rig_begin("run_command", "{\"command\":\"sleep\",\"args\":[\"1000\"]}");
    rig.files = files_free(rig.files);
    assert_int_equal(rig.error, CALL_ERROR_UNAVAILABLE);
    rig_deinit();
}

static void names_with_a_path_are_no_commands(void **state)
{
    static const char *const wrong[][2] = {
        {"/bin/ls", NULL}, {"", NULL}, {"..", NULL}, {"a/b", NULL}, {"-x", NULL}};
    Diag diag = DIAG_NULL;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(rig_init_with(&(FilesConfig){.commands = wrong[i]}, &diag),
                         FILES_E_COMMAND);
        assert_non_null(strstr(diag.message, "is no name of a command"));
        rig_deinit();
    }
}

/* As on a system that cannot confine. */
static void commands_that_cannot_be_confined_are_refused(void **state)
{
    char *list[] = {(char[]){"echo"}, NULL};
    FilesShared shared = {
        .commands = list, .n_commands = 1, .state = "refused: this system has no landlock"};
    const char *argv[] = {"echo", NULL};
    FilesJob job = {.shared = &shared, .asked.argv = argv, .diag = DIAG_NULL};

    (void)state;
    assert_int_equal(files_run_command(&job), FILES_E_REFUSED);
    assert_string_equal(job.diag.message, "Commands are refused: this system has no landlock");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_command_gives_what_it_prints_and_how_it_ended, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(it_runs_in_the_root_and_reads_nothing, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(no_shell_reads_the_arguments, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(only_names_of_the_list_are_started, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(arguments_that_name_files_outside_reach_nothing, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(the_environment_holds_no_keys, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(output_is_bounded_and_the_command_ends_all_the_same,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_command_that_takes_too_long_is_killed_with_its_group,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_a_command_leaves_running_is_killed, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_command_ends, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(names_with_a_path_are_no_commands, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(commands_that_cannot_be_confined_are_refused, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
