/* Several who use the same credential: one renews it, and the others find it in the file. The
 * authorization server takes a refresh token once, and a second use for a theft. */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "io/http_server.h"
#include "io/loop.h"
#include "peer/auth.h"
#include "peer/auth_store.h"

#define N_AUTHS 3

typedef struct Town Town;

typedef struct Citizen {
    PeerAuth *auth;
    PeerAuthWait wait;
    Town *town;
    bool is_told;
    PeerAuthOutcome outcome;
    char why[DIAG_MESSAGE_SIZE];
} Citizen;

struct Town {
    IoLoop *loop;
    IoTimer *timer;
    IoHttpServer *http;
    Citizen citizens[N_AUTHS];
    unsigned n_waiting;
    char folder[64];
    char *store;
    char origin[64];
    char url[80];
    unsigned n_refreshes; /* that were asked for */
    unsigned n_given;     /* refresh token R%u is the good one */
    bool is_revoked;      /* one came twice */
    PrivateFile lock;
    void (*later)(Town *town);
    void (*on_refresh)(Town *town);
};

static void town_answer(void *context, IoHttpExchange *x, Span body)
{
    Town *town = (Town *)context;
    Span path = io_http_head(x)->path;
    unsigned status = 200;
    char good[64];
    char text[1024];

    if (span_equals(path, SPAN("/token"))) {
        (void)snprintf(good, sizeof(good), "refresh_token=R%u&", town->n_given);
        town->n_refreshes++;
        if (town->on_refresh != NULL) {
            town->on_refresh(town);
        }
        town->is_revoked = town->is_revoked || strstr(body.p, good) == NULL;
        status = town->is_revoked ? 400 : 200;
        town->n_given += !town->is_revoked;
        (void)snprintf(text, sizeof(text),
                       town->is_revoked ? "{\"error\":\"invalid_grant\"}"
                                        : "{\"access_token\":\"T%u\",\"refresh_token\":\"R%u\","
                                          "\"token_type\":\"Bearer\",\"expires_in\":3600}",
                       town->n_given, town->n_given);
    } else if (span_starts_with(path, SPAN("/.well-known/oauth-protected-resource"))) {
        (void)snprintf(text, sizeof(text),
                       "{\"resource\":\"%s\",\"authorization_servers\":[\"%s\"]}", town->url,
                       town->origin);
    } else {
        (void)snprintf(text, sizeof(text),
                       "{\"issuer\":\"%s\",\"token_endpoint\":\"%s/token\","
                       "\"authorization_endpoint\":\"%s/authorize\","
                       "\"registration_endpoint\":\"%s/register\","
                       "\"code_challenge_methods_supported\":[\"S256\"]}",
                       town->origin, town->origin, town->origin, town->origin);
    }
    assert_int_equal(io_http_respond(x, status, NULL, 0, span_from_str(text)), 0);
}

static void town_gone(void *context, IoHttpExchange *x)
{
    (void)context;
    (void)x;
}

/* Tokens number n are in the file; they end in left_s. */
static void town_keep(Town *town, unsigned n, int64_t left_s)
{
    char endpoint[80];
    char access[16];
    char refresh[16];
    OauthCredential credential = {.server = town->url,
                                  .issuer = town->origin,
                                  .resource = town->url,
                                  .token_endpoint = endpoint,
                                  .client_id = (char[]){"c"},
                                  .access_token = access,
                                  .refresh_token = refresh,
                                  .token_type = (char[]){"Bearer"},
                                  .expires_s = clock_now_ms() / 1000 + left_s,
                                  .saved_s = clock_now_ms() / 1000 - 3600};

    (void)snprintf(endpoint, sizeof(endpoint), "%s/token", town->origin);
    (void)snprintf(access, sizeof(access), "T%u", n);
    (void)snprintf(refresh, sizeof(refresh), "R%u", n);
    assert_int_equal(peer_auth_store_put(town->store, span_from_str(town->url),
                                         span_from_str(town->origin), &credential, NULL, NULL),
                     0);
}

