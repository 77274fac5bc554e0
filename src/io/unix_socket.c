#include "io/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "io/place.h"

_Static_assert(sizeof(((struct sockaddr_un *)NULL)->sun_path) > UNIX_SOCKET_PATH_MAX,
               "the longest path fits, with its NUL");

/* The socket's name inside its private folder. */
#define SOCKET_TEMP_NAME "s"

/* Naps before the folder's lock is given up: its holders need less than one. */
#define SOCKET_LOCK_NAPS 500

/* Naps for a socket whose process has ended and that a child of it still has open. */
#define SOCKET_ORPHAN_NAPS 250

/* Times that somebody else may take the name between our removing a dead socket and taking it: each
 * of them is a process that died at once. */
#define SOCKET_TRIES 16

typedef enum SocketState {
    SOCKET_STATE_GONE,    /* nothing has the name */
    SOCKET_STATE_DEAD,    /* ours, and nobody listens */
    SOCKET_STATE_LIVE,    /* somebody listens */
    SOCKET_STATE_FOREIGN, /* another user's, and nobody listens */
    SOCKET_STATE_OTHER,   /* no socket */
    SOCKET_STATE_UNSURE   /* the system did not say */
} SocketState;

/* The private folder in which a socket is made. */
typedef struct SocketShop {
    char folder[UNIX_SOCKET_PATH_MAX + IO_PLACE_TEMP_SIZE];
    int fd; /* -1: none */
} SocketShop;

static int socket_address(struct sockaddr_un *ret, const char *path)
{
    size_t n = strlen(path);

    if (n > UNIX_SOCKET_PATH_MAX) {
        return -ENAMETOOLONG;
    }
    if (n == 0) {
        return -ENOENT; /* an empty path would name the abstract namespace */
    }
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret->sun_path, path, n + 1);
    return 0;
}

static int socket_open(int *ret_fd)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return err_raise(-errno);
    }
    *ret_fd = fd;
    return 0;
}

int unix_socket_connect(const char *path, int *ret_fd)
{
    struct sockaddr_un address;
    int fd = -1;
    int r = socket_address(&address, path);

    if (r != 0) {
        return err_raise(r);
    }
    r = socket_open(&fd);
    if (r != 0) {
        return err_pass(r);
    }
    /* Connecting to a Unix socket is done at once or not at all, so EINTR leaves nothing behind. */
    do {
        r = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : -errno;
    } while (r == -EINTR);
    if (r != 0) {
        (void)close(fd);
        return err_raise(r);
    }
    *ret_fd = fd;
    return 0;
}

int unix_socket_peer_ids(int fd, long *ret_uid, long *ret_pid)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1};
    socklen_t n = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0) {
        return err_raise(-errno);
    }
    /* What is not connected has no peer, and the system says so only by such a user. */
    if (peer.uid == (uid_t)-1) {
        return err_raise(-ENOTCONN);
    }
    if (ret_uid != NULL) {
        *ret_uid = (long)peer.uid;
    }
    if (ret_pid != NULL) {
        *ret_pid = (long)peer.pid;
    }
    return 0;
}

long unix_socket_own_uid(void)
{
    return (long)geteuid();
}

int unix_socket_name(char **ret, const char *path)
{
    return err_pass(io_place_absolute(ret, path));
}

bool unix_socket_is_there(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0;
}

bool unix_socket_is_other(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && !S_ISSOCK(info.st_mode);
}

bool unix_socket_peer_is_trusted(int fd)
{
    long uid;

    return unix_socket_peer_ids(fd, &uid, NULL) == 0 && (uid == 0 || uid == unix_socket_own_uid());
}

/* What has the name. *ret_pid: of the process that listens; 0 if that is not known. */
static SocketState socket_look(const char *path, long *ret_pid)
{
    struct stat info;
    int fd = -1;
    int r;

    *ret_pid = 0;
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? SOCKET_STATE_GONE : SOCKET_STATE_UNSURE;
    }
    /* Asked first, since what is no socket refuses connections too. */
    if (!S_ISSOCK(info.st_mode)) {
        return SOCKET_STATE_OTHER;
    }
    r = unix_socket_connect(path, &fd);
    switch (r) {
    case 0:
        (void)unix_socket_peer_ids(fd, NULL, ret_pid);
        (void)close(fd);
        return SOCKET_STATE_LIVE;
    case -EAGAIN:     /* somebody does not accept fast enough */
    case -EPROTOTYPE: /* somebody has it open, but not as a stream */
        return SOCKET_STATE_LIVE;
    case -ECONNREFUSED:
        return info.st_uid == geteuid() ? SOCKET_STATE_DEAD : SOCKET_STATE_FOREIGN;
    case -ENOENT:
        return SOCKET_STATE_GONE;
    default:
        return SOCKET_STATE_UNSURE;
    }
}

