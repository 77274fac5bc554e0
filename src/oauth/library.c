#include "oauth/library.h"

#include <stdbool.h>
#include <stddef.h>

#include "oauth/discovery.h"
#include "router/libcrypto.h"

#define X(returned, name, arguments)                                                               \
    _Static_assert(_Generic(&name, returned(*) arguments : 1, default : 0), #name);
OAUTH_LIBRARY_FUNCTIONS(X)
#undef X

int oauth_library_open(OauthLibrary *ret, Diag *reterr_diag)
{
    OauthLibrary library = {.handle = NULL};
    bool ok;

    library.handle = libcrypto_open();
    if (library.handle == NULL) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "keys that sign need OpenSSL's library " LIBCRYPTO_NAME
                        ", which cannot be loaded");
    }
    ok = true;
#define X(returned, name, arguments)                                                               \
    ok = libcrypto_find(library.handle, #name, &library.name) && ok;
    OAUTH_LIBRARY_FUNCTIONS(X)
#undef X
    if (!ok) {
        oauth_library_close(&library);
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "OpenSSL's library " LIBCRYPTO_NAME " lacks what keys that sign need");
    }
    *ret = library;
    return 0;
}

void oauth_library_close(OauthLibrary *library)
{
    libcrypto_close(&library->handle);
}