static void town_on_timer(void *context)
{
    Town *town = (Town *)context;

    town->later(town);
}

static void told(PeerAuthWait *wait, PeerAuthOutcome outcome, const char *why)
{
    Citizen *citizen = (Citizen *)(void *)((char *)wait - offsetof(Citizen, wait));

    citizen->is_told = true;
    citizen->outcome = outcome;
    (void)snprintf(citizen->why, sizeof(citizen->why), "%s", why);
    if (--citizen->town->n_waiting == 0) {
        io_loop_stop(citizen->town->loop);
    }
}

static int town_open(void **state)
{
    static const IoHttpOps ops = {.request = town_answer, .gone = town_gone};
    Town *town = calloc(1, sizeof(*town));

    assert_non_null(town);
    town->lock = PRIVATE_FILE_NULL;
    (void)snprintf(town->folder, sizeof(town->folder), "/tmp/tw-auth-file-XXXXXX");
    assert_non_null(mkdtemp(town->folder));
    assert_int_equal(peer_auth_store_path(&town->store, town->folder, NULL), 0);
    assert_int_equal(io_loop_new(&town->loop), 0);
    assert_int_equal(io_timer_new(&town->timer, town->loop, false, town_on_timer, town), 0);
    assert_int_equal(io_http_server_new(&town->http,
                                        &(IoHttpConfig){.loop = town->loop,
                                                        .address = "127.0.0.1:0",
                                                        .ops = &ops,
                                                        .context = town},
                                        NULL),
                     0);
    (void)snprintf(town->origin, sizeof(town->origin), "http://%s",
                   io_http_server_address(town->http));
    (void)snprintf(town->url, sizeof(town->url), "%s/mcp", town->origin);
    for (size_t i = 0; i < N_AUTHS; i++) {
        town->citizens[i].town = town;
        town->citizens[i].wait.done = told;
        assert_int_equal(
            peer_auth_new(
                &town->citizens[i].auth,
                &(PeerAuthConfig){.loop = town->loop, .server = town->url, .store = town->store},
                NULL),
            0);
    }
    *state = town;
    return 0;
}

static int town_close(void **state)
{
    Town *town = *state;

    for (size_t i = 0; i < N_AUTHS; i++) {
        town->citizens[i].auth = peer_auth_free(town->citizens[i].auth);
    }
    private_file_remove(&town->lock);
    town->timer = io_timer_free(town->timer);
    town->http = io_http_server_free(town->http);
    town->loop = io_loop_free(town->loop);
    assert_int_equal(unlink(town->store), 0);
    assert_int_equal(rmdir(town->folder), 0); /* no lock is left */
    mem_free(town->store);
    free(town);
    return 0;
}

/* What would be shown now: NULL, if it has to be waited for, and that it does. */
static const char *shown(Citizen *citizen, char out[64])
{
    PeerAuthHeaders headers;
    bool must_wait = false;

    assert_int_equal(peer_auth_headers(citizen->auth, "POST", citizen->town->url, SPAN_NULL,
                                       &headers, &must_wait),
                     0);
    if (must_wait) {
        citizen->is_told = false;
        citizen->town->n_waiting++;
        peer_auth_wait(citizen->auth, &citizen->wait);
        return NULL;
    }
    (void)snprintf(out, 64, "%.*s", (int)headers.authorization.n,
                   headers.authorization.n > 0 ? headers.authorization.p : "");
    return out;
}