/* The same, but a process that was killed while it started another one left its socket to that for
 * a moment, until it goes on to its own program: whoever takes its place does not give up for it.
 */
static SocketState socket_look_again(const char *path, long *ret_pid)
{
    SocketState state = socket_look(path, ret_pid);

    for (int i = 0; i < SOCKET_ORPHAN_NAPS && state == SOCKET_STATE_LIVE && *ret_pid > 0 &&
                    kill((pid_t)*ret_pid, 0) != 0 && errno == ESRCH;
         i++) {
        io_place_nap();
        state = socket_look(path, ret_pid);
    }
    return state;
}

bool unix_socket_is_live(const char *path)
{
    int fd = -1;
    int r = unix_socket_connect(path, &fd);

    if (r == 0) {
        (void)close(fd);
    }
    return r != -ECONNREFUSED && r != -ENOENT && r != -ENOTDIR;
}

/* Locks the folder of path against others who remove sockets in it. The descriptor, or a negative
 * errno. */
static int socket_lock_folder(const char *path)
{
    char folder[UNIX_SOCKET_PATH_MAX + 1] = ".";
    size_t n = io_place_folder_length(path);
    int fd;
    int r;

    if (n > 0) {
        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_raise(-errno);
    }
    for (int i = 0;; i++) {
        r = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
        if (r == 0) {
            return fd;
        }
        if ((r != -EWOULDBLOCK && r != -EINTR) || i == SOCKET_LOCK_NAPS) {
            (void)close(fd);
            return err_raise(r);
        }
        io_place_nap();
    }
}

static void socket_unlock_folder(int fd)
{
    /* By name: a process that another thread forks just now has the descriptor too. */
    (void)flock(fd, LOCK_UN);
    (void)close(fd);
}

bool unix_socket_remove_left(const char *path)
{
    long pid;
    int lock_fd;
    bool is_removed;

    /* Asked without the lock first: in most cases there is nothing to remove. */
    if (strlen(path) > UNIX_SOCKET_PATH_MAX || socket_look(path, &pid) != SOCKET_STATE_DEAD) {
        return false;
    }
    lock_fd = socket_lock_folder(path);
    if (lock_fd < 0) {
        return false;
    }
    is_removed = socket_look(path, &pid) == SOCKET_STATE_DEAD && unlink(path) == 0;
    socket_unlock_folder(lock_fd);
    return is_removed;
}

/* Why the name cannot be had. */
static int socket_refuse(SocketState state, const char *path, long pid, Diag *reterr_diag)
{
    switch (state) {
    case SOCKET_STATE_LIVE:
        if (pid > 0) {
            return diag_set(reterr_diag, UNIX_SOCKET_E_LIVE,
                            "process %ld serves %s: end it, or choose another path", pid, path);
        }
        return diag_set(reterr_diag, UNIX_SOCKET_E_LIVE,
                        "another process serves %s: end it, or choose another path", path);
    case SOCKET_STATE_OTHER:
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "%s is there and is no socket: move it away, or choose another path", path);
    case SOCKET_STATE_FOREIGN:
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "%s is a socket of another user: choose another path", path);
    case SOCKET_STATE_DEAD:
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "%s was left by a process that has ended, and its folder cannot be locked: "
                        "remove it by hand",
                        path);
    default:
        return diag_set(reterr_diag, UNIX_SOCKET_E_LIVE,
                        "another process may serve %s, and the system does not tell: choose "
                        "another path",
                        path);
    }
}

static int socket_shop_open(SocketShop *shop, const char *path, Diag *reterr_diag)
{
    size_t n = io_place_folder_length(path);

    shop->fd = -1;
    memcpy(shop->folder, path, n);
    memcpy(shop->folder + n, IO_PLACE_TEMP, IO_PLACE_TEMP_SIZE);
    if (mkdtemp(shop->folder) == NULL) {
        return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, errno, "make the socket", path);
    }
    shop->fd = open(shop->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (shop->fd < 0) {
        int error = errno;

        (void)rmdir(shop->folder);
        return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, error, "make the socket", path);
    }
    return 0;
}

static void socket_shop_close(SocketShop *shop)
{
    (void)unlinkat(shop->fd, SOCKET_TEMP_NAME, 0);
    (void)close(shop->fd);
    (void)rmdir(shop->folder);
}

