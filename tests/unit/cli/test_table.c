#include "cli/table.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"

/* What fn prints into a file, which is no terminal. */
static char *printed(const Table *table)
{
    static char text[1024];
    FILE *file = tmpfile();
    size_t n;

    assert_non_null(file);
    table_print(table, file);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

static void columns_are_aligned_and_lines_end_without_blanks(void **state)
{
    Arena arena;
    Table table;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 3);
    assert_int_equal(table_add(&table, (Span[]){SPAN("a"), SPAN("x"), SPAN("first\nsecond")}), 0);
    assert_int_equal(table_add(&table, (Span[]){SPAN("l\xC3\xA4nger"), SPAN_NULL, SPAN("b")}), 0);
    assert_int_equal(table_add(&table, (Span[]){SPAN("c"), SPAN_NULL, SPAN_NULL}), 0);
    assert_string_equal(printed(&table), "a       x  first\nl\xC3\xA4nger     b\nc\n");
    arena_deinit(&arena);
}

static void empty_column_takes_no_room(void **state)
{
    Arena arena;
    Table table;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 3);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(table_add(&table, (Span[]){SPAN("a"), SPAN_NULL, SPAN("b")}), 0);
    }
    assert_int_equal(table.n_rows, 40);
    assert_memory_equal(printed(&table), "a  b\na  b\n", 10);
    arena_deinit(&arena);
}

static void long_name_is_not_cut(void **state)
{
    char name[100];
    char expected[128];
    Arena arena;
    Table table;

    (void)state;
    memset(name, 'n', sizeof(name));
    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 2);
    assert_int_equal(table_add(&table, (Span[]){span_make(name, sizeof(name)), SPAN("b")}), 0);
    (void)snprintf(expected, sizeof(expected), "%.*s  b\n", (int)sizeof(name), name);
    assert_string_equal(printed(&table), expected);
    arena_deinit(&arena);
}

static void control_characters_do_not_reach_the_output(void **state)
{
    char text[128];
    FILE *file = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(file);
    table_print_safe(file, SPAN("a\033[31m\xC2\x9B\x7F\tb\n\xC3\x9F"), true);
    fputc('|', file);
    table_print_safe(file, SPAN("\t\n"), false);
    (void)fclose(file);
    assert_string_equal(text, "a\\x1b[31m\xC2\\x9b\\x7f\tb\n\xC3\x9F|\\x09\\x0a");
}

static void halves_of_pairs_are_shown_as_utf8(void **state)
{
    char text[128];
    FILE *file = fmemopen(text, sizeof(text), "w");

    (void)state;
    assert_non_null(file);
    table_print_safe(file, SPAN("a\xED\xA0\xBD"), true);
    table_print_safe(file, SPAN("\xED\xB8\x80\xED\xA0\xBD\xED\xA0\xBD\xED\xB8\x80z"), true);
    (void)fclose(file);
    assert_string_equal(text, "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80z");
}

static int fill(void *context)
{
    Arena arena;
    Table table;
    int r = 0;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 1);
    for (int i = 0; r == 0 && i < 100; i++) {
        r = table_add(&table, (Span[]){SPAN("x")});
    }
    arena_deinit(&arena);
    return r;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    test_oom_sweep(fill, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_and_lines_end_without_blanks),
        cmocka_unit_test(empty_column_takes_no_room),
        cmocka_unit_test(long_name_is_not_cut),
        cmocka_unit_test(control_characters_do_not_reach_the_output),
        cmocka_unit_test(halves_of_pairs_are_shown_as_utf8),
        cmocka_unit_test(failing_allocations_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
