#include "io/knock.h"

#include "http_web.h"
#include "support/oom_sweep.h"

typedef struct Door {
    int n_answers;
    bool is_there;
} Door;

static void door_on_answer(void *context, bool is_there)
{
    Door *door = context;

    door->n_answers++;
    door->is_there = is_there;
}

static void somebody_is_told_from_nobody(void **state)
{
    Web *web = *state;
    Door door = {0};
    IoKnock *knock;
    unsigned port;

    web_listen(web, "127.0.0.1:0");
    port = io_http_server_port(web->server);
    assert_int_equal(
        io_knock_new(&knock, web->loop, "127.0.0.1", port, 5000, door_on_answer, &door), 0);
    assert_int_equal(door.n_answers, 0);
    web_wait_count(web, &door.n_answers, 1);
    assert_true(door.is_there);
    web->server = io_http_server_free(web->server);
    assert_int_equal(
        io_knock_new(&knock, web->loop, "127.0.0.1", port, 5000, door_on_answer, &door), 0);
    web_wait_count(web, &door.n_answers, 2);
    assert_false(door.is_there);
}

static void freed_it_gives_no_answer(void **state)
{
    Web *web = *state;
    Door door = {0};
    IoKnock *knock;

    web_listen(web, "127.0.0.1:0");
    assert_int_equal(io_knock_new(&knock, web->loop, "127.0.0.1", io_http_server_port(web->server),
                                  5000, door_on_answer, &door),
                     0);
    assert_null(io_knock_free(knock));
    assert_null(io_knock_free(NULL));
    web_turn(web);
    assert_int_equal(door.n_answers, 0);
}

static void only_numbers_are_addresses(void **state)
{
    Web *web = *state;
    IoKnock *knock = NULL;

    assert_int_equal(io_knock_new(&knock, web->loop, "localhost", 1, 1, door_on_answer, NULL),
                     -EINVAL);
    assert_int_equal(io_knock_new(&knock, web->loop, "127.0.0.1", 0, 1, door_on_answer, NULL),
                     -EINVAL);
    assert_int_equal(io_knock_new(&knock, web->loop, "127.0.0.1", 65536, 1, door_on_answer, NULL),
                     -EINVAL);
    assert_null(knock);
}

static int knock_scenario(void *context)
{
    Web *web = context;
    IoKnock *knock = NULL;
    int r = io_knock_new(&knock, web->loop, "127.0.0.1", 9, 1000, door_on_answer, NULL);

    knock = io_knock_free(knock);
    web_turn(web);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    test_oom_sweep(knock_scenario, *state);
}

#define WEB_TEST(f) cmocka_unit_test_setup_teardown(f, web_setup, web_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WEB_TEST(somebody_is_told_from_nobody),
        WEB_TEST(freed_it_gives_no_answer),
        WEB_TEST(only_numbers_are_addresses),
        WEB_TEST(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
