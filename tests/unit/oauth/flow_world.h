/* tests/unit/oauth/flow_world.h: servers as a table of addresses and answers, and what a flow does
 * with them, line by line.
 *
 * A line of the log is an order: "GET url", "POST url grant_type", "LOOK issuer", "LISTEN", "OPEN",
 * "SAVE", "DONE type token" or "REFUSED why". */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "oauth/answer.h"
#include "oauth/flow.h"
#include "oauth/url.h"

#define WORLD_SERVER "https://a.example/mcp"
#define WORLD_NOW    1000

typedef struct WorldRoute {
    const char *url;
    unsigned status;
    const char *body;
    const char *nonce; /* answered once with use_dpop_nonce and this, first */
} WorldRoute;

typedef struct World {
    const WorldRoute *routes;
    size_t n_routes;
    const char *redirect; /* added to "code=c&state=STATE"; "-": only this */
    const OauthCredential *kept;
    OauthSettings settings;
    OauthFlowConfig config;
    OauthChallenge challenge;
    Bytes log;
    Bytes page;  /* the last address that was opened */
    Bytes token; /* the body of the last token request */
    Bytes shown; /* its Authorization */
    Bytes register_body;
    OauthCredential result;
    unsigned n_random;
    bool has_given_nonce;
    bool has_proof; /* of the last token request */
} World;

/* Every time other bytes, in every run the same. */
static inline int world_random(void *context, void *p, size_t n)
{
    World *world = (World *)context;

    memset(p, (int)++world->n_random, n);
    return 0;
}

static inline void world_init(World *world, const WorldRoute *routes, size_t n)
{
    *world = (World){.routes = routes, .n_routes = n, .redirect = ""};
    world->config = (OauthFlowConfig){.server = SPAN(WORLD_SERVER),
                                      .settings = &world->settings,
                                      .challenge = &world->challenge,
                                      .may_ask = true,
                                      .random = world_random,
                                      .random_context = world};
    bytes_init(&world->log, 1 << 16);
    bytes_init(&world->page, 1 << 16);
    bytes_init(&world->token, 1 << 16);
    bytes_init(&world->shown, 1 << 16);
    bytes_init(&world->register_body, 1 << 16);
}

static inline void world_deinit(World *world)
{
    bytes_deinit(&world->log);
    bytes_deinit(&world->page);
    bytes_deinit(&world->token);
    bytes_deinit(&world->shown);
    bytes_deinit(&world->register_body);
    oauth_credential_deinit(&world->result);
}

static inline int world_store(Bytes *out, Span text)
{
    bytes_clear(out);
    return bytes_append_span(out, text);
}

/* The value of a form's field; "" if it is not there. */
static inline const char *world_field(Span form, const char *name, char out[512])
{
    Bytes value;

    bytes_init(&value, 511);
    out[0] = '\0';
    if (oauth_form_get(form, name, &value) == 1) {
        memcpy(out, value.data, value.n);
        out[value.n] = '\0';
    }
    bytes_deinit(&value);
    return out;
}

static inline Span world_query(const World *world)
{
    const char *mark = memchr(world->page.data, '?', world->page.n);

    return span_make(mark + 1, (size_t)(world->page.data + world->page.n - mark) - 1);
}

static inline int world_fetch(World *world, OauthFlow *flow, const OauthOrder *order)
{
    OauthFetched fetched = {.status = 404};
    char grant[512] = "";
    int r = 0;

    if (order->content_type != NULL && strstr(order->content_type, "urlencoded") != NULL) {
        r = world_store(&world->token, order->body);
        r = r == 0 ? world_store(&world->shown, order->authorization) : r;
        world->has_proof = order->dpop.n > 0;
        (void)world_field(order->body, "grant_type", grant);
    } else if (order->body.p != NULL) {
        r = world_store(&world->register_body, order->body);
        r = r == 0 ? bytes_append_byte(&world->register_body, '\0') : r;
    }
    r = r == 0 ? bytes_append_format(&world->log, "%s %.*s%s%s\n", order->method, (int)order->url.n,
                                     order->url.p, grant[0] == '\0' ? "" : " ", grant)
               : r;
    for (size_t i = 0; i < world->n_routes; i++) {
        const WorldRoute *route = &world->routes[i];

        if (span_equals(order->url, span_from_str(route->url))) {
            fetched.status = route->status;
            fetched.body = span_from_str(route->body);
            fetched.message = route->body;
            if (route->nonce != NULL && !world->has_given_nonce) {
                world->has_given_nonce = true;
                fetched.status = 400;
                fetched.body = SPAN("{\"error\":\"use_dpop_nonce\"}");
                fetched.dpop_nonce = span_from_str(route->nonce);
            }
            break;
        }
    }
    return r == 0 ? oauth_flow_fetched(flow, WORLD_NOW, &fetched) : r;
}

