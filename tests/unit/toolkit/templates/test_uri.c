#include "support/cmocka.h"

#include <string.h>

#include "support/guard.h"
#include "toolkit/templates/parameters.h"
#include "toolkit/templates/uri.h"

static bool parses(Span uri)
{
    GuardBuffer guard = guard_copy(uri.p, uri.n);
    TemplateUri parts = {.category = SPAN("untouched")};
    bool is_uri = template_uri_parse(span_make(guard.p, guard.n), &parts);

    if (!is_uri) {
        assert_true(span_equals(parts.category, SPAN("untouched")));
    }
    guard_free(&guard);
    return is_uri;
}

static void three_parts_are_told_apart(void **state)
{
    TemplateUri uri;

    (void)state;
    assert_true(template_uri_parse(SPAN("template://makefile/python-uv/cli_2.0+x"), &uri));
    assert_true(span_equals(uri.category, SPAN("makefile")));
    assert_true(span_equals(uri.toolchain, SPAN("python-uv")));
    assert_true(span_equals(uri.variant, SPAN("cli_2.0+x")));
    assert_true(parses(SPAN("template://a/b/c")));
    assert_true(parses(SPAN("template://0/1/2")));
}

static void what_a_file_system_could_read_otherwise_is_no_uri(void **state)
{
    static const Span hostile[] = {
        SPAN_INIT("template://../../etc/passwd"),
        SPAN_INIT("template://../../etc"),
        SPAN_INIT("template://../rust/cli"),
        SPAN_INIT("template://makefile/../cli"),
        SPAN_INIT("template://makefile/rust/.."),
        SPAN_INIT("template://makefile/rust/."),
        SPAN_INIT("template://.git/rust/cli"),
        SPAN_INIT("template://-a/rust/cli"),
        SPAN_INIT("template://%2e%2e/%2e%2e/etc"),
        SPAN_INIT("template://makefile/rust/%2e%2e"),
        SPAN_INIT("template://makefile/rust/cl%69"),
        SPAN_INIT("template://makefile/rust/cli\0"),
        SPAN_INIT("template://makefile/ru\0st/cli"),
        SPAN_INIT("template://makefile\\rust\\cli"),
        SPAN_INIT("template://makefile/rust/cl\xc3\xad"),
        SPAN_INIT("template://makefile/rust/\xff\xfe"),
        SPAN_INIT("template://makefile/rust/cli\n"),
        SPAN_INIT("template://makefile/rust/c li"),
        SPAN_INIT("template://makefile/rust/cli?x=1"),
        SPAN_INIT("template://makefile/rust/cli#x"),
        SPAN_INIT("template://makefile/rust:80/cli"),
        SPAN_INIT("template://user@makefile/rust/cli"),
        SPAN_INIT("template://~/rust/cli"),
        SPAN_INIT("template://makefile/rust/cli;x"),
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(hostile); i++) {
        if (parses(hostile[i])) {
            fail_msg("passed: %s", hostile[i].p);
        }
    }
}

static void there_are_exactly_three_parts_and_one_spelling(void **state)
{
    static const Span wrong[] = {
        SPAN_INIT(""),
        SPAN_INIT("template"),
        SPAN_INIT("template://"),
        SPAN_INIT("template:///"),
        SPAN_INIT("template:////"),
        SPAN_INIT("template://makefile"),
        SPAN_INIT("template://makefile/rust"),
        SPAN_INIT("template://makefile/rust/"),
        SPAN_INIT("template://makefile//cli"),
        SPAN_INIT("template:///rust/cli"),
        SPAN_INIT("template://makefile/rust/cli/"),
        SPAN_INIT("template://makefile/rust/cli/x"),
        SPAN_INIT("template://x/makefile/rust/cli/y"),
        SPAN_INIT("template:///makefile/rust/cli"),
        SPAN_INIT("Template://makefile/rust/cli"),
        SPAN_INIT("template://Makefile/rust/cli"),
        SPAN_INIT("template://makefile/rust/CLI"),
        SPAN_INIT("template:/makefile/rust/cli"),
        SPAN_INIT(" template://makefile/rust/cli"),
        SPAN_INIT("template://makefile/rust/cli "),
        SPAN_INIT("file://makefile/rust/cli"),
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        if (parses(wrong[i])) {
            fail_msg("passed: %s", wrong[i].p);
        }
    }
}

