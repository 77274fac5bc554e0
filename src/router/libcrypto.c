#include "router/libcrypto.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

void *libcrypto_open(void)
{
    /* It registers what runs at the program's end, and must be there then. */
    return dlopen(LIBCRYPTO_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

bool libcrypto_find(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);

    /* By way of its bytes: ISO C knows no conversion. */
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

void libcrypto_close(void **handle)
{
    if (*handle != NULL) {
        (void)dlclose(*handle);
        *handle = NULL;
    }
}
