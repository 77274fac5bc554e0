/* A server's challenge, and the answers of all servers that a flow asks: whatever they say, the
 * flow ends after a bounded number of steps, and what it shows is fit for a header.
 *
 * Input: flags (FLAG_*), the challenge, a NUL, and answers with a NUL between them: the first byte
 * of each is the status (see statuses), the rest the body; to an OPEN it is what follows our state
 * in the redirect's query. */
#include "fuzz.h"

#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "oauth/answer.h"
#include "oauth/flow.h"
#include "oauth/url.h"

enum {
    FLAG_GRANTS = 3u, /* OauthGrant */
    FLAG_STEP_UP = 1u << 2,
    FLAG_RENEWAL = 1u << 3,
    FLAG_ALONE = 1u << 4,
    FLAG_BY_HAND = 1u << 5,
};

#define STEPS_MAX 64

static const unsigned statuses[] = {200, 201, 400, 401, 404, 500, 0, 302};

static int fixed(void *context, void *p, size_t n)
{
    (void)context;
    memset(p, 7, n);
    return 0;
}

/* The next part of the input. */
static Span take(Span *rest)
{
    const char *end = rest->n == 0 ? NULL : memchr(rest->p, '\0', rest->n);
    Span part = span_make(rest->p, end == NULL ? rest->n : (size_t)(end - rest->p));

    *rest = end == NULL ? SPAN_NULL : span_make(end + 1, rest->n - part.n - 1);
    return part;
}

static void answer_fetch(OauthFlow *flow, Span *rest)
{
    Span part = take(rest);
    OauthFetched fetched = {.message = "gone"};

    if (part.n > 0) {
        fetched.status = statuses[(unsigned char)part.p[0] % TW_ARRAY_SIZE(statuses)];
        fetched.body = span_make(part.p + 1, part.n - 1);
        fetched.dpop_nonce = SPAN("nonce");
    }
    FUZZ_REQUIRE(oauth_flow_fetched(flow, 1000, &fetched) == 0);
}

static void answer_open(OauthFlow *flow, const OauthOrder *order, Span *rest)
{
    Span part = take(rest);
    Bytes query;
    Bytes state;
    const char *mark = memchr(order->url.p, '?', order->url.n);

    bytes_init(&query, LIMIT_OAUTH_BODY_BYTES);
    bytes_init(&state, LIMIT_OAUTH_TOKEN_BYTES);
    FUZZ_REQUIRE(mark != NULL);
    if (oauth_form_get(span_make(mark + 1, (size_t)(order->url.p + order->url.n - mark) - 1),
                       "state", &state) != 1) {
        oauth_flow_refuse(flow, "the endpoint has a state of its own");
    } else {
        (void)bytes_append_format(&query, "state=%.*s&", (int)state.n, state.data);
        (void)bytes_append_span(&query, part);
        if (oauth_flow_redirected(flow, bytes_span(&query)) != 0) {
            oauth_flow_refuse(flow, "a stranger");
        }
    }
    bytes_deinit(&query);
    bytes_deinit(&state);
}

/* False: it is over. */
static bool step(OauthFlow *flow, Span *rest)
{
    OauthOrder order;

    FUZZ_REQUIRE(oauth_flow_next(flow, 1000, &order) == 0);
    switch (order.kind) {
    case OAUTH_ORDER_FETCH: {
        OauthUrl url;

        FUZZ_REQUIRE(oauth_url_parse(&url, order.url) == 0 && oauth_url_is_safe(&url));
        answer_fetch(flow, rest);
        return true;
    }
    case OAUTH_ORDER_LOOK:
        FUZZ_REQUIRE(oauth_flow_looked(flow, 1000, NULL) == 0);
        return true;
    case OAUTH_ORDER_LISTEN:
        FUZZ_REQUIRE(oauth_flow_listening(flow, SPAN("http://127.0.0.1:1/callback")) == 0);
        return true;
    case OAUTH_ORDER_OPEN:
        answer_open(flow, &order, rest);
        return true;
    case OAUTH_ORDER_SAVE:
        FUZZ_REQUIRE(oauth_flow_saved(flow) == 0);
        return true;
    case OAUTH_ORDER_DONE:
        for (const char *p = order.credential->access_token; *p != '\0'; p++) {
            FUZZ_REQUIRE(*p > ' ' && *p < 0x7f);
        }
        return false;
    case OAUTH_ORDER_REFUSED:
        FUZZ_REQUIRE(order.why[0] != '\0');
        return false;
    }
    return false;
}

static void run(unsigned flags, Span rest)
{
    OauthCredential known = {.server = (char[]){"https://a.example/mcp"},
                             .issuer = (char[]){"https://as.example"},
                             .token_endpoint = (char[]){"https://as.example/t"},
                             .client_id = (char[]){"me"},
                             .refresh_token = (char[]){"r"},
                             .requested = (char[]){"old"}};
    OauthSettings settings = {.grant = (OauthGrant)(flags & FLAG_GRANTS),
                              .client_secret = (char[]){"s"},
                              .workload_token = (char[]){"w"},
                              .id_token = (char[]){"i"},
                              .idp_token_endpoint = (char[]){"https://idp.example/t"},
                              .cimd_url = (char[]){"https://us.example/client"}};
    OauthFlowConfig config = {.server = SPAN("https://a.example/mcp"),
                              .settings = &settings,
                              .known = &known,
                              .is_renewal = (flags & FLAG_RENEWAL) != 0,
                              .is_step_up = (flags & FLAG_STEP_UP) != 0,
                              .may_ask = (flags & FLAG_ALONE) == 0,
                              .random = fixed};
    char by_hand[] = "c";
    Span field = take(&rest);
    OauthChallenge challenge;
    OauthFlow *flow = NULL;
    Arena arena;
    unsigned n = 0;

    if ((flags & FLAG_BY_HAND) != 0) {
        settings.client_id = by_hand;
    }
    arena_init(&arena, (size_t)1 << 24);
    FUZZ_REQUIRE(oauth_challenge_parse(&challenge, &arena, &field, 1) == 0);
    challenge.is_dpop = false; /* a new key for each input would take all the time */
    config.challenge = &challenge;
    FUZZ_REQUIRE(oauth_flow_begin(&flow, &config) == 0);
    while (step(flow, &rest)) {
        FUZZ_REQUIRE(++n < STEPS_MAX);
    }
    (void)oauth_flow_free(flow);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && size < LIMIT_OAUTH_SCOPE_BYTES) {
        run(data[0], span_make((const char *)data + 1, size - 1));
    }
    return 0;
}
