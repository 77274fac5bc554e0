#include "dialect/mcp/request.h"

#include "support/cmocka.h"

#include <stdio.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define SEED ((HashSeed){3, 4})

static McpRequest *open_one(McpRequests *requests, const char *key, bool is_call)
{
    McpRequest *request = NULL;

    assert_int_equal(mcp_requests_open(requests, span_from_str(key), span_from_str(key),
                                       SPAN("token"), is_call, &request),
                     0);
    return request;
}

static void open_requests_are_found_by_key_until_closed(void **state)
{
    McpRequests requests;
    McpRequest *all[200];
    char key[16];

    (void)state;
    assert_int_equal(mcp_requests_init(&requests, SEED, 8), 0);
    assert_null(mcp_requests_find(&requests, SPAN("0")));
    for (size_t i = 0; i < TW_ARRAY_SIZE(all); i++) {
        (void)snprintf(key, sizeof(key), "%zu", i);
        all[i] = open_one(&requests, key, i % 2 == 0);
    }
    assert_int_equal(requests.n_open, 100);
    assert_int_equal(requests.n_used, 200);
    for (size_t i = 0; i < TW_ARRAY_SIZE(all); i += 3) {
        mcp_requests_close(&requests, all[i]);
        all[i] = NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(all); i++) {
        (void)snprintf(key, sizeof(key), "%zu", i);
        assert_ptr_equal(mcp_requests_find(&requests, span_from_str(key)), all[i]);
    }
    assert_int_equal(requests.n_used, 133);
    mcp_requests_deinit(&requests);
}

static void words_are_copied(void **state)
{
    char id[] = "\"i\"";
    char token[] = "17";
    McpRequests requests;
    McpRequest *request = NULL;

    (void)state;
    assert_int_equal(mcp_requests_init(&requests, SEED, 1), 0);
    assert_int_equal(mcp_requests_open(&requests, span_from_str(id), SPAN("key"),
                                       span_from_str(token), true, &request),
                     0);
    id[1] = 'x';
    token[0] = 'x';
    assert_true(span_equals(request->id, SPAN("\"i\"")));
    assert_true(span_equals(request->key, SPAN("key")));
    assert_true(span_equals(request->token, SPAN("17")));
    mcp_requests_deinit(&requests);
}

static void a_closed_request_is_used_again_without_allocating(void **state)
{
    McpRequests requests;
    McpRequest *first;

    (void)state;
    assert_int_equal(mcp_requests_init(&requests, SEED, 1), 0);
    first = open_one(&requests, "a", true);
    first->is_bare = true;
    first->n_rounds = 3;
    first->n_questions = 1;
    mcp_requests_close(&requests, first);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < 100; i++) {
        McpRequest *again = open_one(&requests, "a longer key than before", true);

        assert_ptr_equal(again, first);
        assert_false(again->is_bare);
        assert_int_equal(again->n_rounds, 0);
        assert_int_equal(again->n_questions, 0);
        mcp_requests_close(&requests, again);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    mcp_requests_deinit(&requests);
}

static void a_huge_id_does_not_stay_in_the_pool(void **state)
{
    static char huge[100000];
    McpRequests requests;
    McpRequest *request = NULL;

    (void)state;
    assert_int_equal(mcp_requests_init(&requests, SEED, 1), 0);
    assert_int_equal(mcp_requests_open(&requests, span_make(huge, sizeof(huge)), SPAN("k"),
                                       SPAN_NULL, true, &request),
                     0);
    mcp_requests_close(&requests, request);
    assert_true(request->words.cap < 4096);
    mcp_requests_deinit(&requests);
}

static void links_form_rings(void **state)
{
    McpLink head;
    McpLink a;
    McpLink b;

    (void)state;
    mcp_link_init(&head);
    mcp_link_init(&a);
    mcp_link_init(&b);
    assert_true(mcp_link_is_alone(&head));
    mcp_link_append(&head, &a);
    mcp_link_append(&head, &b);
    assert_ptr_equal(head.next, &a);
    assert_ptr_equal(head.prev, &b);
    mcp_link_remove(&a);
    assert_true(mcp_link_is_alone(&a));
    assert_ptr_equal(head.next, &b);
    mcp_link_remove(&a);
    mcp_link_remove(&b);
    assert_true(mcp_link_is_alone(&head));
}

static int scenario(void *context)
{
    McpRequests requests;
    McpRequest *request = NULL;
    int r = mcp_requests_init(&requests, SEED, 4);

    (void)context;
    for (int i = 0; i < 3 && r == 0; i++) {
        char key[2] = {(char)('a' + i), '\0'};

        r = mcp_requests_open(&requests, span_from_str(key), span_from_str(key), SPAN("t"), true,
                              &request);
    }
    mcp_requests_deinit(&requests);
    return r;
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_requests_are_found_by_key_until_closed),
        cmocka_unit_test(words_are_copied),
        cmocka_unit_test(a_closed_request_is_used_again_without_allocating),
        cmocka_unit_test(a_huge_id_does_not_stay_in_the_pool),
        cmocka_unit_test(links_form_rings),
        cmocka_unit_test(want_of_memory_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
