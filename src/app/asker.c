#include "app/asker.h"

#include <stdio.h>

#include "io/unix_socket.h"

void asker_init_peer(Asker *asker, const char *dialect, int fd)
{
    long uid = -1;
    long pid = 0;

    *asker = (Asker){.call = {.dialect = dialect}};
    asker->call.who = asker->who;
    if (unix_socket_peer_ids(fd, &uid, &pid) != 0) {
        return;
    }
    if (uid >= 0 && pid > 0) {
        (void)snprintf(asker->who, sizeof(asker->who), "uid %ld pid %ld", uid, pid);
    } else if (uid >= 0) {
        (void)snprintf(asker->who, sizeof(asker->who), "uid %ld", uid);
    } else if (pid > 0) {
        (void)snprintf(asker->who, sizeof(asker->who), "pid %ld", pid);
    }
}

void asker_init_pair(Asker *asker, const char *dialect, int in_fd, int out_fd)
{
    if (in_fd == out_fd) {
        asker_init_peer(asker, dialect, in_fd);
        asker->call.is_lasting = true;
        return;
    }
    *asker = (Asker){.call = {.dialect = dialect, .is_lasting = true}, .who = "stdio"};
    asker->call.who = asker->who;
}
