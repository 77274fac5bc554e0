#include "support/cmocka.h"

#include <string.h>

#include "base/limits.h"
#include "oauth/discovery.h"
#include "oauth/scope.h"
#include "support/oom_sweep.h"

typedef int (*UrlFn)(Bytes *out, Span first, size_t i, Diag *reterr_diag);

static int resource_url(Bytes *out, Span server, size_t i, Diag *reterr_diag)
{
    return oauth_resource_url(out, server, SPAN_NULL, i, reterr_diag);
}

/* All addresses, a blank between them. */
static void assert_urls(UrlFn fn, const char *first, const char *expected)
{
    Bytes out;
    int r = 0;

    bytes_init(&out, 4096);
    for (size_t i = 0; r == 0; i++) {
        size_t before = out.n;

        if (i > 0) {
            assert_int_equal(bytes_append_byte(&out, ' '), 0);
        }
        r = fn(&out, span_from_str(first), i, NULL);
        if (r != 0) {
            out.n = before;
        }
    }
    assert_int_equal(r, OAUTH_E_NO_MORE);
    assert_true(span_equals(bytes_span(&out), span_from_str(expected)));
    bytes_deinit(&out);
}

static void metadata_has_its_well_known_addresses(void **state)
{
    (void)state;
    assert_urls(resource_url, "https://a.example/mcp",
                "https://a.example/.well-known/oauth-protected-resource/mcp "
                "https://a.example/.well-known/oauth-protected-resource");
    assert_urls(resource_url, "https://a.example/",
                "https://a.example/.well-known/oauth-protected-resource");
    assert_urls(oauth_issuer_url, "https://as.example",
                "https://as.example/.well-known/oauth-authorization-server "
                "https://as.example/.well-known/openid-configuration");
    assert_urls(oauth_issuer_url, "https://as.example/t1",
                "https://as.example/.well-known/oauth-authorization-server/t1 "
                "https://as.example/.well-known/openid-configuration/t1 "
                "https://as.example/t1/.well-known/openid-configuration");
}

static int header_url(const char *header, size_t i)
{
    Bytes out;
    int r;

    bytes_init(&out, 4096);
    r = oauth_resource_url(&out, SPAN("https://a.example/mcp"), span_from_str(header), i, NULL);
    bytes_deinit(&out);
    return r;
}

static void header_names_the_only_address(void **state)
{
    (void)state;
    assert_int_equal(header_url("https://a.example/meta.json", 0), 0);
    assert_int_equal(header_url("https://a.example/meta.json", 1), OAUTH_E_NO_MORE);
    assert_int_equal(header_url("https://other.example/meta.json", 0), OAUTH_E_REFUSED);
    assert_int_equal(header_url("http://a.example/meta.json", 0), OAUTH_E_REFUSED);
    assert_int_equal(header_url("file:///etc/passwd", 0), OAUTH_E_REFUSED);
}

static int parse_resource(const char *body, OauthResource *ret, Arena *arena)
{
    Diag diag = DIAG_NULL;
    int r;

    arena_init(arena, LIMIT_OAUTH_ARENA_BYTES);
    r = oauth_resource_parse(ret, arena, span_from_str(body), SPAN("https://a.example/mcp"), &diag);
    if (r == OAUTH_E_REFUSED) {
        assert_true(diag.message[0] != '\0');
    }
    return r;
}

