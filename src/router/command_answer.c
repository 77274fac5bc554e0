#include "router/command_answer.h"

#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "call/content.h"
#include "json/writer.h"

/* Where there is no memory even to say so. */
#define NO_MEMORY(q)                                                                               \
    "{" q "ok" q ":false," q "code" q ":" q "INTERNAL" q "," q "msg" q ":" q "out of memory" q     \
    "," q "warnings" q ":[]," q "nextActions" q ":[]," q "timings" q ":{" q "queueWaitMs" q        \
    ":0," q "revitMs" q ":0," q "transferMs" q ":0," q "totalMs" q ":0}," q "context" q ":{}}"
static const Span no_memory_envelope = SPAN_INIT(NO_MEMORY("\""));
static const Span no_memory_content =
    SPAN_INIT("{\"type\":\"text\",\"text\":\"" NO_MEMORY("\\\"") "\"}");

void router_answer_init(RouterAnswer *answer)
{
    *answer = (RouterAnswer){.piece = SPAN_NULL};
    arena_init(&answer->arena, SIZE_MAX); /* bounded by what the provider answered */
    bytes_init(&answer->members, LIMIT_JSON_BYTES);
    bytes_init(&answer->warnings, LIMIT_JSON_BYTES);
    bytes_init(&answer->context, LIMIT_JSON_BYTES);
    bytes_init(&answer->envelope, LIMIT_JSON_BYTES);
    bytes_init(&answer->content, LIMIT_JSON_BYTES);
}

void router_answer_deinit(RouterAnswer *answer)
{
    arena_deinit(&answer->arena);
    bytes_deinit(&answer->members);
    bytes_deinit(&answer->warnings);
    bytes_deinit(&answer->context);
    bytes_deinit(&answer->envelope);
    bytes_deinit(&answer->content);
}

/* Is there nothing between the brackets? */
static bool is_empty_array(Span json)
{
    for (size_t i = 1; i + 1 < json.n; i++) {
        if (json.p[i] != ' ' && json.p[i] != '\t') {
            return false;
        }
    }
    return true;
}

/* The command's warnings, and those of the desk behind them. */
static int answer_add_warnings(RouterAnswer *answer, Envelope *envelope)
{
    CLEANUP(bytes_deinit) Bytes all = BYTES_NULL;
    int r;

    if (answer->warnings.n == 0) {
        return 0;
    }
    bytes_init(&all, LIMIT_JSON_BYTES);
    if (is_empty_array(envelope->warnings)) {
        r = bytes_append_byte(&all, '[');
    } else {
        r = bytes_append(&all, envelope->warnings.p, envelope->warnings.n - 1);
        r = r != 0 ? r : bytes_append_byte(&all, ',');
    }
    r = r != 0 ? r : bytes_append_span(&all, bytes_span(&answer->warnings));
    r = r != 0 ? r : bytes_append_byte(&all, ']');
    if (r != 0) {
        return err_pass(r);
    }
    envelope->warnings = arena_copy(&answer->arena, bytes_span(&all));
    return envelope->warnings.p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Members between braces, as a value. */
static int answer_parse(RouterAnswer *answer, Span members, JsonValue *ret)
{
    char *text = arena_alloc(&answer->arena, members.n + 2);
    JsonDoc doc;
    int r;

    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    text[0] = '{';
    if (members.n > 0) {
        memcpy(text + 1, members.p, members.n);
    }
    text[members.n + 1] = '}';
    r = json_parse(&doc, &answer->arena, text, members.n + 2, NULL, NULL);
    if (r != 0) {
        return err_fold(r); /* it was made of JSON */
    }
    *ret = json_root(&doc);
    return 0;
}

/* Does the word stand in the text, between quotes? */
static bool has_word(Span text, Span word)
{
    const char *end = text.p + text.n;

    for (const char *p = text.p; p != NULL && (size_t)(end - p) > word.n + 1; p++) {
        p = memchr(p, '"', (size_t)(end - p));
        if (p == NULL || (size_t)(end - p) < word.n + 2) {
            return false;
        }
        if (memcmp(p + 1, word.p, word.n) == 0 && p[word.n + 1] == '"') {
            return true;
        }
    }
    return false;
}

int router_answer_is_undone(RouterAnswer *answer, const Envelope *envelope, bool *ret)
{
    JsonValue own;
    JsonValue status;
    int r;

    *ret = false;
    if (!has_word(envelope->own, SPAN("transactionStatus"))) {
        return 0; /* as nearly always: it need not be read again */
    }
    r = answer_parse(answer, envelope->own, &own);
    if (r != 0) {
        return err_pass(r);
    }
    *ret = json_pointer(own, SPAN("/detail/transactionStatus"), &status) == 0 &&
           json_kind(status) == JSON_STRING && !json_string_equals(status, SPAN("Committed"));
    return 0;
}

static bool has_key(JsonValue object, JsonValue key)
{
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        if (json_string_same(it.key, key)) {
            return true;
        }
    }
    return false;
}

/* The second's members that the first does not have, and all of the first, in that order. first is
 * ours, and short. Byte for byte. */
