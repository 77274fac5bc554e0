/* Windows has no openat2, and its links and streams need other rules: there are no file tools yet,
 * and whoever asks for a root is told so (io/beneath.h). What needs a root has none to give. */
#include "io/beneath.h"

#include <errno.h>

int io_beneath_open(IoBeneath **ret, const char *root, Diag *reterr_diag)
{
    (void)ret;
    return diag_set(reterr_diag, IO_BENEATH_E_UNSUPPORTED,
                    "files beneath %s cannot be offered: not on Windows yet", root);
}

IoBeneath *io_beneath_free(IoBeneath *beneath)
{
    (void)beneath;
    return NULL;
}

const char *io_beneath_path(const IoBeneath *beneath)
{
    (void)beneath;
    return "";
}

int io_beneath_fd(const IoBeneath *beneath)
{
    (void)beneath;
    return -1;
}

bool io_beneath_follows_links(const IoBeneath *beneath)
{
    (void)beneath;
    return false;
}

void io_beneath_follow_no_links(IoBeneath *beneath)
{
    (void)beneath;
}

int io_beneath_relative(const IoBeneath *beneath, const char *path, const char **ret,
                        Diag *reterr_diag)
{
    (void)beneath;
    (void)path;
    (void)ret;
    (void)reterr_diag;
    return -ENOSYS;
}

int io_beneath_look(const IoBeneath *beneath, const char *path, IoBeneathInfo *ret,
                    Diag *reterr_diag)
{
    (void)beneath;
    (void)path;
    (void)ret;
    (void)reterr_diag;
    return -ENOSYS;
}

int io_beneath_list(const IoBeneath *beneath, const char *path, size_t max_entries,
                    IoBeneathList *ret, Diag *reterr_diag)
{
    (void)beneath;
    (void)path;
    (void)max_entries;
    (void)ret;
    (void)reterr_diag;
    return -ENOSYS;
}

void io_beneath_list_deinit(IoBeneathList *list)
{
    *list = IO_BENEATH_LIST_NULL;
}

int io_beneath_read(const IoBeneath *beneath, const char *path, size_t max_bytes, Bytes *out,
                    Diag *reterr_diag)
{
    (void)beneath;
    (void)path;
    (void)max_bytes;
    (void)out;
    (void)reterr_diag;
    return -ENOSYS;
}

int io_beneath_write(const IoBeneath *beneath, const char *path, Span content, bool *ret_is_new,
                     Diag *reterr_diag)
{
    (void)beneath;
    (void)path;
    (void)content;
    (void)ret_is_new;
    (void)reterr_diag;
    return -ENOSYS;
}
