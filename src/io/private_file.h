/* io/private_file.h: folders and files for one user's eyes, and whose process they are.
 *
 * A private file is 0600 from its first moment, appears under its name only when its content is
 * complete, and is held by a lock (flock) for as long as its process lives: so others can tell a
 * file in use from one that a dead process left. That nobody holds a file does not make it ours,
 * since people's files are not held either: what we write ends in a signature, and only what ends
 * so may be replaced or removed. Only who holds the lock of a file may give its
 * name to another or remove it; so of two processes that find the same leftover one gets the name,
 * and the other finds that out.
 *
 * On Windows private means that the access list names this user alone (the system and its
 * administrators aside), and held that the file is open and shared for reading only.
 *
 * Thread: any, a PrivateFile by one at a time. Only private_file_create waits, a tenth of a second
 * for a file in use, since looking whether one is held takes its lock too.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>

enum {
    PRIVATE_FILE_E_IN_USE = 1, /* a live process holds it; Diag */
    PRIVATE_FILE_E_PLACE,      /* the path cannot be; the Diag says why and what to do */
    PRIVATE_FILE_E_EXPOSED,    /* others can read it; the Diag says the chmod that mends it */
};

typedef struct PrivateFile {
    char *path;     /* owned */
    Span signature; /* borrowed */
    int fd;         /* holds the lock */
    bool is_hasty;  /* nobody is waited for */
} PrivateFile;

#define PRIVATE_FILE_NULL ((PrivateFile){.path = NULL, .fd = -1})

/* What a signature may have. */
#define PRIVATE_FILE_SIGNATURE_MAX 16

/* Writes content, which ends in signature, under path, 0600. What a dead process left there is
 * replaced: a regular file of this user that nobody holds and that ends in signature; anything else
 * never is. The signature must outlive the file. 0, a negative errno, PRIVATE_FILE_E_IN_USE,
 * PRIVATE_FILE_E_PLACE. On failure *ret is PRIVATE_FILE_NULL. */
int private_file_create(PrivateFile *ret, const char *path, Span content, Span signature,
                        Diag *reterr_diag);

/* The same, but waits for nobody: PRIVATE_FILE_E_IN_USE at once, also if somebody only looks. */
int private_file_try(PrivateFile *ret, const char *path, Span content, Span signature,
                     Diag *reterr_diag);

/* Gives a file that was created here other content: readers see the old or the new one, whole. If
 * somebody removed the file it is made anew. Results as private_file_create; on failure the file is
 * as it was. */
int private_file_replace(PrivateFile *file, Span content, Diag *reterr_diag);

/* Removes it, if the name is still this file's. May run twice. */
void private_file_remove(PrivateFile *file);

/* Does a live process hold the file? True also if that cannot be found out. */
bool private_file_is_held(const char *path);

/* Removes a regular file of this user that nobody holds and that ends in signature. False if there
 * is nothing to remove, or that is not certain. */
bool private_file_remove_left(const char *path, Span signature);

/* Appends the content of a file that must be ours alone (owner us or root, no permission for group
 * and others; checked on what was opened, not on the name). 0, a negative errno (-EISDIR, -EINVAL:
 * no regular file), BYTES_E_FULL, PRIVATE_FILE_E_EXPOSED; each with a Diag. On failure out is as it
 * was. */
int private_file_read(Bytes *out, const char *path, Diag *reterr_diag);

/* $XDG_RUNTIME_DIR/toolwire (where there is no such variable, in /run/user/UID if that is ours),
 * else a folder of this user under $TMPDIR (/tmp); on Windows %LOCALAPPDATA%\toolwire, else one
 * under %TEMP%: made 0700 if it is not there, refused if it is not ours or open to others. Gives
 * *ret (mem_free). 0, a negative errno, PRIVATE_FILE_E_PLACE. */
int private_folder_runtime(char **ret, Diag *reterr_diag);

/* Its path alone: nothing is made, and nothing is checked. */
int private_folder_runtime_path(char **ret, Diag *reterr_diag);

typedef struct PrivateFolderVariable {
    const char *name;
    const char *value;
} PrivateFolderVariable;

/* "/run/user/" and any number. */
#define PRIVATE_FOLDER_SESSION_SIZE 32

/* Values are borrowed from the environment, or from itself: it is not moved. */
typedef struct PrivateFolderVariables {
    PrivateFolderVariable list[2];
    size_t n;
    char session[PRIVATE_FOLDER_SESSION_SIZE];
} PrivateFolderVariables;

/* What a program of this user must have in its environment to find the same runtime folder, however
 * it is started. */
void private_folder_runtime_variables(PrivateFolderVariables *ret);

/* Whether private_folder_runtime would give that folder, and need not make it. */
bool private_folder_is_runtime(Span folder);

/* Removes from folder what dead processes left under NAME and NAME-*: sockets (".sock") that
 * refuse, and files (".json") that nobody holds, that end in signature, and beside which no socket
 * is served; and what they had no time to give a name (io/place.h), after a minute. What cannot be
 * decided stays, and does not stop the rest. Returns how many went. */
size_t private_folder_clean(const char *folder, const char *name, Span signature);

/* Writes path as one word that a shell, and a command, takes for this path and nothing else. False
 * if that does not fit: out is then empty. */
bool private_path_quote(char *out, size_t size, const char *path);
