/* nftw */
#define _GNU_SOURCE

#include "unit/providers/files_rig.h"

#include "providers/files_impl.h"
#include "support/files.h"
#include "support/oom_sweep.h"

#define DENIED "Access denied: path outside allowed directory"

static void folders_are_listed(void **state)
{
    (void)state;
    rig_init();
    rig_expect("list_files", "{}",
               "{\"path\":\".\",\"files\":[{\"name\":\"note.txt\",\"type\":\"file\",\"path\":"
               "\"note.txt\",\"size\":13},{\"name\":\"src\",\"type\":\"directory\",\"path\":"
               "\"src\"}],\"truncated\":false}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"note.txt\\nsrc/\\n\"}");
    rig_expect("list_files", "{\"path\":\"src/\"}",
               "{\"path\":\"src/\",\"files\":[{\"name\":\"a.c\",\"type\":\"file\",\"path\":"
               "\"src/a.c\",\"size\":23},{\"name\":\"b.h\",\"type\":\"file\",\"path\":"
               "\"src/b.h\",\"size\":7}],\"truncated\":false}");
    rig_refused("list_files", "{\"path\":\"note.txt\"}", "Not a folder");
    rig_refused("list_files", "{\"path\":\"none\"}", "File not found: none");
    rig_refused("list_files", "{\"path\":\"..\"}", DENIED);
    rig_deinit();
}

static void strange_names_are_listed_and_said_to_be_strange(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("root/odd"), 0755), 0);
    scratch_write(scratch_path("root/odd/a\nb"), "1", 0600);
    scratch_write(scratch_path("root/odd/\xff"), "2", 0600);
    assert_int_equal(symlink("/etc", scratch_path("root/odd/out")), 0);
    assert_int_equal(mkfifo(scratch_path("root/odd/pipe"), 0600), 0);
    rig_init();
    rig_expect(
        "list_files", "{\"path\":\"odd\"}",
        "{\"path\":\"odd\",\"files\":[{\"name\":\"a\\nb\",\"type\":\"file\",\"path\":"
        "\"odd/a\\nb\",\"size\":1},{\"name\":\"out\",\"type\":\"link\",\"path\":\"odd/out\"},"
        "{\"name\":\"pipe\",\"type\":\"other\",\"path\":\"odd/pipe\"},"
        "{\"name\":\"\xef\xbf\xbd\",\"type\":\"file\",\"path\":\"odd/\xef\xbf\xbd\",\"size\":1,"
        "\"isExact\":false}],\"truncated\":false}");
    rig_expect("read_file", "{\"path\":\"odd/a\\nb\"}",
               "{\"path\":\"odd/a\\nb\",\"content\":\"1\",\"size\":1}");
    rig_refused("read_file", "{\"path\":\"odd/\xef\xbf\xbd\"}", "File not found");
    rig_refused("read_file", "{\"path\":\"odd/pipe\"}", "Not a regular file");
    rig_refused("read_file", "{\"path\":\"odd/out/passwd\"}", DENIED);
    rig_deinit();
}

static void files_are_read_whole_or_by_lines(void **state)
{
    char absolute[256];

    (void)state;
    rig_init();
    rig_expect("read_file", "{\"path\":\"note.txt\"}",
               "{\"path\":\"note.txt\",\"content\":\"one\\ntwo\\nthree\",\"size\":13}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"one\\ntwo\\nthree\"}");
    rig_expect("read_file", "{\"path\":\"note.txt\",\"line\":2,\"lines\":1}",
               "{\"path\":\"note.txt\",\"content\":\"two\\n\",\"size\":13,\"line\":2,"
               "\"totalLines\":3}");
    rig_expect("read_file", "{\"path\":\"note.txt\",\"lines\":1}",
               "{\"path\":\"note.txt\",\"content\":\"one\\n\",\"size\":13,\"line\":1,"
               "\"totalLines\":3}");
    rig_expect("read_file", "{\"path\":\"note.txt\",\"line\":99}",
               "{\"path\":\"note.txt\",\"content\":\"\",\"size\":13,\"line\":99,"
               "\"totalLines\":3}");
    rig_expect("read_file", "{\"path\":\"note.txt\",\"encoding\":\"base64\"}",
               "{\"path\":\"note.txt\",\"content\":\"b25lCnR3bwp0aHJlZQ==\",\"size\":13,"
               "\"encoding\":\"base64\"}");
    (void)snprintf(absolute, sizeof(absolute), "{\"path\":\"%s/root/src/b.h\"}", scratch);
    rig_ask("read_file", absolute);
    assert_false(rig.is_error);
    assert_non_null(strstr(rig.structured.data, "\"content\":\"int b;\\n\""));
    rig_deinit();
}

