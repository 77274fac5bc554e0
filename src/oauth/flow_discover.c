/* The flow's first steps: the metadata of the resource, then that of its authorization server. */
#include "oauth/flow_impl.h"

#include <errno.h>

#include "base/error.h"
#include "oauth/url.h"

/* Not there, as opposed to not working: a server that is ill must not be taken for an old one. */
static bool discover_is_absent(unsigned status)
{
    return status >= 300 && status < 500;
}

static int discover_failed(OauthFlow *flow, const char *what, unsigned status)
{
    return diag_set(&flow->diag, OAUTH_E_REFUSED, "%s: status %u", what, status);
}

int flow_resource_url(OauthFlow *flow)
{
    OauthUrl url;
    int r = oauth_resource_url(&flow->url, flow->server, flow->challenge.resource_metadata,
                               flow->attempt, &flow->diag);

    if (r != OAUTH_E_NO_MORE) {
        return r;
    }
    if (flow->challenge.resource_metadata.n > 0) {
        return discover_failed(flow, "the metadata that the server names is not there", 404);
    }
    /* 2025-03-26: the server is its own authorization server, and its origin the issuer. */
    (void)oauth_url_parse(&url, flow->server);
    flow->is_legacy = true;
    flow->resource.resource = flow->server;
    flow->resource.issuer = url.origin;
    flow->attempt = 0;
    flow->state = FLOW_SERVER;
    return 0;
}

int flow_resource_fetched(OauthFlow *flow, const OauthFetched *fetched)
{
    Span body;
    int r;

    if (fetched->status != 200) {
        if (!discover_is_absent(fetched->status)) {
            return discover_failed(flow, "the metadata of the resource cannot be read",
                                   fetched->status);
        }
        flow->attempt++;
        return 0;
    }
    r = flow_keep(flow, fetched->body, &body);
    if (r == 0) {
        r = oauth_resource_parse(&flow->resource, &flow->arena, body, flow->server, &flow->diag);
    }
    if (r == 0) {
        flow->attempt = 0;
        flow->state = FLOW_SERVER;
    }
    return r;
}

int flow_server_url(OauthFlow *flow)
{
    int r = oauth_issuer_url(&flow->url, flow->resource.issuer, flow->attempt, &flow->diag);

    if (r != OAUTH_E_NO_MORE) {
        return r;
    }
    if (!flow->is_legacy) {
        return discover_failed(flow, "the authorization server publishes no metadata", 404);
    }
    r = oauth_server_guess(&flow->authority, &flow->arena, flow->resource.issuer);
    if (r == 0) {
        flow->state = FLOW_LOOK;
    }
    return r;
}

int flow_server_fetched(OauthFlow *flow, const OauthFetched *fetched)
{
    Span body;
    int r;

    if (fetched->status != 200) {
        if (!discover_is_absent(fetched->status)) {
            return discover_failed(flow, "the metadata of the authorization server cannot be read",
                                   fetched->status);
        }
        flow->attempt++;
        return 0;
    }
    r = flow_keep(flow, fetched->body, &body);
    if (r == 0) {
        r = oauth_server_parse(&flow->authority, &flow->arena, body, flow->resource.issuer,
                               flow->is_legacy, &flow->diag);
    }
    if (r == 0) {
        flow->state = FLOW_LOOK;
    }
    return r;
}