static inline int world_open(World *world, OauthFlow *flow, const OauthOrder *order)
{
    char state[512];
    Bytes query;
    int r = world_store(&world->page, order->url);

    bytes_init(&query, 4096);
    r = r == 0 ? bytes_append_span(&world->log, SPAN("OPEN\n")) : r;
    if (r == 0) {
        /* Somebody else's redirect comes first, and is not taken for ours. */
        r = oauth_flow_redirected(flow, SPAN("code=injected&state=guess"));
        r = r == OAUTH_E_STRANGER ? 0 : r;
    }
    if (r == 0) {
        (void)world_field(world_query(world), "state", state);
        r = bytes_append_format(&query, "%s%s",
                                world->redirect[0] == '-' ? "state=" : "code=c&state=", state);
        r = r == 0 ? bytes_append_format(&query, "%s",
                                         world->redirect + (world->redirect[0] == '-' ? 1 : 0))
                   : r;
    }
    r = r == 0 ? oauth_flow_redirected(flow, bytes_span(&query)) : r;
    bytes_deinit(&query);
    return r;
}

/* Carries out one order. 1: it was the last. */
static inline int world_step(World *world, OauthFlow *flow)
{
    OauthOrder order;
    int r = oauth_flow_next(flow, WORLD_NOW, &order);

    if (r != 0) {
        return r;
    }
    switch (order.kind) {
    case OAUTH_ORDER_FETCH:
        return world_fetch(world, flow, &order);
    case OAUTH_ORDER_LOOK:
        r = bytes_append_format(&world->log, "LOOK %.*s\n", (int)order.issuer.n, order.issuer.p);
        return r == 0 ? oauth_flow_looked(flow, WORLD_NOW, world->kept) : r;
    case OAUTH_ORDER_LISTEN:
        r = bytes_append_span(&world->log, SPAN("LISTEN\n"));
        return r == 0 ? oauth_flow_listening(flow, SPAN("http://127.0.0.1:7/callback")) : r;
    case OAUTH_ORDER_OPEN:
        return world_open(world, flow, &order);
    case OAUTH_ORDER_SAVE:
        r = bytes_append_span(&world->log, SPAN("SAVE\n"));
        oauth_credential_deinit(&world->result);
        r = r == 0 ? oauth_credential_copy(&world->result, order.credential) : r;
        return r == 0 ? oauth_flow_saved(flow) : r;
    case OAUTH_ORDER_DONE:
        r = bytes_append_format(&world->log, "DONE %s %s\n", order.credential->token_type,
                                order.credential->access_token);
        return r == 0 ? 1 : r;
    case OAUTH_ORDER_REFUSED:
        r = bytes_append_format(&world->log, "REFUSED %s\n", order.why);
        return r == 0 ? 1 : r;
    }
    return -EINVAL;
}

static inline int world_run(World *world)
{
    OauthFlow *flow = NULL;
    int r = oauth_flow_begin(&flow, &world->config);

    for (int i = 0; r == 0; i++) {
        assert_true(i < 40);
        r = world_step(world, flow);
    }
    (void)oauth_flow_free(flow);
    return r == 1 ? 0 : r;
}

/* Runs it and compares the log. */
static inline void world_expect(World *world, const char *expected)
{
    assert_int_equal(world_run(world), 0);
    assert_int_equal(bytes_append_byte(&world->log, '\0'), 0);
    assert_string_equal(world->log.data, expected);
}

#define WORLD_PRM "https://a.example/.well-known/oauth-protected-resource/mcp"
#define WORLD_AS  "https://as.example/.well-known/oauth-authorization-server"
#define WORLD_PRM_OK                                                                               \
    "{\"resource\":\"" WORLD_SERVER "\",\"authorization_servers\":[\"https://as.example\"]}"
#define WORLD_AS_BASE                                                                              \
    "\"issuer\":\"https://as.example\",\"authorization_endpoint\":\"https://as.example/a\","       \
    "\"token_endpoint\":\"https://as.example/t\",\"code_challenge_methods_supported\":[\"S256\"]"
#define WORLD_AS_DCR "{" WORLD_AS_BASE ",\"registration_endpoint\":\"https://as.example/r\"}"
#define WORLD_CLIENT "{\"client_id\":\"me\"}"
#define WORLD_TOKEN  "{\"access_token\":\"T\",\"token_type\":\"Bearer\",\"expires_in\":3600}"

/* What a code flow with registration does once the server is known. */
#define WORLD_CODE_LOG                                                                             \
    "LOOK https://as.example\nLISTEN\nPOST https://as.example/r\nSAVE\nOPEN\n"                     \
    "POST https://as.example/t authorization_code\nSAVE\nDONE Bearer T\n"
