#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "io/http_server.h"
#include "io/loop.h"
#include "peer/auth.h"
#include "peer/auth_listener.h"
#include "peer/auth_store.h"

#define N_WAITS 20

/* An MCP server's metadata, an authorization server's, and its token endpoint, in one. */
typedef struct World {
    IoLoop *loop;
    IoHttpServer *http;
    PeerAuth *auth;
    char origin[64];
    char url[80];
    unsigned n_tokens; /* that were given */
    unsigned n_requests;
    const char *token_error; /* instead of one */
    PeerAuthWait waits[N_WAITS];
    unsigned n_told;
    unsigned n_expected;
    PeerAuthOutcome outcome;
    char why[DIAG_MESSAGE_SIZE];
} World;

static World *the_world; /* waiters have no context of their own */

static void answer(void *context, IoHttpExchange *x, Span body)
{
    World *world = (World *)context;
    Span path = io_http_head(x)->path;
    unsigned status = 200;
    char text[1024];

    world->n_requests++;
    if (span_equals(path, SPAN("/token"))) {
        assert_true(body.n > 0);
        status = world->token_error != NULL ? 400 : 200;
        (void)snprintf(text, sizeof(text),
                       status == 200 ? "{\"access_token\":\"T%u\",\"expires_in\":3600}"
                                     : "{\"error\":\"invalid_scope\"}",
                       ++world->n_tokens);
    } else if (span_starts_with(path, SPAN("/.well-known/oauth-protected-resource"))) {
        (void)snprintf(text, sizeof(text),
                       "{\"resource\":\"%s\",\"authorization_servers\":[\"%s\"]}", world->url,
                       world->origin);
    } else {
        (void)snprintf(text, sizeof(text), "{\"issuer\":\"%s\",\"token_endpoint\":\"%s/token\"}",
                       world->origin, world->origin);
    }
    assert_int_equal(io_http_respond(x, status, NULL, 0, span_from_str(text)), 0);
}

static void gone(void *context, IoHttpExchange *x)
{
    (void)context;
    (void)x;
}

static void world_open(World *world)
{
    static const IoHttpOps ops = {.request = answer, .gone = gone};
    OauthSettings settings = {
        .grant = OAUTH_GRANT_CLIENT, .client_id = (char[]){"c"}, .client_secret = (char[]){"s"}};

    *world = (World){.loop = NULL};
    the_world = world;
    assert_int_equal(io_loop_new(&world->loop), 0);
    assert_int_equal(io_http_server_new(&world->http,
                                        &(IoHttpConfig){.loop = world->loop,
                                                        .address = "127.0.0.1:0",
                                                        .ops = &ops,
                                                        .context = world},
                                        NULL),
                     0);
    (void)snprintf(world->origin, sizeof(world->origin), "http://%s",
                   io_http_server_address(world->http));
    (void)snprintf(world->url, sizeof(world->url), "%s/mcp", world->origin);
    assert_int_equal(peer_auth_new(&world->auth,
                                   &(PeerAuthConfig){.loop = world->loop,
                                                     .server = world->url,
                                                     .settings = &settings,
                                                     .store = ""},
                                   NULL),
                     0);
}

static void world_close(World *world)
{
    world->auth = peer_auth_free(world->auth);
    world->http = io_http_server_free(world->http);
    world->loop = io_loop_free(world->loop);
}

static void told(PeerAuthWait *wait, PeerAuthOutcome outcome, const char *why)
{
    (void)wait;
    the_world->outcome = outcome;
    (void)snprintf(the_world->why, sizeof(the_world->why), "%s", why);
    if (++the_world->n_told == the_world->n_expected) {
        io_loop_stop(the_world->loop);
    }
}

static void challenge(World *world, size_t i, unsigned status, const char *field, const char *shown)
{
    Span fields[] = {span_from_str(field)};
    unsigned before = world->n_told;

    world->waits[i].done = told;
    peer_auth_challenge(world->auth,
                        &(PeerAuthChallenge){.status = status,
                                             .www_authenticate = fields,
                                             .n_www_authenticate = 1,
                                             .shown = span_from_str(shown)},
                        &world->waits[i]);
    assert_int_equal(world->n_told, before);
}

static void run(World *world, unsigned n)
{
    world->n_expected = world->n_told + n;
    assert_int_equal(io_loop_run(world->loop), 0);
    assert_int_equal(world->n_told, world->n_expected);
}

static void assert_shown(World *world, const char *expected)
{
    PeerAuthHeaders headers;
    bool must_wait = true;

    assert_int_equal(
        peer_auth_headers(world->auth, "POST", world->url, SPAN_NULL, &headers, &must_wait), 0);
    assert_false(must_wait);
    assert_true(span_equals(headers.authorization, span_from_str(expected)));
    assert_int_equal(headers.dpop.n, 0);
}

