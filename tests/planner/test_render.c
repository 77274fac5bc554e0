/* The picture of a plan: what walls enclose, their shape, and the text of the SVG. */
#include "planner/plan.h"

#include <math.h>

#include "outline.h"
#include "regions.h"
#include "render.h"
#include "svg.h"

/* The n-th allocation of the code under test fails (the linker sends them here); 0: none does. */
static size_t fail_at;
static size_t n_allocations;

static bool allocation_fails(void)
{
    return fail_at != 0 && ++n_allocations == fail_at;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    return allocation_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return allocation_fails() ? NULL : __real_realloc(p, n);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

/* ---- Regions ---------------------------------------------------------------------------- */

static double area_at(const RegionWall *walls, size_t n, double x, double y)
{
    Regions regions = {.regions = NULL};
    const Region *region;
    double area;

    assert_int_equal(regions_find(&regions, walls, n), 0);
    region = regions_at(&regions, (Point){x, y});
    area = region != NULL ? region->area : 0;
    regions_free(&regions);
    return area;
}

static void walls_enclose_a_region(void **state)
{
    static const RegionWall box[] = {
        {{0, 0}, {10, 0}, 0.5}, {{10, 8}, {10, 0}, 0.5}, {{10, 8}, {0, 8}, 0.5},
        {{0, 0}, {0, 8}, 0.5},  {{4, 0}, {4, 8}, 0.3}, /* from wall to wall */
    };

    (void)state;
    assert_true(is_near(area_at(box, 4, 5, 4), 80));
    assert_true(is_near(area_at(box, 4, -1, 4), 0));
    assert_true(is_near(area_at(box, 3, 5, 4), 0));
    assert_true(is_near(area_at(box, 5, 1, 4), 32));
    assert_true(is_near(area_at(box, 5, 9, 4), 48));
}

static void walls_that_cross_divide(void **state)
{
    static const RegionWall hash[] = {
        {{-2, 0}, {12, 0}, 0.5}, {{-2, 10}, {12, 10}, 0.5},
        {{0, -2}, {0, 12}, 0.5}, {{10, -2}, {10, 12}, 0.5},
        {{-2, 4}, {12, 4}, 0.5}, {{-2, 4}, {12, 4}, 0.5}, /* the same again */
    };

    (void)state;
    assert_true(is_near(area_at(hash, 6, 5, 2), 40));
    assert_true(is_near(area_at(hash, 6, 5, 8), 60));
    assert_true(is_near(area_at(hash, 6, 11, 8), 0));
}

static void wall_that_ends_in_the_face_of_another_joins_it(void **state)
{
    static const RegionWall box[] = {
        {{0, 0}, {10, 0}, 1}, {{10, 0}, {10, 8}, 1},     {{10, 8}, {0, 8}, 1},
        {{0, 8}, {0, 0}, 1},  {{5, 0.5}, {5, 7.5}, 0.3}, /* as far as the faces */
    };
    static const RegionWall open[] = {
        {{0, 0}, {10, 0}, 1}, {{10, 0}, {10, 8}, 1},   {{10, 8}, {0, 8}, 1},
        {{0, 8}, {0, 0}, 1},  {{5, 0.6}, {5, 7}, 0.3}, /* and not as far */
    };

    (void)state;
    assert_true(is_near(area_at(box, 5, 2, 4), 40));
    assert_true(is_near(area_at(box, 5, 8, 4), 40));
    assert_true(is_near(area_at(open, 5, 2, 4), 80));
}

static void region_inside_another_is_found_first(void **state)
{
    static const RegionWall walls[] = {
        {{0, 0}, {20, 0}, 0.5}, {{20, 0}, {20, 20}, 0.5}, {{20, 20}, {0, 20}, 0.5},
        {{0, 20}, {0, 0}, 0.5}, {{5, 5}, {8, 5}, 0.5},    {{8, 5}, {8, 8}, 0.5},
        {{8, 8}, {5, 8}, 0.5},  {{5, 8}, {5, 5}, 0.5},
    };

    (void)state;
    assert_true(is_near(area_at(walls, 8, 6, 6), 9));
    assert_true(is_near(area_at(walls, 8, 2, 2), 400));
}

static void more_crossings_than_can_be_looked_at_give_no_region(void **state)
{
    enum {
        N = 160
    };
    RegionWall walls[N];
    Regions regions = {.regions = NULL};

    (void)state;
    for (int i = 0; i < N / 2; i++) {
        walls[i] = (RegionWall){{-5, i * 2}, {500, i * 2}, 0.5};
        walls[N / 2 + i] = (RegionWall){{i * 2, -5}, {i * 2, 500}, 0.5};
    }
    assert_int_equal(regions_find(&regions, walls, N), 0);
    assert_true(regions.is_too_many);
    assert_null(regions_at(&regions, (Point){1, 1}));
    regions_free(&regions);
    /* Few corners, but all walls meet in all of them. */
    for (int i = 0; i < N; i++) {
        walls[i] = (RegionWall){{-i, 0}, {500 + i, 0}, 0.5};
    }
    assert_int_equal(regions_find(&regions, walls, N), 0);
    assert_true(regions.is_too_many);
    regions_free(&regions);
    assert_int_equal(regions_find(&regions, walls, 0), 0);
    assert_false(regions.is_too_many);
    regions_free(&regions);
}

/* ---- Outlines --------------------------------------------------------------------------- */

static void load(Plan *plan, Floor *floor)
{
    *floor = FLOOR_NULL;
    assert_int_equal(floor_load(&plan->store, 1, floor, &plan->fault), 0);
}

static bool has_point(const Outline *outline, double x, double y)
{
    for (size_t i = 0; i < outline->n_points; i++) {
        if (is_near(outline->points[i].x, x) && is_near(outline->points[i].y, y)) {
            return true;
        }
    }
    return false;
}

static void corner_is_mitred(void **state)
{
    Plan *plan = *state;
    double half = 100 / 304.8;
    Outlines outlines;
    Floor floor;

    (void)plan_box(plan, 10, 8);
    load(plan, &floor);
    assert_int_equal(outlines_make(&floor, &outlines), 0);
    assert_int_equal(outlines.n, 4);
    /* The outer and the inner corner belong to both walls. */
    for (size_t i = 0; i < 2; i++) {
        assert_true(has_point(&outlines.outlines[i], 10 + half, -half));
        assert_true(has_point(&outlines.outlines[i], 10 - half, half));
    }
    outlines_free(&outlines);
    floor_free(&floor);
}

static void free_end_and_sharp_angle_are_cut_straight(void **state)
{
    Plan *plan = *state;
    double half = 100 / 304.8;
    Outlines outlines;
    Floor floor;

    (void)plan_wall(plan, 0, 0, 10, 0);
    (void)plan_wall(plan, 10, 0, 0, 0.5);
    load(plan, &floor);
    assert_int_equal(outlines_make(&floor, &outlines), 0);
    assert_true(has_point(&outlines.outlines[0], 0, half));
    assert_true(has_point(&outlines.outlines[0], 0, -half));
    for (size_t i = 0; i < outlines.outlines[0].n_points; i++) {
        assert_true(outlines.outlines[0].points[i].x < 12);
    }
    outlines_free(&outlines);
    floor_free(&floor);
}

static void wall_that_goes_on_straight_has_no_step(void **state)
{
    Plan *plan = *state;
    double half = 100 / 304.8;
    Outlines outlines;
    Floor floor;

    (void)plan_wall(plan, 0, 0, 10, 0);
    (void)plan_wall(plan, 10, 0, 20, 0);
    load(plan, &floor);
    assert_int_equal(outlines_make(&floor, &outlines), 0);
    assert_true(has_point(&outlines.outlines[0], 10, half));
    assert_true(has_point(&outlines.outlines[1], 10, half));
    assert_true(has_point(&outlines.outlines[1], 10, -half));
    outlines_free(&outlines);
    floor_free(&floor);
}

static void door_opens_the_wall(void **state)
{
    Plan *plan = *state;
    double half = 100 / 304.8;
    int64_t wall = plan_wall(plan, 0, 0, 10, 0);
    Outlines outlines;
    Floor floor;

    (void)plan_door(plan, wall, 8.5); /* to the very end */
    (void)plan_door(plan, wall, 4);
    load(plan, &floor);
    assert_int_equal(outlines_make(&floor, &outlines), 0);
    assert_int_equal(outlines.n, 2);
    assert_true(has_point(&outlines.outlines[0], 0, half));
    assert_true(has_point(&outlines.outlines[0], 2.5, -half));
    assert_true(has_point(&outlines.outlines[1], 5.5, half));
    assert_true(has_point(&outlines.outlines[1], 7, half));
    outlines_free(&outlines);
    floor_free(&floor);
}

/* ---- The text --------------------------------------------------------------------------- */

static void numbers_are_short_and_without_minus_zero(void **state)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0, "0"},     {-0.001, "0"},     {1.5, "1.5"},  {2.345, "2.35"},
                 {100, "100"}, {-12.10, "-12.1"}, {0.01, "0.01"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Svg svg = {.text = NULL};

        svg_number(&svg, cases[i].number);
        assert_string_equal(svg.text, cases[i].text);
        free(svg.text);
    }
}

