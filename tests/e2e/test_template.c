/* `toolwire template render` and `scaffold` at a terminal: what is missing is asked for.
 *
 *     test_template TOOLWIRE
 */
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const char *program;

/* Own templates, so that what is built in may change. */
static char folder[] = "/tmp/tw-template-XXXXXX";

static const char manifest[] =
    "{\"templates\":["
    "{\"uri\":\"template://note/toy/cli\",\"name\":\"Note\",\"description\":\"d\",\"file\":\"n\","
    "\"output\":\"note.txt\",\"parameters\":["
    "{\"name\":\"project_name\",\"type\":\"string\",\"required\":true,\"description\":\"Its name\","
    "\"pattern\":\"^[a-z]+$\"},"
    "{\"name\":\"loud\",\"type\":\"boolean\",\"required\":true,\"description\":\"Shout?\"},"
    "{\"name\":\"words\",\"type\":\"array\",\"required\":true,\"description\":\"Words\"},"
    "{\"name\":\"kind\",\"type\":\"choice\",\"choices\":[\"big\",\"small\"],\"required\":true,"
    "\"description\":\"Kind\"},"
    "{\"name\":\"extra\",\"type\":\"string\",\"description\":\"Never asked for\"}]},"
    "{\"uri\":\"template://other/toy/cli\",\"name\":\"Other\",\"description\":\"d\",\"file\":\"o\","
    "\"output\":\"other.txt\",\"parameters\":["
    "{\"name\":\"project_name\",\"type\":\"string\",\"required\":true,\"description\":\"Its "
    "name\"},"
    "{\"name\":\"count\",\"type\":\"integer\",\"required\":true,\"description\":\"How many\"}]}]}";

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return -1;
    }
    write_file("manifest.json", manifest);
    write_file("n", "{{project_name}} {{loud}} {{join words \"+\"}} {{kind}} {{extra}}\n");
    write_file("o", "{{project_name}} {{count}}\n");
    return setenv("XDG_CONFIG_HOME", folder, 1);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"demo/note.txt", "demo/other.txt", "n", "o",
                                        "manifest.json"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        (void)unlink(names[i]);
    }
    return rmdir("demo") != 0 || chdir("/") != 0 || rmdir(folder) != 0;
}

/* The other side of a new terminal, which neither echoes nor changes line ends. */
static int open_terminal(int *ret_slave)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios settings;
    int slave;

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &settings), 0);
    settings.c_lflag &= ~(tcflag_t)ECHO;
    settings.c_oflag &= ~(tcflag_t)OPOST;
    assert_int_equal(tcsetattr(slave, TCSANOW, &settings), 0);
    *ret_slave = slave;
    return master;
}

typedef struct Ran {
    int status;
    char out[4096];
    char err[4096];
} Ran;

static void read_back(FILE *file, char *text, size_t size)
{
    size_t n;

    rewind(file);
    n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    assert_int_equal(fclose(file), 0);
}

/* Runs it with what a person types at the terminal that is its standard input. */
static Ran run(const char *const *arguments, const char *typed)
{
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    int slave;
    int master = open_terminal(&slave);
    Ran ran = {.status = 0};

    assert_true(out != NULL && err != NULL);
    assert_int_equal(write(master, typed, strlen(typed)), (ssize_t)strlen(typed));
    ran.status = peer_wait(peer_spawn_all(program, arguments, slave, fileno(out), fileno(err)));
    assert_int_equal(close(slave), 0);
    assert_int_equal(close(master), 0);
    read_back(out, ran.out, sizeof(ran.out));
    read_back(err, ran.err, sizeof(ran.err));
    return ran;
}

#define ARGUMENTS(...) ((const char *const[]){"template", __VA_ARGS__, "--templates", folder, NULL})

static void what_is_required_and_missing_is_asked_for(void **state)
{
    Ran ran = run(ARGUMENTS("render", "note/toy"), "demo\nyes\na, b\nsmall\n");

    (void)state;
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.out, "demo true a+b small \n");
    assert_string_equal(ran.err, "project_name - Its name (string): "
                                 "loud - Shout? (yes or no): "
                                 "words - Words (several, with commas): "
                                 "kind - Kind (one of [\"big\",\"small\"]): ");
}

