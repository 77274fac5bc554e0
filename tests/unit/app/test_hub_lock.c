#include "app/hub_lock.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Place {
    char folder[64]; /* of the test */
    char state[80];  /* in it; not made yet */
    char path[96];
} Place;

static int setup(void **state)
{
    Place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/tw-lock-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->state, sizeof(place->state), "%s/state", place->folder);
    (void)snprintf(place->path, sizeof(place->path), "%s/hub.lock", place->state);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    Place *place = *state;

    (void)unlink(place->path);
    (void)rmdir(place->state);
    assert_int_equal(rmdir(place->folder), 0);
    free(place);
    return 0;
}

/* Another process that has the folder, and tells so. */
static pid_t hold(const Place *place)
{
    int fds[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        PrivateFile lock;

        byte = hub_lock_take(&lock, place->state, NULL) == 0 ? 'y' : 'n';
        (void)!write(fds[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    (void)close(fds[0]);
    (void)close(fds[1]);
    return pid;
}

static void a_state_folder_has_one_hub(void **state)
{
    const Place *place = *state;
    PrivateFile lock;
    Diag diag = DIAG_NULL;
    char expected[160];
    pid_t pid = hold(place);

    (void)snprintf(expected, sizeof(expected), "process %ld holds %s", (long)pid, place->path);
    assert_int_equal(hub_lock_take(&lock, place->state, &diag), HUB_LOCK_E_LIVE);
    assert_non_null(strstr(diag.message, expected));
    assert_null(lock.path);
    /* The system lets it go, however it ends. */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(access(place->path, F_OK), 0);
    assert_int_equal(hub_lock_take(&lock, place->state, &diag), 0);
    assert_string_equal(lock.path, place->path);
    private_file_remove(&lock);
    assert_int_equal(access(place->path, F_OK), -1);
}

static void what_is_ours_already_is_no_other_hub(void **state)
{
    const Place *place = *state;
    PrivateFile lock;
    PrivateFile again;

    assert_int_equal(hub_lock_take(&lock, place->state, NULL), 0);
    assert_int_equal(hub_lock_take(&again, place->state, NULL), 0);
    assert_null(again.path);
    private_file_remove(&again);
    assert_int_equal(access(place->path, F_OK), 0);
    private_file_remove(&lock);
}

static void a_file_that_is_not_ours_stays(void **state)
{
    const Place *place = *state;
    Diag diag = DIAG_NULL;
    PrivateFile lock;
    FILE *file;

    assert_int_equal(mkdir(place->state, 0700), 0);
    file = fopen(place->path, "w");
    assert_non_null(file);
    assert_true(fputs("mine\n", file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(hub_lock_take(&lock, place->state, &diag), HUB_LOCK_E_PLACE);
    assert_non_null(strstr(diag.message, place->path));
    assert_int_equal(access(place->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_folder_has_one_hub, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_ours_already_is_no_other_hub, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_ours_stays, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
