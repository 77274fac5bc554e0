/* peer/auth_store.h: the file of credentials: 0600 in the state folder, replaced as a whole,
 * changed by one process at a time. Thread: any; a change waits for others who make one.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "oauth/credential.h"

#include <stddef.h>

enum {
    PEER_AUTH_STORE_E_UNUSABLE = OAUTH_STORE_E_INVALID + 1, /* the Diag says why */
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
