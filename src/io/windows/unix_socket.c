/* Named pipes in the place of sockets; declared in io/unix_socket.h.
 *
 * A pipe has one instance per connection, and one or more that wait for a client. Whoever makes the
 * first instance of a name says who may open the pipe, and demands to be the first
 * (FILE_FLAG_FIRST_PIPE_INSTANCE): so nobody can put himself in front of us or beside us. Before
 * that the name is tried: who serves it is told by the connection, and where a system does not keep
 * the promise of that flag the other is found all the same.
 */
#include "io/windows/unix_socket.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/place.h"
#include "io/windows/account.h"

#define SOCKET_PREFIX   L"\\\\.\\pipe\\"
#define SOCKET_PREFIX_N (sizeof(SOCKET_PREFIX) / sizeof(wchar_t) - 1)

/* Bytes on their way in either direction before the writer waits: what a pipe holds elsewhere. The
 * system takes more if it has to. */
#define SOCKET_PIPE_BYTES (64 * 1024)

/* The system's limit for the whole name, in characters. */
#define SOCKET_NAME_MAX 256

/* The name of the pipe for path. Gives *ret (mem_free). 0 or a negative errno. */
static int socket_name(wchar_t **ret, const char *path)
{
    CLEANUP(mem_freep) char *absolute = NULL;
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    const wchar_t *rest;
    wchar_t *name;
    size_t n;
    int r;

    if (path[0] == '\0') {
        return err_raise(-ENOENT);
    }
    r = io_place_is_pipe_name(path) ? win_wide(&wide, path + SOCKET_PREFIX_N)
                                    : io_place_absolute(&absolute, path);
    if (r == 0 && absolute != NULL) {
        r = win_wide(&wide, absolute);
    }
    if (r != 0) {
        return err_pass(r);
    }
    rest = wide;
    n = wcslen(rest);
    if (SOCKET_PREFIX_N + n > SOCKET_NAME_MAX) {
        return err_raise(-ENAMETOOLONG);
    }
    name = mem_alloc_array(SOCKET_PREFIX_N + n + 1, sizeof(*name));
    if (name == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(name, SOCKET_PREFIX, SOCKET_PREFIX_N * sizeof(*name));
    memcpy(name + SOCKET_PREFIX_N, rest, (n + 1) * sizeof(*name));
    *ret = name;
    return 0;
}

int unix_socket_name(char **ret, const char *path)
{
    CLEANUP(mem_freep) wchar_t *name = NULL;
    int r = socket_name(&name, path);

    return r != 0 ? err_pass(r) : err_pass(win_utf8(ret, name));
}

/* The server learns who we are and can do nothing in our name (SECURITY_IDENTIFICATION). */
static int socket_open(const wchar_t *name, HANDLE *ret)
{
    HANDLE handle =
        CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                    FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);

    if (handle == INVALID_HANDLE_VALUE) {
        return err_raise(win_error());
    }
    *ret = handle;
    return 0;
}

