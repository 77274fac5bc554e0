#include "toolkit/chart/page.h"

#include "support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/oom_sweep.h"

static const ChartFigure figures[] = {
    {"code lines", 0}, {"cognitive complexity", 0}, {"commits", 0}};

static const ChartFile files[] = {
    {SPAN_INIT("src/io/loop.c"), {300, 40, 12}},
    {SPAN_INIT("src/<script>alert(\"x\")</script>.js"), {200, 3, 5}},
    {SPAN_INIT("a'b&c\nd.c"), {100, 2, 0}},
    {SPAN_INIT("empty.c"), {0, 0, 1}},
};

static const ChartPage page = {
    .title = SPAN_INIT("<b>demo</b>"),
    .subtitle = SPAN_INIT("4 files & more"),
    .figures = figures,
    .n_figures = 3,
    .area = 0,
    .heat = 1,
    .heat_edges = {2, 5, 10, 20, 30, 60},
    .has_scatter = true,
    .x = 2,
    .y = 1,
    .files = files,
    .n_files = 4,
};

typedef int (*WriteFn)(const ChartPage *page, Bytes *out);

static char *write_page(WriteFn write, const ChartPage *what)
{
    Bytes out;

    bytes_init(&out, (size_t)256 * 1024 * 1024);
    assert_int_equal(write(what, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    return out.data;
}

static size_t count(const char *text, const char *what)
{
    size_t length = strlen(what);
    size_t n = 0;

    /* A sanitizer measures the whole text at each strstr, which is far too slow for megabytes. */
    for (const char *at = text; *at != '\0'; at++) {
        n += *at == *what && strncmp(at, what, length) == 0;
    }
    return n;
}

/* Of the map; the points have marks, too. */
static double area_of(const char *text, const char *path)
{
    char title[128];
    const char *at;
    double w = 0;
    double h = 0;

    (void)snprintf(title, sizeof(title), "<title>%s", path);
    at = strstr(text, title);
    assert_non_null(at);
    at = strstr(at, "<rect");
    assert_int_equal(sscanf(strstr(at, "width="), "width=\"%lf\" height=\"%lf\"", &w, &h), 2);
    return w * h;
}

static void every_file_is_a_rectangle_as_large_as_its_lines(void **state)
{
    static const WriteFn writes[] = {chart_page_write_svg, chart_page_write_html};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = write_page(writes[i], &page);
        double whole = 1200.0 * 720;

        /* A hundredth of a pixel at each side is what two decimals leave out. */
        assert_true(fabs(area_of(text, "src/io/loop.c") - whole / 2) < 20);
        assert_true(fabs(area_of(text, "src/&lt;script&gt;") - whole / 3) < 20);
        assert_true(fabs(area_of(text, "a&#39;b&amp;c\\x0ad.c") - whole / 6) < 20);
        /* Three rectangles (one file has no lines), four points. */
        assert_int_equal(count(text, "class=\"m\""), 7);
        assert_int_equal(count(text, "<circle"), 4);
        /* One of each is reached by Tab; so is the table, which may have to be moved. */
        assert_int_equal(count(text, "tabindex=\"0\""), i == 0 ? 2 : 3);
        assert_non_null(strstr(text, "code lines 300 · cognitive complexity 40 · commits 12"));
        (void)mem_free(text);
    }
}

static void colour_is_the_step_of_the_figure(void **state)
{
    char *text = write_page(chart_page_write_svg, &page);

    (void)state;
    assert_non_null(strstr(strstr(text, "<title>src/io/loop.c"), "class=\"h5\""));
    assert_non_null(strstr(text, "≤ 2</text>"));
    assert_non_null(strstr(text, "> 60</text>"));
    /* 2 is not above 2; 3 is, and not above 5. */
    assert_int_equal(strncmp(strstr(strstr(text, "<title>a&#39;b"), "class=\"h"), "class=\"h0", 9),
                     0);
    assert_int_equal(
        strncmp(strstr(strstr(text, "<title>src/&lt;script"), "class=\"h"), "class=\"h1", 9), 0);
    (void)mem_free(text);
}

static void names_cannot_leave_their_place(void **state)
{
    static const WriteFn writes[] = {chart_page_write_svg, chart_page_write_html};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = write_page(writes[i], &page);

        assert_int_equal(count(text, "<script"), 1); /* ours */
        assert_null(strstr(text, "<b>"));
        assert_null(strstr(text, "alert(\""));
        assert_null(strstr(text, "a'b"));
        assert_non_null(strstr(text, "4 files &amp; more"));
        (void)mem_free(text);
    }
}

