#include "io/place.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

#define PLACE_NAP_NS 1000000

size_t io_place_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

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
                        path, strerror(error));
    }
    return diag_set(reterr_diag, r, "cannot %s %s: %s", action, path, strerror(error));
}

bool io_place_is(const char *path, dev_t device, ino_t inode)
{
    struct stat info;

    return lstat(path, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

void io_place_nap(void)
{
    struct timespec nap = {.tv_nsec = PLACE_NAP_NS};

    (void)nanosleep(&nap, NULL);
}
