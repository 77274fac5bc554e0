/* io/unix_socket.h: Unix sockets by path: found, made safely, reached.
 *
 * A socket that we listen on is made in a private folder (0700) beside its place, given its mode
 * (0600), and only then linked to its name: nobody can reach it before, and two processes that want
 * the same name cannot both have it. What a dead process left under the name is removed; what a
 * live one serves never is. Whether it lives is found out by connecting: refused means dead,
 * anything else that it may live.
 *
 * Between finding a socket dead and removing it the name may pass to a live one. So whoever removes
 * holds a lock on the folder, and whoever has a name gives it up before closing the socket: a name
 * that refuses has no owner left, and only the holder of the lock may take it away.
 *
 * Thread: any. No call waits, but for that lock: half a second at the most.
 */
#pragma once

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    UNIX_SOCKET_E_LIVE =
        1,               /* another process serves it; the Diag names its pid where it is known */
    UNIX_SOCKET_E_PLACE, /* path too long, no such folder, something else has the name; Diag */
};

/* Bytes of a path that the system can connect to, its NUL not counted. */
#define UNIX_SOCKET_PATH_MAX ((size_t)107)

/* A listening socket and its name. */
typedef struct UnixSocket {
    char path[UNIX_SOCKET_PATH_MAX + 1];
    int fd;
    dev_t device; /* of the name, as bound */
    ino_t inode;
} UnixSocket;

#define UNIX_SOCKET_NULL ((UnixSocket){.fd = -1})

/* Listens under that path; non-blocking, closed on exec. The Diag names the path and what to do.
 * 0, a negative errno, UNIX_SOCKET_E_*; on failure *ret is untouched. A relative path must mean the
 * same until unlisten. */
int unix_socket_listen(UnixSocket *ret, const char *path, Diag *reterr_diag);

/* Removes the name, if it is still this socket's (by device and inode), and closes the socket. May
 * run twice. */
void unix_socket_unlisten(UnixSocket *listening);

/* Removes a socket of this user that refuses connections. False if there is nothing to remove, or
 * that is not certain. */
bool unix_socket_remove_left(const char *path);

/* Connects. Non-blocking, closed on exec; a full backlog is -EAGAIN: try again soon. Gives *ret_fd.
 * 0 or a negative errno (-ENOENT, -ECONNREFUSED, -EACCES, -ENAMETOOLONG, …). */
int unix_socket_connect(const char *path, int *ret_fd);

/* Does a process serve that path? True also if that cannot be found out. */
bool unix_socket_is_live(const char *path);

/* Who is at the other end: of an accepted connection the process that connected, of a connected one
 * the process that listens. 0 or a negative errno. pid may be NULL. */
int unix_socket_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);

/* Whether the other end is a process of this user or of root. False if that cannot be found out. */
bool unix_socket_peer_is_trusted(int fd);
