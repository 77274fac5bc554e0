/* HTTP headers against the message that they come with. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/mcp_schema.h"
#include "support/oom_sweep.h"

static Span describe(void *context, Span name)
{
    (void)context;
    if (span_equals(name, SPAN("whole"))) {
        return SPAN("{\"name\":\"whole\",\"title\":\"x-ray "
                    "xx\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
                    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
                    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"
                    "\"flag\":{\"type\":\"boolean\",\"x-mcp-header\":\"Flag\"},"
                    "\"amount\":{\"type\":\"number\",\"x-mcp-header\":\"Amount\"},"
                    "\"free\":{\"type\":\"string\"},"
                    "\"place\":{\"type\":\"object\",\"properties\":{"
                    "\"city\":{\"type\":\"string\",\"x-mcp-header\":\"City\"}}}}}}");
    }
    if (span_equals(name, SPAN("hold"))) {
        return SPAN("{\"x-mcp-header\"");
    }
    /* Says the word, and means nothing by it. */
    if (span_equals(name, SPAN("steps"))) {
        return SPAN("{\"name\":\"steps\",\"description\":\"no xx-mcp-header\",\"inputSchema\":"
                    "{\"type\":\"object\"}}");
    }
    return span_equals(name, SPAN("echo")) ? SPAN("{\"name\":\"echo\"}") : SPAN_NULL;
}

/* One message with those lines in the head of its request. What receiving returned. */
static int receive(Rig *rig, const char *lines, const char *body, bool has_tools)
{
    Http1Reader reader;
    Http1Event event;
    McpFrom from = {.stream = rig, .tool = has_tools ? describe : NULL};
    char text[2048];
    int n = snprintf(text, sizeof(text), "POST /mcp HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
    int r;

    assert_true(n > 0 && (size_t)n < sizeof(text));
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(1024));
    r = http1_reader_feed(&reader, text, (size_t)n);
    if (r == 0) {
        r = http1_reader_next(&reader, &event);
    }
    if (r == 0) {
        from.head = event.head;
        r = mcp_server_receive_from(rig->server, span_from_str(body), &from, rig->now_ms);
    } else if (r > 0) {
        fail_msg("not HTTP: %s", lines);
    }
    http1_reader_deinit(&reader);
    if (r == 0) {
        rig_serve(rig);
    }
    return r;
}

#define V      "io.modelcontextprotocol/protocolVersion"
#define CAN    "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META   "\"_meta\":{\"" V "\":\"2026-07-28\"," CAN "}"
#define ASK(m) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" m "\",\"params\":{"
#define LIST   ASK("tools/list") META "}}"
#define ECHO   WITH("echo", "{\"message\":\"x\"}")

#define CALL(n)                 ASK("tools/call") "\"name\":\"" n "\","
#define WITH(n, args)           CALL(n) "\"arguments\":" args "," META "}}"
#define WHOLE(args)             WITH("whole", args)
#define NAMED(m, member, value) ASK(m) "\"" member "\":\"" value "\"," META "}}"
#define OTHER_VERSION(v)        ASK("tools/list") "\"_meta\":{\"" V "\":" v "," CAN "}}}"

#define VERSION     "MCP-Protocol-Version: 2026-07-28\r\n"
#define METHOD(m)   "Mcp-Method: " m "\r\n"
#define LISTS       VERSION METHOD("tools/list")
#define CALLS(n)    VERSION METHOD("tools/call") "Mcp-Name: " n "\r\n"
#define CALLS_WHOLE CALLS("whole")

typedef struct Case {
    const char *name;
    const char *lines;
    const char *body;
    int code;           /* 0: it was served */
    const char *part_1; /* of the answer; NULL: anything */
    const char *part_2;
} Case;

