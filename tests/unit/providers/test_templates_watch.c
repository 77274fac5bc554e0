/* How often the folders are looked at, and what is seen in them. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/templates_rig.h"

#include "providers/templates_impl.h"

#define MANIFEST(words)                                                                            \
    "{\"templates\":[{\"uri\":\"template://" words "/mine/cli\",\"name\":\"" words                 \
    "\",\"file\":\"x.hbs\",\"output\":\"x\"}]}"

static void the_next_look_comes_soon_and_never_late(void **state)
{
    (void)state;
    assert_int_equal(templates_wait_ms(0), 2000);
    assert_int_equal(templates_wait_ms(1), 2000);
    assert_int_equal(templates_wait_ms(20), 2000);
    /* Looking takes a hundredth of the time. */
    assert_int_equal(templates_wait_ms(21), 2100);
    assert_int_equal(templates_wait_ms(50), 5000);
    /* A change is not waited for longer than this, however slow the disk. */
    assert_int_equal(templates_wait_ms(100), 10000);
    assert_int_equal(templates_wait_ms(101), 10000);
    assert_int_equal(templates_wait_ms(60000), 10000);
    assert_int_equal(templates_wait_ms(INT64_MAX), 10000);
    /* A clock that was set back. */
    assert_int_equal(templates_wait_ms(-5), 2000);
}

/* Two folders that are named, beside the user's own. */
static int setup_two(void **state)
{
    static char paths[2][128];
    int r = rig_setup(state);
    Rig *rig = *state;

    router_unlisten(rig->router, &rig->listener);
    rig_close(rig);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", rig->folder, i == 0 ? "one" : "two");
        assert_int_equal(mkdir(paths[i], 0700), 0);
        rig->folders[i] = paths[i];
    }
    rig_put(rig, "one/manifest.json", MANIFEST("a"));
    rig_put(rig, "one/x.hbs", "1");
    rig_put(rig, "two/manifest.json", MANIFEST("b"));
    rig_put(rig, "two/x.hbs", "2");
    assert_int_equal(rig_open(rig, rig->folders, NULL), 0);
    router_listen(rig->router, &rig->listener);
    return r;
}

static void refresh(Rig *rig)
{
    assert_int_equal(templates_refresh(rig->templates), 0);
}

static void a_change_in_any_folder_is_seen(void **state)
{
    Rig *rig = *state;

    refresh(rig);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 0);
    rig_put(rig, "one/manifest.json", MANIFEST("c"));
    refresh(rig);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 1);
    rig_put(rig, "two/manifest.json", MANIFEST("d"));
    refresh(rig);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 2);
    rig_put(rig, "toolwire/templates/manifest.json", MANIFEST("e"));
    rig_put(rig, "toolwire/templates/x.hbs", "3");
    refresh(rig);
    assert_int_equal(rig->n_changed[ROUTER_RESOURCE], 3);
    rig_read(rig, SPAN("template://c/mine/cli"));
    assert_int_equal(rig->kind, CALL_RESULT_RESOURCE);
    rig_read(rig, SPAN("template://e/mine/cli"));
    assert_int_equal(rig->kind, CALL_RESULT_RESOURCE);
}

/* Editors put files beside the one that they write. */
static void what_an_editor_puts_down_for_a_moment_is_no_change(void **state)
{
    static const char *const names[] = {"one/x.hbs~", "one/.x.hbs.swp", "one/x.hbs.tmp",
                                        "one/x.swp"};
    Rig *rig = *state;
    uint64_t before = 0;
    uint64_t after = 0;

    assert_int_equal(templates_look(rig->templates, &before), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        rig_put(rig, names[i], "half");
        assert_int_equal(templates_look(rig->templates, &after), 0);
        assert_int_equal(after, before);
    }
    rig_put(rig, "one/y.hbs", "whole");
    assert_int_equal(templates_look(rig->templates, &after), 0);
    assert_int_not_equal(after, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_look_comes_soon_and_never_late),
        cmocka_unit_test_setup_teardown(a_change_in_any_folder_is_seen, setup_two, rig_teardown),
        cmocka_unit_test_setup_teardown(what_an_editor_puts_down_for_a_moment_is_no_change,
                                        setup_two, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
