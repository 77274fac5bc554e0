#include "toolkit/chart/grid.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"
#include "toolkit/chart/text.h"

typedef struct Fixture {
    Arena arena;
    ChartGrid grid;
    Bytes out;
} Fixture;

static const ChartColumn table_columns[] = {{"n", CHART_NUMBER, 0},
                                            {"function", CHART_NAME, 0},
                                            {"file", CHART_PATH, 0},
                                            {"size", CHART_BAR, 0}};

static void fixture_init(Fixture *f, const ChartColumn *columns, size_t n)
{
    arena_init(&f->arena, (size_t)1024 * 1024);
    chart_grid_init(&f->grid, &f->arena, columns, n);
    bytes_init(&f->out, (size_t)1024 * 1024);
}

static void fixture_deinit(Fixture *f)
{
    arena_deinit(&f->arena);
    bytes_deinit(&f->out);
}

static void fixture_fill(Fixture *f)
{
    fixture_init(f, table_columns, 4);
    assert_int_equal(chart_grid_add(&f->grid, (ChartCell[]){{.text = SPAN("12")},
                                                            {.text = SPAN("parse")},
                                                            {.text = SPAN("src/json/reader.c")},
                                                            {.value = 8}}),
                     0);
    assert_int_equal(chart_grid_add(&f->grid, (ChartCell[]){{.text = SPAN("3")},
                                                            {.text = SPAN("\u65E5\u672C")},
                                                            {.text = SPAN("src/a.c")},
                                                            {.value = 4, .tone = CHART_ERROR}}),
                     0);
}

static const char *written(Fixture *f, size_t width, bool coloured)
{
    bytes_clear(&f->out);
    assert_int_equal(chart_grid_write(&f->grid, width, coloured, &f->out), 0);
    assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
    return f->out.data;
}

static void columns_are_aligned_wide_letters_too(void **state)
{
    Fixture f;

    (void)state;
    fixture_fill(&f);
    assert_string_equal(written(&f, 0, false),
                        " n  function  file               size\n"
                        "12  parse     src/json/reader.c  ████████████████████████\n"
                        " 3  \u65E5\u672C      src/a.c            ████████████\n");
    fixture_deinit(&f);
}

/* The longest line of a text, in columns. */
static size_t longest(const char *text)
{
    size_t most = 0;

    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        size_t width = chart_text_width(span_make(text, n));

        most = width > most ? width : most;
        text += n + (text[n] == '\n');
    }
    return most;
}

static void bars_give_way_before_names_and_numbers_never(void **state)
{
    Fixture f;

    (void)state;
    fixture_fill(&f);
    for (size_t width = 22; width < 70; width++) {
        const char *text = written(&f, width, false);

        assert_true(longest(text) <= width);
        assert_non_null(strstr(text, "12  "));
        /* Until the bars are as short as may be, and then gone, nothing is cut. */
        assert_int_equal(strstr(text, "████████") != NULL, width >= 41);
        assert_int_equal(strstr(text, "size") != NULL, width >= 41);
        assert_int_equal(strstr(text, "src/json/reader.c") != NULL, width >= 31);
    }
    assert_non_null(strstr(written(&f, 22, false), "12  parse     \u2026eader.c\n"));
    /* Below what names may lose, lines are longer than the terminal, and nothing is lost. */
    assert_int_equal(longest(written(&f, 10, false)), 22);
    assert_non_null(strstr(f.out.data, "12  parse"));
    fixture_deinit(&f);
}

static void path_loses_its_beginning_and_name_its_end(void **state)
{
    static const ChartColumn columns[] = {{NULL, CHART_PATH, 0}, {NULL, CHART_NAME, 0}};
    Fixture f;

    (void)state;
    fixture_init(&f, columns, 2);
    assert_int_equal(chart_grid_add(&f.grid, (ChartCell[]){{.text = SPAN("abcdefghijklmnop")},
                                                           {.text = SPAN("ABCDEFGHIJKLMNOP")}}),
                     0);
    assert_string_equal(written(&f, 26, false), "\u2026fghijklmnop  ABCDEFGHIJK\u2026\n");
    fixture_deinit(&f);
}

