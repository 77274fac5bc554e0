/* Private files by share modes and access lists. */
#include "io/private_file.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "io/unix_socket.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "windows/scratch.h"

#define SIGNATURE " \n"

static const Span signature = SPAN_INIT(SIGNATURE);

static PrivateFile create(const char *path, const char *content)
{
    PrivateFile file = PRIVATE_FILE_NULL;
    Diag diag = DIAG_NULL;
    int r = private_file_create(&file, path, span_from_str(content), signature, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    return file;
}

static void assert_content(const char *path, const char *content)
{
    char text[64];

    scratch_read(path, text, sizeof(text));
    assert_string_equal(text, content);
}

static void a_file_is_there_held_and_goes(void **state)
{
    const char *path = scratch_path("a.json");
    PrivateFile file = create(path, "{}" SIGNATURE);

    (void)state;
    assert_content(path, "{}" SIGNATURE);
    assert_true(private_file_is_held(path));
    assert_int_equal(scratch_count(false), 1);
    private_file_remove(&file);
    private_file_remove(&file);
    assert_false(scratch_exists(path));
    assert_false(private_file_is_held(path));
}

static void readers_see_old_or_new_content_whole(void **state)
{
    const char *path = scratch_path("a.json");
    PrivateFile file = create(path, "old" SIGNATURE);
    Diag diag = DIAG_NULL;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(private_file_replace(&file, span_from_str("new" SIGNATURE), &diag), 0);
        assert_content(path, "new" SIGNATURE);
        assert_true(private_file_is_held(path));
    }
    assert_int_equal(scratch_count(false), 1);
    /* Somebody removed it: it is made anew. */
    assert_true(DeleteFileA(path));
    assert_int_equal(private_file_replace(&file, span_from_str("anew" SIGNATURE), &diag), 0);
    assert_content(path, "anew" SIGNATURE);
    private_file_remove(&file);
    assert_int_equal(scratch_count(false), 0);
}

static void a_leftover_is_replaced_and_a_persons_file_is_not(void **state)
{
    const char *left = scratch_path("left.json");
    const char *own = scratch_path("own.json");
    PrivateFile file;
    Diag diag = DIAG_NULL;

    (void)state;
    scratch_write(left, "{}" SIGNATURE);
    scratch_write(own, "{}\n");
    assert_false(private_file_is_held(left));
    file = create(left, "mine" SIGNATURE);
    assert_content(left, "mine" SIGNATURE);
    private_file_remove(&file);
    assert_int_equal(private_file_create(&file, own, SPAN("x" SIGNATURE), signature, &diag),
                     PRIVATE_FILE_E_PLACE);
    assert_non_null(strstr(diag.message, "was not left by a parent"));
    assert_content(own, "{}\n");
    assert_int_equal(private_file_create(&file, scratch, SPAN("x" SIGNATURE), signature, &diag),
                     PRIVATE_FILE_E_PLACE);
    assert_int_equal(private_file_create(&file, scratch_path("no\\such.json"), SPAN("x" SIGNATURE),
                                         signature, &diag),
                     PRIVATE_FILE_E_PLACE);
    assert_non_null(strstr(diag.message, "no such folder"));
    assert_int_equal(scratch_count(false), 1); /* no temporary file has stayed */
}

static void what_another_process_holds_is_in_use(void **state)
{
    const char *path = scratch_path("held.json");
    ScratchChild child = scratch_child_start("hold", path);
    PrivateFile file = PRIVATE_FILE_NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_string_equal(scratch_child_line(&child), "ready");
    assert_content(path, "child" SIGNATURE); /* who only reads is let in */
    assert_true(private_file_is_held(path));
    assert_false(private_file_remove_left(path, signature));
    assert_int_equal(private_file_create(&file, path, SPAN("x" SIGNATURE), signature, &diag),
                     PRIVATE_FILE_E_IN_USE);
    assert_int_equal(file.fd, -1);
    assert_content(path, "child" SIGNATURE);
    /* Killed, it leaves the file, which is then nobody's. */
    assert_true(TerminateProcess(child.process, 0));
    (void)scratch_child_end(&child);
    assert_false(private_file_is_held(path));
    file = create(path, "ours" SIGNATURE);
    private_file_remove(&file);
}

static void only_what_ends_in_the_signature_is_removed(void **state)
{
    (void)state;
    scratch_write(scratch_path("a"), "x" SIGNATURE);
    scratch_write(scratch_path("b"), "x");
    assert_true(private_file_remove_left(scratch_path("a"), signature));
    assert_false(private_file_remove_left(scratch_path("a"), signature));
    assert_false(private_file_remove_left(scratch_path("b"), signature));
    assert_int_equal(scratch_count(false), 1);
}

static void a_file_of_ours_alone_is_read(void **state)
{
    const char *path = scratch_path("secret.json");
    PrivateFile file = create(path, "secret" SIGNATURE);
    Diag diag = DIAG_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(private_file_read(&out, path, &diag), 0);
    assert_int_equal(out.n, 8);
    assert_int_equal(private_file_read(&out, scratch_path("none"), &diag), -ENOENT);
    assert_int_equal(private_file_read(&out, scratch, &diag), -EISDIR);
    assert_int_equal(private_file_read(&out, "NUL", &diag), -EINVAL);
    assert_int_equal(out.n, 8);
    bytes_deinit(&out);
    private_file_remove(&file);
}

