/* router/libcrypto.h: OpenSSL's shared library, loaded by those who need its public-key part
 * (jwt_library.h says why it is not linked). Each has a table of the functions that it takes from
 * it. */
#pragma once

#include <stdbool.h>

#include <openssl/opensslv.h>

#define LIBCRYPTO_TEXT(number)  LIBCRYPTO_TEXT2(number)
#define LIBCRYPTO_TEXT2(number) #number

/* Of the version that the headers are of: another one's functions may be others. */
#define LIBCRYPTO_NAME "libcrypto.so." LIBCRYPTO_TEXT(OPENSSL_SHLIB_VERSION)

/* NULL: it cannot be loaded. */
void *libcrypto_open(void);

/* Writes a function's address to *ret_function, which is a pointer to a function of its type;
 * false: there is none of that name. */
bool libcrypto_find(void *handle, const char *name, void *ret_function);

/* Lets go of it, if it is there, and forgets it. */
void libcrypto_close(void **handle);
