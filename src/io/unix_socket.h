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
 * On Windows these are named pipes. \\.\pipe\NAME is that pipe; any other path is made absolute and
 * is the name of a pipe then (\\.\pipe\C:\FOLDER\NAME), of which the file system knows nothing.
 * Only processes of this user can open one, and none from another machine. The system takes the
 * name away with its last process: nothing is left over there.
 *
 * Thread: any. No call waits, but for that lock: half a second at the most.
 */
#pragma once

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNIX_SOCKET_E_LIVE =
        1,               /* another process serves it; the Diag names its pid where it is known */
    UNIX_SOCKET_E_PLACE, /* path too long, no such folder, something else has the name; Diag */
};

/* Bytes of a path that the system can connect to, its NUL not counted; and whether one direction of
 * a connection can end alone. */
#ifdef _WIN32
#define UNIX_SOCKET_PATH_MAX  ((size_t)256)
#define UNIX_SOCKET_HALF_ENDS false
#else
#define UNIX_SOCKET_PATH_MAX  ((size_t)107)
#define UNIX_SOCKET_HALF_ENDS true
#endif

/* A listening socket and its name. */
typedef struct UnixSocket {
    char path[UNIX_SOCKET_PATH_MAX + 1];
    int fd;
    uint64_t device; /* of the name, as bound */
    uint64_t inode;
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

/* The name under which any program reaches the socket at path, wherever it was started: the
 * absolute path; on Windows the whole name of the pipe. Gives *ret (mem_free). 0, -ENOMEM, another
 * negative errno. */
int unix_socket_name(char **ret, const char *path);

/* Has something that name, whatever it is? */
bool unix_socket_is_there(const char *path);

/* Has something that name which is no socket? */
bool unix_socket_is_other(const char *path);

/* Who is at the other end: of an accepted connection the process that connected, of a connected one
 * the process that listens. 0 or a negative errno. Either may be NULL; the user is -1 where users
 * have no numbers, and the process 0 if that is not known. */
int unix_socket_peer_ids(int fd, long *ret_uid, long *ret_pid);

/* This user, as unix_socket_peer_ids says it. */
long unix_socket_own_uid(void);

/* Whether the other end is a process of this user or of root. False if that cannot be found out. */
bool unix_socket_peer_is_trusted(int fd);
