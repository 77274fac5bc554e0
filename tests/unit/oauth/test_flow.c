/* The code flow: where things are found, who we are, what is asked for, what is refused. */
#include "unit/oauth/flow_world.h"

#include "support/oom_sweep.h"

static const WorldRoute plain[] = {
    {WORLD_PRM, 200, WORLD_PRM_OK, NULL},
    {WORLD_AS, 200, WORLD_AS_DCR, NULL},
    {"https://as.example/r", 201, WORLD_CLIENT, NULL},
    {"https://as.example/t", 200, WORLD_TOKEN, NULL},
};

/* ---- discovery ---- */

static void metadata_is_found_at_the_path_of_the_server(void **state)
{
    char out[512];
    World world;

    (void)state;
    world_init(&world, plain, TW_ARRAY_SIZE(plain));
    world_expect(&world, "GET " WORLD_PRM "\nGET " WORLD_AS "\n" WORLD_CODE_LOG);
    assert_string_equal(world_field(world_query(&world), "resource", out), WORLD_SERVER);
    assert_string_equal(world_field(world_query(&world), "code_challenge_method", out), "S256");
    assert_string_equal(world_field(world_query(&world), "scope", out), "");
    assert_string_equal(world_field(bytes_span(&world.token), "resource", out), WORLD_SERVER);
    assert_string_equal(world_field(bytes_span(&world.token), "code", out), "c");
    assert_string_equal(world_field(bytes_span(&world.token), "client_id", out), "me");
    assert_int_equal(strlen(world_field(bytes_span(&world.token), "code_verifier", out)), 43);
    assert_int_equal(world.result.expires_s, WORLD_NOW + 3600);
    assert_string_equal(world.result.issuer, "https://as.example");
    assert_non_null(strstr(world.register_body.data, "\"application_type\":\"native\""));
    assert_non_null(strstr(world.register_body.data, "\"refresh_token\""));
    world_deinit(&world);
}

static void header_and_tenants_lead_to_their_metadata(void **state)
{
    static const WorldRoute routes[] = {
        {"https://a.example/custom.json", 200,
         "{\"resource\":\"https://a.example\",\"authorization_servers\":[\"https://as.example/"
         "t1\"]}",
         NULL},
        {"https://as.example/t1/.well-known/openid-configuration", 200,
         "{\"issuer\":\"https://as.example/t1\",\"authorization_endpoint\":\"https://as.example/"
         "a\","
         "\"token_endpoint\":\"https://as.example/t\",\"registration_endpoint\":"
         "\"https://as.example/r\",\"code_challenge_methods_supported\":[\"S256\"]}",
         NULL},
        {"https://as.example/r", 201, WORLD_CLIENT, NULL},
        {"https://as.example/t", 200, WORLD_TOKEN, NULL},
    };
    char out[512];
    World world;

    (void)state;
    world_init(&world, routes, TW_ARRAY_SIZE(routes));
    world.challenge.resource_metadata = SPAN("https://a.example/custom.json");
    world_expect(&world, "GET https://a.example/custom.json\n"
                         "GET https://as.example/.well-known/oauth-authorization-server/t1\n"
                         "GET https://as.example/.well-known/openid-configuration/t1\n"
                         "GET https://as.example/t1/.well-known/openid-configuration\n"
                         "LOOK https://as.example/t1\nLISTEN\nPOST https://as.example/r\nSAVE\n"
                         "OPEN\nPOST https://as.example/t authorization_code\nSAVE\n"
                         "DONE Bearer T\n");
    /* Exactly as published, without a slash that a parser would add. */
    assert_string_equal(world_field(world_query(&world), "resource", out), "https://a.example");
    world_deinit(&world);
}

