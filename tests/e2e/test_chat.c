/* `toolwire chat` on a terminal, with an agent that follows orders (support/fake_agent.mjs).
 *
 *   test_chat TOOLWIRE
 */
#include "support/cmocka.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/pty.h"

#define CTRL_C "\x03"
#define CTRL_D "\x04"

static const char *arg_toolwire;

static const char *const arg_terminal[] = {"TERM=xterm", "NO_COLOR=", NULL};

static bool has_node(void)
{
    static const char *const argv[] = {"node", "--version", NULL};
    Pty pty;

    pty_start(&pty, argv, NULL);
    return pty_finish(&pty) == 0;
}

/* Starts it; message NULL: a conversation. */
static void start_with(Pty *pty, const char *message, const char *const *environment)
{
    const char *argv[] = {arg_toolwire, "chat",
                          "--agent",    "node '" TW_SOURCE_DIR "/tests/support/fake_agent.mjs'",
                          message,      NULL};

    pty_start(pty, argv, environment);
}

static void start(Pty *pty, const char *message)
{
    start_with(pty, message, arg_terminal);
}

static void a_conversation_goes_on_until_the_end_of_the_input(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "hello there\n");
    pty_expect(&pty, "You said: hello there\r\n");
    pty_expect(&pty, "> ");
    pty_type(&pty, "\n");
    pty_expect(&pty, "> ");
    pty_type(&pty, "again\n");
    pty_expect(&pty, "You said: again\r\n");
    pty_expect(&pty, "> ");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
}

static void one_message_is_answered_and_that_is_all(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, "hi");
    pty_expect(&pty, "You said: hi\r\n");
    assert_int_equal(pty_finish(&pty), 0);
    assert_false(pty_has_shown(&pty, "> "));
}

static void tools_are_shown_with_their_time(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "tool\n");
    pty_expect(&pty, "\033[32m\u2713\033[0m list_files: half \033[2m");
    pty_expect(&pty, " s");
    pty_expect(&pty, "There is one file.\r\n");
    pty_type(&pty, "fail\n");
    pty_expect(&pty, "\033[31m\u2717\033[0m read_file {\"path\":\"x\"} \033[2m");
    pty_expect(&pty, ": no such file");
    pty_expect(&pty, "Sorry.\r\n");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
}

static void what_takes_long_has_a_spinner_and_ctrl_c_interrupts_it(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "slow\n");
    pty_expect(&pty, "\r\033[K\033[36m\u280b\033[0m build ");
    pty_expect(&pty, " s\r\033[K\033[36m\u2819\033[0m build ");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "\r\033[Ktoolwire chat: interrupted\r\n");
    /* The conversation goes on. */
    pty_expect(&pty, "> ");
    pty_type(&pty, "hang\n");
    pty_expect(&pty, "One moment");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "interrupted\r\n> ");
    pty_type(&pty, "hi\n");
    pty_expect(&pty, "You said: hi\r\n");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
}

static void an_interrupted_message_fails(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, "hang");
    pty_expect(&pty, "One moment");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "interrupted\r\n");
    assert_int_equal(pty_finish(&pty), 1);
}

static void a_second_ctrl_c_leaves(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, "deaf");
    pty_expect(&pty, "One moment");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, ", I go on");
    pty_type(&pty, CTRL_C);
    assert_int_equal(pty_finish(&pty), 1);
    /* The same in a conversation; at its prompt whoever leaves is done. */
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "deaf\n");
    pty_expect(&pty, "One moment");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, ", I go on");
    pty_type(&pty, CTRL_C);
    assert_int_equal(pty_finish(&pty), 1);
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "(again to leave)\r\n> ");
    pty_type(&pty, "hi\n");
    pty_expect(&pty, "You said: hi\r\n> ");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "(again to leave)\r\n> ");
    pty_type(&pty, CTRL_C);
    assert_int_equal(pty_finish(&pty), 0);
}