static void expect_shown(Town *town, size_t i, const char *expected)
{
    char out[64];
    const char *text = shown(&town->citizens[i], out);

    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void refuse(Town *town, size_t i, const char *token)
{
    Span fields[] = {SPAN("Bearer error=\"invalid_token\"")};

    town->citizens[i].is_told = false;
    town->n_waiting++;
    peer_auth_challenge(town->citizens[i].auth,
                        &(PeerAuthChallenge){.status = 401,
                                             .www_authenticate = fields,
                                             .n_www_authenticate = 1,
                                             .shown = span_from_str(token)},
                        &town->citizens[i].wait);
}

static void run(Town *town)
{
    assert_int_equal(io_loop_run(town->loop), 0);
    assert_int_equal(town->n_waiting, 0);
}

static void after_ms(Town *town, int64_t ms, void (*later)(Town *town))
{
    town->later = later;
    io_timer_start_at(town->timer, io_loop_now_ms(town->loop) + ms);
}

static void a_token_is_renewed_once_for_all(void **state)
{
    Town *town = *state;
    char out[64];

    town_keep(town, 0, -10);
    for (size_t i = 0; i < N_AUTHS; i++) {
        assert_null(shown(&town->citizens[i], out));
    }
    run(town);
    for (size_t i = 0; i < N_AUTHS; i++) {
        assert_int_equal(town->citizens[i].outcome, PEER_AUTH_RETRY);
        expect_shown(town, i, "Bearer T1");
    }
    assert_int_equal(town->n_refreshes, 1);
}

static void a_refused_token_is_renewed_once_for_all(void **state)
{
    Town *town = *state;

    town_keep(town, 0, 3600);
    for (size_t i = 0; i < N_AUTHS; i++) {
        expect_shown(town, i, "Bearer T0");
    }
    for (size_t i = 0; i < N_AUTHS; i++) {
        refuse(town, i, "Bearer T0");
    }
    run(town);
    for (size_t i = 0; i < N_AUTHS; i++) {
        assert_int_equal(town->citizens[i].outcome, PEER_AUTH_RETRY);
        expect_shown(town, i, "Bearer T1");
    }
    assert_int_equal(town->n_refreshes, 1);
}

/* It has renewed the token, and is done. */
static void let_go(Town *town)
{
    town_keep(town, 7, 3600);
    private_file_remove(&town->lock);
}

static void who_is_renewing_is_waited_for(void **state)
{
    Town *town = *state;
    PrivateFile second;
    char out[64];

    town_keep(town, 0, -10);
    assert_int_equal(peer_auth_store_lock(&town->lock, town->store, span_from_str(town->url), NULL),
                     0);
    assert_int_equal(peer_auth_store_lock(&second, town->store, span_from_str(town->url), NULL),
                     PEER_AUTH_STORE_E_BUSY);
    assert_null(shown(&town->citizens[0], out));
    after_ms(town, 120, let_go);
    run(town);
    expect_shown(town, 0, "Bearer T7");
    assert_int_equal(town->n_refreshes, 0);
}

/* It has renewed the token, which has ended again: the old refresh token must not be used. */
static void let_go_late(Town *town)
{
    town->n_given = 7;
    town_keep(town, 7, -10);
    private_file_remove(&town->lock);
}

static void the_refresh_token_of_the_file_is_used(void **state)
{
    Town *town = *state;
    char out[64];

    town_keep(town, 0, 3600);
    expect_shown(town, 0, "Bearer T0");
    town_keep(town, 0, -10);
    assert_null(shown(&town->citizens[1], out));
    run(town);
    assert_int_equal(town->n_given, 1);
    town_keep(town, 1, -10);
    assert_int_equal(peer_auth_store_lock(&town->lock, town->store, span_from_str(town->url), NULL),
                     0);
    refuse(town, 0, "Bearer T0");
    after_ms(town, 120, let_go_late);
    run(town);
    expect_shown(town, 0, "Bearer T8");
    assert_int_equal(town->n_refreshes, 2);
    assert_false(town->is_revoked);
}

static void what_another_has_renewed_is_shown(void **state)
{
    Town *town = *state;

    town_keep(town, 0, 3600);
    expect_shown(town, 0, "Bearer T0");
    town_keep(town, 5, 3600);
    refuse(town, 0, "Bearer T0");
    run(town);
    assert_int_equal(town->citizens[0].outcome, PEER_AUTH_RETRY);
    expect_shown(town, 0, "Bearer T5");
    assert_int_equal(town->n_refreshes, 0);
}

static void who_dies_leaves_no_lock(void **state)
{
    Town *town = *state;
    char name[128];
    char out[64];
    int status = 0;
    pid_t child;
    FILE *left;

    town_keep(town, 0, -10);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(peer_auth_store_lock(&town->lock, town->store, span_from_str(town->url), NULL));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* So does who dies while writing. */
    (void)snprintf(name, sizeof(name), "%s.lock", town->store);
    left = fopen(name, "w");
    assert_non_null(left);
    assert_int_equal(fputs("toolwire lock\n", left) < 0, 0);
    assert_int_equal(fclose(left), 0);
    assert_null(shown(&town->citizens[0], out));
    run(town);
    expect_shown(town, 0, "Bearer T1");
    expect_shown(town, 1, "Bearer T1"); /* it was written down */
    assert_int_equal(town->n_refreshes, 1);
}

static void log_out(Town *town)
{
    size_t n = 0;

    assert_int_equal(
        peer_auth_store_put(town->store, span_from_str(town->url), SPAN_NULL, NULL, &n, NULL), 0);
    assert_int_equal(n, 1);
}

static void expect_nothing_kept(Town *town)
{
    OauthCredential found = {.server = NULL};

    assert_int_equal(
        peer_auth_store_find(town->store, span_from_str(town->url), SPAN_NULL, &found, NULL),
        OAUTH_STORE_E_NONE);
}

static void stop(Town *town)
{
    io_loop_stop(town->loop);
}

static void who_has_logged_out_shows_nothing(void **state)
{
    Town *town = *state;

    town_keep(town, 0, 3600);
    expect_shown(town, 0, "Bearer T0");
    expect_shown(town, 1, "Bearer T0");
    log_out(town);
    /* Refused: seen at once. */
    refuse(town, 1, "Bearer T0");
    run(town);
    assert_int_equal(town->citizens[1].outcome, PEER_AUTH_REFUSED);
    assert_non_null(strstr(town->citizens[1].why, "auth login"));
    /* Without that: soon; and who logs in again is seen, too. */
    after_ms(town, 1100, stop);
    run(town);
    expect_shown(town, 0, "");
    town_keep(town, 4, 3600);
    after_ms(town, 1100, stop);
    run(town);
    expect_shown(town, 0, "Bearer T4");
    assert_int_equal(town->n_refreshes, 0);
}

static void a_logout_while_a_token_is_renewed_lasts(void **state)
{
    Town *town = *state;
    char out[64];

    town_keep(town, 0, -10);
    town->on_refresh = log_out;
    assert_null(shown(&town->citizens[0], out));
    run(town);
    assert_int_equal(town->n_refreshes, 1);
    assert_int_equal(town->citizens[0].outcome, PEER_AUTH_REFUSED);
    expect_nothing_kept(town);
    expect_shown(town, 0, "");
}

static void who_waits_for_the_lock_can_be_freed(void **state)
{
    Town *town = *state;
    char out[64];

    town_keep(town, 0, -10);
    assert_int_equal(peer_auth_store_lock(&town->lock, town->store, span_from_str(town->url), NULL),
                     0);
    assert_null(shown(&town->citizens[0], out));
    town->citizens[0].auth = peer_auth_free(town->citizens[0].auth);
    assert_false(town->citizens[0].is_told);
}

#define TOWN_TEST(f) cmocka_unit_test_setup_teardown(f, town_open, town_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOWN_TEST(a_token_is_renewed_once_for_all),
        TOWN_TEST(a_refused_token_is_renewed_once_for_all),
        TOWN_TEST(who_is_renewing_is_waited_for),
        TOWN_TEST(the_refresh_token_of_the_file_is_used),
        TOWN_TEST(what_another_has_renewed_is_shown),
        TOWN_TEST(who_dies_leaves_no_lock),
        TOWN_TEST(who_has_logged_out_shows_nothing),
        TOWN_TEST(a_logout_while_a_token_is_renewed_lasts),
        TOWN_TEST(who_waits_for_the_lock_can_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
