/* toolkit/templates/sha256.h: the checksum of a file. Thread: any. */
#pragma once

#include "base/span.h"

/* Digits of a checksum, without a NUL. */
#define TEMPLATE_SHA256_HEX 64

/* SHA-256 of data in small hexadecimal digits, NUL-terminated. 0, -EIO (the system's library
 * failed; then ret is untouched). */
int template_sha256(Span data, char ret[TEMPLATE_SHA256_HEX + 1]);
