/* io/windows/place.h: what the Windows side of this layer adds to io/place.h. Thread: any. */
#pragma once

#include <stdint.h>

#include "io/windows/system.h"

/* The numbers by which a file is known as long as it is open (io_place_is). False if the system
 * does not say. */
bool win_place_number(HANDLE handle, uint64_t *ret_device, uint64_t *ret_inode);

/* io_place_is for a path that has been converted. */
bool win_place_is(const wchar_t *path, uint64_t device, uint64_t inode);