static void what_was_given_is_not_asked_for(void **state)
{
    Ran ran = run(ARGUMENTS("render", "note/toy", "-p", "project_name=demo", "-p", "words=x", "-p",
                            "loud=no", "-p", "extra=e"),
                  "big\n");

    (void)state;
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.out, "demo false x big e\n");
    assert_string_equal(ran.err, "kind - Kind (one of [\"big\",\"small\"]): ");
}

static void a_wrong_answer_is_explained_and_asked_for_again(void **state)
{
    Ran ran = run(ARGUMENTS("render", "note/toy", "-p", "words=x", "-p", "kind=big"),
                  "Demo 1\ndemo\nperhaps\nn\n");

    (void)state;
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.out, "demo false x big \n");
    assert_string_equal(ran.err, "project_name - Its name (string): "
                                 "Parameter 'project_name' does not match pattern: ^[a-z]+$\n"
                                 "project_name - Its name (string): "
                                 "loud - Shout? (yes or no): "
                                 "Parameter 'loud' must be of type boolean, not string\n"
                                 "loud - Shout? (yes or no): ");
}

static void at_the_end_of_the_terminal_what_is_missing_is_an_error(void **state)
{
    Ran ran = run(ARGUMENTS("render", "note/toy", "-p", "words=x"), "Wrong\ndemo\n\x04");

    (void)state;
    assert_int_equal(ran.status, 2);
    assert_string_equal(ran.out, "");
    /* The refused answer is forgotten, the good one is not. */
    assert_null(strstr(ran.err, "'project_name' is required"));
    assert_non_null(strstr(ran.err, "parameter 'loud' is required (boolean)\n"));
    assert_non_null(strstr(ran.err, "parameter 'kind' is required (big, small)\n"));
}

static void a_first_answer_that_is_refused_leaves_nothing(void **state)
{
    Ran ran = run(ARGUMENTS("render", "note/toy"), "Wrong\n\x04");

    (void)state;
    assert_int_equal(ran.status, 2);
    assert_non_null(strstr(ran.err, "parameter 'project_name' is required (string)\n"));
}

static void a_project_asks_once_for_what_its_templates_share(void **state)
{
    Ran ran = run(ARGUMENTS("scaffold", "toy", "-p", "loud=yes", "-p", "words=", "-p", "kind=big"),
                  "demo\n3\n");
    char text[64] = "";
    FILE *in;

    (void)state;
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.err, "project_name - Its name (string): "
                                 "count - How many (integer): ");
    assert_string_equal(ran.out, "demo/\n"
                                 "├── note.txt  new\n"
                                 "└── other.txt  new\n"
                                 "\n"
                                 "2 files: 2 new, 0 same, 0 replaced\n");
    in = fopen("demo/other.txt", "r");
    assert_non_null(in);
    assert_non_null(fgets(text, sizeof(text), in));
    assert_string_equal(text, "demo 3\n");
    assert_int_equal(fclose(in), 0);
}

/* Everywhere else the bytes are the file's. */
static void control_characters_of_a_text_do_not_reach_the_terminal(void **state)
{
    int slave;
    int master = open_terminal(&slave);
    char got[256] = "";
    ssize_t n;

    (void)state;
    write_file("n", "a\033[31m\tb\n");
    assert_int_equal(
        peer_wait(peer_spawn(program, ARGUMENTS("show", "note/toy", "--source"), -1, slave)), 0);
    n = read(master, got, sizeof(got) - 1);
    assert_true(n > 0);
    assert_string_equal(got, "a\\x1b[31m\tb\n");
    assert_int_equal(close(slave), 0);
    assert_int_equal(close(master), 0);
    assert_string_equal(run(ARGUMENTS("show", "note/toy", "--source"), "").out, "a\033[31m\tb\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_required_and_missing_is_asked_for),
        cmocka_unit_test(what_was_given_is_not_asked_for),
        cmocka_unit_test(a_wrong_answer_is_explained_and_asked_for_again),
        cmocka_unit_test(at_the_end_of_the_terminal_what_is_missing_is_an_error),
        cmocka_unit_test(a_first_answer_that_is_refused_leaves_nothing),
        cmocka_unit_test(a_project_asks_once_for_what_its_templates_share),
        cmocka_unit_test(control_characters_of_a_text_do_not_reach_the_terminal),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_template TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