static void a_file_open_to_others_is_refused_with_the_command(void **state)
{
    const char *path = scratch_path("open.json");
    SECURITY_DESCRIPTOR everybody;
    SECURITY_ATTRIBUTES attributes = {.nLength = sizeof(attributes),
                                      .lpSecurityDescriptor = &everybody};
    Diag diag = DIAG_NULL;
    HANDLE file;
    Bytes out;

    (void)state;
    assert_true(InitializeSecurityDescriptor(&everybody, SECURITY_DESCRIPTOR_REVISION));
    assert_true(SetSecurityDescriptorDacl(&everybody, TRUE, NULL, FALSE));
    file = CreateFileA(path, GENERIC_WRITE, 0, &attributes, CREATE_NEW, 0, NULL);
    assert_true(file != INVALID_HANDLE_VALUE);
    (void)CloseHandle(file);
    bytes_init(&out, 100);
    assert_int_equal(private_file_read(&out, path, &diag), PRIVATE_FILE_E_EXPOSED);
    assert_non_null(strstr(diag.message, "icacls"));
    assert_non_null(strstr(diag.message, path));
    bytes_deinit(&out);
}

static void the_runtime_folder_is_made_and_known(void **state)
{
    char variable[SCRATCH_PATH_SIZE];
    char before[SCRATCH_PATH_SIZE];
    char *folder = NULL;
    char *again = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    (void)snprintf(before, sizeof(before), "LOCALAPPDATA=%s", getenv("LOCALAPPDATA"));
    (void)snprintf(variable, sizeof(variable), "LOCALAPPDATA=%s", scratch);
    assert_int_equal(_putenv(variable), 0);
    assert_int_equal(private_folder_runtime(&folder, &diag), 0);
    assert_string_equal(folder, scratch_path("toolwire"));
    assert_true(private_folder_is_runtime(span_from_str(folder)));
    assert_false(private_folder_is_runtime(SPAN("C:\\")));
    assert_int_equal(private_folder_runtime(&again, &diag), 0);
    assert_true(RemoveDirectoryA(folder));
    assert_false(private_folder_is_runtime(span_from_str(folder)));
    scratch_write(folder, "in its place");
    folder = mem_free(folder);
    assert_int_equal(private_folder_runtime(&folder, &diag), PRIVATE_FILE_E_PLACE);
    assert_non_null(strstr(diag.message, "is no folder"));
    again = mem_free(again);
    assert_int_equal(_putenv(before), 0);
}

static void cleaning_takes_what_the_dead_left(void **state)
{
    PrivateFile held = create(scratch_path("host-held.json"), "{}" SIGNATURE);
    UnixSocket served = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    scratch_write(scratch_path("host.json"), "{}" SIGNATURE);
    scratch_write(scratch_path("host-dead.json"), "{}" SIGNATURE);
    scratch_write(scratch_path("host-served.json"), "{}" SIGNATURE);
    scratch_write(scratch_path("host-person.json"), "{}\n");
    scratch_write(scratch_path("other.json"), "{}" SIGNATURE);
    assert_int_equal(unix_socket_listen(&served, scratch_path("host-served.sock"), &diag), 0);
    assert_int_equal(private_folder_clean(scratch, "host", signature), 2);
    assert_false(scratch_exists(scratch_path("host.json")));
    assert_false(scratch_exists(scratch_path("host-dead.json")));
    assert_int_equal(scratch_count(false), 4);
    unix_socket_unlisten(&served);
    private_file_remove(&held);
}

static void a_path_is_quoted_for_a_command(void **state)
{
    char out[32];

    (void)state;
    assert_true(private_path_quote(out, sizeof(out), "C:\\a.json"));
    assert_string_equal(out, "C:\\a.json");
    assert_true(private_path_quote(out, sizeof(out), "C:\\a b.json"));
    assert_string_equal(out, "\"C:\\a b.json\"");
    assert_false(private_path_quote(out, sizeof(out), "C:\\%PATH%.json"));
    assert_string_equal(out, "");
    assert_false(private_path_quote(out, 12, "C:\\a b.json"));
}

static int scenario_create(void *context)
{
    PrivateFile file = PRIVATE_FILE_NULL;
    int r = private_file_create(&file, context, SPAN("x" SIGNATURE), signature, NULL);

    if (r == 0) {
        r = private_file_replace(&file, SPAN("y" SIGNATURE), NULL);
    }
    private_file_remove(&file);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    char path[SCRATCH_PATH_SIZE];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s", scratch_path("oom.json"));
    test_oom_sweep(scenario_create, path);
    assert_int_equal(scratch_count(true), 0);
}

static int child_hold(const char *path)
{
    PrivateFile file = PRIVATE_FILE_NULL;

    if (private_file_create(&file, path, SPAN("child" SIGNATURE), signature, NULL) != 0) {
        return 1;
    }
    scratch_child_wait();
    private_file_remove(&file);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_there_held_and_goes),
        TEST(readers_see_old_or_new_content_whole),
        TEST(a_leftover_is_replaced_and_a_persons_file_is_not),
        TEST(what_another_process_holds_is_in_use),
        TEST(only_what_ends_in_the_signature_is_removed),
        TEST(a_file_of_ours_alone_is_read),
        TEST(a_file_open_to_others_is_refused_with_the_command),
        TEST(the_runtime_folder_is_made_and_known),
        TEST(cleaning_takes_what_the_dead_left),
        TEST(a_path_is_quoted_for_a_command),
        TEST(memory_that_runs_out_is_reported),
    };

    if (argc > 2 && strcmp(argv[1], "hold") == 0) {
        return child_hold(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
