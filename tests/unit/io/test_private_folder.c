/* The folder functions of io/private_file.h. */
#include "io/private_file.h"

#include "support/cmocka.h"

#include <sys/file.h>
#include <time.h>

#include "base/alloc.h"
#include "io/unix_socket.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(scratch_setup(state), 0);
    assert_int_equal(setenv("TMPDIR", scratch, 1), 0);
    /* Not unset: then the folder of this user's login would count. */
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "", 1), 0);
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(alloc_testing()->n_live, 0);
    return scratch_teardown(state);
}

/* The fallback's path. */
static const char *own_folder(void)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "toolwire-%ld", (long)geteuid());
    return scratch_path(name);
}

static void assert_runtime(const char *path)
{
    char *folder = NULL;
    Diag diag = DIAG_NULL;

    if (private_folder_runtime(&folder, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    assert_string_equal(folder, path);
    assert_int_equal(scratch_mode(folder), 0700);
    (void)mem_free(folder);
}

static void assert_refused(const char *words)
{
    char *folder = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(private_folder_runtime(&folder, &diag), PRIVATE_FILE_E_PLACE);
    assert_null(folder);
    if (strstr(diag.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", diag.message, words);
    }
}

static void it_is_made_once_and_used_again(void **state)
{
    mode_t before = umask(0);

    (void)state;
    assert_runtime(own_folder());
    assert_runtime(own_folder());
    (void)umask(before);
    assert_int_equal(scratch_count(false), 1);
}

static void a_runtime_folder_of_ours_comes_first(void **state)
{
    const char *runtime = scratch_path("run");

    (void)state;
    assert_int_equal(mkdir(runtime, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
    assert_runtime(scratch_path("run/toolwire"));
    assert_int_equal(rmdir(scratch_path("run/toolwire")), 0);
    /* Not as the specification wants it. */
    assert_int_equal(chmod(runtime, 0755), 0);
    assert_runtime(own_folder());
    if (geteuid() == 0) {
        assert_int_equal(chmod(runtime, 0700), 0);
        assert_int_equal(chown(runtime, SCRATCH_STRANGER, SCRATCH_STRANGER), 0);
        assert_runtime(own_folder());
    }
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "run", 1), 0);
    assert_runtime(own_folder());
    assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch_path("none"), 1), 0);
    assert_runtime(own_folder());
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "", 1), 0);
    assert_runtime(own_folder());
}

static void one_that_is_not_ours_alone_is_refused(void **state)
{
    const char *path = own_folder();

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0750), 0);
    assert_refused("is open to others (mode 0750): chmod 700 /");
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0700), 0);
        assert_int_equal(chown(path, SCRATCH_STRANGER, SCRATCH_STRANGER), 0);
        assert_refused("belongs to user 65534");
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(scratch_path("elsewhere"), 0700), 0);
    assert_int_equal(symlink(scratch_path("elsewhere"), path), 0);
    assert_refused("is a symbolic link, no folder");
    assert_int_equal(unlink(path), 0);
    scratch_write(path, "", 0600);
    assert_refused("is something else, no folder");
    assert_int_equal(setenv("TMPDIR", scratch_path("none"), 1), 0);
    assert_refused("there is no such folder");
}

static int runtime_once(void *context)
{
    char *folder = NULL;
    int r = private_folder_runtime(&folder, NULL);

    (void)context;
    (void)mem_free(folder);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(runtime_once, NULL);
}

static size_t clean(void)
{
    return private_folder_clean(scratch, "host", SPAN("]\t\n"));
}

/* A file as a parent of ours leaves it. */
static void write_left(const char *name)
{
    scratch_write(scratch_path(name), "[]\t\n", 0600);
}

static void assert_there(const char *const *names, size_t n)
{
    assert_int_equal(scratch_count(false), n);
    for (size_t i = 0; i < n; i++) {
        if (!scratch_exists(scratch_path(names[i]))) {
            fail_msg("%s has gone", names[i]);
        }
    }
}

static void only_what_is_certainly_dead_is_removed(void **state)
{
    static const char *const kept[] = {"host-live.sock", "host-held.json", "host-plain.sock",
                                       "host-dir.json",  "host-link.json", "host-pipe.json",
                                       "other.sock",     "other.json",     "host-notes.txt"};
    UnixSocket live = UNIX_SOCKET_NULL;
    PrivateFile held;

    (void)state;
    assert_int_equal(unix_socket_listen(&live, scratch_path("host-live.sock"), NULL), 0);
    assert_int_equal(private_file_create(&held, scratch_path("host-held.json"), SPAN("[]\t\n"),
                                         SPAN("]\t\n"), NULL),
                     0);
    write_left("host-plain.sock");
    assert_int_equal(mkdir(scratch_path("host-dir.json"), 0700), 0);
    assert_int_equal(symlink("host-left.json", scratch_path("host-link.json")), 0);
    assert_int_equal(mkfifo(scratch_path("host-pipe.json"), 0600), 0);
    scratch_dead_socket(scratch_path("other.sock"));
    write_left("other.json");
    write_left("host-notes.txt");

    scratch_dead_socket(scratch_path("host-left.sock"));
    scratch_dead_socket(scratch_path("host.sock"));
    write_left("host-left.json");
    write_left("host.json");

    assert_int_equal(clean(), 4);
    assert_there(kept, TW_ARRAY_SIZE(kept));
    assert_int_equal(clean(), 0);
    unix_socket_unlisten(&live);
    private_file_remove(&held);
}

