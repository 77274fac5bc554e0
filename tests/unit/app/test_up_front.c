/* The hub's socket for fronts: one for each state folder, with a note of its settings beside it. */
#include "app/up_front.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/hub_place.h"
#include "base/alloc.h"
#include "io/unix_socket.h"

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

typedef struct Fixture {
    Hub *hub;
    char folder[32];
    char state[64];
    Config config;
    size_t n_closed;
} Fixture;

static void on_closed(void *context, UpFront *front)
{
    Fixture *f = context;

    (void)front;
    f->n_closed++;
    io_loop_stop(hub_loop(f->hub));
}

static void setup(Fixture *f)
{
    memset(f, 0, sizeof(*f));
    (void)snprintf(f->folder, sizeof(f->folder), "/tmp/tw-front-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->state, sizeof(f->state), "%s/state", f->folder);
    assert_int_equal(mkdir(f->state, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f->folder, 1), 0);
    assert_int_equal(config_replace(&f->config.state, f->state), 0);
    assert_int_equal(config_replace(&f->config.path, "/c.json"), 0);
    assert_int_equal(hub_new(&f->hub, NULL), 0);
}

static void teardown(Fixture *f)
{
    char runtime[64];

    config_deinit(&f->config);
    (void)hub_free(f->hub);
    (void)snprintf(runtime, sizeof(runtime), "%s/toolwire", f->folder);
    /* Empty: nothing is left behind. */
    assert_int_equal(rmdir(runtime), 0);
    assert_int_equal(rmdir(f->state), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

static int make(Fixture *f, UpFront **ret, Diag *diag)
{
    return up_front_new(ret,
                        &(UpFrontConfig){.hub = f->hub,
                                         .identity = &identity,
                                         .config = &f->config,
                                         .closed = on_closed,
                                         .context = f},
                        diag);
}

static void a_hub_is_found_by_its_state_folder(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    UpFront *front = NULL;
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(make(&f, &front, &diag), 0);
    assert_int_equal(hub_place(&path, f.state, &diag), 0);
    assert_string_equal(up_front_path(front), path);
    assert_true(unix_socket_is_live(path));
    assert_true(hub_place_has(path, "/c.json"));
    assert_false(hub_place_has(path, "/d.json"));
    assert_int_equal(config_replace(&f.config.path, "/d.json"), 0);
    up_front_update(front, &f.config);
    assert_true(hub_place_has(path, "/d.json"));
    front = up_front_free(front);
    assert_null(up_front_free(front));
    assert_false(unix_socket_is_there(path));
    teardown(&f);
}

static void a_folder_has_one_hub(void **state)
{
    UpFront *front = NULL;
    UpFront *second = NULL;
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(make(&f, &front, &diag), 0);
    assert_int_equal(make(&f, &second, &diag), UP_FRONT_E_LIVE);
    assert_non_null(strstr(diag.message, "runs already"));
    assert_null(second);
    assert_true(unix_socket_is_live(up_front_path(front)));
    assert_true(hub_place_has(up_front_path(front), "/c.json"));
    up_front_shutdown(front);
    assert_false(unix_socket_is_there(up_front_path(front)));
    assert_int_equal(f.n_closed, 0);
    io_loop_hold(hub_loop(f.hub));
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    io_loop_release(hub_loop(f.hub));
    assert_int_equal(f.n_closed, 1);
    /* The place is free while the old one may still answer. */
    assert_int_equal(make(&f, &second, &diag), 0);
    front = up_front_free(front);
    assert_true(unix_socket_is_live(up_front_path(second)));
    assert_true(hub_place_has(up_front_path(second), "/c.json"));
    second = up_front_free(second);
    teardown(&f);
}

static void a_place_that_cannot_be_is_told(void **state)
{
    UpFront *front = NULL;
    Diag diag = DIAG_NULL;
    char runtime[64];
    Fixture f;

    (void)state;
    setup(&f);
    (void)snprintf(runtime, sizeof(runtime), "%s/toolwire", f.folder);
    assert_int_equal(mkdir(runtime, 0755), 0);
    assert_int_equal(chmod(runtime, 0777), 0);
    assert_int_equal(make(&f, &front, &diag), UP_FRONT_E_PLACE);
    assert_true(diag.message[0] != '\0');
    assert_null(front);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hub_is_found_by_its_state_folder),
        cmocka_unit_test(a_folder_has_one_hub),
        cmocka_unit_test(a_place_that_cannot_be_is_told),
    };

    io_ignore_sigpipe();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
