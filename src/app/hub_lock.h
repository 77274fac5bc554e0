/* app/hub_lock.h: that a hub has a state folder, written into the folder itself: whoever has
 * another runtime folder, and so looks for the hub elsewhere, finds it here. Held by the system for
 * as long as the process lives. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "io/private_file.h"

enum {
    HUB_LOCK_E_LIVE = 1, /* another process has it; the Diag names its number */
    HUB_LOCK_E_PLACE,    /* nothing can be written there; the Diag says why */
};

/* state_folder NULL: the user's; made if it is not there. 0, a negative errno, HUB_LOCK_E_*. Gives
 * *ret (private_file_remove); PRIVATE_FILE_NULL on failure, if this process has it already, and
 * where the user has no folder. */
int hub_lock_take(PrivateFile *ret, const char *state_folder, Diag *reterr_diag);