static void a_part_is_64_bytes_long_at_most(void **state)
{
    char part[TEMPLATE_URI_PART_MAX + 2];
    char uri[4096];

    (void)state;
    memset(part, 'a', sizeof(part));
    assert_true(template_uri_is_part(span_make(part, TEMPLATE_URI_PART_MAX)));
    assert_false(template_uri_is_part(span_make(part, TEMPLATE_URI_PART_MAX + 1)));
    assert_false(template_uri_is_part(SPAN_NULL));
    memset(uri, 'a', sizeof(uri));
    memcpy(uri, "template://a/b/", 15);
    assert_false(parses(span_make(uri, sizeof(uri))));
}

static void safe_names_stay_where_they_are_put(void **state)
{
    static const Span safe[] = {
        SPAN_INIT("my-project"),  SPAN_INIT("..x"),     SPAN_INIT(".x"),  SPAN_INIT("a b"),
        SPAN_INIT("caf\xc3\xa9"), SPAN_INIT("console"), SPAN_INIT("com"), SPAN_INIT("com10"),
        SPAN_INIT("xnul"),        SPAN_INIT("x.con"),   SPAN_INIT("lptx")};
    static const Span unsafe[] = {
        SPAN_INIT(""),      SPAN_INIT("."),        SPAN_INIT(".."),          SPAN_INIT("..."),
        SPAN_INIT(".. "),   SPAN_INIT("a/b"),      SPAN_INIT("../x"),        SPAN_INIT("a\\b"),
        SPAN_INIT("C:"),    SPAN_INIT("a\0b"),     SPAN_INIT("a\nb"),        SPAN_INIT("a\x7f"),
        SPAN_INIT("a\x1f"), SPAN_INIT(" "),        SPAN_INIT("a:b"),         SPAN_INIT("/"),
        SPAN_INIT("con"),   SPAN_INIT("NUL"),      SPAN_INIT("Aux.txt"),     SPAN_INIT("prn .c"),
        SPAN_INIT("COM1"),  SPAN_INIT("lpt0.x.y"), SPAN_INIT("COM\xC2\xB9"), SPAN_INIT("conout$")};
    char name[TEMPLATE_NAME_MAX + 1];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(safe); i++) {
        assert_true(template_name_is_safe(safe[i]));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(unsafe); i++) {
        if (template_name_is_safe(unsafe[i])) {
            fail_msg("passed: \"%s\"", unsafe[i].p);
        }
    }
    memset(name, 'n', sizeof(name));
    assert_true(template_name_is_safe(span_make(name, TEMPLATE_NAME_MAX)));
    assert_false(template_name_is_safe(span_make(name, TEMPLATE_NAME_MAX + 1)));
}

static void safe_paths_are_relative_and_never_go_up(void **state)
{
    static const Span unsafe[] = {SPAN_INIT(""),         SPAN_INIT("/"),    SPAN_INIT("/etc"),
                                  SPAN_INIT("a/"),       SPAN_INIT("a//b"), SPAN_INIT("../a"),
                                  SPAN_INIT("a/../b"),   SPAN_INIT("a/.."), SPAN_INIT("./a"),
                                  SPAN_INIT("a/b\\c"),   SPAN_INIT("C:/a"), SPAN_INIT("a/.. /b"),
                                  SPAN_INIT("src/aux.c")};
    char path[TEMPLATE_PATH_MAX + 2];

    (void)state;
    assert_true(template_path_is_safe(SPAN("Makefile")));
    assert_true(template_path_is_safe(SPAN(".github/workflows/ci.yml")));
    for (size_t i = 0; i < TW_ARRAY_SIZE(unsafe); i++) {
        if (template_path_is_safe(unsafe[i])) {
            fail_msg("passed: \"%s\"", unsafe[i].p);
        }
    }
    for (size_t i = 0; i < sizeof(path); i++) {
        path[i] = i % 2 == 0 ? 'a' : '/';
    }
    assert_true(template_path_is_safe(span_make(path, TEMPLATE_PATH_MAX - 1)));
    assert_false(template_path_is_safe(span_make(path, TEMPLATE_PATH_MAX + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_parts_are_told_apart),
        cmocka_unit_test(what_a_file_system_could_read_otherwise_is_no_uri),
        cmocka_unit_test(there_are_exactly_three_parts_and_one_spelling),
        cmocka_unit_test(a_part_is_64_bytes_long_at_most),
        cmocka_unit_test(safe_names_stay_where_they_are_put),
        cmocka_unit_test(safe_paths_are_relative_and_never_go_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
