#include "router/jwt_library.h"

#include <stdbool.h>
#include <stddef.h>

#include "router/jwt.h"
#include "router/libcrypto.h"

#define X(returned, name, arguments)                                                               \
    _Static_assert(_Generic(&name, returned(*) arguments : 1, default : 0), #name);
JWT_LIBRARY_FUNCTIONS(X)
#undef X

int jwt_library_open(JwtLibrary *ret, Diag *reterr_diag)
{
    JwtLibrary library = {.handle = NULL};
    bool ok;

    library.handle = libcrypto_open();
    if (library.handle == NULL) {
        return diag_set(reterr_diag, JWT_E_UNSUPPORTED,
                        "access tokens of issuers need OpenSSL's library " LIBCRYPTO_NAME
                        ", which cannot be loaded");
    }
    ok = true;
#define X(returned, name, arguments)                                                               \
    ok = libcrypto_find(library.handle, #name, &library.name) && ok;
    JWT_LIBRARY_FUNCTIONS(X)
#undef X
    if (!ok) {
        jwt_library_close(&library);
        return diag_set(reterr_diag, JWT_E_UNSUPPORTED,
                        "OpenSSL's library " LIBCRYPTO_NAME " lacks what access tokens need");
    }
    *ret = library;
    return 0;
}

void jwt_library_close(JwtLibrary *library)
{
    libcrypto_close(&library->handle);
}
