/* Reading what must be ours alone; declared in io/private_file.h. */
#include "io/private_file.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/windows/account.h"

/* Above this a path is not named in a command: it would not fit a Diag. */
#define READ_PATH_MAX 80

static int read_refuse(const char *path, WinExposure exposure, Diag *reterr_diag)
{
    char word[READ_PATH_MAX + 1];

    if (exposure == WIN_EXPOSURE_OWNER) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                        "%s belongs to another user, who can change it: make a copy of your own",
                        path);
    }
    /* A command that is cut would be another one. */
    if (!private_path_quote(word, sizeof(word), path)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                        "the file is open to other users: let only yourself in, with icacls");
    }
    return diag_set(reterr_diag, PRIVATE_FILE_E_EXPOSED,
                    "the file is open to other users: icacls %s /inheritance:r /grant:r "
                    "\"%%USERNAME%%:F\"",
                    word);
}

static int read_checked(Bytes *out, const char *path, HANDLE handle, Diag *reterr_diag)
{
    size_t n_before = out->n;
    WinExposure exposure;
    int fd = -1;
    int r = win_exposure_of(handle, &exposure);

    if (r == 0 && exposure != WIN_EXPOSURE_NONE) {
        win_close(&handle);
        return read_refuse(path, exposure, reterr_diag);
    }
    if (r == 0) {
        r = win_descriptor(handle, &fd);
    }
    if (r != 0) {
        win_close(&handle);
        return diag_set(reterr_diag, err_pass(r), "%s: %s", path, io_error_text(-r));
    }
    r = io_file_read_fd(out, fd);
    if (r == BYTES_E_FULL) {
        (void)diag_set(reterr_diag, r, "%s is too long: %zu bytes at most", path,
                       out->max_bytes - n_before);
    } else if (r != 0) {
        (void)diag_set(reterr_diag, r, "%s: %s", path, io_error_text(-r));
    }
    io_fd_close(fd);
    return r;
}

int private_file_read(Bytes *out, const char *path, Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    HANDLE handle = NULL;
    DWORD attributes;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return diag_set(reterr_diag, r, "%s: %s", path, io_error_text(-r));
    }
    attributes = GetFileAttributesW(wide);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
        return diag_set(reterr_diag, err_raise(-EISDIR), "%s is no regular file", path);
    }
    /* A link is followed, and what it leads to is looked at. */
    handle = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                         NULL, OPEN_EXISTING, 0, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        r = err_raise(win_error());
        return diag_set(reterr_diag, r, "%s: %s", path, io_error_text(-r));
    }
    if (GetFileType(handle) != FILE_TYPE_DISK) {
        win_close(&handle);
        return diag_set(reterr_diag, err_raise(-EINVAL), "%s is no regular file", path);
    }
    return read_checked(out, path, handle, reterr_diag);
}
