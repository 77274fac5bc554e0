/* What others have done in the file of credentials, and whose turn it is to renew one. */
#include "peer/auth_impl.h"

#include <string.h>

#include "base/error.h"
#include "peer/auth_store.h"

/* So often, at most, a request has the file read: somebody may have logged out, or in. */
#define FILE_LOOK_MS 1000

bool auth_has_file(const PeerAuth *auth)
{
    return auth->store != NULL && auth->store[0] != '\0';
}

static bool is_same(const char *one, const char *other)
{
    return span_equals(oauth_credential_span(one), oauth_credential_span(other));
}

/* True: news. */
static bool auth_compare(PeerAuth *auth, const OauthCredential *found)
{
    const OauthCredential *ours = &auth->credential;
    bool is_fresh = oauth_credential_is_fresh(found, auth_now_s()) &&
                    !is_same(found->access_token, ours->access_token);
    /* A refresh token that was used by another process is dead, even if the token that it brought
     * has ended since. What we could not write down is ours alone, and newer. */
    bool is_other = (auth->is_kept || !auth->is_loaded) &&
                    (!is_same(found->access_token, ours->access_token) ||
                     !is_same(found->refresh_token, ours->refresh_token));

    if (!is_fresh && !is_other && auth->is_loaded) {
        return false;
    }
    if (auth_take(auth, found) != 0) {
        return false;
    }
    auth->is_kept = true;
    return is_fresh;
}

bool auth_reload(PeerAuth *auth)
{
    OauthCredential found = {.server = NULL};
    Diag diag = DIAG_NULL;
    bool is_news = false;
    int r;

    if (!auth_has_file(auth)) {
        return false;
    }
    r = peer_auth_store_find(auth->store, span_from_str(auth->server), SPAN_NULL, &found, &diag);
    if (r > 0 && r != OAUTH_STORE_E_NONE) {
        logsink_write(auth->log, LOGSINK_LEVEL_DEBUG, "auth", "%s", diag.message);
    }
    if (r == 0) {
        is_news = auth_compare(auth, &found);
    } else if (r == OAUTH_STORE_E_NONE && auth->is_kept) {
        auth_forget(auth);
    }
    auth->is_loaded = true;
    auth->looked_ms = io_loop_now_ms(auth->loop);
    oauth_credential_deinit(&found);
    return is_news;
}

void auth_look(PeerAuth *auth)
{
    if (!auth->is_loaded || (auth->flow == NULL && !auth->has_end &&
                             io_loop_now_ms(auth->loop) - auth->looked_ms >= FILE_LOOK_MS)) {
        (void)auth_reload(auth);
    }
}

int auth_lock(PeerAuth *auth)
{
    Diag diag = DIAG_NULL;
    int r;

    if (!auth_has_file(auth) || auth->lock.fd >= 0) {
        return 0;
    }
    r = peer_auth_store_lock(&auth->lock, auth->store, span_from_str(auth->server), &diag);
    if (r == PEER_AUTH_STORE_E_UNUSABLE) {
        logsink_write(auth->log, LOGSINK_LEVEL_DEBUG, "auth", "%s", diag.message);
        return 0;
    }
    return r;
}

void auth_unlock(PeerAuth *auth)
{
    if (auth->lock.fd >= 0) {
        private_file_remove(&auth->lock);
    }
}