static void old_servers_are_their_own_issuers(void **state)
{
    static const WorldRoute published[] = {
        {"https://a.example/.well-known/oauth-authorization-server", 200,
         "{\"issuer\":\"https://a.example\",\"authorization_endpoint\":\"https://a.example/o/a\","
         "\"token_endpoint\":\"https://as.example/t\",\"registration_endpoint\":"
         "\"https://as.example/r\",\"code_challenge_methods_supported\":[\"S256\"]}",
         NULL},
        {"https://as.example/r", 201, WORLD_CLIENT, NULL},
        {"https://as.example/t", 200, WORLD_TOKEN, NULL},
    };
    static const WorldRoute bare[] = {
        {"https://a.example/register", 201, "{\"client_id\":\"me\",\"client_secret\":\"s\"}", NULL},
        {"https://a.example/token", 200, WORLD_TOKEN, NULL},
    };
    World world;

    (void)state;
    world_init(&world, published, TW_ARRAY_SIZE(published));
    world_expect(&world, "GET " WORLD_PRM "\n"
                         "GET https://a.example/.well-known/oauth-protected-resource\n"
                         "GET https://a.example/.well-known/oauth-authorization-server\n"
                         "LOOK https://a.example\nLISTEN\nPOST https://as.example/r\nSAVE\nOPEN\n"
                         "POST https://as.example/t authorization_code\nSAVE\nDONE Bearer T\n");
    world_deinit(&world);
    world_init(&world, bare, TW_ARRAY_SIZE(bare));
    world_expect(&world, "GET " WORLD_PRM "\n"
                         "GET https://a.example/.well-known/oauth-protected-resource\n"
                         "GET https://a.example/.well-known/oauth-authorization-server\n"
                         "GET https://a.example/.well-known/openid-configuration\n"
                         "LOOK https://a.example\nLISTEN\nPOST https://a.example/register\nSAVE\n"
                         "OPEN\nPOST https://a.example/token authorization_code\nSAVE\n"
                         "DONE Bearer T\n");
    assert_true(span_starts_with(bytes_span(&world.page), SPAN("https://a.example/authorize?")));
    world_deinit(&world);
}

