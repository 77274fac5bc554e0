#include "oauth/discovery.h"

#include <errno.h>

#include "base/error.h"
#include "base/limits.h"
#include "oauth/scope.h"
#include "oauth/url.h"
#include "json/json.h"

/* ---- addresses ---- */

/* "ORIGIN/.well-known/NAME" and the path behind it. */
static int discovery_insert(Bytes *out, const OauthUrl *url, const char *name, Span path)
{
    int r = bytes_append_span(out, url->origin);

    if (r == 0) {
        r = bytes_append_format(out, "/.well-known/%s", name);
    }
    if (r == 0) {
        r = bytes_append_span(out, path);
    }
    return r > 0 ? err_raise(-ENOMEM) : r;
}

/* A path without the slash at its end, which is no part of what is inserted. */
static Span discovery_path(const OauthUrl *url)
{
    Span path = url->path;

    if (path.n > 0 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    return path;
}

static int discovery_url(OauthUrl *ret, Span text, const char *what, Diag *reterr_diag)
{
    if (oauth_url_parse(ret, text) != 0) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s is not an address: %.*s", what,
                        (int)(text.n < 120 ? text.n : 120), text.n > 0 ? text.p : "");
    }
    if (!oauth_url_is_safe(ret)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s is not https: %.*s", what,
                        (int)(text.n < 120 ? text.n : 120), text.p);
    }
    return 0;
}

int oauth_resource_url(Bytes *out, Span server, Span header, size_t i, Diag *reterr_diag)
{
    OauthUrl at;
    OauthUrl url;
    Span path;
    int r = discovery_url(&url, server, "the server's address", reterr_diag);

    if (r != 0) {
        return r;
    }
    if (header.n > 0) {
        if (i > 0) {
            return OAUTH_E_NO_MORE;
        }
        r = discovery_url(&at, header, "resource_metadata of the challenge", reterr_diag);
        /* Another machine must not be able to make us ask ours, and publishes for its own. */
        if (r == 0 && !oauth_url_same_origin(&at, &url)) {
            return diag_set(reterr_diag, OAUTH_E_REFUSED,
                            "resource_metadata of the challenge lies on another server: %.*s",
                            (int)(header.n < 120 ? header.n : 120), header.p);
        }
        if (r == 0) {
            r = bytes_append_span(out, header);
            return r > 0 ? err_raise(-ENOMEM) : r;
        }
        return r;
    }
    path = discovery_path(&url);
    if (i == 0) {
        return discovery_insert(out, &url, "oauth-protected-resource", path);
    }
    if (i == 1 && path.n > 0) {
        return discovery_insert(out, &url, "oauth-protected-resource", SPAN_NULL);
    }
    return OAUTH_E_NO_MORE;
}

int oauth_issuer_url(Bytes *out, Span issuer, size_t i, Diag *reterr_diag)
{
    OauthUrl url;
    Span path;
    int r = discovery_url(&url, issuer, "the issuer", reterr_diag);

    if (r != 0) {
        return r;
    }
    path = discovery_path(&url);
    switch (i) {
    case 0:
        return discovery_insert(out, &url, "oauth-authorization-server", path);
    case 1:
        return discovery_insert(out, &url, "openid-configuration", path);
    case 2:
        if (path.n == 0) {
            return OAUTH_E_NO_MORE;
        }
        r = bytes_append_span(out, url.origin);
        if (r == 0) {
            r = bytes_append_span(out, path);
        }
        if (r == 0) {
            r = bytes_append_span(out, SPAN("/.well-known/openid-configuration"));
        }
        return r > 0 ? err_raise(-ENOMEM) : r;
    default:
        return OAUTH_E_NO_MORE;
    }
}

/* ---- documents ---- */

static int discovery_parse(JsonValue *ret, Arena *arena, Span body, const char *what,
                           Diag *reterr_diag)
{
    JsonLimits limits = {.max_depth = LIMIT_OAUTH_DEPTH, .max_bytes = LIMIT_OAUTH_BODY_BYTES};
    JsonDoc doc;
    Diag diag = DIAG_NULL;
    int r = json_parse(&doc, arena, body.p, body.n, &limits, &diag);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s is not JSON: %s", what, diag.message);
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s is not an object", what);
    }
    *ret = json_root(&doc);
    return 0;
}