/* The signals that a thread does not take, from /proc: bit n - 1 is signal n. */
static uint64_t blocked_signals(const char *status_path)
{
    FILE *file = fopen(status_path, "r");
    uint64_t blocked = 0;
    char line[256];

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL &&
           sscanf(line, "SigBlk: %" SCNx64, &blocked) != 1) {
    }
    assert_int_equal(fclose(file), 0);
    return blocked;
}

/* The thread that asks waits for the signal: on another one, Ctrl-C would do nothing. */
static void ctrl_c_can_only_arrive_on_the_thread_that_asks(void **state)
{
    size_t n_others = 0;
    char path[320];
    struct dirent *entry;
    DIR *tasks;
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pty.pid);
    tasks = opendir(path);
    if (tasks == NULL) {
        pty_type(&pty, CTRL_D);
        assert_int_equal(pty_finish(&pty), 0);
        print_message("SKIPPED: there is no /proc/PID/task\n");
        skip();
    }
    while ((entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == (long)pty.pid) {
            continue;
        }
        n_others++;
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pty.pid, entry->d_name);
        assert_true((blocked_signals(path) >> (SIGINT - 1) & 1) == 1);
    }
    assert_int_equal(closedir(tasks), 0);
    assert_true(n_others > 0); /* the watchdog's */
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
}

static void a_person_is_asked_before_a_tool_runs(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "ask\n");
    pty_expect(&pty, "The agent wants to use write_file with {\"path\":\"a\\u001b[2J\"}\r\n"
                     "Allow it? [y/N] ");
    pty_type(&pty, "y\n");
    pty_expect(&pty, "Written.\r\n");
    pty_type(&pty, "ask\n");
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, "\n");
    pty_expect(&pty, "Not written.\r\n");
    pty_type(&pty, "ask\n");
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, "what?\n");
    pty_expect(&pty, "Not written.\r\n");
    /* Ctrl-C says no, and ends the turn. */
    pty_type(&pty, "ask\n");
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "interrupted\r\n> ");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
    assert_false(pty_has_shown(&pty, "\033[2J"));
}

/* The y is there, and shown, before the agent is let ask. */
static void what_was_typed_before_the_question_does_not_answer_it(void **state)
{
    char folder[] = "/tmp/toolwire-chat-XXXXXX";
    char file[64];
    char line[96];
    FILE *made;
    Pty pty;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/now", folder);
    (void)snprintf(line, sizeof(line), "later %s\n", file);
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, line);
    pty_expect(&pty, "One moment");
    pty_type(&pty, "y\n");
    pty_expect(&pty, "y\r\n");
    made = fopen(file, "w");
    assert_non_null(made);
    assert_int_equal(fclose(made), 0);
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, "n\n");
    pty_expect(&pty, "ritten.\r\n");
    assert_true(pty_has_shown(&pty, "Not written."));
    pty_expect(&pty, "> ");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void text_of_the_agent_cannot_move_the_cursor(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, "escape");
    pty_expect(&pty, "abcd\r\n");
    assert_int_equal(pty_finish(&pty), 0);
}

static void an_agent_that_dies_is_started_again(void **state)
{
    Pty pty;

    (void)state;
    start(&pty, NULL);
    pty_expect(&pty, "> ");
    pty_type(&pty, "die\n");
    pty_expect(&pty, "toolwire chat: the agent ended (exit status 3)\r\n> ");
    pty_type(&pty, "hi\n");
    pty_expect(&pty, "You said: hi\r\n");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
}

static void without_colours_there_are_none_and_on_a_dumb_terminal_no_codes_at_all(void **state)
{
    static const char *const no_colour[] = {"TERM=xterm", "NO_COLOR=1", NULL};
    static const char *const dumb[] = {"TERM=dumb", NULL};
    Pty pty;

    (void)state;
    start_with(&pty, "tool", no_colour);
    pty_expect(&pty, "\u2713 list_files: half ");
    pty_expect(&pty, "There is one file.\r\n");
    assert_int_equal(pty_finish(&pty), 0);
    assert_false(pty_has_shown(&pty, "m\u2713"));
    start_with(&pty, "tool", dumb);
    pty_expect(&pty, "There is one file.\r\n");
    assert_int_equal(pty_finish(&pty), 0);
    assert_false(pty_has_shown(&pty, "\033"));
}

