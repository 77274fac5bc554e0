/* base/uuid.h: UUIDs as RFC 9562 writes them, in lower case. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* 36 characters and a NUL. */
#define UUID_SIZE 37

/* The version 4 UUID that 16 random bytes make; 6 of their 128 bits give way to version and
 * variant. */
void uuid_v4_from(const uint8_t random[16], char out[UUID_SIZE]);

/* A new one from the kernel's randomness. 0 or a negative errno. */
int uuid_v4(char out[UUID_SIZE]);

/* Whether s has the form 8-4-4-4-12 of hexadecimal digits in any case, whatever version they say.
 */
bool uuid_is_valid(Span s);

/* Whether it is, besides, of version 4 and of the RFC's variant. */
bool uuid_is_v4(Span s);
