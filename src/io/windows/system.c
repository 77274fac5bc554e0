#include "io/windows/system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <winternl.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/loop_internal.h"

/* What the C library has for a standard descriptor of a program that was started without one. */
#define SYSTEM_NO_STANDARD ((intptr_t)-2)

/* winternl.h names neither these nor what they fill. */
#define SYSTEM_FILE_MODE_INFORMATION       ((FILE_INFORMATION_CLASS)16)
#define SYSTEM_FILE_PIPE_LOCAL_INFORMATION ((FILE_INFORMATION_CLASS)24)
#define SYSTEM_ELEVATION_REQUIRED          740u
#define SYSTEM_SYNCHRONOUS                 0x30u /* FILE_SYNCHRONOUS_IO_ALERT, _NONALERT */
#define SYSTEM_PIPE_CONNECTED              3u

typedef struct SystemPipeInformation {
    ULONG type;
    ULONG configuration;
    ULONG max_instances;
    ULONG n_instances;
    ULONG inbound_quota;
    ULONG n_readable;
    ULONG outbound_quota;
    ULONG n_writable;
    ULONG state;
    ULONG end;
} SystemPipeInformation;

static const struct {
    DWORD code;
    int error;
} system_errors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_DRIVE, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_BAD_NET_NAME, ENOENT},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_ACCESS_DENIED, EACCES},
    {SYSTEM_ELEVATION_REQUIRED, EACCES},
    {ERROR_PRIVILEGE_NOT_HELD, EPERM},
    {ERROR_INVALID_OWNER, EPERM},
    {ERROR_INVALID_HANDLE, EBADF},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_NO_SYSTEM_RESOURCES, ENOMEM},
    {ERROR_COMMITMENT_LIMIT, ENOMEM},
    {ERROR_NOT_SAME_DEVICE, EXDEV},
    {ERROR_WRITE_PROTECT, EROFS},
    {ERROR_SHARING_VIOLATION, EBUSY},
    {ERROR_LOCK_VIOLATION, EBUSY},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_NOT_SUPPORTED, ENOSYS},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_INVALID_PARAMETER, EINVAL},
    {ERROR_INVALID_NAME, EINVAL},
    {ERROR_BAD_PATHNAME, EINVAL},
    {ERROR_BAD_EXE_FORMAT, ENOEXEC},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
    {ERROR_BROKEN_PIPE, EPIPE},
    {ERROR_NO_DATA, EPIPE},
    {ERROR_PIPE_NOT_CONNECTED, EPIPE},
    {ERROR_BAD_PIPE, EPIPE},
    {ERROR_PIPE_BUSY, EAGAIN},
    {ERROR_OPERATION_ABORTED, ECANCELED},
    {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
};

/* Those of libuv's that can come from what we call. */
static const struct {
    int uv;
    int error;
} system_uv_errors[] = {
    {UV_EACCES, EACCES},
    {UV_EADDRINUSE, EADDRINUSE},
    {UV_EAGAIN, EAGAIN},
    {UV_EALREADY, EALREADY},
    {UV_EBADF, EBADF},
    {UV_EBUSY, EBUSY},
    {UV_ECANCELED, ECANCELED},
    {UV_ECONNABORTED, ECONNABORTED},
    {UV_ECONNREFUSED, ECONNREFUSED},
    {UV_ECONNRESET, ECONNRESET},
    {UV_EEXIST, EEXIST},
    {UV_EFAULT, EFAULT},
    {UV_EINTR, EINTR},
    {UV_EINVAL, EINVAL},
    {UV_EIO, EIO},
    {UV_EISDIR, EISDIR},
    {UV_ELOOP, ELOOP},
    {UV_EMFILE, EMFILE},
    {UV_ENAMETOOLONG, ENAMETOOLONG},
    {UV_ENFILE, ENFILE},
    {UV_ENOBUFS, ENOBUFS},
    {UV_ENODEV, ENODEV},
    {UV_ENOENT, ENOENT},
    {UV_ENOMEM, ENOMEM},
    {UV_ENOSPC, ENOSPC},
    {UV_ENOSYS, ENOSYS},
    {UV_ENOTCONN, ENOTCONN},
    {UV_ENOTDIR, ENOTDIR},
    {UV_ENOTEMPTY, ENOTEMPTY},
    {UV_ENOTSUP, ENOTSUP},
    {UV_EPERM, EPERM},
    {UV_EPIPE, EPIPE},
    {UV_EROFS, EROFS},
    {UV_ESRCH, ESRCH},
    {UV_ETIMEDOUT, ETIMEDOUT},
    {UV_EXDEV, EXDEV},
    {UV_EMLINK, EMLINK},
};

