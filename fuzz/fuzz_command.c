/* A request of the command door: whatever comes in is read, or refused in words; and what is
 * written about it is JSON.
 *
 * Input: the head of a request, and its body behind the empty line. */
#include "exact_text.h"
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "call/record.h"
#include "dialect/command/answer.h"
#include "dialect/command/request.h"
#include "json/json.h"

#define MAX_BYTES ((size_t)1 << 28)

static void require_json(const Bytes *out)
{
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, MAX_BYTES);
    FUZZ_REQUIRE(json_parse(&doc, &arena, out->data, out->n, NULL, NULL) == 0);
    arena_deinit(&arena);
}

static void require_text(Span text)
{
    FUZZ_REQUIRE(is_exact_text(text));
    FUZZ_REQUIRE(text.n <= LIMIT_QUEUE_NAME_BYTES);
}

static void require_sane(const CommandRequest *request)
{
    require_text(request->method);
    require_text(request->worker);
    require_text(request->idempotency_key);
    FUZZ_REQUIRE(request->wait_ms >= 0 && request->wait_ms <= LIMIT_TIME_MS);
    FUZZ_REQUIRE(request->timeout_ms >= 0 && request->timeout_ms <= LIMIT_TIME_MS);
    FUZZ_REQUIRE(request->lease_ms >= 0 && request->lease_ms <= LIMIT_COMMAND_LEASE_MAX_MS);
    FUZZ_REQUIRE(request->limit <= LIMIT_QUEUE_LIST_MAX);
    FUZZ_REQUIRE(request->params.node == NULL || json_kind(request->params) == JSON_OBJECT);
    switch (request->verb) {
    case COMMAND_ENQUEUE:
    case COMMAND_RPC:
        FUZZ_REQUIRE(request->method.n > 0);
        break;
    case COMMAND_POST_RESULT:
        FUZZ_REQUIRE(request->result.node != NULL);
        FUZZ_REQUIRE(request->job.n > 0 && request->has_fence);
        break;
    case COMMAND_HEARTBEAT:
        FUZZ_REQUIRE(request->job.n > 0 && request->has_fence);
        break;
    case COMMAND_JOB:
    case COMMAND_CANCEL:
    case COMMAND_RETRY:
    case COMMAND_RESULT:
        FUZZ_REQUIRE(request->job.n > 0);
        break;
    default:
        break;
    }
}

/* What an application posted is kept, and shown again. */
static CallResult record(const CommandRequest *request, Arena *arena, Bytes *kept)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    JsonDoc doc;
    Span code;
    Span message;

    FUZZ_REQUIRE(command_record_posted(request->result, request->is_error, arena, kept, &code,
                                       &message) == 0);
    FUZZ_REQUIRE(code.n > 0);
    FUZZ_REQUIRE(json_parse(&doc, arena, kept->data, kept->n, NULL, NULL) == 0);
    FUZZ_REQUIRE(call_record_read(json_root(&doc), arena, &result) == 0);
    FUZZ_REQUIRE(result.is_error || !request->is_error);
    return result;
}

static void show(const CommandRequest *request, Arena *arena)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    CommandJob job = {
        .id = SPAN("job-1"),
        .state = "SUCCEEDED",
        .is_over = true,
        .method = request->method,
        .params = request->params.node == NULL ? SPAN_NULL : json_span(request->params),
        .rpc_id = request->rpc_id,
        .idempotency_key = request->idempotency_key,
        .worker = request->worker,
        .priority = request->priority,
        .timeout_ms = request->timeout_ms,
        .result = &result,
    };
    Bytes kept;
    Bytes out;

    bytes_init(&kept, MAX_BYTES);
    bytes_init(&out, MAX_BYTES);
    if (request->verb == COMMAND_POST_RESULT) {
        result = record(request, arena, &kept);
    }
    FUZZ_REQUIRE(command_write_reply(&job, &out) == 0);
    require_json(&out);
    bytes_clear(&out);
    FUZZ_REQUIRE(command_write_job(&job, true, &out) == 0);
    require_json(&out);
    bytes_clear(&out);
    FUZZ_REQUIRE(command_write_pending(&job, request->fence, request->lease_ms, &out) == 0);
    require_json(&out);
    bytes_deinit(&out);
    bytes_deinit(&kept);
}

static void show_refusal(const CommandRefusal *refusal)
{
    Bytes out;

    FUZZ_REQUIRE(refusal->status >= 400 && refusal->status < 500);
    FUZZ_REQUIRE(refusal->message.n > 0);
    bytes_init(&out, MAX_BYTES);
    FUZZ_REQUIRE(command_write_refusal(refusal->code, refusal->message, SPAN_NULL, refusal->rpc_id,
                                       SPAN_NULL, true, &out) == 0);
    require_json(&out);
    bytes_deinit(&out);
}

static void read_request(const Http1Head *head, Span body)
{
    CommandRoute route = command_route(head->method, head->path);
    CommandRequest request;
    CommandRefusal refusal;
    Arena arena;
    int r;

    FUZZ_REQUIRE(route.verb == COMMAND_NONE || route.allow.n > 0);
    if (route.verb == COMMAND_NONE) {
        return;
    }
    arena_init(&arena, MAX_BYTES);
    r = command_read(&route, head, body, &arena, &request, &refusal);
    FUZZ_REQUIRE(r == 0 || r == COMMAND_E_REFUSED);
    if (r == 0) {
        require_sane(&request);
        (void)command_etag_matches(request.etags, SPAN("\"job-1.1\""));
        show(&request, &arena);
    } else {
        show_refusal(&refusal);
    }
    arena_deinit(&arena);
}

/* The length of the head with its empty line; 0 if there is none. */
static size_t head_size(Span input)
{
    for (size_t i = 0; i + 4 <= input.n; i++) {
        if (memcmp(input.p + i, "\r\n\r\n", 4) == 0) {
            return i + 4;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Span input = span_make((const char *)data, size);
    size_t n_head = head_size(input);
    Http1Reader reader;
    Http1Event event;

    if (n_head == 0) {
        return 0;
    }
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(UINT64_MAX));
    if (http1_reader_feed(&reader, input.p, n_head) == 0 &&
        http1_reader_next(&reader, &event) == 0) {
        read_request(event.head, span_make(input.p + n_head, input.n - n_head));
    }
    http1_reader_deinit(&reader);
    return 0;
}
