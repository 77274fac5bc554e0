/* router/cursor.h: a place in a list, as text that nobody else can make up. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends the text of "behind the entry of that serial number", for one kind of list. 0, -ENOMEM,
 * BYTES_E_FULL. */
int router_cursor_write(Bytes *out, HashSeed seed, unsigned kind, uint64_t serial);

/* False if it was not written by router_cursor_write with that seed, for that kind of list. Uses
 * scratch, which it empties first. */
bool router_cursor_read(Bytes *scratch, HashSeed seed, unsigned kind, Span text,
                        uint64_t *ret_serial);