static void nothing_outside_is_read(void **state)
{
    char evil[256];

    (void)state;
    assert_int_equal(symlink("../secret", scratch_path("root/link")), 0);
    assert_int_equal(symlink("..", scratch_path("root/src/up")), 0);
    assert_int_equal(symlink("../..", scratch_path("root/src/upup")), 0);
    rig_init();
    rig_refused("read_file", "{\"path\":\"../secret\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"/etc/passwd\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"src/../../secret\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"../root-evil/secret\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"link\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"src/upup/secret\"}", DENIED);
    rig_refused("read_file", "{\"path\":\"/proc/self/root/etc/passwd\"}", DENIED);
    (void)snprintf(evil, sizeof(evil), "{\"path\":\"%s/root-evil/secret\"}", scratch);
    rig_refused("read_file", evil, DENIED);
    rig_expect("read_file", "{\"path\":\"src/up/note.txt\",\"lines\":1}",
               "{\"path\":\"src/up/note.txt\",\"content\":\"one\\n\",\"size\":13,\"line\":1,"
               "\"totalLines\":3}");
    rig_deinit();
}

static void what_cannot_be_read_as_text_is_refused_in_words(void **state)
{
    (void)state;
    scratch_write(scratch_path("root/latin"), "caf\xe9", 0600);
    scratch_write(scratch_path("root/large"), "", 0600);
    assert_int_equal(truncate(scratch_path("root/large"), (off_t)50 * 1024 * 1024), 0);
    rig_init();
    rig_refused("read_file", "{\"path\":\"latin\"}", "Not a text file (no UTF-8): latin has 4");
    rig_expect("read_file", "{\"path\":\"latin\",\"encoding\":\"base64\"}",
               "{\"path\":\"latin\",\"content\":\"Y2Fm6Q==\",\"size\":4,\"encoding\":"
               "\"base64\"}");
    rig_refused("read_file", "{\"path\":\"large\"}", "File too large (max 10MB)");
    rig_refused("read_file", "{\"path\":\"src\"}", "Not a file, but a folder");
    rig_refused("read_file", "{\"path\":\"a\\u0000b\"}", "must not hold a NUL");
    rig_refused("read_file", "{\"path\":\"note.txt\",\"line\":1,\"encoding\":\"base64\"}",
                "does not go with");
    rig_ask("read_file", "{}");
    assert_int_equal(rig.error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_ask("read_file", "{\"path\":7}");
    assert_int_equal(rig.error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_deinit();
}

static void assert_content(const char *path, const char *content)
{
    size_t n = 0;
    char *text = files_read(scratch_path(path), &n);

    assert_int_equal(n, strlen(content));
    assert_string_equal(text, content);
    free(text);
}

static void files_are_written(void **state)
{
    (void)state;
    rig_init();
    rig_expect("write_file", "{\"path\":\"new/deep/x.txt\",\"content\":\"h\\u00e9\\n\"}",
               "{\"path\":\"new/deep/x.txt\",\"size\":4,\"message\":\"File created: 4 bytes\"}");
    assert_content("root/new/deep/x.txt", "h\xc3\xa9\n");
    rig_expect("write_file", "{\"path\":\"note.txt\",\"content\":\"\"}",
               "{\"path\":\"note.txt\",\"size\":0,\"message\":\"File written: 0 bytes\"}");
    assert_content("root/note.txt", "");
    rig_expect("write_file", "{\"path\":\"bin\",\"content\":\"Y2Fm6Q==\",\"encoding\":\"base64\"}",
               "{\"path\":\"bin\",\"size\":4,\"message\":\"File created: 4 bytes\"}");
    assert_content("root/bin", "caf\xe9");
    rig_refused("write_file", "{\"path\":\"bin\",\"content\":\"*\",\"encoding\":\"base64\"}",
                "not base64");
    rig_deinit();
}

static void nothing_outside_is_written(void **state)
{
    (void)state;
    assert_int_equal(symlink("../secret", scratch_path("root/link")), 0);
    assert_int_equal(symlink("../new", scratch_path("root/dangling")), 0);
    rig_init();
    rig_refused("write_file", "{\"path\":\"../new\",\"content\":\"x\"}", DENIED);
    rig_refused("write_file", "{\"path\":\"link\",\"content\":\"x\"}", DENIED);
    rig_refused("write_file", "{\"path\":\"dangling\",\"content\":\"x\"}", DENIED);
    rig_refused("write_file", "{\"path\":\"dangling/a/b\",\"content\":\"x\"}", DENIED);
    rig_refused("write_file", "{\"path\":\"/tmp/x\",\"content\":\"x\"}", DENIED);
    rig_refused("write_file", "{\"path\":\"src\",\"content\":\"x\"}", "Not a file, but a folder");
    rig_deinit();
    assert_content("secret", "out");
    assert_false(scratch_exists(scratch_path("new")));
}

static void content_over_the_limit_is_not_written(void **state)
{
    (void)state;
    assert_int_equal(rig_init_with(&(FilesConfig){.max_file_bytes = 5}, NULL), 0);
    rig_refused("write_file", "{\"path\":\"x\",\"content\":\"123456\"}", "Content too large");
    rig_refused("write_file",
                "{\"path\":\"x\",\"content\":\"AAAAAAAAAAAA\",\"encoding\":\"base64\"}",
                "Content too large");
    assert_false(scratch_exists(scratch_path("root/x")));
    rig_refused("read_file", "{\"path\":\"note.txt\"}", "File too large (max 5 bytes)");
    rig_deinit();
}

/* ---- the provider ---- */

static void tools_say_what_they_may_change(void **state)
{
    Span json;

    (void)state;
    rig_init();
    assert_int_equal(router_count(rig.router, ROUTER_TOOL), 5);
    json = router_tool_description(rig.router, SPAN("read_file"));
    assert_non_null(strstr(json.p, "\"readOnlyHint\":true"));
    json = router_tool_description(rig.router, SPAN("write_file"));
    assert_non_null(strstr(json.p, "\"destructiveHint\":true"));
    json = router_tool_description(rig.router, SPAN("run_command"));
    assert_non_null(strstr(json.p, "Programs: ls, pwd, date, echo, cat, grep, head, tail, wc"));
    assert_non_null(strstr(json.p, "\"destructiveHint\":true"));
    rig_deinit();
    assert_int_equal(rig_init_with(&(FilesConfig){.root = NULL}, NULL), 0);
    assert_int_equal(router_count(rig.router, ROUTER_TOOL), 4);
    assert_string_equal(files_commands_state(rig.files), "none");
    rig_deinit();
}

static void a_root_that_is_none_is_refused(void **state)
{
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(rig_init_with(&(FilesConfig){.root = scratch_path("secret")}, &diag),
                     FILES_E_ROOT);
    assert_non_null(strstr(diag.message, "cannot be used"));
    rig_deinit();
}

static void names_that_are_taken_are_left_alone(void **state)
{
    FilesProvider *second = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    rig_init();
    assert_int_equal(
        files_new(&second, &(FilesConfig){.loop = rig.loop, .root = scratch_path("root")}, NULL),
        0);
    assert_int_equal(files_add(second, rig.router, &diag), FILES_E_EXISTS);
    assert_string_equal(diag.message, "there is a tool 'list_files' already");
    second = files_free(second);
    assert_int_equal(router_count(rig.router, ROUTER_TOOL), 5);
    rig_deinit();
}

static void calls_that_run_end_with_the_provider(void **state)
{
    (void)state;
    rig_init();
    rig_begin("list_files", "{}");
    rig.files = files_free(rig.files);
    assert_int_equal(rig.n_finished, 1);
    assert_int_equal(rig.error, CALL_ERROR_UNAVAILABLE);
    rig_deinit();
}

static void calls_that_were_taken_back_are_not_answered(void **state)
{
    (void)state;
    rig_init();
    rig_begin("list_files", "{}");
    router_cancel(rig.router, &rig.call);
    assert_int_equal(io_loop_run(rig.loop), 0);
    assert_int_equal(rig.n_finished, 0);
    rig_deinit();
}

/* On the loop's thread: all but the work. */
static int sweep_provider(void *context)
{
    int r = rig_init_with(&(FilesConfig){.commands = files_default_commands}, NULL);

    (void)context;
    rig_deinit();
    return r;
}

typedef struct Work {
    int tool;
    const char *arguments;
} Work;

/* The work, on this thread: allocations are counted for each thread alone. */
static int sweep_work(void *context)
{
    const Work *work = context;
    const FilesTool *tool = &files_tools[work->tool];
    char *commands[] = {(char[]){"echo"}, NULL};
    FilesShared shared = {.commands = commands,
                          .n_commands = 1,
                          .may_run = true,
                          .max_file_bytes = 1000,
                          .max_output_bytes = 1000,
                          .max_search_entries = 1000,
                          .max_search_bytes = 1000,
                          .search_ms = 100000};
    FilesJob job = {.shared = &shared, .diag = DIAG_NULL};
    JsonDoc doc;
    int r = io_beneath_open(&shared.root, scratch_path("root"), NULL);

    arena_init(&job.arena, 1 << 20);
    bytes_init(&job.structured, 1 << 20);
    bytes_init(&job.said, 1 << 20);
    r = r != 0 ? r
               : json_parse(&doc, &job.arena, work->arguments, strlen(work->arguments), NULL, NULL);
    r = r != 0 ? r : tool->ask(&job, json_root(&doc));
    r = r != 0 ? r : tool->run(&job);
    arena_deinit(&job.arena);
    bytes_deinit(&job.structured);
    bytes_deinit(&job.said);
    shared.root = io_beneath_free(shared.root);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    Work works[] = {
        {FILES_TOOL_LIST, "{\"path\":\"src\"}"},
        {FILES_TOOL_READ, "{\"path\":\"note.txt\",\"line\":2}"},
        {FILES_TOOL_READ, "{\"path\":\"note.txt\",\"encoding\":\"base64\"}"},
        {FILES_TOOL_WRITE, "{\"path\":\"w\",\"content\":\"Y2Fm\",\"encoding\":\"base64\"}"},
        {FILES_TOOL_SEARCH, "{\"text\":\"int\",\"pattern\":\"*.[ch]\"}"},
        {FILES_TOOL_COMMAND, "{\"command\":\"echo\",\"args\":[\"a\\tb\"]}"},
    };
    int next_fd = scratch_next_fd();

    (void)state;
    test_oom_sweep(sweep_provider, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(works); i++) {
        test_oom_sweep(sweep_work, &works[i]);
    }
    assert_int_equal(scratch_next_fd(), next_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folders_are_listed, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(strange_names_are_listed_and_said_to_be_strange, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(files_are_read_whole_or_by_lines, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_is_read, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_as_text_is_refused_in_words, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(files_are_written, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_is_written, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(content_over_the_limit_is_not_written, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(tools_say_what_they_may_change, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_root_that_is_none_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(names_that_are_taken_are_left_alone, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(calls_that_run_end_with_the_provider, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(calls_that_were_taken_back_are_not_answered, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