/* Columns that can be spared go before paths become too short to read, the others never. */
static void what_can_be_spared_most_is_left_out_first(void **state)
{
    static const ChartColumn columns[] = {{"first", CHART_NUMBER, 0}, {"bar", CHART_BAR, 0},
                                          {"little", CHART_LEFT, 1},  {"much", CHART_NUMBER, 9},
                                          {"path", CHART_PATH, 0},    {"some", CHART_NAME, 5}};
    Fixture f;

    (void)state;
    fixture_init(&f, columns, 6);
    assert_int_equal(
        chart_grid_add(&f.grid, (ChartCell[]){{.text = SPAN("1")},
                                              {.value = 1},
                                              {.text = SPAN("kept")},
                                              {.text = SPAN("1,234")},
                                              {.text = SPAN("0123456789abcdef0123456789abcdef")},
                                              {.text = SPAN("a name of 20 letters")}}),
        0);
    for (size_t width = 15; width < 110; width++) {
        const char *text = written(&f, width, false);

        assert_true(longest(text) <= width);
        assert_non_null(strstr(text, "first"));
        assert_int_equal(strstr(text, "bar") != NULL, width >= 66);
        assert_int_equal(strstr(text, "much") != NULL, width >= 56);
        assert_int_equal(strstr(text, "some") != NULL, width >= 49);
        assert_int_equal(strstr(text, "little") != NULL, width >= 35);
        /* What is left out makes room for what stays. */
        assert_true(width < 27 || strstr(text, "def0123456789abcdef") != NULL);
    }
    assert_string_equal(written(&f, 15, false), "first  path\n    1  \u20269abcdef\n");
    assert_string_equal(written(&f, 48, false),
                        "first  little  path\n    1  kept    0123456789abcdef0123456789abcdef\n");
    fixture_deinit(&f);
}

static void colour_changes_no_place(void **state)
{
    Fixture f;
    char plain[1024];
    Bytes stripped;

    (void)state;
    fixture_fill(&f);
    (void)snprintf(plain, sizeof(plain), "%s", written(&f, 0, false));
    assert_non_null(strstr(written(&f, 0, true), "\033[31m█"));
    bytes_init(&stripped, 4096);
    for (const char *p = f.out.data; *p != '\0';) {
        if (*p == '\033') {
            p += strcspn(p, "m") + 1;
        } else {
            assert_int_equal(bytes_append_byte(&stripped, *p++), 0);
        }
    }
    assert_int_equal(bytes_append_byte(&stripped, '\0'), 0);
    assert_string_equal(stripped.data, plain);
    bytes_deinit(&stripped);
    fixture_deinit(&f);
}

static void no_line_ends_in_blanks(void **state)
{
    static const ChartColumn columns[] = {{"a", CHART_LEFT, 0}, {"b", CHART_LEFT, 0}};
    Fixture f;

    (void)state;
    fixture_init(&f, columns, 2);
    assert_int_equal(chart_grid_add(&f.grid, (ChartCell[]){{.text = SPAN("x")}, {.value = 0}}), 0);
    assert_int_equal(
        chart_grid_add(&f.grid, (ChartCell[]){{.text = SPAN("")}, {.text = SPAN("y")}}), 0);
    assert_string_equal(written(&f, 0, false), "a  b\nx\n   y\n");
    fixture_deinit(&f);
}

static void bar_is_as_long_as_its_share_in_eighths(void **state)
{
    static const struct {
        double value;
        double max;
        size_t width;
        const char *wanted;
        size_t taken;
    } cases[] = {
        {0, 10, 10, "", 0}, {10, 10, 4, "████", 4},  {5, 10, 4, "██", 2},   {1, 8, 1, "▏", 1},
        {7, 8, 1, "▉", 1},  {0.001, 10, 4, "▏", 1},  {20, 10, 3, "███", 3}, {5, 0, 3, "▏", 1},
        {3, 10, 0, "", 0},  {2.5, 10, 10, "██▌", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bytes out;
        size_t taken = 99;

        bytes_init(&out, 1024);
        assert_int_equal(
            chart_bar_append(&out, cases[i].value, cases[i].max, cases[i].width, &taken), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_string_equal(out.data, cases[i].wanted);
        assert_int_equal(taken, cases[i].taken);
        bytes_deinit(&out);
    }
}

static int grid_scenario(void *context)
{
    Arena arena;
    Bytes out;
    ChartGrid grid;
    int r = 0;

    (void)context;
    arena_init(&arena, (size_t)1024 * 1024);
    bytes_init(&out, (size_t)1024 * 1024);
    chart_grid_init(&grid, &arena, table_columns, 4);
    for (size_t i = 0; i < 40 && r == 0; i++) {
        r = chart_grid_add(&grid, (ChartCell[]){{.text = SPAN("1")},
                                                {.text = SPAN("name")},
                                                {.text = SPAN("path")},
                                                {.value = (double)i}});
    }
    r = r != 0 ? r : chart_grid_write(&grid, 50, true, &out);
    assert_true(r == 0 || out.n == 0);
    arena_deinit(&arena);
    bytes_deinit(&out);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(grid_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_wide_letters_too),
        cmocka_unit_test(bars_give_way_before_names_and_numbers_never),
        cmocka_unit_test(path_loses_its_beginning_and_name_its_end),
        cmocka_unit_test(what_can_be_spared_most_is_left_out_first),
        cmocka_unit_test(colour_changes_no_place),
        cmocka_unit_test(no_line_ends_in_blanks),
        cmocka_unit_test(bar_is_as_long_as_its_share_in_eighths),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