static void other_names_and_what_others_wrote_stay(void **state)
{
    static const char *const kept[] = {"hosts.json", "hosts.sock", "host.x.json", "hos.json",
                                       ".json",      "host-.txt",  "host-1.json", "host-2.json"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(kept); i++) {
        write_left(kept[i]);
    }
    assert_int_equal(unlink(scratch_path("hosts.sock")), 0);
    scratch_dead_socket(scratch_path("hosts.sock"));
    scratch_write(scratch_path("host-1.json"), "[]\n", 0600);
    scratch_write(scratch_path("host-2.json"), "", 0600);
    assert_int_equal(clean(), 0);
    assert_there(kept, TW_ARRAY_SIZE(kept));
}

static void the_file_beside_a_socket_that_is_served_stays(void **state)
{
    static const char *const kept[] = {"host-1.sock", "host-1.json"};
    int fd = scratch_bind(scratch_path("host-1.sock"), SOCK_STREAM);

    (void)state;
    assert_int_equal(listen(fd, 1), 0);
    write_left("host-1.json");
    assert_int_equal(clean(), 0);
    assert_there(kept, TW_ARRAY_SIZE(kept));
    assert_int_equal(close(fd), 0);
    assert_int_equal(clean(), 2);
}

/* Its last change was that long ago. */
static void set_age(const char *name, time_t seconds)
{
    struct timespec times[2];

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(name), times, AT_SYMLINK_NOFOLLOW), 0);
}

static void what_never_got_its_name_goes_after_a_minute(void **state)
{
    static const char *const kept[] = {".tw-newnew",  ".tw-held00", ".tw-full00", ".tw-link00",
                                       ".tw-longer1", ".tv-abcdef", ".tw-newdir"};
    int fd;

    (void)state;
    scratch_write(scratch_path(".tw-newnew"), "", 0600);
    set_age(".tw-newnew", 30);
    assert_int_equal(mkdir(scratch_path(".tw-newdir"), 0700), 0);
    scratch_write(scratch_path(".tw-held00"), "", 0600);
    fd = open(scratch_path(".tw-held00"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(mkdir(scratch_path(".tw-full00"), 0700), 0);
    scratch_write(scratch_path(".tw-full00/theirs"), "", 0600);
    assert_int_equal(symlink("nowhere", scratch_path(".tw-link00")), 0);
    scratch_write(scratch_path(".tw-longer1"), "", 0600);
    scratch_write(scratch_path(".tv-abcdef"), "", 0600);
    for (size_t i = 1; i < TW_ARRAY_SIZE(kept) - 1; i++) {
        set_age(kept[i], 3600);
    }

    scratch_write(scratch_path(".tw-oldold"), "half of a tex", 0600);
    assert_int_equal(mkdir(scratch_path(".tw-empty0"), 0700), 0);
    assert_int_equal(mkdir(scratch_path(".tw-socket"), 0700), 0);
    scratch_dead_socket(scratch_path(".tw-socket/s"));
    set_age(".tw-oldold", 120);
    set_age(".tw-empty0", 120);
    set_age(".tw-socket", 120);

    assert_int_equal(clean(), 3);
    assert_there(kept, TW_ARRAY_SIZE(kept));
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(scratch_path(".tw-full00/theirs")), 0);
}

static void a_folder_that_is_not_there_is_clean(void **state)
{
    (void)state;
    assert_int_equal(private_folder_clean(scratch_path("none"), "", SPAN("")), 0);
}

static void it_is_known_again_and_not_made_for_that(void **state)
{
    const char *path = own_folder();

    (void)state;
    assert_false(private_folder_is_runtime(span_from_str(path)));
    assert_int_equal(scratch_count(false), 0);
    assert_runtime(path);
    assert_true(private_folder_is_runtime(span_from_str(path)));
    assert_false(private_folder_is_runtime(span_from_str(scratch)));
    assert_false(private_folder_is_runtime(SPAN("")));
    assert_int_equal(chmod(path, 0750), 0);
    assert_false(private_folder_is_runtime(span_from_str(path)));
}

static void assert_variables(const char *runtime, const char *temp)
{
    PrivateFolderVariables variables;

    private_folder_runtime_variables(&variables);
    assert_int_equal(variables.n, temp == NULL ? 1 : 2);
    assert_string_equal(variables.list[0].name, "XDG_RUNTIME_DIR");
    assert_string_equal(variables.list[0].value, runtime);
    if (temp != NULL) {
        assert_string_equal(variables.list[1].name, "TMPDIR");
        assert_string_equal(variables.list[1].value, temp);
    }
}

static void what_leads_to_it_is_said_in_every_case(void **state)
{
    (void)state;
    assert_variables("", scratch);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_variables("", "/tmp");
    assert_int_equal(mkdir(scratch_path("run"), 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch_path("run"), 1), 0);
    assert_variables(scratch_path("run"), NULL);
}

/* Of this machine's user it may or may not be there. */
static void without_the_variable_the_folder_of_the_login_counts(void **state)
{
    char session[64];
    struct stat info;
    bool is_there;

    (void)state;
    (void)snprintf(session, sizeof(session), "/run/user/%ld", (long)geteuid());
    is_there = stat(session, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0;
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_variables(is_there ? session : "", is_there ? NULL : scratch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_made_once_and_used_again),
        TEST(a_runtime_folder_of_ours_comes_first),
        TEST(one_that_is_not_ours_alone_is_refused),
        TEST(what_leads_to_it_is_said_in_every_case),
        TEST(without_the_variable_the_folder_of_the_login_counts),
        TEST(it_is_known_again_and_not_made_for_that),
        TEST(no_allocation_may_fail_unnoticed),
        TEST(only_what_is_certainly_dead_is_removed),
        TEST(other_names_and_what_others_wrote_stay),
        TEST(the_file_beside_a_socket_that_is_served_stays),
        TEST(what_never_got_its_name_goes_after_a_minute),
        TEST(a_folder_that_is_not_there_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
