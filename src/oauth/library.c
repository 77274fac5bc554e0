#include "oauth/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/opensslv.h>

#include "oauth/discovery.h"

#define LIBRARY_TEXT(number)  LIBRARY_TEXT2(number)
#define LIBRARY_TEXT2(number) #number

/* Of the version that the headers are of: another one's functions may be others. */
#define LIBRARY_NAME "libcrypto.so." LIBRARY_TEXT(OPENSSL_SHLIB_VERSION)

#define X(returned, name, arguments)                                                               \
    _Static_assert(_Generic(&name, returned(*) arguments : 1, default : 0), #name);
OAUTH_LIBRARY_FUNCTIONS(X)
#undef X

/* A function's address by way of its bytes: ISO C knows no conversion. */
static bool library_find(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);

    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

int oauth_library_open(OauthLibrary *ret, Diag *reterr_diag)
{
    OauthLibrary library = {.handle = NULL};
    bool ok;

    /* It registers what runs at the program's end, and must be there then. */
    library.handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library.handle == NULL) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "keys that sign need OpenSSL's library " LIBRARY_NAME
                        ", which cannot be loaded");
    }
    ok = true;
#define X(returned, name, arguments) ok = library_find(library.handle, #name, &library.name) && ok;
    OAUTH_LIBRARY_FUNCTIONS(X)
#undef X
    if (!ok) {
        oauth_library_close(&library);
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "OpenSSL's library " LIBRARY_NAME " lacks what keys that sign need");
    }
    *ret = library;
    return 0;
}

void oauth_library_close(OauthLibrary *library)
{
    if (library->handle != NULL) {
        (void)dlclose(library->handle);
        library->handle = NULL;
    }
}