/* A member that is a string; *ret stays empty where there is none. */
static int discovery_string(JsonValue object, Arena *arena, const char *name, Span *ret)
{
    JsonValue value;
    int r;

    *ret = SPAN_NULL;
    if (!json_get(object, span_from_str(name), &value)) {
        return 0;
    }
    r = json_string(value, arena, ret);
    return r < 0 ? err_pass(r) : 0;
}

/* The strings of an array, with blanks between them. */
static int discovery_words(JsonValue object, Arena *arena, const char *name, Span *ret,
                           bool *ret_there)
{
    Bytes out;
    JsonValue list;
    int r = 0;

    *ret = SPAN_NULL;
    *ret_there = json_get(object, span_from_str(name), &list) && json_kind(list) == JSON_ARRAY;
    if (!*ret_there) {
        return 0;
    }
    bytes_init(&out, LIMIT_OAUTH_SCOPE_BYTES);
    for (JsonIter it = json_iter(list); r == 0 && json_iter_next(&it);) {
        Span word;

        if (json_kind(it.value) == JSON_STRING) {
            r = json_string(it.value, arena, &word);
            r = r == 0 ? oauth_scope_add(&out, word) : r;
        }
    }
    if (r >= 0) {
        *ret = arena_copy(arena, bytes_span(&out));
        r = ret->p == NULL ? err_raise(-ENOMEM) : 0;
    }
    bytes_deinit(&out);
    return r;
}

int oauth_resource_parse(OauthResource *ret, Arena *arena, Span body, Span server,
                         Diag *reterr_diag)
{
    OauthResource resource = {.has_scopes = false};
    OauthUrl claimed;
    OauthUrl asked;
    JsonValue root;
    JsonValue list;
    JsonValue first;
    int r = discovery_parse(&root, arena, body, "the metadata of the resource", reterr_diag);

    if (r == 0) {
        r = discovery_string(root, arena, "resource", &resource.resource);
    }
    if (r == 0) {
        r = discovery_words(root, arena, "scopes_supported", &resource.scopes,
                            &resource.has_scopes);
    }
    if (r != 0) {
        return r;
    }
    if (oauth_url_parse(&asked, server) != 0 || oauth_url_parse(&claimed, resource.resource) != 0 ||
        !oauth_url_covers(&claimed, &asked)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the metadata is that of another resource (%.*s)",
                        (int)(resource.resource.n < 120 ? resource.resource.n : 120),
                        resource.resource.n > 0 ? resource.resource.p : "");
    }
    if (!json_get(root, SPAN("authorization_servers"), &list) || json_kind(list) != JSON_ARRAY ||
        !json_at(list, 0, &first) || json_kind(first) != JSON_STRING) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the metadata of the resource names no authorization server");
    }
    r = json_string(first, arena, &resource.issuer);
    if (r != 0) {
        return err_fold(r);
    }
    r = discovery_url(&asked, resource.issuer, "the authorization server", reterr_diag);
    if (r == 0) {
        *ret = resource;
    }
    return r;
}

static const char *const method_names[OAUTH_N_METHODS] = {
    [OAUTH_METHOD_NONE] = "none",
    [OAUTH_METHOD_BASIC] = "client_secret_basic",
    [OAUTH_METHOD_POST] = "client_secret_post",
    [OAUTH_METHOD_JWT] = "private_key_jwt",
};

const char *oauth_method_name(OauthMethod method)
{
    return method_names[method];
}

bool oauth_method_find(Span name, OauthMethod *ret)
{
    for (size_t i = 0; i < OAUTH_N_METHODS; i++) {
        if (span_equals(name, span_from_str(method_names[i]))) {
            *ret = (OauthMethod)i;
            return true;
        }
    }
    return false;
}

static unsigned discovery_methods(Span words)
{
    unsigned methods = 0;
    OauthMethod method;
    Span word;

    while (oauth_scope_next(&words, &word)) {
        if (oauth_method_find(word, &method)) {
            methods |= 1u << method;
        }
    }
    return methods;
}

static bool discovery_flag(JsonValue object, const char *name)
{
    JsonValue value;
    bool flag = false;

    return json_get(object, span_from_str(name), &value) && json_bool(value, &flag) && flag;
}

