#include "docs.h"

#include <stdio.h>
#include <stdlib.h>

static void docs_check(int r)
{
    if (r != 0) {
        fprintf(stderr, "bench: no memory for the documents\n");
        exit(1);
    }
}

static void docs_make_call(Bytes *b)
{
    docs_check(bytes_append_span(
        b,
        SPAN("{\"jsonrpc\":\"2.0\",\"id\":\"req-7f3a\",\"method\":\"tools/"
             "call\",\"params\":{\"name\":"
             "\"revit.create_wall\",\"arguments\":{\"level_name\":\"Level "
             "1\",\"wall_type\":\"Generic - "
             "200mm\",\"structural\":false,\"height\":3000.5,\"start_point\":[0,-1250.75,0],"
             "\"end_point\":[5400,-1250.75,0],\"tags\":[\"facade\",\"north\",\"r\u00e9sum\u00e9\"],"
             "\"note\":\"first line\\nsecond line with \\\"quotes\\\" and a tab\\t.\",\"options\":{"
             "\"room_bounding\":true,\"phase\":null,\"offset\":1.5e-3,\"count\":9007199254740993},"
             "\"layers\":[")));
    for (int i = 0; i < 5; i++) {
        docs_check(bytes_append_format(
            b, "%s{\"material\":\"Concrete C%d/%d\",\"thickness\":%d.25,\"core\":%s}",
            i > 0 ? "," : "", 20 + i, 25 + i, 50 * i + 12, i == 2 ? "true" : "false"));
    }
    docs_check(bytes_append_span(
        b,
        SPAN("]},\"_meta\":{\"progressToken\":\"t-1\",\"io.modelcontextprotocol/protocolVersion\":"
             "\"2026-07-28\",\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-"
             "b7ad6b7169203331-01\""
             "}}}")));
}

static void docs_make_string(Bytes *b)
{
    docs_check(bytes_append_span(
        b, SPAN("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"echo\",\"arguments\":{\"message\":\"")));
    while (b->n < 1000000) {
        docs_check(bytes_append_span(
            b, SPAN("the quick brown fox jumps over the lazy dog and runs off again\\n")));
    }
    docs_check(bytes_append_span(b, SPAN("\"}}}")));
}

static void docs_make_objects(Bytes *b)
{
    docs_check(bytes_append_byte(b, '['));
    for (int i = 0; i < 12000; i++) {
        docs_check(bytes_append_format(
            b,
            "%s{\"id\":%d,\"name\":\"element "
            "%d\",\"x\":%d.%03d,\"y\":-%d.5,\"visible\":%s,\"tags\":[\"a\","
            "\"bc\"]}",
            i > 0 ? "," : "", i, i * 7, i % 977, i % 1000, i % 13, i % 3 == 0 ? "true" : "false"));
    }
    docs_check(bytes_append_byte(b, ']'));
}

static void docs_make_wide_string(Bytes *b)
{
    docs_check(bytes_append_span(b, SPAN("{\"text\":\"")));
    while (b->n < 1000000) {
        docs_check(bytes_append_span(b, SPAN("\u9053\u53ef\u9053\u975e\u5e38\u9053\uff0c\u540d"
                                             "\u53ef\u540d\u975e\u5e38\u540d\u3002"
                                             "\u7121\u540d\u5929\u5730\u4e4b\u59cb\\n")));
    }
    docs_check(bytes_append_span(b, SPAN("\"}")));
}

void bench_docs_make(BenchDoc docs[BENCH_N_DOCS])
{
    docs[0].name = "1 KB tools/call";
    docs[1].name = "1 MB, one string";
    docs[2].name = "1 MB, 12,000 objects";
    docs[3].name = "1 MB, Chinese";
    for (int i = 0; i < BENCH_N_DOCS; i++) {
        bytes_init(&docs[i].text, 4 << 20);
    }
    docs_make_call(&docs[0].text);
    docs_make_string(&docs[1].text);
    docs_make_objects(&docs[2].text);
    docs_make_wide_string(&docs[3].text);
}
