#include "call/call.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* The copies of a call's arguments and answers: their text and 16 bytes for each of their values.
 * What came in was bounded by its door; this only keeps the sum within what a size can say. */
#define CALL_KEPT_BYTES (SIZE_MAX / 2)

static const char *const level_names[CALL_LOG_NONE] = {
    [CALL_LOG_DEBUG] = "debug",   [CALL_LOG_INFO] = "info",
    [CALL_LOG_NOTICE] = "notice", [CALL_LOG_WARNING] = "warning",
    [CALL_LOG_ERROR] = "error",   [CALL_LOG_CRITICAL] = "critical",
    [CALL_LOG_ALERT] = "alert",   [CALL_LOG_EMERGENCY] = "emergency",
};

void call_init(Call *call)
{
    *call = (Call){.log_level = CALL_LOG_NONE, .last_progress = -INFINITY};
    arena_init(&call->kept_arena, CALL_KEPT_BYTES);
}

void call_deinit(Call *call)
{
    assert(!call->running);
    arena_deinit(&call->kept_arena);
    *call = (Call){.log_level = CALL_LOG_NONE, .last_progress = -INFINITY};
}

void call_reset(Call *call)
{
    Arena arena = call->kept_arena;

    assert(!call->running);
    arena_reset(&arena, LIMIT_KEEP_BYTES);
    *call = (Call){.log_level = CALL_LOG_NONE, .last_progress = -INFINITY, .kept_arena = arena};
}

void call_finish(Call *call, const CallResult *result)
{
    if (call->host != NULL) {
        call->host->finish(call, result);
    } else {
        call->door->finish(call, result);
    }
}

void call_fail(Call *call, CallError error, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = error, .message = message};

    if (message.n == 0) {
        result.message = span_from_str(call_error_text(error));
    }
    call_finish(call, &result);
}

void call_report(Call *call, const CallProgress *progress)
{
    /* Also drops what is not a number. */
    if (!(progress->progress > call->last_progress)) {
        return;
    }
    call->last_progress = progress->progress;
    if (call->host != NULL) {
        call->host->progress(call, progress);
    } else if (call->wants_progress) {
        call->door->progress(call, progress);
    }
}

void call_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    if (level < CALL_LOG_NONE && level >= call->log_level) {
        call->door->log(call, level, logger, data);
    }
}

void call_detach(Call *call)
{
    if (call->door->detach != NULL) {
        call->door->detach(call);
    }
}

bool call_input(const Call *call, Span key, JsonValue *ret)
{
    return call->inputs.node != NULL && json_get(call->inputs, key, ret);
}

/* Replaces *value by a copy in the arena, unless it is that copy. The index is copied too, which
 * is cheaper than making it again. */
static int call_keep_value(Arena *arena, JsonValue *value, const JsonNode **kept)
{
    Span text;
    size_t n_nodes;
    JsonNode *nodes;

    if (value->node == NULL || value->node == *kept) {
        return 0;
    }
    n_nodes = value->node->skip;
    nodes = arena_alloc(arena, n_nodes * sizeof(*nodes));
    text = arena_copy(arena, json_span(*value));
    if (nodes == NULL || text.p == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(nodes, value->node, n_nodes * sizeof(*nodes));
    for (size_t i = n_nodes; i-- > 0;) {
        nodes[i].start -= nodes[0].start;
    }
    *value = (JsonValue){text.p, nodes};
    *kept = nodes;
    return 0;
}

static int call_keep_span(Arena *arena, Span *span, const char **kept)
{
    Span copy;

    if (span->n == 0 || span->p == *kept) {
        return 0;
    }
    copy = arena_copy(arena, *span);
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *span = copy;
    *kept = copy.p;
    return 0;
}

int call_keep_arguments(Call *call)
{
    JsonValue *values[CALL_N_KEPT_VALUES] = {&call->arguments, &call->inputs,
                                             &call->completion.context};
    Span *spans[CALL_N_KEPT_SPANS] = {&call->target, &call->completion.argument,
                                      &call->completion.value, &call->state};
    int r = 0;

    if (call->took_arguments) {
        call->arguments = JSON_VALUE_NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(values) && r == 0; i++) {
        r = call_keep_value(&call->kept_arena, values[i], &call->kept_values[i]);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(spans) && r == 0; i++) {
        r = call_keep_span(&call->kept_arena, spans[i], &call->kept_spans[i]);
    }
    return err_pass(r);
}

int call_keep_meta(Call *call)
{
    const JsonNode *kept = NULL;

    return err_pass(call_keep_value(&call->kept_arena, &call->meta, &kept));
}

const char *call_log_level_name(CallLogLevel level)
{
    return (size_t)level < TW_ARRAY_SIZE(level_names) ? level_names[level] : NULL;
}

bool call_log_level_parse(Span s, CallLogLevel *ret)
{
    size_t i;

    if (!text_is_one_of(s, level_names, TW_ARRAY_SIZE(level_names), &i)) {
        return false;
    }
    *ret = (CallLogLevel)i;
    return true;
}
