/* `toolwire serve --pipe` and add-ins that do not keep to the protocol: each has its outcome, and
 * another add-in is served all the while.
 *
 *     test_pipe_hub_bad TOOLWIRE
 */
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *program;

#define HANG_MS 60000 /* only ends a test that would hang */

#define GOOD "{\"name\":\"good\",\"tools\":[" PIPE_TOOL("good.tool") "]}"
#define BAD  "{\"name\":\"bad\",\"tools\":[" PIPE_TOOL("bad.tool") "]}"

/* A hub with an add-in that keeps to the protocol. */
typedef struct Fixture {
    PipeHubProcess hub;
    AddinPeer good;
} Fixture;

static void fixture_init(Fixture *f, const char *const *flags)
{
    hub_init(&f->hub, program);
    hub_serve(&f->hub, flags);
    addin_open(&f->good, &f->hub, GOOD);
    hub_await_tools_changed(&f->hub);
}

static void expect_good_is_served(Fixture *f)
{
    char id[40];

    hub_send(&f->hub, CALL("77", "good.tool", "{}"));
    addin_expect_call(&f->good, "good.tool", "{}", id);
    addin_answer(&f->good, id, "{\"good\":true}");
    hub_expect_result(&f->hub, 77, "{\"good\":true}", NULL);
}

static void fixture_deinit(Fixture *f)
{
    expect_good_is_served(f);
    addin_close(&f->good);
    hub_await_tools_changed(&f->hub);
    hub_end(&f->hub);
    hub_deinit(&f->hub);
}

/* One that has said what it offers, and has a call. */
static void open_bad_with_a_call(Fixture *f, AddinPeer *bad, char ret_id[40])
{
    addin_open(bad, &f->hub, BAD);
    hub_await_tools_changed(&f->hub);
    hub_send(&f->hub, CALL("1", "bad.tool", "{}"));
    addin_expect_call(bad, "bad.tool", "{}", ret_id);
}

/* Told why, and it goes on: the call is answered as if nothing had been. */
static void messages_that_are_wrong_are_answered_and_the_add_in_goes_on(void **state)
{
    static const struct {
        const char *message;
        const char *words; /* of the error that answers it; NULL: nothing does */
    } cases[] = {
        {"{\"id\":\"7\",\"type\":\"chat_message\",\"payload\":{}}", "type: unknown 'chat_message'"},
        {"{\"type\":\"status_query\"}", NULL},
        {"{\"id\":\"7\",\"type\":\"tool_result\",\"payload\":{\"success\":true}}",
         "payload.call_id: expected string, got nothing"},
        {"{\"id\":\"7\",\"type\":\"tool_result\"}", "payload: expected object, got nothing"},
        {"{\"id\":\"7\",\"type\":\"tool_result\",\"payload\":{\"call_id\":\"nobody\",\"success\":"
         "true,\"data\":{}}}",
         NULL},
        {"{\"id\":\"7\",\"type\":\"error\",\"payload\":{\"code\":\"C\",\"message\":\"m\","
         "\"call_id\":\"nobody\"}}",
         NULL},
    };
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        AddinPeer bad;
        char id[40];

        open_bad_with_a_call(&f, &bad, id);
        addin_send(&bad, cases[i].message);
        if (cases[i].words != NULL) {
            addin_expect_error(&bad, "PIPE_PROTOCOL_ERROR", cases[i].words);
        }
        expect_good_is_served(&f);
        addin_answer(&bad, id, "{\"n\":1}");
        hub_expect_result(&f.hub, 1, "{\"n\":1}", NULL);
        addin_close(&bad);
        hub_await_tools_changed(&f.hub);
    }
    fixture_deinit(&f);
}