static void resource_must_be_the_one_that_was_asked(void **state)
{
    static const struct {
        const char *body;
        int r;
    } cases[] = {
        {"{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":[\"https://as\"]}", 0},
        {"{\"resource\":\"https://a.example\",\"authorization_servers\":[\"https://as\"]}", 0},
        {"{\"resource\":\"https://evil.example/mcp\",\"authorization_servers\":[\"https://as\"]}",
         OAUTH_E_REFUSED},
        {"{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":[]}", OAUTH_E_REFUSED},
        {"{\"resource\":\"https://a.example/mcp\"}", OAUTH_E_REFUSED},
        {"{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":[\"http://as\"]}",
         OAUTH_E_REFUSED},
        {"{\"authorization_servers\":[\"https://as\"]}", OAUTH_E_REFUSED},
        {"[]", OAUTH_E_REFUSED},
        {"<html>", OAUTH_E_REFUSED},
        {"", OAUTH_E_REFUSED},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        OauthResource resource;
        Arena arena;

        assert_int_equal(parse_resource(cases[i].body, &resource, &arena), cases[i].r);
        arena_deinit(&arena);
    }
}

static void scopes_that_are_published_are_told_from_none(void **state)
{
    OauthResource resource;
    Arena arena;

    (void)state;
    assert_int_equal(
        parse_resource("{\"resource\":\"https://a.example/mcp\",\"authorization_servers\":"
                       "[\"https://as\"],\"scopes_supported\":[\"r\",1,\"w\",\"r\"]}",
                       &resource, &arena),
        0);
    assert_true(resource.has_scopes);
    assert_true(span_equals(resource.scopes, SPAN("r w")));
    assert_true(span_equals(resource.issuer, SPAN("https://as")));
    arena_deinit(&arena);
}

static int parse_server(const char *body, OauthServer *ret, Arena *arena)
{
    arena_init(arena, LIMIT_OAUTH_ARENA_BYTES);
    return oauth_server_parse(ret, arena, span_from_str(body), SPAN("https://as.example/t"), false,
                              NULL);
}

static void server_must_be_the_issuer_that_was_named(void **state)
{
    static const struct {
        const char *body;
        int r;
    } cases[] = {
        {"{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"https://as.example/k\"}", 0},
        {"{\"issuer\":\"https://as.example/t/\",\"token_endpoint\":\"https://as.example/k\"}",
         OAUTH_E_REFUSED},
        {"{\"issuer\":\"https://AS.example/t\",\"token_endpoint\":\"https://as.example/k\"}",
         OAUTH_E_REFUSED},
        {"{\"token_endpoint\":\"https://as.example/k\"}", OAUTH_E_REFUSED},
        {"{\"issuer\":\"https://as.example/t\"}", OAUTH_E_REFUSED},
        {"{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"http://as.example/k\"}",
         OAUTH_E_REFUSED},
        {"{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"https://as.example/k\","
         "\"authorization_endpoint\":\"javascript:alert(1)\"}",
         OAUTH_E_REFUSED},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        OauthServer server;
        Arena arena;

        assert_int_equal(parse_server(cases[i].body, &server, &arena), cases[i].r);
        arena_deinit(&arena);
    }
}

static void old_server_may_call_itself_otherwise_on_its_origin(void **state)
{
    static const Span same = SPAN_INIT(
        "{\"issuer\":\"https://a.example/oauth\",\"token_endpoint\":\"https://a.example/t\"}");
    static const Span other =
        SPAN_INIT("{\"issuer\":\"https://b.example\",\"token_endpoint\":\"https://a.example/t\"}");
    OauthServer server;
    Arena arena;

    (void)state;
    arena_init(&arena, LIMIT_OAUTH_ARENA_BYTES);
    assert_int_equal(
        oauth_server_parse(&server, &arena, same, SPAN("https://a.example"), true, NULL), 0);
    assert_true(span_equals(server.issuer, SPAN("https://a.example/oauth")));
    assert_int_equal(
        oauth_server_parse(&server, &arena, same, SPAN("https://a.example"), false, NULL),
        OAUTH_E_REFUSED);
    assert_int_equal(
        oauth_server_parse(&server, &arena, other, SPAN("https://a.example"), true, NULL),
        OAUTH_E_REFUSED);
    arena_deinit(&arena);
}

static void server_says_what_it_can(void **state)
{
    OauthServer server;
    Arena arena;

    (void)state;
    assert_int_equal(
        parse_server("{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"https://x/k\","
                     "\"registration_endpoint\":\"https://x/r\",\"scopes_supported\":[\"a\"],"
                     "\"code_challenge_methods_supported\":[\"plain\",\"S256\"],"
                     "\"authorization_response_iss_parameter_supported\":true,"
                     "\"client_id_metadata_document_supported\":true,"
                     "\"dpop_signing_alg_values_supported\":[\"ES256\"],"
                     "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\",\"tls\"]}",
                     &server, &arena),
        0);
    assert_true(server.has_pkce && server.has_iss && server.has_cimd && server.has_dpop);
    assert_int_equal(server.methods, 1u << OAUTH_METHOD_POST);
    assert_true(oauth_scope_has(server.scopes, SPAN("a")));
    arena_deinit(&arena);
    assert_int_equal(
        parse_server("{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"https://x/k\","
                     "\"code_challenge_methods_supported\":[\"plain\"]}",
                     &server, &arena),
        0);
    assert_false(server.has_pkce || server.has_iss || server.has_cimd || server.has_dpop);
    arena_deinit(&arena);
}

static int read_both(void *context)
{
    OauthServer server;
    Arena arena;
    int r;

    (void)context;
    r = parse_server("{\"issuer\":\"https://as.example/t\",\"token_endpoint\":\"https://x/k\","
                     "\"scopes_supported\":[\"a\\n\"]}",
                     &server, &arena);
    if (r == 0) {
        r = oauth_server_guess(&server, &arena, SPAN("https://a.example"));
        if (r == 0) {
            assert_true(
                span_equals(server.registration_endpoint, SPAN("https://a.example/register")));
        }
    }
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(read_both, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_has_its_well_known_addresses),
        cmocka_unit_test(header_names_the_only_address),
        cmocka_unit_test(resource_must_be_the_one_that_was_asked),
        cmocka_unit_test(scopes_that_are_published_are_told_from_none),
        cmocka_unit_test(server_must_be_the_issuer_that_was_named),
        cmocka_unit_test(old_server_may_call_itself_otherwise_on_its_origin),
        cmocka_unit_test(server_says_what_it_can),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
