/* What a client shows a server over HTTP. */
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_client.h"
#include "base/alloc.h"

_Static_assert((int)TW_GRANT_CLIENT == (int)OAUTH_GRANT_CLIENT, "grants");
_Static_assert((int)TW_GRANT_WORKLOAD == (int)OAUTH_GRANT_WORKLOAD, "grants");
_Static_assert((int)TW_GRANT_ENTERPRISE == (int)OAUTH_GRANT_ENTERPRISE, "grants");

bool api_client_auth_copy(TwClient *client)
{
    const TwClientAuth *auth = client->options.auth;
    OauthSettings *settings = &client->auth_settings;
    const struct {
        char **to;
        const char *from;
    } strings[] = {
        {&settings->client_id, auth == NULL ? NULL : auth->client_id},
        {&settings->client_secret, auth == NULL ? NULL : auth->client_secret},
        {&settings->private_key, auth == NULL ? NULL : auth->private_key},
        {&settings->issuer, auth == NULL ? NULL : auth->issuer},
        {&settings->cimd_url, auth == NULL ? NULL : auth->cimd_url},
        {&settings->scope, auth == NULL ? NULL : auth->scope},
        {&settings->workload_token, auth == NULL ? NULL : auth->workload_token},
        {&settings->id_token, auth == NULL ? NULL : auth->id_token},
        {&settings->idp_token_endpoint, auth == NULL ? NULL : auth->idp_token_endpoint},
        {&settings->idp_client_id, auth == NULL ? NULL : auth->idp_client_id},
        {&settings->idp_client_secret, auth == NULL ? NULL : auth->idp_client_secret},
        {&settings->client_name,
         client->options.title != NULL ? client->options.title : client->options.name},
        {&client->credentials, auth == NULL ? NULL : auth->credentials},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(strings); i++) {
        if (!api_copy_to(strings[i].to, strings[i].from)) {
            return false;
        }
    }
    if (auth != NULL) {
        client->auth_options = *auth;
        settings->grant = (OauthGrant)auth->grant;
        settings->is_dpop = auth->dpop;
        settings->redirect_port = auth->redirect_port;
    }
    return true;
}

void api_client_auth_deinit(TwClient *client)
{
    oauth_settings_deinit(&client->auth_settings);
    client->credentials = mem_free(client->credentials);
}

static void auth_on_page(void *context, const char *url)
{
    TwClient *client = context;

    client->auth_options.page(url, client->options.user);
}

int api_client_auth_open(TwClient *client, const char *url)
{
    const TwClientAuth *options = &client->auth_options;
    PeerAuthConfig config = {.loop = client->loop,
                             .server = url,
                             .settings = &client->auth_settings,
                             .store = client->credentials,
                             .may_ask = options->ask || options->page != NULL,
                             .no_browser = options->page != NULL,
                             .page = options->page == NULL ? NULL : auth_on_page,
                             .context = client,
                             .person_ms = api_time(options->ask_timeout_ms)};
    Diag diag = DIAG_NULL;
    int r;

    if ((unsigned)client->auth_settings.grant >= OAUTH_N_GRANTS || options->ask_timeout_ms < 0) {
        return api_client_fail(client, TW_ERROR_ARGUMENT,
                               "there is no such grant, or no such time");
    }
    r = peer_auth_new(&client->auth, &config, &diag);
    /* Who has said nothing about tokens may do without, as on a Unix socket. */
    if (r > 0 && client->options.auth != NULL) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, diag.message);
    }
    if (r < 0) {
        r = api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    return 0;
}
