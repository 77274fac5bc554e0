/* What is remembered of origins. */
#include "peer/web.h"

#include "support/cmocka.h"

static void an_origin_keeps_its_era_until_it_is_forgotten(void **state)
{
    PeerWeb *web = NULL;
    IoLoop *loop = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_loop_new(&loop), 0);
    assert_int_equal(peer_web_new(&web, loop, &diag), 0);
    assert_non_null(peer_web_fetcher(web));
    assert_int_equal(peer_web_era(web, SPAN("http://a")), PEER_WEB_UNKNOWN);
    peer_web_remember(web, SPAN("http://a"), PEER_WEB_OLD);
    peer_web_remember(web, SPAN("http://b"), PEER_WEB_MODERN);
    assert_int_equal(peer_web_era(web, SPAN("http://a")), PEER_WEB_OLD);
    assert_int_equal(peer_web_era(web, SPAN("http://b")), PEER_WEB_MODERN);
    peer_web_remember(web, SPAN("http://a"), PEER_WEB_LEGACY);
    assert_int_equal(peer_web_era(web, SPAN("http://a")), PEER_WEB_LEGACY);
    peer_web_remember(web, SPAN("http://a"), PEER_WEB_UNKNOWN);
    assert_int_equal(peer_web_era(web, SPAN("http://a")), PEER_WEB_UNKNOWN);
    web = peer_web_free(web);
    assert_null(peer_web_free(NULL));
    (void)io_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_origin_keeps_its_era_until_it_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
