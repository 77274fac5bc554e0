#include "io/file.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/descriptor_look.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static char path[] = "/tmp/tw-file-XXXXXX";

/* A file of n bytes at `path`. */
static void write_file(size_t n)
{
    char *data = malloc(n + 1);
    int fd;

    assert_non_null(data);
    memset(data, 'a', n);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    assert_int_equal(close(fd), 0);
    free(data);
}

static void a_file_is_appended_whole(void **state)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        Bytes out;

        write_file(sizes[i]);
        bytes_init(&out, 1 << 20);
        assert_int_equal(bytes_append(&out, "head", 4), 0);
        assert_int_equal(io_file_read(&out, path), 0);
        assert_int_equal(out.n, sizes[i] + 4);
        assert_memory_equal(out.data, "head", 4);
        bytes_deinit(&out);
        assert_int_equal(unlink(path), 0);
    }
}

static void the_maximum_is_exact(void **state)
{
    Bytes out;

    (void)state;
    write_file(100);
    bytes_init(&out, 100);
    assert_int_equal(io_file_read(&out, path), 0);
    assert_int_equal(out.n, 100);
    bytes_deinit(&out);
    bytes_init(&out, 99);
    assert_int_equal(io_file_read(&out, path), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
    assert_int_equal(unlink(path), 0);
}

static void what_cannot_be_read_is_an_errno(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(io_file_read(&out, "/nonexistent/file"), -ENOENT);
    assert_int_equal(io_file_read(&out, "/"), -EISDIR);
    bytes_deinit(&out);
}

static int read_once(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 1 << 20);
    r = io_file_read(&out, path);
    bytes_deinit(&out);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    write_file(200000);
    test_oom_sweep(read_once, NULL);
    assert_int_equal(unlink(path), 0);
}

static void a_file_is_read_piece_by_piece(void **state)
{
    char piece[64];
    int fd = -1;

    (void)state;
    write_file(100);
    assert_int_equal(io_file_open(path, &fd), 0);
    assert_int_equal(io_file_read_some(fd, piece, sizeof(piece)), 64);
    assert_int_equal(io_file_read_some(fd, piece, sizeof(piece)), 36);
    assert_int_equal(io_file_read_some(fd, piece, sizeof(piece)), 0);
    io_fd_close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(io_file_open(path, &fd), -ENOENT);
    assert_int_equal(io_file_read_some(-1, piece, sizeof(piece)), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_appended_whole),
        cmocka_unit_test(the_maximum_is_exact),
        cmocka_unit_test(what_cannot_be_read_is_an_errno),
        cmocka_unit_test(a_file_is_read_piece_by_piece),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
