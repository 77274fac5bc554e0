#include "peer/auth_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "io/error_text.h"
#include "io/keep.h"
#include "io/private_file.h"

#define STORE_NAME "/credentials.json"
#define STORE_LOCK ".lock"

/* What the lock's file holds, so that nobody else's file is taken for one. */
#define STORE_SIGNATURE "toolwire lock\n"

/* A change takes a few milliseconds; each attempt waits a tenth of a second. */
#define STORE_TRIES 50

static char *store_join(const char *base, const char *rest)
{
    size_t n_base = strlen(base);
    size_t n_rest = strlen(rest);
    char *path = mem_alloc(n_base + n_rest + 1);

    if (path != NULL) {
        memcpy(path, base, n_base);
        memcpy(path + n_base, rest, n_rest + 1);
    }
    return path;
}

int peer_auth_store_path(char **ret, const char *folder, Diag *reterr_diag)
{
    char *own = NULL;
    char *path;
    int r;

    if (folder == NULL) {
        r = io_keep_folder(&own);
        if (r == -ENOENT) {
            return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE,
                            "this user has no folder for state, where credentials could be kept");
        }
        if (r != 0) {
            return err_pass(r);
        }
    }
    path = store_join(folder == NULL ? own : folder, STORE_NAME);
    mem_free(own);
    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = path;
    return 0;
}

int peer_auth_store_read(const char *path, Bytes *out, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r = private_file_read(out, path, &diag);

    if (r == -ENOENT || r == 0) {
        return 0;
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%s", diag.message);
}

static int store_unusable(const char *path, Diag *reterr_diag, const Diag *diag)
{
    return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%.100s: %s", path, diag->message);
}

int peer_auth_store_find(const char *path, Span server, Span issuer, OauthCredential *ret,
                         Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    Bytes text;
    int r;

    bytes_init(&text, LIMIT_OAUTH_STORE_BYTES);
    r = peer_auth_store_read(path, &text, reterr_diag);
    if (r == 0) {
        r = oauth_store_find(bytes_span(&text), server, issuer, ret, &diag);
        r = r == OAUTH_STORE_E_INVALID ? store_unusable(path, reterr_diag, &diag) : r;
    }
    bytes_deinit(&text);
    return r;
}

/* Held for as long as the change takes, by whoever makes it. */
static int store_lock(PrivateFile *ret, const char *path, Diag *reterr_diag)
{
    char *name = store_join(path, STORE_LOCK);
    Diag diag = DIAG_NULL;
    int r = PRIVATE_FILE_E_IN_USE;

    if (name == NULL) {
        return err_raise(-ENOMEM);
    }
    for (int i = 0; r == PRIVATE_FILE_E_IN_USE && i < STORE_TRIES; i++) {
        r = private_file_create(ret, name, SPAN(STORE_SIGNATURE), SPAN(STORE_SIGNATURE), &diag);
    }
    mem_free(name);
    if (r > 0) {
        return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%s", diag.message);
    }
    if (r < 0 && r != -ENOMEM) {
        return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%.150s" STORE_LOCK ": %s", path,
                        io_error_text(-r));
    }
    return r;
}

/* must_be_there: an entry is only replaced. */
static int store_change(const char *path, Span server, Span issuer,
                        const OauthCredential *credential, bool must_be_there, size_t *ret_n,
                        Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    Bytes text;
    Bytes next;
    size_t n = 0;
    int r;

    bytes_init(&text, LIMIT_OAUTH_STORE_BYTES);
    bytes_init(&next, LIMIT_OAUTH_STORE_BYTES);
    r = peer_auth_store_read(path, &text, reterr_diag);
    if (r == 0) {
        r = oauth_store_put(&next, bytes_span(&text), server, issuer, credential, &n, &diag);
        r = r > 0 ? store_unusable(path, reterr_diag, &diag) : r;
    }
    if (r == 0 && must_be_there && n == 0) {
        r = OAUTH_STORE_E_NONE;
    }
    if (r == 0) {
        r = io_keep_write(path, bytes_span(&next));
        if (r < 0 && r != -ENOMEM) {
            r = diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%.150s: %s", path,
                         io_error_text(-r));
        }
    }
    if (r == 0 && ret_n != NULL) {
        *ret_n = n;
    }
    bytes_deinit(&text);
    bytes_deinit(&next);
    return r;
}

static int store_change_locked(const char *path, Span server, Span issuer,
                               const OauthCredential *credential, bool must_be_there, size_t *ret_n,
                               Diag *reterr_diag)
{
    PrivateFile lock = PRIVATE_FILE_NULL;
    int r = io_keep_make_folders(path);

    if (r < 0 && r != -ENOMEM) {
        return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%.150s: %s", path,
                        io_error_text(-r));
    }
    r = r == 0 ? store_lock(&lock, path, reterr_diag) : r;
    if (r != 0) {
        return r;
    }
    r = store_change(path, server, issuer, credential, must_be_there, ret_n, reterr_diag);
    private_file_remove(&lock);
    return r;
}

int peer_auth_store_put(const char *path, Span server, Span issuer,
                        const OauthCredential *credential, size_t *ret_n, Diag *reterr_diag)
{
    return store_change_locked(path, server, issuer, credential, false, ret_n, reterr_diag);
}

int peer_auth_store_replace(const char *path, Span server, Span issuer,
                            const OauthCredential *credential, Diag *reterr_diag)
{
    return store_change_locked(path, server, issuer, credential, true, NULL, reterr_diag);
}

int peer_auth_store_lock(PrivateFile *ret, const char *path, Span server, Diag *reterr_diag)
{
    uint64_t number = hash_span((HashSeed){0, 0}, server); /* the same in every process */
    Diag diag = DIAG_NULL;
    char suffix[32];
    char *name;
    int r = io_keep_make_folders(path);

    (void)snprintf(suffix, sizeof(suffix), ".%016" PRIx64 STORE_LOCK, number);
    name = store_join(path, suffix);
    if (name == NULL) {
        return err_raise(-ENOMEM);
    }
    r = r == 0 ? private_file_try(ret, name, SPAN(STORE_SIGNATURE), SPAN(STORE_SIGNATURE), &diag)
               : r;
    mem_free(name);
    if (r == PRIVATE_FILE_E_IN_USE) {
        return PEER_AUTH_STORE_E_BUSY;
    }
    if (r == 0 || r == -ENOMEM) {
        return r;
    }
    return diag_set(reterr_diag, PEER_AUTH_STORE_E_UNUSABLE, "%s",
                    r > 0 ? diag.message : io_error_text(-r));
}