static void markup_and_what_is_no_text_is_escaped(void **state)
{
    static const struct {
        const char *text;
        const char *escaped;
    } cases[] = {
        {"<a href=\"&\">", "&lt;a href=&quot;&amp;&quot;&gt;"},
        {"K\xc3\xbc\x63he \xe2\x82\xac \xf0\x9f\x8f\xa0",
         "K\xc3\xbc\x63he \xe2\x82\xac \xf0\x9f\x8f\xa0"},
        {"a\x01z", "a\xef\xbf\xbdz"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf5\x80\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Svg svg = {.text = NULL};

        svg_escaped(&svg, cases[i].text);
        assert_string_equal(svg.text, cases[i].escaped);
        free(svg.text);
    }
}

/* Every tag is closed, and none by another's name; attributes are quoted. */
static void assert_well_formed(const char *text)
{
    char open[32][16];
    int depth = 0;

    for (const char *p = strchr(text, '<'); p != NULL; p = strchr(p + 1, '<')) {
        const char *end = strchr(p, '>');
        char name[16] = "";
        size_t n = strcspn(p + 1 + (p[1] == '/'), " >/\n");

        assert_non_null(end);
        assert_true(n > 0 && n < sizeof(name));
        memcpy(name, p + 1 + (p[1] == '/'), n);
        if (p[1] == '/') {
            assert_true(depth > 0);
            assert_string_equal(name, open[--depth]);
        } else if (end[-1] != '/') {
            assert_true(depth < 32);
            memcpy(open[depth++], name, sizeof(name));
        }
        n = 0;
        for (const char *q = p; q < end; q++) {
            n += *q == '"';
        }
        assert_int_equal(n % 2, 0);
    }
    assert_int_equal(depth, 0);
}

static char *draw(Plan *plan, int width)
{
    Picture picture = {.svg = NULL};
    Floor floor;

    load(plan, &floor);
    assert_int_equal(render_floor(&floor, "a \"plan\" & more", width, &picture, &plan->fault), 0);
    floor_free(&floor);
    assert_int_equal(picture.width, width);
    assert_well_formed(picture.svg);
    assert_null(strstr(picture.svg, "nan"));
    assert_null(strstr(picture.svg, "inf"));
    return picture.svg;
}

static void assert_says(const char *svg, const char *words)
{
    if (strstr(svg, words) == NULL) {
        fail_msg("no '%s' in the picture", words);
    }
}

static void picture_shows_walls_doors_and_rooms(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 20, 12);
    char *svg;
    char *again;

    (void)plan_door(plan, wall, 5);
    (void)plan_room(plan, "Bath <1> & \"2\"", 3, 3);
    svg = draw(plan, 960);
    assert_says(svg, "<title>a &quot;plan&quot; &amp; more, Level 1</title>");
    assert_says(svg, "Level 1 &#183; 4 walls &#183; 1 door &#183; 1 room<");
    assert_says(svg, "Bath &lt;1&gt; &amp; &quot;2&quot;");
    assert_says(svg, "240.0 sq ft");
    assert_says(svg, "class=\"wall\" data-id=\"10\"");
    assert_says(svg, "class=\"door\" data-id=\"14\"");
    assert_says(svg, " A ");
    assert_says(svg, "5 ft</text>");
    assert_says(svg, "20&#8242;-8&#8243;");
    assert_null(strstr(svg, "#e8590c"));
    again = draw(plan, 960);
    assert_string_equal(svg, again);
    free(again);
    free(svg);
}

