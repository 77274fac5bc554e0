/* Windows has no way to confine a child that asks for no set-up before (io/confine.h). */
#include "io/confine.h"

#include <errno.h>
#include <stddef.h>

int io_confine_new(IoConfine **ret, const IoConfineSpec *spec, Diag *reterr_diag)
{
    (void)ret;
    (void)spec;
    return diag_set(reterr_diag, IO_CONFINE_E_UNAVAILABLE,
                    "on Windows commands cannot be confined to the root");
}

IoConfine *io_confine_free(IoConfine *confine)
{
    (void)confine;
    return NULL;
}

int io_confine_enter(const IoConfine *confine)
{
    (void)confine;
    return -ENOSYS;
}