static const Case cases[] = {
    /* The version. */
    {"all is there", LISTS, LIST, 0, NULL, NULL},
    {"no version", METHOD("tools/list"), LIST, -32020, "MCP-Protocol-Version header is missing",
     "'2026-07-28'"},
    {"another version", "MCP-Protocol-Version: 2025-11-25\r\n" METHOD("tools/list"), LIST, -32020,
     "MCP-Protocol-Version header value '2025-11-25'", "body value '2026-07-28'"},
    {"a version in another case", "MCP-Protocol-Version: 2026-07-28X\r\n" METHOD("tools/list"),
     LIST, -32020, "'2026-07-28X'", NULL},
    {"an empty version", "MCP-Protocol-Version:\r\n" METHOD("tools/list"), LIST, -32020,
     "header value ''", NULL},
    {"the version twice", VERSION LISTS, LIST, -32020,
     "MCP-Protocol-Version header is there more than once", NULL},
    {"a version is never encoded",
     "MCP-Protocol-Version: =?base64?MjAyNi0wNy0yOA==?=\r\n" METHOD("tools/list"), LIST, -32020,
     NULL, NULL},
    {"both name an unknown version", "MCP-Protocol-Version: 2099-01-01\r\n" METHOD("tools/list"),
     OTHER_VERSION("\"2099-01-01\""), -32022, "2099-01-01", NULL},
    {"an unknown version may want other headers", "MCP-Protocol-Version: 2099-01-01\r\n",
     OTHER_VERSION("\"2099-01-01\""), -32022, NULL, NULL},
    {"only the body names an unknown version", VERSION METHOD("tools/list"),
     OTHER_VERSION("\"2099-01-01\""), -32020, "'2099-01-01'", NULL},
    {"an unknown version and no header", METHOD("tools/list"), OTHER_VERSION("\"2099-01-01\""),
     -32020, "missing", NULL},
    {"a legacy version in _meta", "MCP-Protocol-Version: 2025-11-25\r\n",
     OTHER_VERSION("\"2025-11-25\""), -32022, NULL, NULL},
    {"a version that is no string", VERSION, OTHER_VERSION("7"), -32602, "must be a string", NULL},
    {"an escaped version is the version", LISTS, OTHER_VERSION("\"2026-07-2\\u0038\""), 0, NULL,
     NULL},
    /* The method. */
    {"names have no case", "mcp-protocol-VERSION: 2026-07-28\r\nMCP-METHOD: tools/list\r\n", LIST,
     0, NULL, NULL},
    {"blanks around a value", "MCP-Protocol-Version: \t2026-07-28  \r\nMcp-Method:tools/list \r\n",
     LIST, 0, NULL, NULL},
    {"no method", VERSION, LIST, -32020, "Mcp-Method header is missing", "'tools/list'"},
    {"another method", VERSION METHOD("prompts/list"), LIST, -32020,
     "Mcp-Method header value 'prompts/list' does not match body value 'tools/list'", NULL},
    {"values have case", VERSION METHOD("TOOLS/LIST"), LIST, -32020, "'TOOLS/LIST'", NULL},
    {"the method twice", LISTS METHOD("tools/list"), LIST, -32020, "more than once", NULL},
    {"a method is never encoded", VERSION METHOD("=?base64?dG9vbHMvbGlzdA==?="), LIST, -32020, NULL,
     NULL},
    {"a method that does not exist", VERSION METHOD("no/such"), ASK("no/such") META "}}", -32601,
     NULL, NULL},
    {"a method that does not exist, and another", VERSION METHOD("no/such"),
     ASK("not/such") META "}}", -32020, NULL, NULL},
    {"headers before the rest of _meta", VERSION METHOD("tools/call"),
     ASK("tools/list") "\"_meta\":{\"" V "\":\"2026-07-28\"}}}", -32020, NULL, NULL},
    {"then the rest of _meta", LISTS, ASK("tools/list") "\"_meta\":{\"" V "\":\"2026-07-28\"}}}",
     -32602, "clientCapabilities", NULL},
    /* The name. */
    {"a tool", CALLS("echo"), ECHO, 0, "\"x\"", NULL},
    {"a tool with blanks", CALLS("  echo  "), ECHO, 0, NULL, NULL},
    {"another tool", CALLS("wrong"), ECHO, -32020,
     "Mcp-Name header value 'wrong' does not match body value 'echo'", NULL},
    {"no name", VERSION METHOD("tools/call"), ECHO, -32020, "Mcp-Name header is missing", "'echo'"},
    {"the name twice", CALLS("echo") "mcp-name: echo\r\n", ECHO, -32020, "more than once", NULL},
    {"a name in another case", CALLS("Echo"), ECHO, -32020, NULL, NULL},
    {"an encoded name", CALLS("=?base64?ZWNobw==?="), ECHO, 0, NULL, NULL},
    {"an encoded name that is another", CALLS("=?base64?ZWNobg==?="), ECHO, -32020,
     "'=?base64?ZWNobg==?='", NULL},
    {"bits left over", CALLS("=?base64?ZWNobx==?="), ECHO, -32020, "is not base64", "'echo'"},
    {"padding is missing", CALLS("=?base64?ZWNobw?="), ECHO, -32020, "is not base64", NULL},
    {"the other alphabet", CALLS("=?base64?_-__?="), ECHO, -32020, "is not base64", NULL},
    {"blanks inside", CALLS("=?base64?ZWNo bw==?="), ECHO, -32020, "is not base64", NULL},
    {"markers in another case", CALLS("=?BASE64?ZWNobw==?="), ECHO, -32020, "does not match", NULL},
    {"a prompt", VERSION METHOD("prompts/get") "Mcp-Name: greet\r\n",
     NAMED("prompts/get", "name", "greet"), 0, "hello", NULL},
    {"a prompt without its name", VERSION METHOD("prompts/get"),
     NAMED("prompts/get", "name", "greet"), -32020, NULL, NULL},
    {"a resource", VERSION METHOD("resources/read") "Mcp-Name: test://a\r\n",
     NAMED("resources/read", "uri", "test://a"), 0, "content", NULL},
    {"another resource", VERSION METHOD("resources/read") "Mcp-Name: test://b\r\n",
     NAMED("resources/read", "uri", "test://a"), -32020, "'test://b'", "'test://a'"},
    {"a resource beyond ASCII",
     VERSION METHOD("resources/read") "Mcp-Name: =?base64?dGVzdDovL8Ok?=\r\n",
     NAMED("resources/read", "uri", "test://\u00e4"), 0, NULL, NULL},
    {"the same, escaped in the body",
     VERSION METHOD("resources/read") "Mcp-Name: =?base64?dGVzdDovL8Ok?=\r\n",
     NAMED("resources/read", "uri", "test://\\u00e4"), 0, NULL, NULL},
    {"the same, not encoded", VERSION METHOD("resources/read") "Mcp-Name: test://\u00e4\r\n",
     NAMED("resources/read", "uri", "test://\u00e4"), -32020, "invalid characters", NULL},
    {"bytes that are no text", VERSION METHOD("resources/read") "Mcp-Name: \xff\r\n",
     NAMED("resources/read", "uri", "test://a"), -32020, "invalid characters", NULL},
    {"a task", VERSION METHOD("tasks/get") "Mcp-Name: t1\r\n", NAMED("tasks/get", "taskId", "t1"),
     -32601, NULL, NULL},
    {"another task", VERSION METHOD("tasks/cancel") "Mcp-Name: t2\r\n",
     NAMED("tasks/cancel", "taskId", "t1"), -32020, "'t2'", "'t1'"},
    {"a task without its name", VERSION METHOD("tasks/update"),
     NAMED("tasks/update", "taskId", "t1"), -32020, NULL, NULL},
    {"a name where none is wanted", LISTS "Mcp-Name: x\r\n", LIST, 0, NULL, NULL},
    {"no name in the body", CALLS("echo"), ASK("tools/call") META "}}", -32602,
     "params.name is missing", NULL},
    {"a name that is no string", CALLS("7"), ASK("tools/call") "\"name\":7," META "}}", -32602,
     "params.name must be a string", NULL},
    {"no string, and another", CALLS("8"), ASK("tools/call") "\"name\":7," META "}}", -32602,
     "params.name must be a string", NULL},
    {"of two names the last counts", CALLS("echo"),
     ASK("tools/call") "\"name\":\"whole\",\"name\":\"echo\",\"arguments\":{\"message\":\"x\"}"
                       "," META "}}",
     0, "\"x\"", NULL},
    {"the first of two names", CALLS("whole"),
     ASK("tools/call") "\"name\":\"whole\",\"name\":\"echo\"," META "}}", -32020, NULL, NULL},
    /* Arguments. */
    {"an argument", CALLS_WHOLE "Mcp-Param-Region: us-west1\r\n",
     WHOLE("{\"region\":\"us-west1\"}"), 0, NULL, NULL},
    {"an argument without its header", CALLS_WHOLE, WHOLE("{\"region\":\"us-west1\"}"), -32020,
     "Mcp-Param-Region header is missing", "'us-west1'"},
    {"another argument", CALLS_WHOLE "mcp-param-REGION: eu\r\n", WHOLE("{\"region\":\"us\"}"),
     -32020, "Mcp-Param-Region header value 'eu' does not match body value 'us'", NULL},
    {"an argument twice", CALLS_WHOLE "Mcp-Param-Region: us\r\nMcp-Param-Region: us\r\n",
     WHOLE("{\"region\":\"us\"}"), -32020, "more than once", NULL},
    {"an empty argument", CALLS_WHOLE "Mcp-Param-Region:\r\n", WHOLE("{\"region\":\"\"}"), 0, NULL,
     NULL},
    {"a header without its argument", CALLS_WHOLE "Mcp-Param-Region: us\r\n", WHOLE("{}"), -32020,
     "Mcp-Param-Region header value 'us'", "'(none)'"},
    {"a header and null", CALLS_WHOLE "Mcp-Param-Region: null\r\n", WHOLE("{\"region\":null}"),
     -32020, "'null'", NULL},
    {"null and no header", CALLS_WHOLE, WHOLE("{\"region\":null,\"free\":\"x\"}"), 0, NULL, NULL},
    {"a header and no arguments", CALLS_WHOLE "Mcp-Param-Region: us\r\n",
     ASK("tools/call") "\"name\":\"whole\"," META "}}", -32020, NULL, NULL},
    {"unknown headers", CALLS_WHOLE "Mcp-Param-Other: 1\r\nMcp-Param-Amount: 1\r\nMcp-Param: x\r\n",
     WHOLE("{\"amount\":2,\"free\":\"y\"}"), 0, NULL, NULL},
    {"an encoded argument", CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVsbG8=?=\r\n",
     WHOLE("{\"region\":\"Hello\"}"), 0, NULL, NULL},
    {"edges and lines", CALLS_WHOLE "Mcp-Param-Region: =?base64?IGEKYiA=?=\r\n",
     WHOLE("{\"region\":\" a\\nb \"}"), 0, NULL, NULL},
    {"encoded without padding", CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVsbG8?=\r\n",
     WHOLE("{\"region\":\"Hello\"}"), -32020, "is not base64", NULL},
    {"letters of no alphabet", CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVs!!!bG8=?=\r\n",
     WHOLE("{\"region\":\"Hello\"}"), -32020, "is not base64", NULL},
    {"no markers: literal", CALLS_WHOLE "Mcp-Param-Region: SGVsbG8=\r\n",
     WHOLE("{\"region\":\"SGVsbG8=\"}"), 0, NULL, NULL},
    {"the first marker only", CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVsbG8=\r\n",
     WHOLE("{\"region\":\"=?base64?SGVsbG8=\"}"), 0, NULL, NULL},
    {"the last marker only", CALLS_WHOLE "Mcp-Param-Region: SGVsbG8=?=\r\n",
     WHOLE("{\"region\":\"SGVsbG8=?=\"}"), 0, NULL, NULL},
    {"one marker that looks like two", CALLS_WHOLE "Mcp-Param-Region: =?base64?=\r\n",
     WHOLE("{\"region\":\"=?base64?=\"}"), 0, NULL, NULL},
    {"nothing between the markers", CALLS_WHOLE "Mcp-Param-Region: =?base64?\?=\r\n",
     WHOLE("{\"region\":\"\"}"), 0, NULL, NULL},
    {"what looks encoded must be encoded", CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVsbG8=?=\r\n",
     WHOLE("{\"region\":\"=?base64?SGVsbG8=?=\"}"), -32020, NULL, NULL},
    {"encoded, and not UTF-8", CALLS_WHOLE "Mcp-Param-Region: =?base64?/w==?=\r\n",
     WHOLE("{\"region\":\"x\"}"), -32020, NULL, NULL},
    {"an integer", CALLS_WHOLE "Mcp-Param-Count: 42\r\n", WHOLE("{\"count\":42}"), 0, NULL, NULL},
    {"a negative integer", CALLS_WHOLE "Mcp-Param-Count: -7\r\n", WHOLE("{\"count\":-7}"), 0, NULL,
     NULL},
    {"another spelling in the body", CALLS_WHOLE "Mcp-Param-Count: 42\r\n",
     WHOLE("{\"count\":42.0}"), 0, NULL, NULL},
    {"another spelling in the header", CALLS_WHOLE "Mcp-Param-Count: 42.0\r\n",
     WHOLE("{\"count\":4.2e1}"), 0, NULL, NULL},
    {"an encoded integer", CALLS_WHOLE "Mcp-Param-Count: =?base64?NDI=?=\r\n",
     WHOLE("{\"count\":42}"), 0, NULL, NULL},
    {"an encoded integer with a blank", CALLS_WHOLE "Mcp-Param-Count: =?base64?NDIg?=\r\n",
     WHOLE("{\"count\":42}"), -32020, NULL, NULL},
    {"another integer", CALLS_WHOLE "Mcp-Param-Count: 43\r\n", WHOLE("{\"count\":42}"), -32020,
     "'43'", "'42'"},
    {"a smaller integer", CALLS_WHOLE "Mcp-Param-Count: 41\r\n", WHOLE("{\"count\":42}"), -32020,
     NULL, NULL},
    {"octal to some", CALLS_WHOLE "Mcp-Param-Count: 042\r\n", WHOLE("{\"count\":42}"), -32020, NULL,
     NULL},
    {"a sign", CALLS_WHOLE "Mcp-Param-Count: +42\r\n", WHOLE("{\"count\":42}"), -32020, NULL, NULL},
    {"hexadecimal", CALLS_WHOLE "Mcp-Param-Count: 0x2a\r\n", WHOLE("{\"count\":42}"), -32020, NULL,
     NULL},
    {"no number", CALLS_WHOLE "Mcp-Param-Count:\r\n", WHOLE("{\"count\":42}"), -32020, NULL, NULL},
    {"a string in the header", CALLS_WHOLE "Mcp-Param-Count: \"42\"\r\n", WHOLE("{\"count\":42}"),
     -32020, NULL, NULL},
    {"a number that is a string", CALLS_WHOLE "Mcp-Param-Count: 42\r\n",
     WHOLE("{\"count\":\"42\"}"), 0, NULL, NULL},
    {"no integer", CALLS_WHOLE "Mcp-Param-Count: 4.5\r\n", WHOLE("{\"count\":4.5}"), -32020,
     "cannot stand for", NULL},
    {"the largest integer", CALLS_WHOLE "Mcp-Param-Count: 9007199254740991\r\n",
     WHOLE("{\"count\":9007199254740991}"), 0, NULL, NULL},
    {"one more", CALLS_WHOLE "Mcp-Param-Count: 9007199254740992\r\n",
     WHOLE("{\"count\":9007199254740992}"), -32020, "cannot stand for", NULL},
    {"the smallest integer", CALLS_WHOLE "Mcp-Param-Count: -9007199254740991\r\n",
     WHOLE("{\"count\":-9007199254740991}"), 0, NULL, NULL},
    {"one less", CALLS_WHOLE "Mcp-Param-Count: -9007199254740992\r\n",
     WHOLE("{\"count\":-9007199254740992}"), -32020, NULL, NULL},
    {"larger than any", CALLS_WHOLE "Mcp-Param-Count: 99999999999999999999\r\n",
     WHOLE("{\"count\":99999999999999999999}"), -32020, NULL, NULL},
    {"true", CALLS_WHOLE "Mcp-Param-Flag: true\r\n", WHOLE("{\"flag\":true}"), 0, NULL, NULL},
    {"false", CALLS_WHOLE "Mcp-Param-Flag: false\r\n", WHOLE("{\"flag\":false}"), 0, NULL, NULL},
    {"true and false", CALLS_WHOLE "Mcp-Param-Flag: true\r\n", WHOLE("{\"flag\":false}"), -32020,
     "'true'", "'false'"},
    {"True", CALLS_WHOLE "Mcp-Param-Flag: True\r\n", WHOLE("{\"flag\":true}"), -32020, NULL, NULL},
    {"1 is not true", CALLS_WHOLE "Mcp-Param-Flag: 1\r\n", WHOLE("{\"flag\":true}"), -32020, NULL,
     NULL},
    {"a member of a member", CALLS_WHOLE "Mcp-Param-City: Ulm\r\n",
     WHOLE("{\"place\":{\"city\":\"Ulm\"}}"), 0, NULL, NULL},
    {"a member of a member, elsewhere", CALLS_WHOLE "Mcp-Param-City: Ulm\r\n",
     WHOLE("{\"city\":\"Ulm\"}"), -32020, NULL, NULL},
    {"an object", CALLS_WHOLE "Mcp-Param-Region: {}\r\n", WHOLE("{\"region\":{}}"), -32020, NULL,
     NULL},
    {"an object without a header", CALLS_WHOLE, WHOLE("{\"region\":[1]}"), -32020, "missing", NULL},
    {"all of them",
     CALLS_WHOLE "Mcp-Param-Flag: true\r\nMcp-Param-City: A\r\nMcp-Param-Count: 0\r\n"
                 "Mcp-Param-Region: B\r\n",
     WHOLE("{\"region\":\"B\",\"count\":-0,\"flag\":true,\"place\":{\"city\":\"A\"}}"), 0, NULL,
     NULL},
    {"a tool that wants none", CALLS("steps") "Mcp-Param-Region: x\r\n",
     NAMED("tools/call", "name", "steps"), 0, "done", NULL},
    {"a tool that does not exist", CALLS("none") "Mcp-Param-Region: x\r\n",
     NAMED("tools/call", "name", "none"), -32602, NULL, NULL},
    {"a description that cannot be read", CALLS("hold"), NAMED("tools/call", "name", "hold"),
     -32603, NULL, NULL},
    /* Legacy, and in between. */
    {"modern by its header only", LISTS, ASK("tools/list") "}}", -32602,
     "params._meta[\\\"" V "\\\"] is missing", NULL},
    {"modern by its header, without params", LISTS,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", -32602, V, NULL},
    {"modern by its header, _meta without a version", LISTS,
     ASK("tools/list") "\"_meta\":{\"progressToken\":1}}}", -32602, V, NULL},
    {"legacy without a header", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 0, NULL,
     NULL},
    {"legacy with its version", "MCP-Protocol-Version: 2025-06-18\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 0, NULL, NULL},
    {"legacy with headers of today", "MCP-Protocol-Version: 2025-06-18\r\nMcp-Method: x\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 0, NULL, NULL},
    {"legacy with no version that we know", "MCP-Protocol-Version: 2000-01-01\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32600, "'2000-01-01'",
     "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"},
    {"legacy with nonsense", "MCP-Protocol-Version: \xff\xfe\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32600, "2025-11-25", NULL},
    {"legacy with an empty version", "MCP-Protocol-Version:\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32600, "''", NULL},
    {"legacy with two versions",
     "MCP-Protocol-Version: 2025-06-18\r\nMCP-Protocol-Version: 2025-06-18\r\n",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32600, "more than once", NULL},
    {"initialize offers a version that we do not know", "MCP-Protocol-Version: 2030-01-01\r\n",
     ASK("initialize") "\"protocolVersion\":\"2030-01-01\",\"capabilities\":{}}}", 0, "2025-11-25",
     NULL},
    {"initialize of today", VERSION,
     ASK("initialize") "\"protocolVersion\":\"2026-07-28\",\"capabilities\":{}}}", -32602, V, NULL},
    {"an invalid message", "", "{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, NULL, NULL},
};

static void check_case(const Case *c)
{
    Rig *rig = malloc(sizeof(*rig));
    char code[32];
    const char *answer;

    rig_init(rig);
    assert_int_equal(rig_open(rig), 0);
    assert_int_equal(receive(rig, c->lines, c->body, true), 0);
    /* All but the last are notifications of the call. */
    answer = NULL;
    for (const char *next; (next = rig_take(rig)) != NULL;) {
        answer = next;
    }
    assert_non_null(answer);
    (void)snprintf(code, sizeof(code), "\"code\":%d,", c->code);
    if ((c->code == 0) != (strstr(answer, "\"result\"") != NULL) ||
        (c->code != 0 && strstr(answer, code) == NULL) ||
        (c->part_1 != NULL && strstr(answer, c->part_1) == NULL) ||
        (c->part_2 != NULL && strstr(answer, c->part_2) == NULL)) {
        fail_msg("%s: %s", c->name, answer);
    }
    assert_null(strstr(c->code == 0 ? "" : answer, "\"id\":null"));
    if (c->code == -32020) {
        mcp_schema_assert_message(MCP_2026_07_28, "tools/list", span_from_str(answer));
    }
    rig_deinit(rig);
    free(rig);
}

static void headers_must_say_what_the_body_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_case(&cases[i]);
    }
}

static int set_up(void **state)
{
    Rig *rig = malloc(sizeof(*rig));

    rig_init(rig);
    assert_int_equal(rig_open(rig), 0);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_deinit(*state);
    free(*state);
    return 0;
}

/* What `_meta` said before is remembered; what headers said is not. */
static void each_request_has_its_own_headers(void **state)
{
    Rig *rig = *state;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(receive(rig, CALLS("echo"), ECHO, true), 0);
        assert_non_null(strstr(rig_take(rig), "\"result\""));
        assert_int_equal(receive(rig, CALLS("whole"), ECHO, true), 0);
        assert_non_null(strstr(rig_take(rig), "-32020"));
        assert_int_equal(receive(rig, "", ECHO, true), 0);
        assert_non_null(strstr(rig_take(rig), "-32020"));
    }
    assert_int_equal(rig->n_started, 3);
}

static void without_http_there_are_no_headers(void **state)
{
    Rig *rig = *state;

    assert_int_equal(rig_receive_text(rig, WHOLE("{\"region\":\"us\"}")), 0);
    assert_non_null(strstr(rig_take(rig), "\"result\""));
    assert_int_equal(receive(rig, "", WHOLE("{\"region\":\"us\"}"), true), 0);
    assert_non_null(strstr(rig_take(rig), "-32020"));
    assert_int_equal(rig_receive_text(rig, WHOLE("{\"region\":\"us\"}")), 0);
    assert_non_null(strstr(rig_take(rig), "\"result\""));
}

static void without_descriptions_arguments_are_free(void **state)
{
    Rig *rig = *state;

    assert_int_equal(receive(rig, CALLS_WHOLE, WHOLE("{\"region\":\"us\"}"), false), 0);
    assert_non_null(strstr(rig_take(rig), "\"result\""));
}

static void notifications_need_no_headers(void **state)
{
    Rig *rig = *state;

    assert_int_equal(receive(rig, "MCP-Protocol-Version: 1\r\n",
                             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                             "\"params\":{\"requestId\":1}}",
                             true),
                     0);
    assert_null(rig_take(rig));
}

/* A batch has one head for all; of the modern era it is refused for what it is. */
static void in_batches_only_the_version_counts(void **state)
{
    Rig *rig = *state;
    const char *answer;

    assert_int_equal(receive(rig, "",
                             ASK("initialize") "\"protocolVersion\":\"2025-03-26\","
                                               "\"capabilities\":{}}}",
                             true),
                     0);
    assert_non_null(rig_take(rig));
    assert_int_equal(receive(rig, "", "[" LIST "]", true), 0);
    assert_non_null(strstr(rig_take(rig), "must not be in a batch"));
    assert_int_equal(receive(rig, "MCP-Protocol-Version: 2025-03-26\r\n",
                             "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", true),
                     0);
    assert_non_null(strstr(rig_take(rig), "\"result\""));
    assert_int_equal(receive(rig, "MCP-Protocol-Version: x\r\n",
                             "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]",
                             true),
                     0);
    answer = rig_take(rig);
    assert_non_null(strstr(answer, "\"id\":1"));
    assert_non_null(strstr(strstr(answer, "-32600") + 1, "-32600"));
}

/* Of what the client chose, so much comes back that it is known again, and no more. */
static void long_values_are_cut(void **state)
{
    Rig *rig = *state;
    char lines[1024];
    char body[1024];
    char shown[128];
    const char *answer;

    (void)snprintf(lines, sizeof(lines), "%sMcp-Name: %0300d\r\n", VERSION METHOD("tools/call"), 7);
    (void)snprintf(body, sizeof(body), "%s\"name\":\"%0300d\",%s}}", ASK("tools/call"), 8, META);
    assert_int_equal(receive(rig, lines, body, true), 0);
    answer = rig_take(rig);
    (void)snprintf(shown, sizeof(shown), "'%0100d' does not match", 0);
    assert_non_null(strstr(answer, shown));
    (void)snprintf(shown, sizeof(shown), "body value '%0100d'\"", 0);
    assert_non_null(strstr(answer, shown));
}

static void checking_takes_no_memory_for_long(void **state)
{
    Rig *rig = *state;
    const char *lines = CALLS_WHOLE "Mcp-Param-Region: B\r\nMcp-Param-Count: 1\r\n";
    long n_live = 0;

    for (int i = 0; i < 400; i++) {
        bool is_right = i < 20;

        rig->sent.n = 0;
        rig->n_read = 0;
        assert_int_equal(receive(rig, lines,
                                 is_right ? WHOLE("{\"region\":\"B\",\"count\":1}")
                                          : WHOLE("{\"region\":\"B\",\"count\":2}"),
                                 true),
                         0);
        assert_non_null(strstr(rig_take(rig), is_right ? "\"result\"" : "-32020"));
        if (i == 25) {
            n_live = alloc_testing()->n_live;
        }
    }
    assert_int_equal(alloc_testing()->n_live, n_live);
}

static int scenario(void *context)
{
    Rig *rig = context;
    int r;

    rig_init(rig);
    r = rig_open(rig);
    if (r == 0) {
        r = receive(rig,
                    CALLS_WHOLE "Mcp-Param-Region: =?base64?SGVsbG8=?=\r\n"
                                "Mcp-Param-Count: 42\r\n",
                    WHOLE("{\"region\":\"Hello\",\"count\":42}"), true);
    }
    if (r == 0) {
        r = mcp_server_error(rig->server);
    }
    if (r == 0) {
        assert_non_null(strstr(rig_take(rig), "\"result\""));
    }
    rig_deinit(rig);
    return r;
}

static void want_of_memory_ends_the_session(void **state)
{
    static Rig rig;

    (void)state;
    test_oom_sweep(scenario, &rig);
}

#define SESSION_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_must_say_what_the_body_says),
        SESSION_TEST(each_request_has_its_own_headers),
        SESSION_TEST(without_http_there_are_no_headers),
        SESSION_TEST(without_descriptions_arguments_are_free),
        SESSION_TEST(notifications_need_no_headers),
        SESSION_TEST(in_batches_only_the_version_counts),
        SESSION_TEST(long_values_are_cut),
        SESSION_TEST(checking_takes_no_memory_for_long),
        cmocka_unit_test(want_of_memory_ends_the_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
