/* Reports of progress for a client that does not read: they are left out while much waits for it,
 * its answer is not, and reports go on when it reads again. Over stdio and over HTTP.
 *
 *     test_progress_behind TOOLWIRE
 */
#include "e2e/http_process.h"
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Far more than may wait for a client, and than the system holds for it. */
#define N_REPORTS    32
#define REPORT_BYTES ((size_t)1000 * 1000)
#define MAX_ARRIVING 8

#define OFFER                                                                                      \
    "{\"name\":\"app\",\"understands\":[\"tool_cancel\"],\"tools\":[" PIPE_TOOL("app.long") "]}"
#define CALL_TOLD(id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":"           \
    "\"app.long\",\"arguments\":{},\"_meta\":{\"progressToken\":\"t\"}}}"
#define PROGRESS "\"method\":\"notifications/progress\""

static const char *program;

static void addin_reports(AddinPeer *addin, const char *call_id, int progress, size_t n_message)
{
    char *message = malloc(n_message + 512);
    size_t n;

    assert_non_null(message);
    n = (size_t)snprintf(message, 400,
                         "{\"id\":\"p\",\"type\":\"tool_progress\",\"timestamp\":"
                         "\"2025-01-15T10:30:00.000Z\",\"payload\":{\"call_id\":\"%s\","
                         "\"progress\":%d,\"message\":\"",
                         call_id, progress);
    memset(message + n, 'm', n_message);
    (void)snprintf(message + n + n_message, 8, "\"}}");
    addin_send(addin, message);
    free(message);
}

/* All reports and the answer; returns when the hub has handled them. */
static void addin_floods(AddinPeer *addin, const char *call_id)
{
    AddinMessage message;

    for (int i = 1; i <= N_REPORTS; i++) {
        addin_reports(addin, call_id, i, REPORT_BYTES);
    }
    addin_answer(addin, call_id, "{\"n\":1}");
    addin_send(addin, "{\"id\":\"p\",\"type\":\"ping\",\"timestamp\":\"2025-01-15T10:30:00.000Z\","
                      "\"payload\":{}}");
    addin_next(addin, &message);
    assert_string_equal(message.type, "pong");
    addin_message_deinit(&message);
}

static int count(const char *text, const char *word)
{
    int n = 0;

    while ((text = strstr(text, word)) != NULL) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void over_stdio_reports_are_left_out_while_the_client_does_not_read(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    bool has_answer = false;
    int n_reports = 0;
    char id[40];

    (void)state;
    hub_init(&hub, program);
    hub_serve(&hub, NULL);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    hub_send(&hub, CALL_TOLD("1"));
    addin_expect_call(&addin, "app.long", "{}", id);
    addin_floods(&addin, id);
    while (!has_answer) {
        char *line = hub_answer(&hub);

        has_answer = strstr(line, "\"id\":1,") != NULL;
        n_reports += has_answer ? 0 : count(line, PROGRESS);
        assert_true(has_answer || strstr(line, PROGRESS) != NULL);
        free(line);
    }
    assert_in_range(n_reports, 1, MAX_ARRIVING);
    /* It reads again. */
    hub_send(&hub, CALL_TOLD("2"));
    addin_expect_call(&addin, "app.long", "{}", id);
    addin_reports(&addin, id, 1, 1);
    peer_expect(&hub.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                             "\"params\":{\"progressToken\":\"t\",\"progress\":1,"
                             "\"message\":\"m\"}}");
    addin_answer(&addin, id, "{}");
    hub_expect_result(&hub, 2, "{}", NULL);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    hub_end(&hub);
    hub_deinit(&hub);
}

static char *http_call(const HttpProcess *hub)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                               "{\"name\":\"app.long\",\"arguments\":{}," MODERN_META "}}";
    char *request = NULL;
    char *told = NULL;

    /* With a token in _meta. */
    assert_true(asprintf(&told, "%.*s\"progressToken\":\"t\",%s",
                         (int)(strstr(body, "\"io.model") - body), body,
                         strstr(body, "\"io.model")) > 0);
    assert_true(asprintf(&request,
                         "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n"
                         "Content-Type: application/json\r\n"
                         "Accept: application/json, text/event-stream\r\n"
                         "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                         "Mcp-Name: app.long\r\nContent-Length: %zu\r\n\r\n%s",
                         hub->port, strlen(told), told) > 0);
    free(told);
    return request;
}

static void over_http_reports_are_left_out_while_the_client_does_not_read(void **state)
{
    static const char *const more[] = {"--pipe", PIPE_NAME, NULL};
    HttpProcess hub;
    PipeHubProcess pipe = {.program = program};
    AddinPeer addin;
    char *request;
    char *answer;
    char id[40];
    int fd;

    (void)state;
    http_process_start_with(&hub, program, NULL, more);
    (void)snprintf(pipe.socket, sizeof(pipe.socket), "%s/CoreFxPipe_" PIPE_NAME, hub.folder);
    addin_open(&addin, &pipe, OFFER);
    addin_send(&addin, "{\"id\":\"p\",\"type\":\"ping\",\"timestamp\":"
                       "\"2025-01-15T10:30:00.000Z\",\"payload\":{}}");
    {
        AddinMessage pong; /* its tools are there now */

        addin_next(&addin, &pong);
        assert_string_equal(pong.type, "pong");
        addin_message_deinit(&pong);
    }
    fd = http_connect(&hub, true);
    request = http_call(&hub);
    assert_true(http_send_text(fd, request));
    addin_expect_call(&addin, "app.long", "{}", id);
    addin_floods(&addin, id);
    answer = http_read_end(fd);
    assert_in_range(count(answer, PROGRESS), 1, MAX_ARRIVING);
    assert_int_equal(count(answer, "\"id\":1,"), 1);
    free(answer);
    free(request);
    (void)close(fd);
    addin_close(&addin);
    assert_int_equal(http_process_terminate(&hub), 0);
    http_process_clean(&hub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_stdio_reports_are_left_out_while_the_client_does_not_read),
        cmocka_unit_test(over_http_reports_are_left_out_while_the_client_does_not_read),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_progress_behind TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