/* Makes *ret listen inside the shop, where nobody can reach it. */
static int socket_make(UnixSocket *ret, const SocketShop *shop)
{
    char path[sizeof(shop->folder) + sizeof("/" SOCKET_TEMP_NAME)];
    struct sockaddr_un address;
    struct stat info;
    int r;

    (void)snprintf(path, sizeof(path), "%s/" SOCKET_TEMP_NAME, shop->folder);
    if (strlen(path) > UNIX_SOCKET_PATH_MAX) {
        /* The name to come is short enough, but this one is not: the way through the descriptor
         * always is. */
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" SOCKET_TEMP_NAME, shop->fd);
    }
    r = socket_address(&address, path);
    if (r == 0) {
        r = socket_open(&ret->fd);
    }
    if (r != 0) {
        return err_pass(r);
    }
    /* The mode before listening, though nobody else can enter the folder: should the folder ever be
     * another one, the socket still is private. */
    if (bind(ret->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        fchmodat(shop->fd, SOCKET_TEMP_NAME, S_IRUSR | S_IWUSR, 0) != 0 ||
        fstatat(shop->fd, SOCKET_TEMP_NAME, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        listen(ret->fd, SOMAXCONN) != 0) {
        return err_raise(-errno);
    }
    ret->device = info.st_dev;
    ret->inode = info.st_ino;
    return 0;
}

static int socket_link(const SocketShop *shop, const char *path)
{
    return linkat(shop->fd, SOCKET_TEMP_NAME, AT_FDCWD, path, 0) == 0 ? 0 : -errno;
}

/* Takes a name that something has. is_locked: we may remove what is dead. */
static int socket_replace(const SocketShop *shop, const char *path, bool is_locked,
                          Diag *reterr_diag)
{
    long pid = 0;
    int r;

    for (int i = 0; i < SOCKET_TRIES; i++) {
        SocketState state = socket_look_again(path, &pid);

        if (state == SOCKET_STATE_DEAD && is_locked) {
            if (unlink(path) != 0 && errno != ENOENT) {
                return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, errno, "remove", path);
            }
        } else if (state != SOCKET_STATE_GONE) {
            return socket_refuse(state, path, pid, reterr_diag);
        }
        r = socket_link(shop, path);
        if (r != -EEXIST) {
            return r == 0 ? 0
                          : io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, -r, "make the socket",
                                          path);
        }
    }
    return socket_refuse(SOCKET_STATE_LIVE, path, 0, reterr_diag);
}

static int socket_take_name(const SocketShop *shop, const char *path, Diag *reterr_diag)
{
    int r = socket_link(shop, path);
    int lock_fd;

    if (r == 0) {
        return 0;
    }
    if (r != -EEXIST) {
        return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, -r, "make the socket", path);
    }
    lock_fd = socket_lock_folder(path);
    if (lock_fd == -EMFILE || lock_fd == -ENFILE || lock_fd == -ENOMEM) {
        return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, -lock_fd, "look at", path);
    }
    /* Where folders cannot be locked a live socket is still told from a dead one. */
    r = socket_replace(shop, path, lock_fd >= 0, reterr_diag);
    if (lock_fd >= 0) {
        socket_unlock_folder(lock_fd);
    }
    return r;
}

static int socket_check_path(const char *path, Diag *reterr_diag)
{
    size_t n = strlen(path);

    if (n > UNIX_SOCKET_PATH_MAX) {
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "the path of a socket may be %zu bytes long, this one has %zu: choose a "
                        "shorter one than %s",
                        UNIX_SOCKET_PATH_MAX, n, path);
    }
    if (n == io_place_folder_length(path)) {
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "\"%s\" does not name a socket: add a file name", path);
    }
    return 0;
}

int unix_socket_listen(UnixSocket *ret, const char *path, Diag *reterr_diag)
{
    UnixSocket made = UNIX_SOCKET_NULL;
    SocketShop shop;
    int r = socket_check_path(path, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = socket_shop_open(&shop, path, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = socket_make(&made, &shop);
    if (r != 0) {
        r = io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, -r, "make the socket", path);
    } else {
        r = socket_take_name(&shop, path, reterr_diag);
    }
    socket_shop_close(&shop);
    if (r != 0) {
        if (made.fd >= 0) {
            (void)close(made.fd);
        }
        return r;
    }
    memcpy(made.path, path, strlen(path) + 1);
    *ret = made;
    return 0;
}

void unix_socket_unlisten(UnixSocket *listening)
{
    if (listening->fd < 0) {
        return;
    }
    /* While the socket is open its inode's number is not given to another, and nobody takes the
     * name for a dead one's. */
    if (io_place_is(listening->path, listening->device, listening->inode)) {
        (void)unlink(listening->path);
    }
    (void)close(listening->fd);
    *listening = UNIX_SOCKET_NULL;
}
