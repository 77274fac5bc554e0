#include "cli/cmd_template_place.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/oom_sweep.h"

/* A working folder of our own, in which there is a/b, and a link that leads nowhere. */
static char folder[] = "/tmp/tw-place-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) != 0 || mkdir("a", 0700) != 0 ||
           mkdir("a/b", 0700) != 0 || symlink("nowhere", "dangling") != 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink("dangling") != 0 || rmdir("a/b") != 0 || rmdir("a") != 0 || chdir("/") != 0 ||
           rmdir(folder) != 0;
}

static void check(const char *named, const char *root, const char *prefix)
{
    Arena arena;
    TemplatePlace place;

    arena_init(&arena, SIZE_MAX);
    assert_int_equal(template_place_split(&arena, named, &place), 0);
    assert_string_equal(place.root, root);
    assert_int_equal(place.prefix.n, strlen(prefix));
    assert_memory_equal(place.prefix.p, prefix, place.prefix.n);
    assert_true(span_equals(place.folder, span_from_str(named)));
    arena_deinit(&arena);
}

static void what_is_there_is_the_root_and_the_rest_is_made(void **state)
{
    char absolute[64];
    char with_rest[80];

    (void)state;
    check("a", "a", "");
    check("a/b", "a/b", "");
    check("a/b/", "a/b/", "");
    check(".", ".", "");
    check("..", "..", "");
    check("x", ".", "x");
    check("x/", ".", "x");
    check("x//y", ".", "x/y");
    check("./x", "./", "x");
    check("a/b/x/y", "a/b/", "x/y");
    check("", ".", "");
    check("/no-such-folder-here/x", "/", "no-such-folder-here/x");
    (void)snprintf(absolute, sizeof(absolute), "%s/", folder);
    (void)snprintf(with_rest, sizeof(with_rest), "%s/x", folder);
    check(with_rest, absolute, "x");
}

/* The rest is not resolved here: io_tree refuses dots and links in it. */
static void dots_and_links_behind_what_is_there_stay_in_the_path(void **state)
{
    (void)state;
    check("x/../y", ".", "x/../y");
    check("dangling", ".", "dangling");
    check("dangling/x", ".", "dangling/x");
}

static void a_name_of_a_project_is_never_the_root(void **state)
{
    Arena arena;
    TemplatePlace place;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(template_place_inside(&arena, SPAN("a"), &place), 0);
    assert_string_equal(place.root, ".");
    assert_true(span_equals(place.prefix, SPAN("a")));
    assert_string_equal(template_place_path(&arena, &place, SPAN("b/c")), "a/b/c");
    place.prefix = SPAN_NULL;
    assert_string_equal(template_place_path(&arena, &place, SPAN("b/c")), "b/c");
    arena_deinit(&arena);
}

static int place_scenario(void *context)
{
    Arena arena;
    TemplatePlace place;
    int r;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    r = template_place_split(&arena, "a/x", &place);
    if (r == 0 && template_place_path(&arena, &place, SPAN("f")) == NULL) {
        r = -ENOMEM;
    }
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(place_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_the_root_and_the_rest_is_made),
        cmocka_unit_test(dots_and_links_behind_what_is_there_stay_in_the_path),
        cmocka_unit_test(a_name_of_a_project_is_never_the_root),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