static void what_cannot_be_trusted_is_refused(void **state)
{
    static const struct {
        const char *prm;
        unsigned prm_status;
        const char *as;
        const char *expected; /* behind the requests */
    } cases[] = {
        {"{\"resource\":\"https://evil.example/mcp\",\"authorization_servers\":[\"https://x\"]}",
         200, "", "REFUSED the metadata is that of another resource (https://evil.example/mcp)\n"},
        {"", 503, "", "REFUSED the metadata of the resource cannot be read: status 503\n"},
        {WORLD_PRM_OK, 200,
         "{\"issuer\":\"https://evil.example\",\"token_endpoint\":\"https://x/t\"}",
         "GET " WORLD_AS "\nREFUSED the metadata of the authorization server is that of another "
         "issuer (https://evil.example)\n"},
        {WORLD_PRM_OK, 200,
         "{\"issuer\":\"https://as.example\",\"token_endpoint\":\"https://x/t\","
         "\"authorization_endpoint\":\"https://x/a\",\"registration_endpoint\":\"https://x/r\"}",
         "GET " WORLD_AS "\nLOOK https://as.example\nREFUSED the authorization server does not say "
         "that it has PKCE with S256\n"},
        {WORLD_PRM_OK, 200, "{" WORLD_AS_BASE "}",
         "GET " WORLD_AS "\nLOOK https://as.example\nREFUSED the authorization server registers "
         "nobody by itself: a client id is needed\n"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const WorldRoute routes[] = {
            {WORLD_PRM, cases[i].prm_status, cases[i].prm, NULL},
            {WORLD_AS, 200, cases[i].as, NULL},
        };
        char expected[1024];
        World world;

        (void)snprintf(expected, sizeof(expected), "GET %s\n%s", WORLD_PRM, cases[i].expected);
        world_init(&world, routes, TW_ARRAY_SIZE(routes));
        world_expect(&world, expected);
        world_deinit(&world);
    }
}

static void servers_that_do_not_answer_are_named(void **state)
{
    static const WorldRoute routes[] = {{WORLD_PRM, 0, "it does not answer", NULL}};
    World world;

    (void)state;
    world_init(&world, routes, 1);
    world_expect(&world, "GET " WORLD_PRM "\nREFUSED a.example: it does not answer\n");
    world_deinit(&world);
    world_init(&world, routes, 1);
    world.config.server = SPAN("http://a.example/mcp");
    world_expect(&world, "REFUSED tokens are sent over https only, and to this machine\n");
    world_deinit(&world);
}

/* ---- the redirect ---- */

static void redirects_of_others_are_refused(void **state)
{
    static const struct {
        const char *as;
        const char *redirect;
        bool passes;
    } cases[] = {
        {",\"authorization_response_iss_parameter_supported\":true",
         "&iss=https%3A%2F%2Fas.example", true},
        {",\"authorization_response_iss_parameter_supported\":true", "", false},
        {",\"authorization_response_iss_parameter_supported\":true",
         "&iss=https%3A%2F%2Fas.example%2F", false},
        {"", "", true},
        {"", "&iss=https%3A%2F%2Fas.example", true},
        {"", "&iss=https%3A%2F%2Fevil.example", false},
        {"", "-&error=access_denied", false},
        {"", "-", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char as[1024];
        World world;

        (void)snprintf(as, sizeof(as), "{%s,\"registration_endpoint\":\"https://as.example/r\"%s}",
                       WORLD_AS_BASE, cases[i].as);
        {
            const WorldRoute routes[] = {plain[0], {WORLD_AS, 200, as, NULL}, plain[2], plain[3]};

            world_init(&world, routes, TW_ARRAY_SIZE(routes));
            world.redirect = cases[i].redirect;
            assert_int_equal(world_run(&world), 0);
            assert_int_equal(bytes_append_byte(&world.log, '\0'), 0);
            assert_int_equal(strstr(world.log.data, "DONE") != NULL, cases[i].passes);
            /* The code is not shown to anybody. */
            assert_int_equal(strstr(world.log.data, "authorization_code") != NULL, cases[i].passes);
            world_deinit(&world);
        }
    }
}

/* ---- scopes ---- */

static const char *scope_of(World *world, const char *prm_scopes, const char *as_scopes,
                            char out[512])
{
    char prm[1024];
    char as[1024];

    (void)snprintf(prm, sizeof(prm),
                   "{\"resource\":\"" WORLD_SERVER
                   "\",\"authorization_servers\":[\"https://as.example\"]%s}",
                   prm_scopes);
    (void)snprintf(as, sizeof(as), "{%s,\"registration_endpoint\":\"https://as.example/r\"%s}",
                   WORLD_AS_BASE, as_scopes);
    {
        const WorldRoute routes[] = {
            {WORLD_PRM, 200, prm, NULL}, {WORLD_AS, 200, as, NULL}, plain[2], plain[3]};

        world->routes = routes;
        world->n_routes = TW_ARRAY_SIZE(routes);
        assert_int_equal(world_run(world), 0);
    }
    (void)world_field(world_query(world), "scope", out);
    return out;
}

static void scopes_come_from_the_challenge_else_the_metadata(void **state)
{
    static const char published[] = ",\"scopes_supported\":[\"r\",\"w\"]";
    char out[512];
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    assert_string_equal(scope_of(&world, published, "", out), "r w");
    world.challenge.scope = SPAN("x");
    assert_string_equal(scope_of(&world, published, "", out), "x");
    world.challenge.scope = SPAN_NULL;
    assert_string_equal(scope_of(&world, "", "", out), "");
    assert_string_equal(
        scope_of(&world, published, ",\"scopes_supported\":[\"offline_access\"]", out),
        "r w offline_access");
    assert_string_equal(world_field(world_query(&world), "prompt", out), "consent");
    assert_string_equal(scope_of(&world, "", ",\"scopes_supported\":[\"offline_access\"]", out),
                        "");
    world.settings.scope = (char[]){"mine"};
    assert_string_equal(scope_of(&world, published, "", out), "mine");
    world_deinit(&world);
}

static void widening_asks_for_old_and_new(void **state)
{
    OauthCredential known = {.issuer = (char[]){"https://as.example"},
                             .client_id = (char[]){"me"},
                             .is_registered = true,
                             .redirect_uri = (char[]){"http://127.0.0.1:7/callback"},
                             .access_token = (char[]){"old"},
                             .refresh_token = (char[]){"R"},
                             .requested = (char[]){"basic"}};
    char out[512];
    World world;

    (void)state;
    world_init(&world, plain, TW_ARRAY_SIZE(plain));
    world.config.known = &known;
    world.kept = &known;
    world.config.is_step_up = true;
    world.challenge.scope = SPAN("write");
    world_expect(&world, "GET " WORLD_PRM "\nGET " WORLD_AS "\nLOOK https://as.example\nLISTEN\n"
                         "OPEN\nPOST https://as.example/t authorization_code\nSAVE\n"
                         "DONE Bearer T\n");
    assert_string_equal(world_field(world_query(&world), "scope", out), "basic write");
    assert_string_equal(world.result.requested, "basic write");
    world_deinit(&world);
}

/* ---- memory ---- */

static int whole_flow(void *context)
{
    World world;
    int r;

    (void)context;
    world_init(&world, plain, TW_ARRAY_SIZE(plain));
    world.challenge.scope = SPAN("a b");
    r = world_run(&world);
    world_deinit(&world);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(whole_flow, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_is_found_at_the_path_of_the_server),
        cmocka_unit_test(header_and_tenants_lead_to_their_metadata),
        cmocka_unit_test(old_servers_are_their_own_issuers),
        cmocka_unit_test(what_cannot_be_trusted_is_refused),
        cmocka_unit_test(servers_that_do_not_answer_are_named),
        cmocka_unit_test(redirects_of_others_are_refused),
        cmocka_unit_test(scopes_come_from_the_challenge_else_the_metadata),
        cmocka_unit_test(widening_asks_for_old_and_new),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
