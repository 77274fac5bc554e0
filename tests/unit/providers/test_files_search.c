/* nftw */
#define _GNU_SOURCE

#include "unit/providers/files_rig.h"

#include "providers/files_impl.h"

static void names_are_found_by_a_pattern(void **state)
{
    (void)state;
    rig_init();
    rig_expect("search_files", "{\"pattern\":\"*.c\"}",
               "{\"matches\":[{\"path\":\"src/a.c\"}],\"truncated\":false,\"skipped\":0}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"src/a.c\\n\"}");
    rig_expect("search_files", "{\"pattern\":\"**/*.{c,h}\"}",
               "{\"matches\":[{\"path\":\"src/a.c\"},{\"path\":\"src/b.h\"}],\"truncated\":false,"
               "\"skipped\":0}");
    rig_expect("search_files", "{\"pattern\":\"?.h\",\"path\":\"./src//\"}",
               "{\"matches\":[{\"path\":\"src/b.h\"}],\"truncated\":false,\"skipped\":0}");
    rig_expect("search_files", "{\"pattern\":\"nothing\"}",
               "{\"matches\":[],\"truncated\":false,\"skipped\":0}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"(nothing found)\\n\"}");
    rig_deinit();
}

static void lines_are_found_by_a_text(void **state)
{
    (void)state;
    rig_init();
    rig_expect("search_files", "{\"text\":\"int\"}",
               "{\"matches\":[{\"path\":\"src/a.c\",\"line\":1,\"text\":\"int a;\"},{\"path\":"
               "\"src/a.c\",\"line\":2,\"text\":\"int main(void);\"},{\"path\":\"src/b.h\","
               "\"line\":1,\"text\":\"int b;\"}],\"truncated\":false,\"skipped\":0}");
    rig_expect("search_files", "{\"text\":\"INT B\",\"ignoreCase\":true,\"pattern\":\"*.h\"}",
               "{\"matches\":[{\"path\":\"src/b.h\",\"line\":1,\"text\":\"int b;\"}],"
               "\"truncated\":false,\"skipped\":0}");
    assert_string_equal(rig.text.data, "{\"type\":\"text\",\"text\":\"src/b.h:1: int b;\\n\"}");
    rig_deinit();
}

static void results_are_bounded(void **state)
{
    (void)state;
    rig_init();
    rig_expect("search_files", "{\"text\":\"int\",\"maxResults\":2}",
               "{\"matches\":[{\"path\":\"src/a.c\",\"line\":1,\"text\":\"int a;\"},{\"path\":"
               "\"src/a.c\",\"line\":2,\"text\":\"int main(void);\"}],\"truncated\":true,"
               "\"reason\":\"results\",\"skipped\":0}");
    rig_deinit();
}

static void assert_cut(const FilesConfig *config, const char *arguments, const char *reason)
{
    assert_int_equal(rig_init_with(config, NULL), 0);
    rig_ask("search_files", arguments);
    assert_false(rig.is_error);
    assert_non_null(strstr(rig.structured.data, reason));
    rig_deinit();
}

static void what_a_search_looks_at_is_bounded(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "root/src/file%d", i);
        scratch_write(scratch_path(name), "int\n", 0600);
    }
    assert_cut(&(FilesConfig){.max_search_entries = 5}, "{\"pattern\":\"file1*\"}",
               "\"truncated\":true,\"reason\":\"entries\"");
    assert_cut(&(FilesConfig){.max_search_bytes = 40}, "{\"text\":\"nothing of the sort\"}",
               "\"truncated\":true,\"reason\":\"bytes\"");
    assert_cut(&(FilesConfig){.search_ms = 1000000000}, "{\"text\":\"nothing of the sort\"}",
               "\"truncated\":false");
    assert_cut(&(FilesConfig){.max_search_entries = 22}, "{\"pattern\":\"note.txt\"}",
               "\"path\":\"note.txt\"");
}

/* A clock that has run out before it begins. */
static void a_search_has_its_time(void **state)
{
    FilesShared shared = {.max_file_bytes = 1000,
                          .max_search_entries = 1000,
                          .max_search_bytes = 1000,
                          .search_ms = 0};
    FilesJob job = {.shared = &shared,
                    .asked = {.path = ".", .pattern = SPAN_INIT("*"), .max_results = 9},
                    .diag = DIAG_NULL};

    (void)state;
    assert_int_equal(io_beneath_open(&shared.root, scratch_path("root"), NULL), 0);
    bytes_init(&job.structured, 1000);
    bytes_init(&job.said, 1000);
    assert_int_equal(files_run_search(&job), 0);
    assert_int_equal(bytes_append_byte(&job.structured, '\0'), 0);
    assert_string_equal(job.structured.data,
                        "{\"matches\":[],\"truncated\":true,\"reason\":\"time\",\"skipped\":0}");
    bytes_deinit(&job.structured);
    bytes_deinit(&job.said);
    shared.root = io_beneath_free(shared.root);
}