static void a_result_with_a_wrong_member_fails_its_call(void **state)
{
    char message[256];
    AddinPeer bad;
    char id[40];
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    open_bad_with_a_call(&f, &bad, id);
    (void)snprintf(
        message, sizeof(message),
        "{\"id\":\"r\",\"type\":\"tool_result\",\"payload\":{\"call_id\":\"%s\",\"data\":"
        "{}}}",
        id);
    addin_send(&bad, message);
    addin_expect_error(&bad, "PIPE_PROTOCOL_ERROR", "payload.success: expected boolean");
    hub_expect_failure(&f.hub, 1, "PIPE_PROTOCOL_ERROR", "payload.success: expected boolean");
    addin_close(&bad);
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

/* Told why, then closed; the call fails at once. */
static void what_is_no_message_ends_the_connection(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *code;
        const char *words;
        const char *ends; /* what the call is told */
    } cases[] = {
#define ROW(bytes, code, words) {bytes, sizeof(bytes) - 1, code, words, "PIPE_DISCONNECTED"}
#define LARGE(bytes, words)                                                                        \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, "PIPE_MESSAGE_TOO_LARGE", words, "PIPE_MESSAGE_TOO_LARGE"        \
    }
        ROW("\x0f\0\0\0{\"type\":\"p\xffng\"}", "PIPE_PROTOCOL_ERROR", "invalid UTF-8"),
        ROW("\x03\0\0\0{a}", "PIPE_PROTOCOL_ERROR", "Invalid JSON"),
        ROW("\x02\0\0\0[]", "PIPE_PROTOCOL_ERROR", ""),
        ROW("\x0a\0\0\0{\"id\":\"7\"}", "PIPE_PROTOCOL_ERROR", "type: expected string"),
        ROW("\0\0\0\0", "PIPE_PROTOCOL_ERROR", ""),
        LARGE("\xff\xff\xff\xff", "4294967295 bytes declared"),
        LARGE("\0\0\0\x80", "2147483648 bytes declared"),
        LARGE("\x01\0\0\x01", "16777217 bytes declared"),
#undef ROW
#undef LARGE
    };
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        AddinPeer bad;
        char id[40];

        open_bad_with_a_call(&f, &bad, id);
        addin_write(&bad, cases[i].bytes, cases[i].n);
        addin_expect_error(&bad, cases[i].code, cases[i].words);
        addin_expect_end(&bad);
        hub_expect_failure(&f.hub, 1, cases[i].ends, "");
        hub_await_tools_changed(&f.hub);
        expect_good_is_served(&f);
    }
    fixture_deinit(&f);
}

/* Of several calls the one whose result is too long is told so, whenever its id comes. */
static void the_call_of_a_result_over_the_limit_is_told_so(void **state)
{
    char ids[3][40];
    char head[160];
    AddinPeer bad;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    open_bad_with_a_call(&f, &bad, ids[0]);
    hub_send(&f.hub, CALL("2", "bad.tool", "{}"));
    addin_expect_call(&bad, "bad.tool", NULL, ids[1]);
    hub_send(&f.hub, CALL("3", "bad.tool", "{}"));
    addin_expect_call(&bad, "bad.tool", NULL, ids[2]);
    addin_write(&bad, "\x01\0\0\x01", 4); /* alone, as .NET add-ins write it */
    addin_expect_error(&bad, "PIPE_MESSAGE_TOO_LARGE", "16777217 bytes declared");
    (void)snprintf(
        head, sizeof(head),
        "{\"id\":\"r\",\"type\":\"tool_result\",\"payload\":{\"call_id\":\"%s\",\"data\":{",
        ids[1]);
    addin_write(&bad, head, strlen(head));
    hub_expect_failure(&f.hub, 2, "PIPE_MESSAGE_TOO_LARGE", "the call has been done");
    addin_expect_end(&bad);
    hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "");
    hub_expect_failure(&f.hub, 3, "PIPE_DISCONNECTED", "");
    hub_await_tools_changed(&f.hub);
    expect_good_is_served(&f);
    fixture_deinit(&f);
}

/* One that never says whose it is is not waited for. */
static void a_frame_over_the_limit_that_names_no_call_fails_all(void **state)
{
    char id[40];
    AddinPeer bad;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    open_bad_with_a_call(&f, &bad, id);
    hub_send(&f.hub, CALL("2", "bad.tool", "{}"));
    addin_expect_call(&bad, "bad.tool", NULL, id);
    addin_write(&bad, "\x01\0\0\x01", 4);
    addin_expect_error(&bad, "PIPE_MESSAGE_TOO_LARGE", "16777217 bytes declared");
    addin_expect_end(&bad);
    hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "");
    hub_expect_failure(&f.hub, 2, "PIPE_DISCONNECTED", "");
    hub_await_tools_changed(&f.hub);
    expect_good_is_served(&f);
    fixture_deinit(&f);
}

