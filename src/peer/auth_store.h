/* peer/auth_store.h: the file of credentials: 0600 in the state folder, replaced as a whole,
 * changed by one process at a time. Thread: any; a change waits for others who make one.
 *
 * A refresh token is good for one use, and many servers take a second one for a theft: whoever
 * renews a credential holds its lock from reading the file until the new one is in it.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "io/private_file.h"
#include "oauth/credential.h"

#include <stddef.h>

enum {
    PEER_AUTH_STORE_E_UNUSABLE = OAUTH_STORE_E_INVALID + 1, /* the Diag says why */
    PEER_AUTH_STORE_E_BUSY,                                 /* somebody has the lock */
};

/* FOLDER/credentials.json; folder NULL: the user's state folder. Gives *ret (mem_free). 0, -ENOMEM,
 * PEER_AUTH_STORE_E_UNUSABLE: the user has none. */
int peer_auth_store_path(char **ret, const char *folder, Diag *reterr_diag);

/* Appends its text; nothing where there is no file. 0, -ENOMEM, PEER_AUTH_STORE_E_UNUSABLE. */
int peer_auth_store_read(const char *path, Bytes *out, Diag *reterr_diag);

/* oauth_store_find of it. Also OAUTH_STORE_E_NONE. */
int peer_auth_store_find(const char *path, Span server, Span issuer, OauthCredential *ret,
                         Diag *reterr_diag);

/* oauth_store_put of it. 0, -ENOMEM, PEER_AUTH_STORE_E_UNUSABLE. */
int peer_auth_store_put(const char *path, Span server, Span issuer,
                        const OauthCredential *credential, size_t *ret_n, Diag *reterr_diag);

/* The same, if that server and issuer have an entry; else OAUTH_STORE_E_NONE, and nothing changes.
 */
int peer_auth_store_replace(const char *path, Span server, Span issuer,
                            const OauthCredential *credential, Diag *reterr_diag);

/* The lock of a server's credentials, over processes and within one; waits for nobody. The system
 * takes it back from who dies. 0, -ENOMEM, PEER_AUTH_STORE_E_BUSY, PEER_AUTH_STORE_E_UNUSABLE.
 * Gives *ret (private_file_remove). */
int peer_auth_store_lock(PrivateFile *ret, const char *path, Span server, Diag *reterr_diag);
