#include "toolkit/chart/treemap.h"

#include "support/cmocka.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"

static const ChartRect field = {10, 20, 1200, 720};

static bool meet(const ChartRect *a, const ChartRect *b)
{
    /* A millionth of a pixel is rounding. */
    double e = 1e-6;

    return a->x + e < b->x + b->w && b->x + e < a->x + a->w && a->y + e < b->y + b->h &&
           b->y + e < a->y + a->h;
}

static bool lies_in(const ChartRect *a, const ChartRect *b)
{
    double e = 1e-6;

    return a->x >= b->x - e && a->y >= b->y - e && a->x + a->w <= b->x + b->w + e &&
           a->y + a->h <= b->y + b->h + e;
}

static void expect_map(const double *weights, size_t n, const ChartRect *rects)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += weights[i];
    }
    for (size_t i = 0; i < n; i++) {
        double wanted = field.w * field.h * weights[i] / sum;

        assert_true(fabs(rects[i].w * rects[i].h - wanted) <= 1e-9 * field.w * field.h);
        assert_true(lies_in(&rects[i], &field));
        for (size_t j = 0; j < i; j++) {
            assert_false(meet(&rects[i], &rects[j]));
        }
    }
}

static void areas_are_proportional_and_do_not_overlap(void **state)
{
    double weights[300];
    ChartRect rects[300];

    (void)state;
    for (size_t n = 1; n <= 300; n += n < 12 ? 1 : 48) {
        for (size_t i = 0; i < n; i++) {
            weights[i] = 1e6 / (double)((i + 1) * (i + 1)); /* a few large ones, many small */
        }
        chart_squarify(weights, n, field, rects);
        expect_map(weights, n, rects);
        for (size_t i = 0; i < n; i++) {
            weights[i] = 7;
        }
        chart_squarify(weights, n, field, rects);
        expect_map(weights, n, rects);
    }
}

/* The example that the layout is known by: 6 6 4 3 2 2 1 on 6 × 4. */
static void rows_are_chosen_to_be_square(void **state)
{
    static const double weights[] = {6, 6, 4, 3, 2, 2, 1};
    ChartRect rects[7];

    (void)state;
    chart_squarify(weights, 7, (ChartRect){0, 0, 6, 4}, rects);
    /* The first two share a column of half the width, one above the other. */
    assert_true(fabs(rects[0].w - 3) < 1e-9 && fabs(rects[0].h - 2) < 1e-9);
    assert_true(fabs(rects[1].x) < 1e-9 && fabs(rects[1].y - 2) < 1e-9);
    /* The next two lie beside each other at the top of the rest. */
    assert_true(fabs(rects[2].x - 3) < 1e-9 && fabs(rects[2].w - 12.0 / 7) < 1e-9);
    assert_true(fabs(rects[3].y) < 1e-9 && fabs(rects[3].h - 7.0 / 3) < 1e-9);
}

static void equal_files_are_nearly_square(void **state)
{
    double weights[100];
    ChartRect rects[100];

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        weights[i] = 1;
    }
    chart_squarify(weights, 100, field, rects);
    for (size_t i = 0; i < 100; i++) {
        assert_true(rects[i].w / rects[i].h < 2.5 && rects[i].h / rects[i].w < 2.5);
    }
}

static void no_room_is_divided_without_trouble(void **state)
{
    static const double weights[] = {3, 2, 1};
    ChartRect rects[3];

    (void)state;
    chart_squarify(weights, 3, (ChartRect){5, 5, 0, 0}, rects);
    chart_squarify(weights, 3, (ChartRect){5, 5, 10, 0}, rects);
    for (size_t i = 0; i < 3; i++) {
        assert_true(rects[i].w >= 0 && rects[i].w <= 10 && rects[i].h >= 0 && rects[i].h <= 1e-9);
    }
}

static const ChartLeaf leaves[] = {
    {SPAN_INIT("src/io/loop.c"), 300},  {SPAN_INIT("README"), 0},
    {SPAN_INIT("src/main.c"), 100},     {SPAN_INIT("src/io/file.c"), 200},
    {SPAN_INIT("src-old/a.c"), 50},     {SPAN_INIT("main.c"), 150},
    {SPAN_INIT("src/deep/er/x.c"), 40}, {SPAN_INIT("src.c"), 10},
    {SPAN_INIT("srcs/b.c"), 20},
};
#define N_LEAVES (sizeof(leaves) / sizeof(leaves[0]))

static const ChartNode *find(const ChartTree *tree, const char *path)
{
    for (size_t i = 0; i < tree->n; i++) {
        if (span_equals(tree->nodes[i].path, span_from_str(path))) {
            return &tree->nodes[i];
        }
    }
    return NULL;
}

