#include "e2e/host_process.h"

#include "e2e/peer.h"

#include "support/cmocka.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#define HANG_MS 60000 /* only ends a test that would hang */

/* A page that the host counts in, and an environment that makes it do so; returns its descriptor.
 */
static int live_bytes_begin(HostProcess *host, const char *library)
{
    int fd = memfd_create("live-bytes", 0);
    void *page;
    char text[16];

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(*host->live_bytes)), 0);
    page = mmap(NULL, sizeof(*host->live_bytes), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    host->live_bytes = page;
    (void)snprintf(text, sizeof(text), "%d", fd);
    assert_int_equal(setenv("TW_LIVE_BYTES_FD", text, 1), 0);
    assert_int_equal(setenv("LD_PRELOAD", library, 1), 0);
    return fd;
}

static void live_bytes_end(int fd)
{
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("TW_LIVE_BYTES_FD");
    (void)close(fd);
}

/* The socket has its name when it accepts, and not before. */
void host_process_start(HostProcess *host, const char *program, const char *live_bytes)
{
    const char *const arguments[] = {"host", "--diagnostics", "--socket", host->socket, NULL};
    int live_fd = live_bytes == NULL ? -1 : live_bytes_begin(host, live_bytes);
    struct pollfd change = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
    char events[4096];

    (void)snprintf(host->folder, sizeof(host->folder), "/tmp/tw-host-XXXXXX");
    assert_non_null(mkdtemp(host->folder));
    (void)snprintf(host->socket, sizeof(host->socket), "%s/host.sock", host->folder);
    (void)snprintf(host->schema, sizeof(host->schema), "%s/host.json", host->folder);
    assert_true(inotify_add_watch(change.fd, host->folder, IN_CREATE | IN_MOVED_TO) >= 0);
    host->pid = peer_spawn(program, arguments, STDIN_FILENO, STDERR_FILENO);
    if (live_fd >= 0) {
        live_bytes_end(live_fd);
    }
    while (access(host->socket, F_OK) != 0) {
        assert_int_equal(poll(&change, 1, HANG_MS), 1);
        assert_true(read(change.fd, events, sizeof(events)) > 0);
    }
    (void)close(change.fd);
}

size_t host_process_descriptors(const HostProcess *host)
{
    char path[64];
    size_t n = 0;
    DIR *folder;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)host->pid);
    folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *e = readdir(folder); e != NULL; e = readdir(folder)) {
        n += e->d_name[0] != '.';
    }
    (void)closedir(folder);
    return n;
}

/* VmRSS of /proc/PID/status lags by up to 32 pages a core on newer kernels; this does not. */
size_t host_process_resident_kib(const HostProcess *host)
{
    char text[4096] = "";
    const char *at;
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)host->pid);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    (void)fclose(f);
    at = strstr(text, "\nRss:");
    assert_non_null(at);
    return strtoul(at + strlen("\nRss:"), NULL, 10);
}

int host_process_terminate(HostProcess *host)
{
    pid_t pid = host->pid;

    assert_int_equal(kill(pid, SIGTERM), 0);
    host->pid = 0;
    return peer_wait(pid);
}

void host_process_clean(HostProcess *host)
{
    if (host->pid > 0) {
        (void)kill(host->pid, SIGKILL);
        (void)peer_wait(host->pid);
        host->pid = 0;
    }
    (void)unlink(host->socket);
    (void)unlink(host->schema);
    (void)rmdir(host->folder);
}
