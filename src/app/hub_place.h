/* app/hub_place.h: where the hub of a state folder listens for fronts, and what it says of itself.
 *
 * The socket lies in the runtime folder (io/private_file.h), and its name holds a hash of the state
 * folder's real path: whoever has the same state folder and the same runtime folder finds it, by
 * whatever links and dots he names the folder, and also before it is made. Only one process can
 * listen there, so a state folder has one hub. Beside the socket lies a private file that names the
 * settings of the hub: a front that was told other ones is none. Thread: any.
 */
#pragma once

#include "base/diag.h"
#include "io/private_file.h"

#include <stdbool.h>

enum {
    HUB_PLACE_E_PLACE = 1, /* there can be no such socket; the Diag says why and what to do */
};

/* The path of the socket. state_folder NULL: the user's (io/keep.h); users without one have one
 * hub, too. Nothing is touched. Gives *ret_path (mem_free). 0, a negative errno, HUB_PLACE_E_PLACE.
 */
int hub_place(char **ret_path, const char *state_folder, Diag *reterr_diag);

/* The same for the hub: makes the runtime folder, and removes from it what dead hubs left. */
int hub_place_make(char **ret_path, const char *state_folder, Diag *reterr_diag);

/* Tells which file holds the settings of the hub that listens at path (NULL: none), in a file that
 * *note keeps until private_file_remove. With *note PRIVATE_FILE_NULL the file is made, else it is
 * replaced. 0, a negative errno, PRIVATE_FILE_E_*. */
int hub_place_tell(PrivateFile *note, const char *path, const char *config, Diag *reterr_diag);

/* Where the hub that listens at path serves HTTP to its user alone, for what is asked about the
 * queue: beside it. Gives *ret (mem_free). 0, -ENOMEM. */
int hub_place_queue(char **ret, const char *path);

/* Are those the settings of the hub that listens at path? False also if that cannot be found out.
 */
bool hub_place_has(const char *path, const char *config);
