#include "io/fetch_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "io/fetch.h"

/* The same for twenty years, whatever the version. Debian's other build of it (GnuTLS) has another
 * name and the same functions. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#define X(returned, name, arguments)                                                               \
    _Static_assert(_Generic(&name, returned(*) arguments : 1, default : 0), #name);
FETCH_LIBRARY_FUNCTIONS(X)
#undef X

/* A function's address by way of its bytes: ISO C knows no conversion. */
static bool library_find(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);

    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

int fetch_library_open(FetchLibrary *ret, Diag *reterr_diag)
{
    FetchLibrary library = {.handle = NULL};
    bool ok = true;

    /* What it brings registers things to run at the program's end, and must be there then. */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && library.handle == NULL; i++) {
        library.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    if (library.handle == NULL) {
        return diag_set(reterr_diag, IO_FETCH_E_LIBRARY,
                        "HTTP requests need libcurl (libcurl.so.4), which cannot be loaded: "
                        "install the package libcurl4");
    }
#define X(returned, name, arguments) ok = library_find(library.handle, #name, &library.name) && ok;
    FETCH_LIBRARY_FUNCTIONS(X)
#undef X
    if (!ok) {
        fetch_library_close(&library);
        return diag_set(reterr_diag, IO_FETCH_E_LIBRARY,
                        "the libcurl of this system is too old: 7.85 is needed");
    }
    *ret = library;
    return 0;
}

void fetch_library_close(FetchLibrary *library)
{
    if (library->handle != NULL) {
        (void)dlclose(library->handle);
    }
    library->handle = NULL;
}