int win_error_of(DWORD code)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(system_errors); i++) {
        if (system_errors[i].code == code) {
            return -system_errors[i].error;
        }
    }
    return -EIO;
}

int win_error(void)
{
    return win_error_of(GetLastError());
}

int io_uv_result(int r)
{
    if (r >= 0) {
        return r;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(system_uv_errors); i++) {
        if (system_uv_errors[i].uv == r) {
            return -system_uv_errors[i].error;
        }
    }
    return -EIO;
}

const char *io_error_text(int error)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(system_uv_errors); i++) {
        if (system_uv_errors[i].error == error) {
            return uv_strerror(system_uv_errors[i].uv);
        }
    }
    return error == ENOEXEC ? "not a program" : "unknown error";
}

int win_wide(wchar_t **ret, const char *text)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide;

    if (n <= 0) {
        return err_raise(-EILSEQ);
    }
    wide = mem_alloc_array((size_t)n, sizeof(*wide));
    if (wide == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n);
    *ret = wide;
    return 0;
}

int win_utf8(char **ret, const wchar_t *text)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *utf8;

    if (n <= 0) {
        return err_raise(-EILSEQ);
    }
    utf8 = mem_alloc((size_t)n);
    if (utf8 == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8, n, NULL, NULL);
    *ret = utf8;
    return 0;
}

HANDLE win_handle(int fd)
{
    HANDLE handle = fd < 0 ? INVALID_HANDLE_VALUE : (HANDLE)uv_get_osfhandle(fd);

    /* As numbers these two mean our process and our thread, where a handle is asked for. */
    return (intptr_t)handle == SYSTEM_NO_STANDARD ? INVALID_HANDLE_VALUE : handle;
}

int win_descriptor(HANDLE handle, int *ret_fd)
{
    int fd = uv_open_osfhandle(handle);

    if (fd < 0) {
        return err_raise(-EMFILE);
    }
    (void)_setmode(fd, _O_BINARY);
    *ret_fd = fd;
    return 0;
}

void win_close(HANDLE *handle)
{
    if (*handle != NULL && *handle != INVALID_HANDLE_VALUE) {
        (void)CloseHandle(*handle);
    }
    *handle = NULL;
}

bool win_is_synchronous(HANDLE handle)
{
    IO_STATUS_BLOCK status;
    ULONG mode = 0;

    return NtQueryInformationFile(handle, &status, &mode, sizeof(mode),
                                  SYSTEM_FILE_MODE_INFORMATION) != 0 ||
           (mode & SYSTEM_SYNCHRONOUS) != 0;
}

bool win_pipe_is_closing(HANDLE handle)
{
    SystemPipeInformation pipe = {.state = SYSTEM_PIPE_CONNECTED};
    IO_STATUS_BLOCK status;

    if (NtQueryInformationFile(handle, &status, &pipe, sizeof(pipe),
                               SYSTEM_FILE_PIPE_LOCAL_INFORMATION) == 0) {
        return pipe.state != SYSTEM_PIPE_CONNECTED;
    }
    /* Not told, but asking for bytes fails when there are none left and no more can come. */
    return !PeekNamedPipe(handle, NULL, 0, NULL, NULL, NULL);
}
