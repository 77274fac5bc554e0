#include "e2e/process_state.h"

#include "support/cmocka.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t process_descriptors(pid_t pid)
{
    char path[64];
    size_t n = 0;
    DIR *folder;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        n += e->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

/* VmRSS of /proc/PID/status lags by up to 32 pages a core on newer kernels; this does not. */
size_t process_resident_kib(pid_t pid)
{
    char text[4096] = "";
    const char *at;
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    (void)fclose(f);
    at = strstr(text, "\nRss:");
    assert_non_null(at);
    return strtoul(at + strlen("\nRss:"), NULL, 10);
}

int process_live_begin(const atomic_long **ret_live, const char *library)
{
    int fd = memfd_create("live-bytes", 0);
    void *page;
    char text[16];

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(**ret_live)), 0);
    page = mmap(NULL, sizeof(**ret_live), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    *ret_live = page;
    (void)snprintf(text, sizeof(text), "%d", fd);
    assert_int_equal(setenv("TW_LIVE_BYTES_FD", text, 1), 0);
    assert_int_equal(setenv("LD_PRELOAD", library, 1), 0);
    return fd;
}

void process_live_end(int fd)
{
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("TW_LIVE_BYTES_FD");
    (void)close(fd);
}