static void folders_hold_what_is_in_them(void **state)
{
    Arena arena;
    ChartTree tree;

    (void)state;
    arena_init(&arena, (size_t)1024 * 1024);
    assert_int_equal(chart_tree_make(&tree, &arena, leaves, N_LEAVES, field), 0);
    /* Eight files, the root, src, src/io, src/deep, src/deep/er, src-old, srcs. */
    assert_int_equal(tree.n, 15);
    assert_null(find(&tree, "README"));
    assert_true(find(&tree, "src")->weight == 640);
    assert_true(find(&tree, "src/io")->weight == 500);
    assert_int_equal(find(&tree, "src")->item, SIZE_MAX);
    assert_int_equal(find(&tree, "src/main.c")->item, 2);
    assert_true(find(&tree, "")->weight == 870);
    for (size_t i = 1; i < tree.n; i++) {
        const ChartNode *node = &tree.nodes[i];
        double wanted = field.w * field.h * node->weight / 870;

        assert_true(node->parent < i);
        assert_true(lies_in(&node->rect, &tree.nodes[node->parent].rect));
        assert_true(fabs(node->rect.w * node->rect.h - wanted) < 1e-6);
        for (size_t j = 1; j < i; j++) {
            assert_false(node->item != SIZE_MAX && tree.nodes[j].item != SIZE_MAX &&
                         meet(&node->rect, &tree.nodes[j].rect));
        }
    }
    arena_deinit(&arena);
}

static void order_of_files_does_not_show(void **state)
{
    Arena arena;
    ChartTree first;
    ChartTree second;
    ChartLeaf turned[N_LEAVES];

    (void)state;
    arena_init(&arena, (size_t)1024 * 1024);
    for (size_t i = 0; i < N_LEAVES; i++) {
        turned[i] = leaves[N_LEAVES - 1 - i];
    }
    assert_int_equal(chart_tree_make(&first, &arena, leaves, N_LEAVES, field), 0);
    assert_int_equal(chart_tree_make(&second, &arena, turned, N_LEAVES, field), 0);
    assert_int_equal(first.n, second.n);
    for (size_t i = 0; i < first.n; i++) {
        assert_true(span_equals(first.nodes[i].path, second.nodes[i].path));
        assert_memory_equal(&first.nodes[i].rect, &second.nodes[i].rect, sizeof(ChartRect));
    }
    arena_deinit(&arena);
}

static void strange_paths_have_their_place(void **state)
{
    static const ChartLeaf strange[] = {
        {SPAN_INIT("/absolute/x"), 1}, {SPAN_INIT("a//b"), 1}, {SPAN_INIT("a//c"), 1},
        {SPAN_INIT("end/"), 1},        {SPAN_INIT(""), 1},     {SPAN_INIT("same"), 1},
        {SPAN_INIT("same"), 1},
    };
    Arena arena;
    ChartTree tree;
    size_t n_files = 0;

    (void)state;
    arena_init(&arena, (size_t)1024 * 1024);
    assert_int_equal(chart_tree_make(&tree, &arena, strange, 7, field), 0);
    for (size_t i = 0; i < tree.n; i++) {
        n_files += tree.nodes[i].item != SIZE_MAX;
    }
    assert_int_equal(n_files, 7);
    arena_deinit(&arena);
}

static void deep_folders_need_no_stack(void **state)
{
    static char path[200001];
    Arena arena;
    ChartTree tree;

    (void)state;
    for (size_t i = 0; i < 200000; i++) {
        path[i] = i % 2 == 0 ? 'd' : '/';
    }
    path[200000] = 'f';
    arena_init(&arena, (size_t)256 * 1024 * 1024);
    assert_int_equal(
        chart_tree_make(&tree, &arena, &(ChartLeaf){{path, sizeof(path)}, 1}, 1, field), 0);
    assert_int_equal(tree.n, 100002);
    assert_true(tree.nodes[tree.n - 1].rect.w == field.w);
    arena_deinit(&arena);
}

static void nothing_makes_an_empty_map(void **state)
{
    Arena arena;
    ChartTree tree;

    (void)state;
    arena_init(&arena, (size_t)1024 * 1024);
    assert_int_equal(chart_tree_make(&tree, &arena, NULL, 0, field), 0);
    assert_int_equal(tree.n, 1);
    arena_deinit(&arena);
}

static int tree_scenario(void *context)
{
    Arena arena;
    ChartTree tree;
    int r;

    (void)context;
    arena_init(&arena, (size_t)1024 * 1024);
    r = chart_tree_make(&tree, &arena, leaves, N_LEAVES, field);
    arena_deinit(&arena);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(tree_scenario, NULL);
}

static void name_is_the_last_of_a_path(void **state)
{
    (void)state;
    assert_true(span_equals(chart_path_name(SPAN("src/io/file.c")), SPAN("file.c")));
    assert_true(span_equals(chart_path_name(SPAN("file.c")), SPAN("file.c")));
    assert_true(span_equals(chart_path_name(SPAN("")), SPAN("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_proportional_and_do_not_overlap),
        cmocka_unit_test(rows_are_chosen_to_be_square),
        cmocka_unit_test(equal_files_are_nearly_square),
        cmocka_unit_test(no_room_is_divided_without_trouble),
        cmocka_unit_test(folders_hold_what_is_in_them),
        cmocka_unit_test(order_of_files_does_not_show),
        cmocka_unit_test(strange_paths_have_their_place),
        cmocka_unit_test(deep_folders_need_no_stack),
        cmocka_unit_test(nothing_makes_an_empty_map),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(name_is_the_last_of_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
