/* tests/support/cmocka.h: cmocka and the four headers that it wants in front of it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