/* ---- with the agent of this program ---- */

static bool has_own_agent(void)
{
    const char *argv[] = {arg_toolwire, "agent", "-h", NULL};
    Pty pty;

    pty_start(&pty, argv, NULL);
    return pty_finish(&pty) == 0;
}

static void the_agent_of_this_program_is_the_default(void **state)
{
    char folder[] = "/tmp/toolwire-chat-XXXXXX";
    char file[64];
    const char *argv[] = {arg_toolwire, "chat",   "--model",        "script",
                          "--config",   "none",   "--state",        folder,
                          "--root",     folder,   "--alone",        "--history",
                          "off",        "--tool", "write_file=ask", NULL};
    Pty pty;

    (void)state;
    if (!has_own_agent()) {
        print_message("SKIPPED: this program has no agent\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    pty_start(&pty, argv, arg_terminal);
    pty_expect(&pty, "> ");
    pty_type(&pty, "/echo hello there\n");
    pty_expect(&pty, "hello there\r\n");
    pty_expect(&pty, "hello there\r\n> ");
    pty_type(&pty, "/call write_file {\"path\":\"a.txt\",\"content\":\"x\"}\n");
    pty_expect(&pty, "wants to use write_file with {\"path\":\"a.txt\",\"content\":\"x\"}\r\n");
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, "n\n");
    pty_expect(&pty, "\u2717");
    pty_expect(&pty, "> ");
    (void)snprintf(file, sizeof(file), "%s/a.txt", folder);
    assert_int_not_equal(access(file, F_OK), 0);
    pty_type(&pty, "/call write_file {\"path\":\"a.txt\",\"content\":\"x\"}\n");
    pty_expect(&pty, "Allow it? [y/N] ");
    pty_type(&pty, "y\n");
    pty_expect(&pty, "\u2713");
    pty_expect(&pty, "> ");
    assert_int_equal(access(file, F_OK), 0);
    pty_type(&pty, "/slow 10000 one two\n");
    pty_expect(&pty, "one two\r\n");
    pty_expect(&pty, "one");
    pty_type(&pty, CTRL_C);
    pty_expect(&pty, "interrupted\r\n> ");
    pty_type(&pty, CTRL_D);
    assert_int_equal(pty_finish(&pty), 0);
    (void)unlink(file);
    (void)rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_goes_on_until_the_end_of_the_input),
        cmocka_unit_test(one_message_is_answered_and_that_is_all),
        cmocka_unit_test(tools_are_shown_with_their_time),
        cmocka_unit_test(what_takes_long_has_a_spinner_and_ctrl_c_interrupts_it),
        cmocka_unit_test(an_interrupted_message_fails),
        cmocka_unit_test(a_second_ctrl_c_leaves),
        cmocka_unit_test(ctrl_c_can_only_arrive_on_the_thread_that_asks),
        cmocka_unit_test(a_person_is_asked_before_a_tool_runs),
        cmocka_unit_test(what_was_typed_before_the_question_does_not_answer_it),
        cmocka_unit_test(text_of_the_agent_cannot_move_the_cursor),
        cmocka_unit_test(an_agent_that_dies_is_started_again),
        cmocka_unit_test(without_colours_there_are_none_and_on_a_dumb_terminal_no_codes_at_all),
        cmocka_unit_test(the_agent_of_this_program_is_the_default),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_chat TOOLWIRE\n");
        return 2;
    }
    if (!has_node()) {
        puts("SKIPPED: node is missing; scripts/setup test installs it");
        return 77;
    }
    arg_toolwire = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
