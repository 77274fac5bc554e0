#include "base/random.h"

#include <windows.h>

#include <bcrypt.h>

#include "base/error.h"

int random_fill(void *p, size_t n)
{
    unsigned char *out = p;

    while (n > 0) {
        ULONG part = n < ULONG_MAX ? (ULONG)n : ULONG_MAX;

        if (BCryptGenRandom(NULL, out, part, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0) {
            return err_raise(-EIO);
        }
        out += part;
        n -= part;
    }
    return 0;
}