static void nothing_is_asked_of_a_network(void **state)
{
    static const WriteFn writes[] = {chart_page_write_svg, chart_page_write_html};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = write_page(writes[i], &page);

        /* The name of the SVG language is an address that nobody fetches. */
        assert_int_equal(count(text, "http"), count(text, "http://www.w3.org/2000/svg") + i);
        assert_null(strstr(text, "src="));
        assert_null(strstr(text, "href"));
        assert_null(strstr(text, "url("));
        assert_null(strstr(text, "@import"));
        (void)mem_free(text);
    }
}

static void without_points_there_are_none(void **state)
{
    ChartPage plain = page;
    char *text;

    (void)state;
    plain.has_scatter = false;
    text = write_page(chart_page_write_html, &plain);
    assert_null(strstr(text, "<circle"));
    assert_int_equal(count(text, "<svg"), 1);
    (void)mem_free(text);
}

static void page_without_files_is_whole(void **state)
{
    ChartPage none = page;
    char *text;

    (void)state;
    none.files = NULL;
    none.n_files = 0;
    text = write_page(chart_page_write_svg, &none);
    assert_int_equal(count(text, "class=\"m\""), 0);
    assert_non_null(strstr(text, "</svg>\n"));
    (void)mem_free(text);
    text = write_page(chart_page_write_html, &none);
    assert_non_null(strstr(text, "<h2>0 files</h2>"));
    (void)mem_free(text);
}

/* More files than can be told apart: the smallest of a folder are one rectangle. */
static void smallest_of_very_many_are_drawn_together(void **state)
{
    enum {
        N = CHART_MAX_CELLS + 500
    };
    ChartFile *many = calloc(N, sizeof(*many));
    char *names = calloc(N, 32);
    ChartPage big = page;
    char *text;

    (void)state;
    assert_non_null(many);
    assert_non_null(names);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names + 32 * i, 32, "%s/f%zu.c", i % 2 == 0 ? "even" : "odd", i);
        many[i].path = span_from_str(names + 32 * i);
        many[i].figures[0] = (double)(N - i);
        many[i].figures[1] = (double)(i % 50);
    }
    big.files = many;
    big.n_files = N;
    text = write_page(chart_page_write_svg, &big);
    assert_int_equal(count(text, "<circle"), CHART_MAX_CELLS);
    assert_int_equal(count(text, "class=\"m\""), 2 * CHART_MAX_CELLS + 2);
    /* The smallest 500 have 1 + 2 + … + 500 lines. */
    assert_non_null(strstr(text, "<title>even/*\n250 small files · code lines 62,"));
    assert_non_null(strstr(text, "<title>odd/*\n250 small files · code lines 62,"));
    assert_non_null(strstr(text, "500 smaller files are left out"));
    (void)mem_free(text);
    big.n_files = CHART_MAX_CELLS + 1;
    text = write_page(chart_page_write_svg, &big);
    assert_non_null(strstr(text, "<title>even/*\n1 small file · code lines 500 "));
    assert_non_null(strstr(text, ">1 smaller file is left out<"));
    (void)mem_free(text);
    free(names);
    free(many);
}

static void same_input_gives_the_same_page(void **state)
{
    char *first = write_page(chart_page_write_html, &page);
    char *second = write_page(chart_page_write_html, &page);

    (void)state;
    assert_string_equal(first, second);
    (void)mem_free(first);
    (void)mem_free(second);
}

static void full_buffer_is_left_as_it_was(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 3000);
    assert_int_equal(bytes_append_span(&out, SPAN("abc")), 0);
    assert_int_equal(chart_page_write_svg(&page, &out), BYTES_E_FULL);
    assert_int_equal(out.n, 3);
    bytes_deinit(&out);
}

static int page_scenario(void *context)
{
    WriteFn *write = context;
    Bytes out;
    int r;

    bytes_init(&out, (size_t)1024 * 1024);
    r = (*write)(&page, &out);
    assert_true(r == 0 || out.n == 0);
    bytes_deinit(&out);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(page_scenario, &(WriteFn){chart_page_write_svg});
    test_oom_sweep(page_scenario, &(WriteFn){chart_page_write_html});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_a_rectangle_as_large_as_its_lines),
        cmocka_unit_test(colour_is_the_step_of_the_figure),
        cmocka_unit_test(names_cannot_leave_their_place),
        cmocka_unit_test(nothing_is_asked_of_a_network),
        cmocka_unit_test(without_points_there_are_none),
        cmocka_unit_test(page_without_files_is_whole),
        cmocka_unit_test(smallest_of_very_many_are_drawn_together),
        cmocka_unit_test(same_input_gives_the_same_page),
        cmocka_unit_test(full_buffer_is_left_as_it_was),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
