/* On Windows there is no OpenSSL: who wants a key is told so, all else works without one. */
#include "oauth/key.h"

#include <errno.h>
#include <stddef.h>

#include "base/error.h"
#include "oauth/discovery.h"

static int key_none(Diag *reterr_diag)
{
    return diag_set(reterr_diag, OAUTH_E_REFUSED, "keys that sign are not had on Windows");
}

int oauth_key_make(OauthKey **ret, Diag *reterr_diag)
{
    (void)ret;
    return key_none(reterr_diag);
}

int oauth_key_from_pem(OauthKey **ret, Span pem, Diag *reterr_diag)
{
    (void)ret;
    (void)pem;
    return key_none(reterr_diag);
}

int oauth_key_from_der(OauthKey **ret, Span der, Diag *reterr_diag)
{
    (void)ret;
    (void)der;
    return key_none(reterr_diag);
}

OauthKey *oauth_key_free(OauthKey *key)
{
    (void)key;
    return NULL;
}

int oauth_key_der(const OauthKey *key, Bytes *out)
{
    (void)key;
    (void)out;
    return err_raise(-EIO);
}

const char *oauth_key_alg(const OauthKey *key)
{
    (void)key;
    return "";
}

bool oauth_key_is_p256(const OauthKey *key)
{
    (void)key;
    return false;
}

int oauth_key_sign(const OauthKey *key, Span text, Bytes *out)
{
    (void)key;
    (void)text;
    (void)out;
    return err_raise(-EIO);
}

int oauth_key_jwk(const OauthKey *key, Bytes *out)
{
    (void)key;
    (void)out;
    return err_raise(-EIO);
}
