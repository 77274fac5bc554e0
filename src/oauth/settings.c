#include "oauth/settings.h"

#include <stddef.h>

#include "oauth/credential.h"
#include "oauth/discovery.h"
#include "oauth/url.h"

static const char *const grant_names[OAUTH_N_GRANTS] = {
    [OAUTH_GRANT_CODE] = "code",
    [OAUTH_GRANT_CLIENT] = "client_credentials",
    [OAUTH_GRANT_WORKLOAD] = "workload",
    [OAUTH_GRANT_ENTERPRISE] = "enterprise",
};

const char *oauth_grant_name(OauthGrant grant)
{
    return grant_names[grant];
}

bool oauth_grant_find(Span name, OauthGrant *ret)
{
    for (size_t i = 0; i < OAUTH_N_GRANTS; i++) {
        if (span_equals(name, span_from_str(grant_names[i]))) {
            *ret = (OauthGrant)i;
            return true;
        }
    }
    return false;
}

void oauth_settings_deinit(OauthSettings *settings)
{
#define X(name) (void)oauth_credential_set(&settings->name, SPAN_NULL);
    OAUTH_SETTINGS_STRINGS(X)
#undef X
    *settings = (OauthSettings){.grant = OAUTH_GRANT_CODE};
}

int oauth_settings_copy(OauthSettings *to, const OauthSettings *from)
{
    OauthSettings copy = {
        .grant = from->grant, .is_dpop = from->is_dpop, .redirect_port = from->redirect_port};
    int r = 0;

#define X(name)                                                                                    \
    r = r != 0 ? r : oauth_credential_set(&copy.name, oauth_credential_span(from->name));
    OAUTH_SETTINGS_STRINGS(X)
#undef X
    if (r != 0) {
        oauth_settings_deinit(&copy);
    }
    *to = copy;
    return r;
}

static int settings_missing(Diag *reterr_diag, OauthGrant grant, const char *what)
{
    return diag_set(reterr_diag, OAUTH_E_REFUSED, "the grant '%s' needs %s", grant_names[grant],
                    what);
}

int oauth_settings_check(const OauthSettings *settings, Diag *reterr_diag)
{
    OauthUrl url;

    if (settings->grant == OAUTH_GRANT_CLIENT &&
        (settings->client_id == NULL ||
         (settings->client_secret == NULL && settings->private_key == NULL))) {
        return settings_missing(reterr_diag, settings->grant,
                                "a client id, and a client secret or a private key");
    }
    if (settings->grant == OAUTH_GRANT_WORKLOAD && settings->workload_token == NULL) {
        return settings_missing(reterr_diag, settings->grant, "a workload token");
    }
    if (settings->grant == OAUTH_GRANT_ENTERPRISE &&
        (settings->client_id == NULL || settings->id_token == NULL ||
         settings->idp_token_endpoint == NULL)) {
        return settings_missing(reterr_diag, settings->grant,
                                "a client id, an id token and the identity provider's token "
                                "endpoint");
    }
    if (settings->idp_token_endpoint != NULL &&
        (oauth_url_parse(&url, span_from_str(settings->idp_token_endpoint)) != 0 ||
         !oauth_url_is_safe(&url))) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the identity provider's token endpoint is not an https address");
    }
    /* The document says what the client is; a server that is handed this address fetches it. */
    if (settings->cimd_url != NULL &&
        (oauth_url_parse(&url, span_from_str(settings->cimd_url)) != 0 || !url.is_https ||
         url.path.n < 2)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the address of a client metadata document is https with a path");
    }
    return 0;
}
