/* Streams that were opened with an access token that expires. */
#include "unit/app/http_door_rig.h"

#include "app/http_auth.h"
#include "base/clock.h"
#include "base/limits.h"
#include "unit/router/jwt_rig.h"

#define ISSUER   "https://issuer.example"
#define RESOURCE "https://hub.example/mcp"

/* Tokens are believed for LIMIT_JWT_LEEWAY_S longer than they say; of that so much is left. */
#define LEFT_S 4

static const char *token_until(RigText *text, int64_t end_s)
{
    char claims[256];

    (void)snprintf(claims, sizeof(claims),
                   "{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE
                   "\",\"sub\":\"alice\",\"exp\":%lld}",
                   (long long)(end_s - LIMIT_JWT_LEEWAY_S));
    return rig_sign(text, RIG_P256, "ES256", "{\"alg\":\"ES256\"}", claims);
}

static void open_stream(Client *c, Fixture *f, int64_t left_s)
{
    static char fields[RIG_TEXT + 512];
    RigText text;

    (void)snprintf(fields, sizeof(fields),
                   MODERN("subscriptions/listen") "Authorization: Bearer %s\r\n",
                   token_until(&text, clock_now_ms() / 1000 + left_s));
    client_open(c, f);
    client_asks(c, "POST", "/mcp", fields, LISTEN);
    client_awaits(c, "acknowledged");
}

static void a_subscription_ends_with_its_token(void **state)
{
    RigText set;
    HttpAuthIssuer issuer = {SPAN(ISSUER), span_from_str(rig_set(&set, RIG_P256, ""))};
    HttpAuth *auth = NULL;
    Client ending;
    Client lasting;
    Fixture f;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(
        http_auth_new(
            &auth,
            &(HttpAuthConfig){.resource = SPAN(RESOURCE), .issuers = &issuer, .n_issuers = 1},
            NULL),
        0);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.auth = auth}, NULL), 0);
    open_stream(&lasting, &f, 3600);
    open_stream(&ending, &f, LEFT_S);
    client_awaits(&ending, "\r\n0\r\n\r\n"); /* an end in order */
    assert_non_null(strstr(ending.got, "\"result\":{\"resultType\":\"complete\""));
    assert_int_equal(http_door_figures(f.door).n_streams, 1);
    client_reads(&lasting);
    assert_null(strstr(lasting.got, "0\r\n\r\n"));
    client_close(&ending);
    client_close(&lasting);
    fixture_deinit(&f);
    auth = http_auth_free(auth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subscription_ends_with_its_token),
    };

    return cmocka_run_group_tests(tests, rig_make_keys, rig_free_keys);
}