static void selection_is_highlighted(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 20, 12);
    int64_t ids[3] = {wall, plan_door(plan, wall, 5), plan_room(plan, "Bath", 3, 3)};

    for (size_t i = 0; i < 3; i++) {
        char *svg;

        plan_select(plan, ids[i]);
        svg = draw(plan, 960);
        assert_says(svg, "#e8590c");
        assert_int_equal(strstr(svg, "#ffd8b5") != NULL, i != 1);
        free(svg);
    }
}

static void empty_floor_says_so(void **state)
{
    char *svg = draw(*state, 960);

    assert_says(svg, "Nothing is on this level yet.");
    /* 40 ft across. */
    assert_says(svg, ">10 ft</text>");
    free(svg);
}

static void room_without_walls_is_not_enclosed(void **state)
{
    Plan *plan = *state;
    char *svg;

    (void)plan_box(plan, 10, 8);
    (void)plan_room(plan, "Study", 5, 4);
    plan_begin(plan);
    assert_int_equal(
        store_run(&plan->store, &plan->fault, "DELETE FROM elements WHERE category = 'Walls'", ""),
        0);
    plan_commit(plan);
    svg = draw(plan, 960);
    assert_says(svg, "not enclosed");
    free(svg);
}

static void largest_and_smallest_plan_can_be_drawn(void **state)
{
    Plan *plan = *state;

    (void)plan_wall(plan, 0, 0, 0.003, 0);
    free(draw(plan, 240));
    (void)plan_wall(plan, -100000, -100000, 100000, 100000);
    free(draw(plan, 240));
    free(draw(plan, 4000));
}

