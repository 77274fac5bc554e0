#include "io/place.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "io/error_text.h"

size_t io_place_folder_length(const char *path)
{
    const char *slash = io_place_last_slash(path);

    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static bool place_is_at_fault(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
    case EEXIST:
    case EINVAL:
    case EOPNOTSUPP:
    case ENOLCK:
    case EMLINK:
    case EXDEV:
        return true;
    default:
        return false;
    }
}

int io_place_fail(Diag *reterr_diag, int outcome, int error, const char *action, const char *path)
{
    int r = place_is_at_fault(error) ? outcome : err_raise(-error);

    if (error == ENOENT || error == ENOTDIR) {
        return diag_set(reterr_diag, r, "cannot %s %s: there is no such folder, make it first",
                        action, path);
    }
    if (error == EACCES || error == EPERM || error == EROFS) {
        return diag_set(reterr_diag, r, "cannot %s %s: %s; choose a folder of your own", action,
                        path, io_error_text(error));
    }
    return diag_set(reterr_diag, r, "cannot %s %s: %s", action, path, io_error_text(error));
}