/* Told so while it has said nothing else: it has no calls yet. And so is whoever reads the log. */
static void an_add_in_of_the_other_byte_order_is_told_so(void **state)
{
    FILE *log = tmpfile();
    int err = dup(STDERR_FILENO);
    char text[4096] = "";
    AddinPeer bad;
    char id[40];
    Fixture f;

    (void)state;
    assert_non_null(log);
    assert_int_equal(dup2(fileno(log), STDERR_FILENO), STDERR_FILENO);
    fixture_init(&f, NULL);
    assert_int_equal(dup2(err, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(err), 0);
    addin_connect(&bad, &f.hub);
    addin_expect_call(&bad, "toolwire.list_tools", NULL, id);
    addin_write(&bad, "\0\0\0\x78", 4);
    addin_expect_error(&bad, "PIPE_MESSAGE_TOO_LARGE", "in the other byte order the length is 120");
    addin_expect_end(&bad);
    expect_good_is_served(&f);
    fixture_deinit(&f);
    assert_true(pread(fileno(log), text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "in the other byte order the length is 120"));
    assert_int_equal(fclose(log), 0);
}

static void a_frame_that_is_cut_off_ends_with_its_connection(void **state)
{
    AddinPeer bad;
    char id[40];
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    open_bad_with_a_call(&f, &bad, id);
    addin_write(&bad, "\xff\0\0\0{\"type\":", 12);
    expect_good_is_served(&f);
    addin_close(&bad);
    hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "");
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

/* ---- silence ---- */

/* Short for those who do not answer, long enough for those who do. */
static const char *const silence_flags[] = {"--ping-interval-ms", "100", "--pong-timeout-ms", "1s",
                                            NULL};

static void one_that_says_nothing_is_found_dead(void **state)
{
    AddinPeer silent;
    AddinMessage message;
    Fixture f;

    (void)state;
    fixture_init(&f, silence_flags);
    addin_connect(&silent, &f.hub);
    silent.is_deaf = true;
    addin_next(&silent, &message); /* the question what it offers */
    assert_string_equal(message.type, "tool_call");
    addin_message_deinit(&message);
    while (silent.fd >= 0) {
        expect_good_is_served(&f);
        addin_next_any(&silent, &message);
        if (message.text == NULL) {
            addin_close(&silent);
        } else {
            assert_string_equal(message.type, "ping");
            silent.n_pings++;
        }
        addin_message_deinit(&message);
    }
    assert_true(silent.n_pings > 0);
    fixture_deinit(&f); /* and no list had changed */
}

/* A byte now and then is no sign of life: no message comes of it in time. */
static void one_that_sends_a_byte_at_a_time_is_found_dead(void **state)
{
    static const char slow[] = "\x40\0\0\0{\"type\":\"pong\",\"payload\":{\"and\":\"so on and on\"";
    AddinPeer bad;
    AddinMessage message;
    size_t n = 0;
    Fixture f;

    (void)state;
    fixture_init(&f, silence_flags);
    addin_open(&bad, &f.hub, BAD);
    hub_await_tools_changed(&f.hub);
    while (bad.fd >= 0) {
        expect_good_is_served(&f);
        addin_next_any(&bad, &message); /* a ping is its clock */
        if (message.text == NULL) {
            addin_close(&bad);
        } else if (n < sizeof(slow) - 1) {
            /* The hub may have closed since. */
            (void)send(bad.fd, slow + n++, 1, MSG_NOSIGNAL);
        }
        addin_message_deinit(&message);
    }
    assert_true(n > 4);
    assert_true(n < sizeof(slow) - 1);
    hub_await_tools_changed(&f.hub);
    hub_expect_tools(&f.hub, "good.tool ");
    fixture_deinit(&f);
}

/* A message in single bytes is a message. */
static void a_message_in_single_bytes_is_read(void **state)
{
    char message[512];
    unsigned char header[4] = {0};
    AddinPeer addin;
    char id[40];
    size_t n;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    open_bad_with_a_call(&f, &addin, id);
    n = (size_t)snprintf(message, sizeof(message),
                         "{\"id\":\"r\",\"type\":\"tool_result\",\"payload\":{\"call_id\":\"%s\","
                         "\"success\":true,\"data\":{\"n\":1}}}",
                         id);
    header[0] = (unsigned char)n;
    for (size_t i = 0; i < sizeof(header); i++) {
        addin_write(&addin, header + i, 1);
    }
    for (size_t i = 0; i < n; i++) {
        addin_write(&addin, message + i, 1);
    }
    hub_expect_result(&f.hub, 1, "{\"n\":1}", NULL);
    addin_close(&addin);
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

/* ---- one that never reads ---- */

/* The good one answers a ping, which is there. */
static void good_answers(Fixture *f)
{
    AddinMessage message;

    addin_next_any(&f->good, &message);
    assert_non_null(message.text);
    assert_string_equal(message.type, "ping");
    addin_message_deinit(&message);
    addin_pong(&f->good);
}

/* All that are there. */
static void good_catches_up(Fixture *f)
{
    struct pollfd ready = {.fd = f->good.fd, .events = POLLIN};

    while (poll(&ready, 1, 0) > 0) {
        good_answers(f);
    }
}

/* Waits for output of the hub; the good one answers its pings meanwhile. */
static void wait_for_output(Fixture *f)
{
    struct pollfd ready[] = {{.fd = f->hub.client.from, .events = POLLIN},
                             {.fd = f->good.fd, .events = POLLIN}};

    while (f->hub.client.n == 0) { /* nothing has been read already */
        assert_true(poll(ready, 2, HANG_MS) > 0);
        if (ready[0].revents != 0) {
            return;
        }
        if (ready[1].revents != 0) {
            good_answers(f);
        }
    }
}

/* Calls pile up in it until there is no room; those say so at once. The rest end with their
 * deadline, and then it is found dead. */
static void one_that_never_reads_is_refused_and_found_dead(void **state)
{
    enum {
        N = 40
    };
    static const char *const flags[] = {
        "--ping-interval-ms", "100", "--pong-timeout-ms", "4s", "--call-timeout-ms", "3s", NULL};
    size_t n_large = (size_t)1000 * 1000;
    int n_refused = 0;
    int n_late = 0;
    AddinPeer bad;
    char *call;
    Fixture f;

    (void)state;
    fixture_init(&f, flags);
    addin_open(&bad, &f.hub, BAD);
    hub_await_tools_changed(&f.hub);
    call = malloc(n_large + 256);
    assert_non_null(call);
    for (int i = 0; i < N; i++) {
        size_t at = (size_t)snprintf(call, 256,
                                     "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
                                     "\"params\":{\"name\":\"bad.tool\",\"arguments\":{\"s\":\"",
                                     100 + i);

        memset(call + at, 'x', n_large - at);
        memcpy(call + n_large, "\"}}}", sizeof("\"}}}"));
        hub_send(&f.hub, call);
        good_catches_up(&f);
    }
    free(call);
    for (int i = 0; i < N; i++) {
        char *line;

        wait_for_output(&f);
        good_catches_up(&f);
        line = hub_answer(&f.hub);
        n_refused += strstr(line, "\"code\":\"ADAPTER_NOT_AVAILABLE\"") != NULL;
        n_late += strstr(line, "\"code\":\"PIPE_TIMEOUT\"") != NULL;
        free(line);
    }
    if (n_refused == 0 || n_late == 0 || n_refused + n_late != N) {
        fail_msg("%d refused, %d late", n_refused, n_late);
    }
    wait_for_output(&f);
    hub_await_tools_changed(&f.hub); /* it is gone */
    hub_expect_tools(&f.hub, "good.tool ");
    addin_close(&bad);
    fixture_deinit(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_are_wrong_are_answered_and_the_add_in_goes_on),
        cmocka_unit_test(a_result_with_a_wrong_member_fails_its_call),
        cmocka_unit_test(what_is_no_message_ends_the_connection),
        cmocka_unit_test(the_call_of_a_result_over_the_limit_is_told_so),
        cmocka_unit_test(a_frame_over_the_limit_that_names_no_call_fails_all),
        cmocka_unit_test(an_add_in_of_the_other_byte_order_is_told_so),
        cmocka_unit_test(a_frame_that_is_cut_off_ends_with_its_connection),
        cmocka_unit_test(one_that_says_nothing_is_found_dead),
        cmocka_unit_test(one_that_sends_a_byte_at_a_time_is_found_dead),
        cmocka_unit_test(a_message_in_single_bytes_is_read),
        cmocka_unit_test(one_that_never_reads_is_refused_and_found_dead),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pipe_hub_bad TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