static void every_failing_allocation_is_told(void **state)
{
    Plan *plan = *state;
    int64_t wall = plan_box(plan, 20, 12);
    static const Point square[] = {{0, 0}, {4, 0}, {4, 3}};
    NewRoom room = {.name = "Corner", .points = square, .n_points = 3};
    double area;
    int64_t id;
    size_t n = 0;
    int r = -1;

    (void)plan_door(plan, wall, 5);
    (void)plan_room(plan, "Bath", 3, 3);
    plan_begin(plan);
    assert_int_equal(model_create_room(&plan->store, &room, &id, &area, &plan->fault), 0);
    plan_commit(plan);
    while (r != 0) {
        Picture picture = {.svg = NULL};
        Floor floor = FLOOR_NULL;

        n_allocations = 0;
        fail_at = ++n;
        r = floor_load(&plan->store, 1, &floor, &plan->fault);
        if (r == 0) {
            r = render_floor(&floor, "x", 960, &picture, &plan->fault);
        }
        fail_at = 0;
        /* It ends well only if none failed. */
        assert_int_equal(r == 0, n_allocations < n);
        if (r != 0) {
            assert_string_equal(plan->fault.text, "There is no memory left.");
            assert_null(picture.svg);
        }
        free(picture.svg);
        floor_free(&floor);
    }
    assert_true(n > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plan_setup, plan_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_enclose_a_region),
        cmocka_unit_test(walls_that_cross_divide),
        cmocka_unit_test(wall_that_ends_in_the_face_of_another_joins_it),
        cmocka_unit_test(region_inside_another_is_found_first),
        cmocka_unit_test(more_crossings_than_can_be_looked_at_give_no_region),
        TEST(corner_is_mitred),
        TEST(free_end_and_sharp_angle_are_cut_straight),
        TEST(wall_that_goes_on_straight_has_no_step),
        TEST(door_opens_the_wall),
        cmocka_unit_test(numbers_are_short_and_without_minus_zero),
        cmocka_unit_test(markup_and_what_is_no_text_is_escaped),
        TEST(picture_shows_walls_doors_and_rooms),
        TEST(selection_is_highlighted),
        TEST(empty_floor_says_so),
        TEST(room_without_walls_is_not_enclosed),
        TEST(largest_and_smallest_plan_can_be_drawn),
        TEST(every_failing_allocation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