int unix_socket_connect(const char *path, int *ret_fd)
{
    CLEANUP(mem_freep) wchar_t *name = NULL;
    HANDLE handle = NULL;
    int r = socket_name(&name, path);

    if (r == 0) {
        r = socket_open(name, &handle);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = win_descriptor(handle, ret_fd);
    if (r != 0) {
        win_close(&handle);
    }
    return r;
}

/* Which process has the other end: for a server its client, for a client its server. 0: unknown. */
static DWORD socket_peer_pid(HANDLE handle)
{
    DWORD flags = 0;
    ULONG pid = 0;

    if (!GetNamedPipeInfo(handle, &flags, NULL, NULL, NULL)) {
        return 0;
    }
    if ((flags & PIPE_SERVER_END) != 0) {
        return GetNamedPipeClientProcessId(handle, &pid) ? pid : 0;
    }
    return GetNamedPipeServerProcessId(handle, &pid) ? pid : 0;
}

int unix_socket_peer_ids(int fd, long *ret_uid, long *ret_pid)
{
    DWORD pid = socket_peer_pid(win_handle(fd));

    if (pid == 0) {
        return err_raise(-ENOTCONN);
    }
    if (ret_uid != NULL) {
        *ret_uid = unix_socket_own_uid();
    }
    if (ret_pid != NULL) {
        *ret_pid = (long)pid;
    }
    return 0;
}

long unix_socket_own_uid(void)
{
    return -1;
}

/* A process with more rights than ours does not let itself be asked whose it is. Then the pipe is:
 * who has made it is known, and only its maker lets others in. */
bool unix_socket_peer_is_trusted(int fd)
{
    HANDLE handle = win_handle(fd);
    DWORD pid = socket_peer_pid(handle);
    WinAccount account;

    if (pid == 0) {
        return false;
    }
    return win_account_of_process(pid, &account) == 0 ? win_account_is_trusted(&account)
                                                      : win_account_owns_pipe(handle);
}

/* Connects only to see who is there. 0 and *ret_pid (0: unknown), or the errno of connecting. */
static int socket_look(const char *path, DWORD *ret_pid)
{
    CLEANUP(mem_freep) wchar_t *name = NULL;
    HANDLE handle = NULL;
    int r = socket_name(&name, path);

    *ret_pid = 0;
    if (r == 0) {
        r = socket_open(name, &handle);
    }
    if (r == 0) {
        *ret_pid = socket_peer_pid(handle);
        win_close(&handle);
    }
    return r;
}

bool unix_socket_is_live(const char *path)
{
    DWORD pid;

    return socket_look(path, &pid) != -ENOENT;
}

/* Not by connecting: looks whether an instance would be free, or only busy. */
bool unix_socket_is_there(const char *path)
{
    CLEANUP(mem_freep) wchar_t *name = NULL;

    if (socket_name(&name, path) != 0) {
        return false;
    }
    return WaitNamedPipeW(name, 1) || GetLastError() != ERROR_FILE_NOT_FOUND;
}

bool unix_socket_is_other(const char *path)
{
    (void)path;
    return false;
}

bool unix_socket_remove_left(const char *path)
{
    (void)path;
    return false;
}

int win_pipe_instance(const char *path, bool is_first, HANDLE *ret_handle)
{
    CLEANUP(mem_freep) wchar_t *name = NULL;
    WinPrivacy privacy;
    HANDLE handle;
    int r = socket_name(&name, path);

    if (r == 0) {
        r = win_privacy_init(&privacy, false);
    }
    if (r != 0) {
        return err_pass(r);
    }
    handle = CreateNamedPipeW(
        name,
        PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (is_first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
        PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
        PIPE_UNLIMITED_INSTANCES, SOCKET_PIPE_BYTES, SOCKET_PIPE_BYTES, 0, &privacy.attributes);
    if (handle == INVALID_HANDLE_VALUE) {
        return err_raise(win_error());
    }
    *ret_handle = handle;
    return 0;
}

static int socket_refuse_live(const char *path, DWORD pid, Diag *reterr_diag)
{
    if (pid > 0) {
        return diag_set(reterr_diag, UNIX_SOCKET_E_LIVE,
                        "process %lu serves %s: end it, or choose another path", (unsigned long)pid,
                        path);
    }
    return diag_set(reterr_diag, UNIX_SOCKET_E_LIVE,
                    "another process serves %s: end it, or choose another path", path);
}

static int socket_check_path(const char *path, Diag *reterr_diag)
{
    size_t n = strlen(path);

    if (n > UNIX_SOCKET_PATH_MAX) {
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE,
                        "the name of a pipe may be %zu bytes long, this one has %zu: choose a "
                        "shorter one than %s",
                        UNIX_SOCKET_PATH_MAX, n, path);
    }
    if (n == io_place_folder_length(path)) {
        return diag_set(reterr_diag, UNIX_SOCKET_E_PLACE, "\"%s\" does not name a pipe: add a name",
                        path);
    }
    return 0;
}

int unix_socket_listen(UnixSocket *ret, const char *path, Diag *reterr_diag)
{
    UnixSocket made = UNIX_SOCKET_NULL;
    HANDLE handle = NULL;
    DWORD pid = 0;
    int r = socket_check_path(path, reterr_diag);

    if (r != 0) {
        return r;
    }
    /* Others than -ENOENT: it is there, but busy, or not for us. */
    r = socket_look(path, &pid);
    if (r == 0 || r == -EAGAIN || r == -EACCES) {
        return socket_refuse_live(path, pid, reterr_diag);
    }
    r = win_pipe_instance(path, true, &handle);
    if (r == -EACCES || r == -EAGAIN) {
        /* Somebody was faster. */
        return socket_refuse_live(path, 0, reterr_diag);
    }
    if (r == 0) {
        r = win_descriptor(handle, &made.fd);
        if (r != 0) {
            win_close(&handle);
        }
    }
    if (r != 0) {
        return io_place_fail(reterr_diag, UNIX_SOCKET_E_PLACE, -r, "make the pipe", path);
    }
    memcpy(made.path, path, strlen(path) + 1);
    *ret = made;
    return 0;
}

void unix_socket_unlisten(UnixSocket *listening)
{
    if (listening->fd >= 0) {
        io_fd_close(listening->fd);
        *listening = UNIX_SOCKET_NULL;
    }
}
