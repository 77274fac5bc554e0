/* tests/support/cmocka.h: cmocka and the four headers that it wants in front of it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By mingw formats are checked by the words of Windows' old C library, which is not the one that
 * prints. */
#ifdef __MINGW32__
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#endif
