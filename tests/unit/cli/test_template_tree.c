#include "cli/cmd_template_tree.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static void check(Span folder, TemplateTreeLine *lines, size_t n, const char *wanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    template_tree_print(out, folder, lines, n);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, wanted);
    free(text); /* open_memstream's */
}

static void files_stand_in_their_folders(void **state)
{
    TemplateTreeLine lines[] = {
        {SPAN("src/main.c"), "new"},          {SPAN("Makefile"), "same"},
        {SPAN("src/a/b/c.c"), "new"},         {SPAN("src.txt"), ""},
        {SPAN("src/a/d.c"), "differs +1 -2"}, {SPAN(".github/ci.yml"), "new"},
    };

    (void)state;
    check(SPAN("demo"), lines, TW_ARRAY_SIZE(lines),
          "demo/\n"
          "├── .github/\n"
          "│   └── ci.yml  new\n"
          "├── Makefile  same\n"
          "├── src/\n"
          "│   ├── a/\n"
          "│   │   ├── b/\n"
          "│   │   │   └── c.c  new\n"
          "│   │   └── d.c  differs +1 -2\n"
          "│   └── main.c  new\n"
          "└── src.txt\n");
}

static void the_last_folder_has_no_line_beside_its_files(void **state)
{
    TemplateTreeLine lines[] = {{SPAN("z/b"), ""}, {SPAN("z/a"), ""}, {SPAN("y"), ""}};

    (void)state;
    check(SPAN("/"), lines, TW_ARRAY_SIZE(lines),
          "/\n"
          "├── y\n"
          "└── z/\n"
          "    ├── a\n"
          "    └── b\n");
}

static void names_of_one_beginning_are_not_mixed_up(void **state)
{
    TemplateTreeLine lines[] = {{SPAN("ab/x"), ""}, {SPAN("a/x"), ""}, {SPAN("a-b/x"), ""}};

    (void)state;
    check(SPAN("d/"), lines, TW_ARRAY_SIZE(lines),
          "d/\n"
          "├── a/\n"
          "│   └── x\n"
          "├── a-b/\n"
          "│   └── x\n"
          "└── ab/\n"
          "    └── x\n");
}

static void nothing_is_only_the_folder(void **state)
{
    (void)state;
    check(SPAN("d"), NULL, 0, "d/\n");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    TemplateTreeLine lines[] = {{SPAN("a\033[31m"), ""}};

    (void)state;
    check(SPAN("d"), lines, 1, "d/\n└── a\\x1b[31m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_stand_in_their_folders),
        cmocka_unit_test(the_last_folder_has_no_line_beside_its_files),
        cmocka_unit_test(names_of_one_beginning_are_not_mixed_up),
        cmocka_unit_test(nothing_is_only_the_folder),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
