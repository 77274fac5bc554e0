#include "e2e/host_process.h"

#include "e2e/peer.h"
#include "e2e/process_state.h"

#include "support/cmocka.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#define HANG_MS 60000 /* only ends a test that would hang */

/* The socket has its name when it accepts, and not before. */
void host_process_start(HostProcess *host, const char *program, const char *live_bytes)
{
    const char *const arguments[] = {"host", "--diagnostics", "--socket", host->socket, NULL};
    int live_fd = live_bytes == NULL ? -1 : process_live_begin(&host->live_bytes, live_bytes);
    struct pollfd change = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
    char events[4096];

    (void)snprintf(host->folder, sizeof(host->folder), "/tmp/tw-host-XXXXXX");
    assert_non_null(mkdtemp(host->folder));
    (void)snprintf(host->socket, sizeof(host->socket), "%s/host.sock", host->folder);
    (void)snprintf(host->schema, sizeof(host->schema), "%s/host.json", host->folder);
    assert_true(inotify_add_watch(change.fd, host->folder, IN_CREATE | IN_MOVED_TO) >= 0);
    host->pid = peer_spawn(program, arguments, STDIN_FILENO, STDERR_FILENO);
    if (live_fd >= 0) {
        process_live_end(live_fd);
    }
    while (access(host->socket, F_OK) != 0) {
        assert_int_equal(poll(&change, 1, HANG_MS), 1);
        assert_true(read(change.fd, events, sizeof(events)) > 0);
    }
    (void)close(change.fd);
}

size_t host_process_descriptors(const HostProcess *host)
{
    return process_descriptors(host->pid);
}

size_t host_process_resident_kib(const HostProcess *host)
{
    return process_resident_kib(host->pid);
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