static void many_who_wait_share_one_flow(void **state)
{
    PeerAuthHeaders headers;
    bool must_wait = false;
    World world;

    (void)state;
    world_open(&world);
    assert_shown(&world, "");
    for (size_t i = 0; i < N_WAITS; i++) {
        challenge(&world, i, 401, "Bearer", "");
    }
    assert_int_equal(
        peer_auth_headers(world.auth, "POST", world.url, SPAN_NULL, &headers, &must_wait), 0);
    assert_true(must_wait);
    peer_auth_forget(world.auth, &world.waits[7]);
    peer_auth_forget(world.auth, &world.waits[7]);
    run(&world, N_WAITS - 1);
    assert_int_equal(world.outcome, PEER_AUTH_RETRY);
    assert_int_equal(world.n_tokens, 1);
    assert_shown(&world, "Bearer T1");
    world_close(&world);
}

static void token_that_was_renewed_meanwhile_is_not_renewed_again(void **state)
{
    World world;

    (void)state;
    world_open(&world);
    challenge(&world, 0, 401, "Bearer", "");
    run(&world, 1);
    challenge(&world, 0, 401, "Bearer", "");
    run(&world, 1);
    challenge(&world, 0, 401, "Bearer", "Bearer older");
    run(&world, 1);
    assert_int_equal(world.n_tokens, 1);
    assert_int_equal(world.outcome, PEER_AUTH_RETRY);
    challenge(&world, 0, 401, "Bearer error=\"invalid_token\"", "Bearer T1");
    run(&world, 1);
    assert_shown(&world, "Bearer T2");
    world_close(&world);
}

static void scopes_are_widened_but_not_for_ever(void **state)
{
    static const char *const wanted[] = {"a", "b", "c", "d"};
    char field[128];
    char shown[32];
    World world;

    (void)state;
    world_open(&world);
    challenge(&world, 0, 401, "Bearer", "");
    run(&world, 1);
    for (unsigned i = 0; i < TW_ARRAY_SIZE(wanted); i++) {
        (void)snprintf(field, sizeof(field), "Bearer error=\"insufficient_scope\", scope=\"%s\"",
                       wanted[i]);
        (void)snprintf(shown, sizeof(shown), "Bearer T%u", i + 1);
        challenge(&world, 0, 403, field, shown);
        run(&world, 1);
        assert_int_equal(world.outcome,
                         i < LIMIT_OAUTH_STEP_UPS ? PEER_AUTH_RETRY : PEER_AUTH_REFUSED);
    }
    challenge(&world, 0, 403, "Bearer error=\"insufficient_scope\", scope=\"a\"", "Bearer T4");
    run(&world, 1);
    assert_string_equal(world.why, "the server wants scopes that were asked for already");
    challenge(&world, 0, 403, "Bearer", "Bearer T4");
    run(&world, 1);
    assert_string_equal(world.why, "the server forbids it, whatever the token (403)");
    assert_int_equal(world.n_tokens, 4);
    world_close(&world);
}

static void refusals_have_words(void **state)
{
    World world;

    (void)state;
    world_open(&world);
    world.token_error = "invalid_scope";
    challenge(&world, 0, 401, "Bearer", "");
    run(&world, 1);
    assert_int_equal(world.outcome, PEER_AUTH_REFUSED);
    assert_string_equal(world.why, "the token endpoint refused: invalid_scope");
    world_close(&world);
}

static void flow_under_way_can_be_freed(void **state)
{
    World world;

    (void)state;
    world_open(&world);
    challenge(&world, 0, 401, "Bearer", "");
    world_close(&world);
    assert_int_equal(world.n_told, 0);
}

static void addresses_without_tls_are_refused(void **state)
{
    Diag diag = DIAG_NULL;
    PeerAuth *auth = NULL;

    (void)state;
    assert_int_equal(
        peer_auth_new(&auth, &(PeerAuthConfig){.server = "http://a.example/mcp"}, &diag),
        PEER_AUTH_E_INVALID);
    assert_int_equal(peer_auth_new(&auth, &(PeerAuthConfig){.server = "ws://a.example"}, &diag),
                     PEER_AUTH_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_who_wait_share_one_flow),
        cmocka_unit_test(token_that_was_renewed_meanwhile_is_not_renewed_again),
        cmocka_unit_test(scopes_are_widened_but_not_for_ever),
        cmocka_unit_test(refusals_have_words),
        cmocka_unit_test(flow_under_way_can_be_freed),
        cmocka_unit_test(addresses_without_tls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