static void files_that_are_no_text_or_too_large_are_skipped(void **state)
{
    int fd = open(scratch_path("root/binary"), O_WRONLY | O_CREAT, 0600);

    (void)state;
    assert_int_equal(write(fd, "int\0int", 7), 7);
    assert_int_equal(close(fd), 0);
    scratch_write(scratch_path("root/large"), "int", 0600);
    assert_int_equal(truncate(scratch_path("root/large"), (off_t)50 * 1024 * 1024), 0);
    assert_int_equal(mkfifo(scratch_path("root/fifo"), 0600), 0);
    scratch_write(scratch_path("root/latin"), "int caf\xe9\n", 0600);
    rig_init();
    rig_expect("search_files", "{\"text\":\"int c\"}",
               "{\"matches\":[{\"path\":\"latin\",\"line\":1,\"text\":\"int caf\xef\xbf\xbd\"}],"
               "\"truncated\":false,\"skipped\":2}");
    rig_deinit();
}

static void the_way_does_not_lead_out_or_round(void **state)
{
    (void)state;
    assert_int_equal(symlink("..", scratch_path("root/up")), 0);
    assert_int_equal(symlink(".", scratch_path("root/round")), 0);
    assert_int_equal(symlink("src", scratch_path("root/again")), 0);
    assert_int_equal(symlink("../secret", scratch_path("root/stolen")), 0);
    assert_int_equal(symlink("note.txt", scratch_path("root/near")), 0);
    assert_int_equal(mkdir(scratch_path("root/.git"), 0755), 0);
    scratch_write(scratch_path("root/.git/config"), "three", 0600);
    rig_init();
    rig_expect("search_files", "{\"text\":\"three\"}",
               "{\"matches\":[{\"path\":\"near\",\"line\":3,\"text\":\"three\"},{\"path\":"
               "\"note.txt\",\"line\":3,\"text\":\"three\"}],\"truncated\":false,\"skipped\":0}");
    rig_expect("search_files", "{\"text\":\"out\"}",
               "{\"matches\":[],\"truncated\":false,\"skipped\":0}");
    rig_expect("search_files", "{\"pattern\":\"secret\"}",
               "{\"matches\":[],\"truncated\":false,\"skipped\":0}");
    rig_refused("search_files", "{\"pattern\":\"*\",\"path\":\"..\"}", "Access denied");
    rig_refused("search_files", "{\"pattern\":\"*\",\"path\":\"up\"}", "Access denied");
    rig_refused("search_files", "{\"pattern\":\"*\",\"path\":\"/\"}", "Access denied");
    rig_refused("search_files", "{\"pattern\":\"*\",\"path\":\"note.txt\"}", "Not a folder");
    rig_expect("search_files", "{\"pattern\":\"../*\"}",
               "{\"matches\":[],\"truncated\":false,\"skipped\":0}");
    rig_deinit();
}

static void a_search_for_nothing_is_refused(void **state)
{
    (void)state;
    rig_init();
    rig_refused("search_files", "{}", "a pattern of names, a text, or both are needed");
    rig_refused("search_files", "{\"text\":\"a\\nb\"}", "must be of one line");
    rig_ask("search_files", "{\"pattern\":\"*\",\"maxResults\":0}");
    assert_int_equal(rig.error, CALL_ERROR_INVALID_ARGUMENTS);
    rig_deinit();
}

static void folders_within_folders_are_no_recursion(void **state)
{
    char path[4096] = "";
    size_t n = (size_t)snprintf(path, sizeof(path), "%s/root", scratch);

    (void)state;
    for (int i = 0; i < 300; i++) {
        n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
        assert_int_equal(mkdir(path, 0755), 0);
    }
    (void)snprintf(path + n, sizeof(path) - n, "/deep.c");
    scratch_write(path, "x", 0600);
    rig_init();
    rig_ask("search_files", "{\"pattern\":\"deep.c\"}");
    assert_non_null(strstr(rig.structured.data, "d/d/deep.c\"}]"));
    rig_deinit();
}

static void a_search_that_nobody_wants_any_more_stops(void **state)
{
    (void)state;
    rig_init();
    rig_begin("search_files", "{\"text\":\"int\"}");
    router_cancel(rig.router, &rig.call);
    assert_int_equal(io_loop_run(rig.loop), 0);
    assert_int_equal(rig.n_finished, 0);
    rig_deinit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found_by_a_pattern, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(lines_are_found_by_a_text, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(results_are_bounded, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(what_a_search_looks_at_is_bounded, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_search_has_its_time, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(files_that_are_no_text_or_too_large_are_skipped, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(the_way_does_not_lead_out_or_round, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_search_for_nothing_is_refused, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(folders_within_folders_are_no_recursion, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_search_that_nobody_wants_any_more_stops, rig_setup,
                                        rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
