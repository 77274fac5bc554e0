/* An answer of a peer, JSON or not: whatever it is, it becomes an envelope, one line, with all the
 * standard members, whose times add up and which stays the same when it is read again. Also as a
 * record, which comes back byte for byte, and as an output schema, which is merged once. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "call/envelope.h"
#include "call/record.h"

static const JsonLimits fuzz_limits = {.max_depth = LIMIT_RESULT_DEPTH};

static JsonValue fuzz_parse(Arena *arena, const Bytes *text)
{
    JsonDoc doc;

    FUZZ_REQUIRE(json_parse(&doc, arena, text->data, text->n, NULL, NULL) == 0);
    return json_root(&doc);
}

static double fuzz_time(JsonValue envelope, const char *pointer)
{
    JsonValue value;
    double ms;

    FUZZ_REQUIRE(json_pointer(envelope, span_from_str(pointer), &value) == 0);
    FUZZ_REQUIRE(json_double(value, &ms) == 0 && ms >= 0);
    return ms;
}

static void fuzz_check(JsonValue envelope, bool is_ok)
{
    static const struct {
        const char *name;
        JsonKind kind;
    } members[] = {
        {"code", JSON_STRING},       {"msg", JSON_STRING},     {"warnings", JSON_ARRAY},
        {"nextActions", JSON_ARRAY}, {"timings", JSON_OBJECT}, {"context", JSON_OBJECT},
    };
    double total = fuzz_time(envelope, "/timings/totalMs");
    double sum = fuzz_time(envelope, "/timings/queueWaitMs") +
                 fuzz_time(envelope, "/timings/revitMs") +
                 fuzz_time(envelope, "/timings/transferMs");
    JsonValue value;

    FUZZ_REQUIRE(fabs(total - sum) < 1e-6);
    FUZZ_REQUIRE(json_get(envelope, SPAN("ok"), &value));
    FUZZ_REQUIRE(json_kind(value) == (is_ok ? JSON_TRUE : JSON_FALSE));
    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        FUZZ_REQUIRE(json_get(envelope, span_from_str(members[i].name), &value));
        FUZZ_REQUIRE(json_kind(value) == members[i].kind);
    }
    FUZZ_REQUIRE(json_get(envelope, SPAN("warnings"), &value));
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        FUZZ_REQUIRE(json_kind(it.value) == JSON_STRING);
    }
    FUZZ_REQUIRE(json_get(envelope, SPAN("nextActions"), &value));
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        FUZZ_REQUIRE(json_kind(it.value) == JSON_OBJECT);
    }
    FUZZ_REQUIRE(json_get(envelope, SPAN("code"), &value));
    FUZZ_REQUIRE(is_ok || !json_string_equals(value, SPAN("OK")));
}

static void fuzz_write(const Envelope *envelope, Bytes *out)
{
    EnvelopeTimes times = {.queue_us = 1234, .run_us = -1, .total_us = 7654321};

    bytes_clear(out);
    FUZZ_REQUIRE(envelope_write(envelope, &times, SPAN("m"), out) == 0);
    FUZZ_REQUIRE(memchr(out->data, '\n', out->n) == NULL);
    FUZZ_REQUIRE(memchr(out->data, '\r', out->n) == NULL);
}

static void fuzz_envelope(const Envelope *envelope)
{
    Envelope again;
    Bytes first;
    Bytes second;
    Arena arena;

    bytes_init(&first, SIZE_MAX);
    bytes_init(&second, SIZE_MAX);
    arena_init(&arena, SIZE_MAX);
    fuzz_write(envelope, &first);
    fuzz_check(fuzz_parse(&arena, &first), envelope->is_ok);
    FUZZ_REQUIRE(envelope_read(fuzz_parse(&arena, &first), &arena, &again) == 0);
    FUZZ_REQUIRE(again.is_standard && again.is_ok == envelope->is_ok);
    fuzz_write(&again, &second);
    FUZZ_REQUIRE(first.n == second.n && memcmp(first.data, second.data, first.n) == 0);
    bytes_deinit(&first);
    bytes_deinit(&second);
    arena_deinit(&arena);
}

static void fuzz_result(Span text, bool is_structured, bool is_error)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .is_error = is_error};
    Envelope envelope;
    Arena arena;

    arena_init(&arena, SIZE_MAX);
    if (is_structured) {
        result.structured = text;
    } else {
        result.pieces = &text;
        result.n_pieces = 1;
    }
    FUZZ_REQUIRE(envelope_of_result(&result, &arena, &envelope) == 0);
    FUZZ_REQUIRE(!is_error || !envelope.is_ok);
    fuzz_envelope(&envelope);
    result = (CallResult){
        .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .message = text, .error_type = text};
    FUZZ_REQUIRE(envelope_of_result(&result, &arena, &envelope) == 0);
    fuzz_envelope(&envelope);
    arena_deinit(&arena);
}

static void fuzz_record(JsonValue value)
{
    CallResult result;
    Bytes first;
    Bytes second;
    Arena arena;
    int r;

    bytes_init(&first, SIZE_MAX);
    bytes_init(&second, SIZE_MAX);
    arena_init(&arena, SIZE_MAX);
    r = call_record_read(value, &arena, &result);
    FUZZ_REQUIRE(r == 0 || r == RECORD_E_MALFORMED);
    if (r == 0) {
        FUZZ_REQUIRE(call_record_write(&result, &first) == 0);
        FUZZ_REQUIRE(call_record_read(fuzz_parse(&arena, &first), &arena, &result) == 0);
        FUZZ_REQUIRE(call_record_write(&result, &second) == 0);
        FUZZ_REQUIRE(first.n == second.n && memcmp(first.data, second.data, first.n) == 0);
    }
    bytes_deinit(&first);
    bytes_deinit(&second);
    arena_deinit(&arena);
}

static void fuzz_schema(Span text)
{
    Bytes first;
    Bytes second;
    Arena arena;

    bytes_init(&first, SIZE_MAX);
    bytes_init(&second, SIZE_MAX);
    arena_init(&arena, SIZE_MAX);
    FUZZ_REQUIRE(envelope_write_schema(text, &first) == 0);
    (void)fuzz_parse(&arena, &first);
    FUZZ_REQUIRE(envelope_write_schema(bytes_span(&first), &second) == 0);
    FUZZ_REQUIRE(first.n == second.n && memcmp(first.data, second.data, first.n) == 0);
    bytes_deinit(&first);
    bytes_deinit(&second);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Span text = span_make((const char *)data, size);
    Envelope envelope;
    Arena arena;
    JsonDoc doc;

    arena_init(&arena, SIZE_MAX);
    if (json_parse(&doc, &arena, text.p, text.n, &fuzz_limits, NULL) == 0) {
        FUZZ_REQUIRE(envelope_read(json_root(&doc), &arena, &envelope) == 0);
        fuzz_envelope(&envelope);
        fuzz_record(json_root(&doc));
        fuzz_schema(text);
        fuzz_result(text, true, false);
        fuzz_result(text, true, true);
    }
    fuzz_result(text, false, false);
    fuzz_result(text, false, true);
    arena_deinit(&arena);
    return 0;
}