static int discovery_endpoints(OauthServer *server, JsonValue root, Arena *arena, Diag *reterr_diag)
{
    const struct {
        const char *name;
        Span *place;
    } endpoints[] = {
        {"authorization_endpoint", &server->authorization_endpoint},
        {"token_endpoint", &server->token_endpoint},
        {"registration_endpoint", &server->registration_endpoint},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(endpoints); i++) {
        OauthUrl url;
        int r = discovery_string(root, arena, endpoints[i].name, endpoints[i].place);

        if (r == 0 && endpoints[i].place->n > 0) {
            r = discovery_url(&url, *endpoints[i].place, endpoints[i].name, reterr_diag);
        }
        if (r != 0) {
            return r;
        }
    }
    if (server->token_endpoint.n == 0) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the metadata of the authorization server has no token_endpoint");
    }
    return 0;
}

static int discovery_lists(OauthServer *server, JsonValue root, Arena *arena)
{
    Span words;
    bool is_there;
    int r = discovery_words(root, arena, "scopes_supported", &server->scopes, &is_there);

    if (r == 0) {
        r = discovery_words(root, arena, "token_endpoint_auth_methods_supported", &words,
                            &is_there);
        server->methods = r == 0 ? discovery_methods(words) : 0;
    }
    if (r == 0) {
        r = discovery_words(root, arena, "code_challenge_methods_supported", &words, &is_there);
        server->has_pkce = r == 0 && oauth_scope_has(words, SPAN("S256"));
    }
    if (r == 0) {
        r = discovery_words(root, arena, "dpop_signing_alg_values_supported", &words, &is_there);
        server->has_dpop = r == 0 && oauth_scope_has(words, SPAN("ES256"));
    }
    return r;
}

static bool discovery_is_issuer(Span claimed, Span issuer, bool is_own)
{
    OauthUrl a;
    OauthUrl b;

    return span_equals(claimed, issuer) ||
           (is_own && oauth_url_parse(&a, claimed) == 0 && oauth_url_parse(&b, issuer) == 0 &&
            oauth_url_same_origin(&a, &b));
}

int oauth_server_parse(OauthServer *ret, Arena *arena, Span body, Span issuer, bool is_own,
                       Diag *reterr_diag)
{
    OauthServer server = {.is_guess = false};
    JsonValue root;
    int r = discovery_parse(&root, arena, body, "the metadata of the authorization server",
                            reterr_diag);

    if (r == 0) {
        r = discovery_string(root, arena, "issuer", &server.issuer);
    }
    if (r != 0) {
        return r;
    }
    /* RFC 8414 3.3: else one server could speak for another. */
    if (!discovery_is_issuer(server.issuer, issuer, is_own)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the metadata of the authorization server is that of another issuer "
                        "(%.*s)",
                        (int)(server.issuer.n < 100 ? server.issuer.n : 100),
                        server.issuer.n > 0 ? server.issuer.p : "");
    }
    r = discovery_endpoints(&server, root, arena, reterr_diag);
    if (r == 0) {
        r = discovery_lists(&server, root, arena);
    }
    if (r == 0) {
        server.has_iss = discovery_flag(root, "authorization_response_iss_parameter_supported");
        server.has_cimd = discovery_flag(root, "client_id_metadata_document_supported");
        *ret = server;
    }
    return r;
}

static int discovery_default(Arena *arena, Span origin, const char *path, Span *ret)
{
    size_t n_path = strlen(path);
    char *text = arena_alloc(arena, origin.n + n_path + 1);

    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(text, origin.p, origin.n);
    memcpy(text + origin.n, path, n_path + 1);
    *ret = span_make(text, origin.n + n_path);
    return 0;
}

int oauth_server_guess(OauthServer *ret, Arena *arena, Span origin)
{
    OauthServer server = {.is_guess = true, .has_pkce = true};
    int r = discovery_default(arena, origin, "", &server.issuer);

    if (r == 0) {
        r = discovery_default(arena, origin, "/authorize", &server.authorization_endpoint);
    }
    if (r == 0) {
        r = discovery_default(arena, origin, "/token", &server.token_endpoint);
    }
    if (r == 0) {
        r = discovery_default(arena, origin, "/register", &server.registration_endpoint);
    }
    if (r == 0) {
        *ret = server;
    }
    return r;
}
