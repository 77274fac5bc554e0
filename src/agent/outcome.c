#include "agent/outcome.h"

#include <string.h>

#include "base/bytes.h"
#include "json/json.h"

/* What becomes of blocks that are no text. */
static const struct OutcomeWord {
    Span type;
    Span word;
    Span member; /* what is named behind the word */
} outcome_words[] = {
    {SPAN_INIT("image"), SPAN_INIT("image"), SPAN_INIT("mimeType")},
    {SPAN_INIT("audio"), SPAN_INIT("audio"), SPAN_INIT("mimeType")},
    {SPAN_INIT("resource_link"), SPAN_INIT("resource"), SPAN_INIT("uri")},
};

/* Where the text for the model is put together: in the arena, since it lives as long. */
typedef struct OutcomeText {
    Arena *arena;
    char *data;
    size_t n;
    size_t cap;
    bool has_failed;
} OutcomeText;

static void outcome_append(OutcomeText *text, Span s)
{
    if (text->cap - text->n < s.n) {
        size_t cap = 2 * text->cap + s.n;
        char *data = arena_grow(text->arena, text->data, text->cap, cap);

        if (data == NULL) {
            text->has_failed = true;
            return;
        }
        text->data = data;
        text->cap = cap;
    }
    if (s.n > 0) {
        memcpy(text->data + text->n, s.p, s.n);
        text->n += s.n;
    }
}

static void outcome_append_string(OutcomeText *text, JsonValue value)
{
    Span decoded;

    if (json_string_plain(value, &decoded)) {
        outcome_append(text, decoded);
    } else if (json_kind(value) == JSON_STRING) {
        if (json_string_exact(value, text->arena, &decoded) == 0) {
            /* It lies behind what was grown, which moves on the next append: no harm. */
            outcome_append(text, decoded);
        } else {
            text->has_failed = true;
        }
    }
}

static void outcome_append_other(OutcomeText *text, JsonValue block, JsonValue type)
{
    JsonValue resource;
    JsonValue member;

    if (json_get(block, SPAN("resource"), &resource) && json_get(resource, SPAN("text"), &member)) {
        outcome_append_string(text, member);
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(outcome_words); i++) {
        if (json_string_equals(type, outcome_words[i].type)) {
            outcome_append(text, SPAN("["));
            outcome_append(text, outcome_words[i].word);
            if (json_get(block, outcome_words[i].member, &member)) {
                outcome_append(text, SPAN(" "));
                outcome_append_string(text, member);
            }
            outcome_append(text, SPAN("]"));
            return;
        }
    }
    outcome_append(text, json_span(block));
}

static void outcome_append_block(OutcomeText *text, JsonValue block)
{
    JsonValue type;
    JsonValue words;

    if (text->n > 0) {
        outcome_append(text, SPAN("\n"));
    }
    if (!json_get(block, SPAN("type"), &type) || json_kind(type) != JSON_STRING) {
        outcome_append(text, json_span(block));
    } else if (json_string_equals(type, SPAN("text")) && json_get(block, SPAN("text"), &words)) {
        outcome_append_string(text, words);
    } else {
        outcome_append_other(text, block, type);
    }
}

static void outcome_fail(AgentOutcome *ret, Span words)
{
    *ret = (AgentOutcome){.is_error = true, .text = words};
}

/* {"content":[…]}, of which the array is what is read. ret.p NULL: no memory. */
static Span outcome_join(const CallResult *result, Arena *arena)
{
    static const Span before = SPAN_INIT("{\"content\":[");
    static const Span behind = SPAN_INIT("]}");
    size_t n = before.n + behind.n;
    char *joined;
    char *at;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    joined = arena_alloc(arena, n);
    if (joined == NULL) {
        return SPAN_NULL;
    }
    memcpy(joined, before.p, before.n);
    at = joined + before.n;
    for (size_t i = 0; i < result->n_pieces; i++) {
        if (result->pieces[i].n > 0) {
            memcpy(at, result->pieces[i].p, result->pieces[i].n);
            at += result->pieces[i].n;
        }
    }
    memcpy(at, behind.p, behind.n);
    return span_make(joined, n);
}

/* The JSON for the shell. */
static Span outcome_json(const CallResult *result, Span joined, JsonValue content)
{
    JsonValue block;
    JsonValue type;
    JsonValue words;

    if (result->structured.n > 0) {
        return result->structured;
    }
    if (json_count(content) == 1 && json_at(content, 0, &block) &&
        json_get(block, SPAN("type"), &type) && json_string_equals(type, SPAN("text")) &&
        json_get(block, SPAN("text"), &words) && json_kind(words) == JSON_STRING) {
        return json_span(words);
    }
    return joined;
}

static void outcome_of_tool(AgentOutcome *ret, const CallResult *result, Arena *arena)
{
    OutcomeText text = {.arena = arena};
    Span joined = outcome_join(result, arena);
    JsonDoc doc;
    JsonValue content;

    if (joined.p == NULL || json_parse(&doc, arena, joined.p, joined.n, NULL, NULL) != 0 ||
        !json_get(json_root(&doc), SPAN("content"), &content)) {
        outcome_fail(ret, SPAN("the result of the tool cannot be read"));
        return;
    }
    for (JsonIter it = json_iter(content); json_iter_next(&it);) {
        outcome_append_block(&text, it.value);
    }
    if (text.has_failed) {
        outcome_fail(ret, SPAN("out of memory"));
        return;
    }
    *ret = (AgentOutcome){.is_error = result->is_error,
                          .json = outcome_json(result, joined, content),
                          .text = span_make(text.data, text.n)};
    if (ret->text.n == 0) {
        ret->text = result->structured.n > 0 ? result->structured
                    : result->is_error       ? SPAN("the tool failed and did not say why")
                                             : SPAN("(the tool said nothing)");
    }
}

/* With what the model can mend. Of arguments the message says all that is wrong with them. */
static void outcome_of_error(AgentOutcome *ret, const CallResult *result, Arena *arena)
{
    OutcomeText text = {.arena = arena};
    Span message =
        result->message.n > 0 ? result->message : span_from_str(call_error_text(result->error));

    outcome_append(&text, message);
    if (result->data.n > 0 && result->error != CALL_ERROR_INVALID_ARGUMENTS) {
        outcome_append(&text, SPAN("; "));
        outcome_append(&text, result->data);
    }
    outcome_fail(ret, text.has_failed ? message : span_make(text.data, text.n));
}

void agent_outcome(AgentOutcome *ret, const CallResult *result, Arena *arena)
{
    switch (result->kind) {
    case CALL_RESULT_TOOL:
        outcome_of_tool(ret, result, arena);
        break;
    case CALL_RESULT_ERROR:
        outcome_of_error(ret, result, arena);
        break;
    case CALL_RESULT_ASK:
        outcome_fail(ret, SPAN("the tool asks for input, which it cannot have here"));
        break;
    default:
        outcome_fail(ret, SPAN("the tool answered with something that is no result"));
        break;
    }
}
