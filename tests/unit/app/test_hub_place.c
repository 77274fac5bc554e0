#define _XOPEN_SOURCE 700 /* nftw */
#include "support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/hub_place.h"
#include "base/alloc.h"
#include "io/unix_socket.h"
#include "support/oom_sweep.h"

/* A runtime folder, and folders of state, of each test's own. */
typedef struct Rig {
    char folder[64];
    char old_folder[4096]; /* the working one */
} Rig;

static Rig rig;

static char *rig_path(const char *name)
{
    static char paths[8][512];
    static int at;

    at = (at + 1) % 8;
    (void)snprintf(paths[at], sizeof(paths[at]), "%s/%s", rig.folder, name);
    return paths[at];
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(rig.folder, sizeof(rig.folder), "/tmp/tw-place-XXXXXX");
    assert_non_null(mkdtemp(rig.folder));
    assert_non_null(getcwd(rig.old_folder, sizeof(rig.old_folder)));
    assert_int_equal(mkdir(rig_path("run"), 0700), 0);
    assert_int_equal(mkdir(rig_path("state"), 0700), 0);
    assert_int_equal(symlink("state", rig_path("link")), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", rig_path("run"), 1), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", rig_path("home"), 1), 0);
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(chdir(rig.old_folder), 0);
    return nftw(rig.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Are both places the same? */
static bool same_place(const char *a, const char *b)
{
    CLEANUP(mem_freep) char *one = NULL;
    CLEANUP(mem_freep) char *other = NULL;

    assert_int_equal(hub_place(&one, a, NULL), 0);
    assert_int_equal(hub_place(&other, b, NULL), 0);
    return strcmp(one, other) == 0;
}

static void place_lies_in_runtime_folder_and_touches_nothing(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    const char *folder = rig_path("run/toolwire/hub-");

    (void)state;
    assert_int_equal(hub_place(&path, rig_path("state"), NULL), 0);
    assert_memory_equal(path, folder, strlen(folder));
    assert_int_equal(strlen(path), strlen(folder) + strlen("0123456789abcdef.sock"));
    assert_int_not_equal(access(rig_path("run/toolwire"), F_OK), 0);
}

static void place_is_the_same_for_every_name_of_a_folder(void **state)
{
    const char *folder = rig_path("state");

    (void)state;
    assert_true(same_place(folder, rig_path("link")));
    assert_true(same_place(folder, rig_path("link/")));
    assert_true(same_place(folder, rig_path("run/../state/.")));
    assert_int_equal(chdir(rig.folder), 0);
    assert_true(same_place(folder, "state"));
    assert_true(same_place(folder, "./link"));
    assert_false(same_place(folder, "run"));
    assert_false(same_place(folder, "."));
}

static void place_stays_when_the_folder_is_made(void **state)
{
    static const char *const names[] = {"link/a/b", "state/a/b/", "state/a/./c/../b",
                                        "state//a/none/../b"};
    CLEANUP(mem_freep) char *before = NULL;
    CLEANUP(mem_freep) char *after = NULL;

    (void)state;
    assert_int_equal(hub_place(&before, rig_path("link/a/b"), NULL), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_true(same_place(rig_path("link/a/b"), rig_path(names[i])));
    }
    assert_int_equal(mkdir(rig_path("state/a"), 0700), 0);
    assert_int_equal(mkdir(rig_path("state/a/b"), 0700), 0);
    assert_int_equal(hub_place(&after, rig_path("link/a/b"), NULL), 0);
    assert_string_equal(before, after);
    assert_false(same_place(rig_path("state/a"), rig_path("state/a/b")));
}

static void null_is_the_state_folder_of_the_user(void **state)
{
    (void)state;
    assert_true(same_place(NULL, rig_path("home/toolwire")));
    assert_int_equal(setenv("XDG_STATE_HOME", rig_path("other"), 1), 0);
    assert_false(same_place(NULL, rig_path("home/toolwire")));
}

static void user_without_home_has_a_place(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    const char *old = getenv("HOME");
    char home[4096] = "";

    (void)state;
    (void)snprintf(home, sizeof(home), "%s", old == NULL ? "" : old);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
    assert_int_equal(hub_place(&path, NULL, NULL), 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
}

static void path_that_no_socket_can_have_is_refused(void **state)
{
    char name[UNIX_SOCKET_PATH_MAX + 1];
    char *path = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(mkdir(rig_path(name), 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", rig_path(name), 1), 0);
    assert_int_equal(hub_place(&path, rig_path("state"), &diag), HUB_PLACE_E_PLACE);
    assert_null(path);
    assert_non_null(strstr(diag.message, "107 is the most"));
}

static void longest_path_that_a_socket_can_have_is_given(void **state)
{
    const size_t n_rest = strlen("/toolwire/hub-0123456789abcdef.sock");
    const size_t n_folder = strlen(rig.folder) + 1;
    char name[UNIX_SOCKET_PATH_MAX + 1];
    char *path = NULL;

    (void)state;
    memset(name, 'x', sizeof(name));
    name[UNIX_SOCKET_PATH_MAX - n_rest - n_folder] = '\0';
    assert_int_equal(mkdir(rig_path(name), 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", rig_path(name), 1), 0);
    assert_int_equal(hub_place(&path, rig_path("state"), NULL), 0);
    assert_int_equal(strlen(path), UNIX_SOCKET_PATH_MAX);
    path = mem_free(path);
}

static void hub_makes_a_private_folder_and_cleans_it(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    CLEANUP(mem_freep) char *again = NULL;
    UnixSocket dead = UNIX_SOCKET_NULL;
    struct stat info;

    (void)state;
    assert_int_equal(hub_place_make(&path, rig_path("state"), NULL), 0);
    assert_int_equal(stat(rig_path("run/toolwire"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(unix_socket_listen(&dead, path, NULL), 0);
    assert_int_equal(close(dead.fd), 0); /* as a process that was killed */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(hub_place_make(&again, rig_path("state"), NULL), 0);
    assert_string_equal(path, again);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void folder_that_others_can_enter_is_no_place_for_a_hub(void **state)
{
    char *path = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(mkdir(rig_path("run/toolwire"), 0700), 0);
    assert_int_equal(chmod(rig_path("run/toolwire"), 0755), 0);
    assert_int_equal(hub_place_make(&path, NULL, &diag), HUB_PLACE_E_PLACE);
    assert_non_null(strstr(diag.message, "chmod 700"));
}

static void hub_tells_its_settings(void **state)
{
    CLEANUP(mem_freep) char *path = NULL;
    PrivateFile note = PRIVATE_FILE_NULL;

    (void)state;
    assert_int_equal(hub_place_make(&path, NULL, NULL), 0);
    assert_false(hub_place_has(path, NULL));
    assert_int_equal(hub_place_tell(&note, path, rig_path("link/toolwire.json"), NULL), 0);
    assert_true(hub_place_has(path, rig_path("state/toolwire.json")));
    assert_false(hub_place_has(path, rig_path("toolwire.json")));
    assert_false(hub_place_has(path, NULL));
    assert_int_equal(chdir(rig_path("state")), 0);
    assert_true(hub_place_has(path, "./toolwire.json"));
    /* Other ones after a reload. */
    assert_int_equal(hub_place_tell(&note, path, NULL, NULL), 0);
    assert_true(hub_place_has(path, NULL));
    assert_false(hub_place_has(path, "toolwire.json"));
    private_file_remove(&note);
    assert_false(hub_place_has(path, NULL));
}

static int place_and_tell(void *context)
{
    char *path = NULL;
    PrivateFile note = PRIVATE_FILE_NULL;
    int r = hub_place_make(&path, context, NULL);

    if (r == 0) {
        r = hub_place_tell(&note, path, "settings.json", NULL);
    }
    private_file_remove(&note);
    path = mem_free(path);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(place_and_tell, rig_path("link/none/x"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(place_lies_in_runtime_folder_and_touches_nothing),
        TEST(place_is_the_same_for_every_name_of_a_folder),
        TEST(place_stays_when_the_folder_is_made),
        TEST(null_is_the_state_folder_of_the_user),
        TEST(user_without_home_has_a_place),
        TEST(path_that_no_socket_can_have_is_refused),
        TEST(longest_path_that_a_socket_can_have_is_given),
        TEST(hub_makes_a_private_folder_and_cleans_it),
        TEST(folder_that_others_can_enter_is_no_place_for_a_hub),
        TEST(hub_tells_its_settings),
        TEST(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