static int answer_merge(RouterAnswer *answer, Span first, Span second, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes all = BYTES_NULL;
    JsonValue ours;
    JsonValue theirs;
    int r = answer_parse(answer, first, &ours);

    r = r != 0 ? r : answer_parse(answer, second, &theirs);
    if (r != 0) {
        return err_pass(r);
    }
    bytes_init(&all, LIMIT_JSON_BYTES);
    for (JsonIter it = json_iter(theirs); r == 0 && json_iter_next(&it);) {
        if (!has_key(ours, it.key)) {
            r = bytes_append_span(&all, json_span(it.key));
            r = r != 0 ? r : bytes_append_byte(&all, ':');
            r = r != 0 ? r : bytes_append_span(&all, json_span(it.value));
            r = r != 0 ? r : bytes_append_byte(&all, ',');
        }
    }
    r = r != 0 ? r : bytes_append_span(&all, first);
    if (r != 0) {
        return err_pass(r);
    }
    *ret = arena_copy(&answer->arena, bytes_span(&all));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static int answer_add_members(RouterAnswer *answer, Envelope *envelope)
{
    if (answer->members.n == 0) {
        return 0;
    }
    if (envelope->own.n == 0) {
        envelope->own = bytes_span(&answer->members);
        return 0;
    }
    return answer_merge(answer, bytes_span(&answer->members), envelope->own, &envelope->own);
}

int router_answer_add(RouterAnswer *answer, Envelope *envelope)
{
    int r = answer_add_members(answer, envelope);

    return r != 0 ? err_pass(r) : answer_add_warnings(answer, envelope);
}

int router_answer_add_context(RouterAnswer *answer, const SafetyDesk *desk, Span method,
                              Envelope *envelope)
{
    Span theirs = envelope->context;
    Span members;
    int r = safety_desk_write_context(desk, method, &answer->context);

    if (r != 0) {
        return err_pass(r);
    }
    members = bytes_span(&answer->context);
    if (theirs.n > 2) {
        r = answer_merge(answer, members, span_make(theirs.p + 1, theirs.n - 2), &members);
    }
    if (r == 0) {
        char *text = arena_alloc(&answer->arena, members.n + 2);

        if (text == NULL) {
            return err_raise(-ENOMEM);
        }
        text[0] = '{';
        memcpy(text + 1, members.p, members.n);
        text[members.n + 1] = '}';
        envelope->context = span_make(text, members.n + 2);
    }
    return err_pass(r);
}

/* Blocks that are no text (pictures …) stay; what the texts said is in the envelope. */
static int answer_add_blocks(RouterAnswer *answer, const CallResult *from, uint32_t *kinds)
{
    CLEANUP(bytes_deinit) Bytes all = BYTES_NULL;
    CallContentFault fault;
    JsonDoc doc;
    int r = 0;

    if (from == NULL || from->kind != CALL_RESULT_TOOL || from->n_pieces == 0 ||
        from->content_kinds == CALL_CONTENT_TEXT) {
        return 0;
    }
    bytes_init(&all, LIMIT_JSON_BYTES);
    r = bytes_append_byte(&all, '[');
    for (size_t i = 0; r == 0 && i < from->n_pieces; i++) {
        r = bytes_append_span(&all, from->pieces[i]);
    }
    r = r != 0 ? r : bytes_append_byte(&all, ']');
    r = r != 0 ? r : json_parse(&doc, &answer->arena, all.data, all.n, NULL, NULL);
    if (r != 0) {
        return r > 0 ? 0 : err_pass(r); /* its provider's fault: there is nothing to be kept */
    }
    for (JsonIter it = json_iter(json_root(&doc)); r == 0 && json_iter_next(&it);) {
        JsonValue type;

        if (json_get(it.value, SPAN("type"), &type) && json_string_equals(type, SPAN("text"))) {
            continue;
        }
        if (call_content_check(it.value, kinds, &fault) == CALL_CONTENT_E_WRONG) {
            *kinds |= CALL_CONTENT_UNKNOWN;
        }
        r = bytes_append_byte(&answer->content, ',');
        r = r != 0 ? r : bytes_append_span(&answer->content, json_span(it.value));
    }
    return err_pass(r);
}

int router_answer_write(RouterAnswer *answer, const Envelope *envelope, const EnvelopeTimes *times,
                        Span method, const CallResult *from)
{
    uint32_t kinds = CALL_CONTENT_TEXT;
    JsonWriter w;
    int r = envelope_write(envelope, times, method, &answer->envelope);

    if (r != 0) {
        return err_pass(r);
    }
    json_writer_init(&w, &answer->content, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("type"));
    json_write_string(&w, SPAN("text"));
    json_write_key(&w, SPAN("text"));
    json_write_string(&w, bytes_span(&answer->envelope));
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    r = r != 0 ? r : answer_add_blocks(answer, from, &kinds);
    if (r != 0) {
        return err_pass(r);
    }
    answer->piece = bytes_span(&answer->content);
    answer->result = (CallResult){.kind = CALL_RESULT_TOOL,
                                  .pieces = &answer->piece,
                                  .n_pieces = 1,
                                  .content_kinds = kinds,
                                  .structured = bytes_span(&answer->envelope),
                                  .is_error = !envelope->is_ok};
    if (from != NULL && from->kind == CALL_RESULT_TOOL) {
        answer->result.meta = from->meta;
        answer->result.members = from->members;
    }
    return 0;
}

void router_answer_check(RouterAnswer *answer, int r)
{
    if (r != 0) {
        answer->result = (CallResult){.kind = CALL_RESULT_TOOL,
                                      .pieces = &no_memory_content,
                                      .n_pieces = 1,
                                      .content_kinds = CALL_CONTENT_TEXT,
                                      .structured = no_memory_envelope,
                                      .is_error = true};
    }
}
