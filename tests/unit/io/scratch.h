/* A folder of its own for each test, and what is in it. */
#pragma once

#include "support/cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

/* The folder; and paths in it, made by scratch_path. */
static char scratch[64];
#define SCRATCH_PATH_SIZE 256
#define SCRATCH_PATHS     8

/* A user that is neither us nor root. */
#define SCRATCH_STRANGER 65534

TW_UNUSED static int scratch_setup(void **state)
{
    (void)state;
    (void)snprintf(scratch, sizeof(scratch), "/tmp/tw-io-XXXXXX");
    assert_non_null(mkdtemp(scratch));
    return 0;
}

/* One of SCRATCH_PATHS buffers in turn. */
TW_UNUSED static const char *scratch_path(const char *name)
{
    static char paths[SCRATCH_PATHS][SCRATCH_PATH_SIZE];
    static int at;

    at = (at + 1) % SCRATCH_PATHS;
    (void)snprintf(paths[at], SCRATCH_PATH_SIZE, "%s/%s", scratch, name);
    return paths[at];
}

/* Everything in it, dot files too; remove: and away with it. */
TW_UNUSED static int scratch_count(bool remove_all)
{
    DIR *entries = opendir(scratch);
    const struct dirent *entry;
    int n = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        n++;
        if (remove_all) {
            const char *path = scratch_path(entry->d_name);

            if (unlink(path) != 0) {
                assert_int_equal(rmdir(path), 0);
            }
        }
    }
    (void)closedir(entries);
    return n;
}

TW_UNUSED static int scratch_teardown(void **state)
{
    (void)state;
    (void)scratch_count(true);
    assert_int_equal(rmdir(scratch), 0);
    return 0;
}

TW_UNUSED static void scratch_write(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

/* A socket bound there; listening, or dead when closed. */
TW_UNUSED static int scratch_bind(const char *path, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

TW_UNUSED static void scratch_dead_socket(const char *path)
{
    int fd = scratch_bind(path, SOCK_STREAM);

    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(close(fd), 0);
}

TW_UNUSED static ino_t scratch_inode(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_ino;
}

TW_UNUSED static mode_t scratch_mode(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

TW_UNUSED static bool scratch_exists(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

/* The number that the next descriptor gets: grows with every leak. */
TW_UNUSED static int scratch_next_fd(void)
{
    int fd = dup(STDERR_FILENO);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return fd;
}

/* Waits for a child that must have ended well. */
TW_UNUSED static void scratch_reap(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
