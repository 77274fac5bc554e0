/* Results: one JSON text, and the ways to look into it. */
#include <string.h>

#include "api/tw_client.h"
#include "base/alloc.h"

TwResult *api_result_from(Span text)
{
    TwResult *result = mem_alloc_array(1, sizeof(*result));
    JsonDoc doc;

    if (result == NULL) {
        return NULL;
    }
    arena_init(&result->arena, SIZE_MAX);
    result->json = arena_copy(&result->arena, text).p;
    if (result->json == NULL ||
        json_parse(&doc, &result->arena, result->json, text.n, NULL, NULL) != 0) {
        tw_result_free(result);
        return NULL;
    }
    result->root = json_root(&doc);
    return result;
}

TwResult *api_result_new(JsonValue value)
{
    return api_result_from(value.node == NULL ? SPAN("{}") : json_span(value));
}

void tw_result_free(TwResult *result)
{
    if (result != NULL) {
        arena_deinit(&result->arena);
        (void)mem_free(result);
    }
}

const char *tw_result_json(const TwResult *result)
{
    return result == NULL ? "null" : result->json;
}

/* node NULL if it is not there. */
static JsonValue result_find(const TwResult *result, const char *pointer)
{
    JsonValue v = JSON_VALUE_NULL;

    if (result != NULL) {
        (void)api_view_find(result->root, API_NAME_POINTER, pointer, &v);
    }
    return v;
}

bool tw_result_is_error(const TwResult *result)
{
    return api_view_bool(result_find(result, "/isError"), false);
}

const char *tw_result_get(TwResult *result, const char *pointer)
{
    return result == NULL ? NULL : api_view_text(result_find(result, pointer), &result->arena);
}

const char *tw_result_structured(TwResult *result)
{
    return tw_result_get(result, "/structuredContent");
}

const char *tw_result_string(TwResult *result, const char *pointer, const char *fallback)
{
    const char *text =
        result == NULL ? NULL : api_view_string(result_find(result, pointer), &result->arena, NULL);

    return text != NULL ? text : fallback;
}

int64_t tw_result_int(TwResult *result, const char *pointer, int64_t fallback)
{
    return api_view_int(result_find(result, pointer), fallback);
}

double tw_result_double(TwResult *result, const char *pointer, double fallback)
{
    return api_view_double(result_find(result, pointer), fallback);
}

bool tw_result_bool(TwResult *result, const char *pointer, bool fallback)
{
    return api_view_bool(result_find(result, pointer), fallback);
}

size_t tw_result_count(TwResult *result, const char *pointer)
{
    JsonValue v = result_find(result, pointer);

    return v.node == NULL ? 0 : json_count(v);
}

/* ---- the text of a result ---- */

/* A block's or a content's text, and a newline in front if something stands there already. */
static char *text_add(char *at, const char *start, JsonValue block)
{
    JsonValue text;

    if (!json_get(block, SPAN("text"), &text) || json_kind(text) != JSON_STRING) {
        return at;
    }
    if (at != start) {
        *at++ = '\n';
    }
    return at + json_string_decode(text, at);
}

/* The blocks of one array; a message's content is a block, or an array of blocks. */
static char *text_add_all(char *at, const char *start, JsonValue blocks)
{
    for (JsonIter it = json_iter(blocks); json_iter_next(&it);) {
        JsonValue content;

        if (!json_get(it.value, SPAN("content"), &content)) {
            at = text_add(at, start, it.value);
        } else if (json_kind(content) == JSON_OBJECT) {
            at = text_add(at, start, content);
        } else {
            for (JsonIter inner = json_iter(content); json_iter_next(&inner);) {
                at = text_add(at, start, inner.value);
            }
        }
    }
    return at;
}

const char *tw_result_text(TwResult *result)
{
    static const Span members[] = {{"content", 7}, {"contents", 8}, {"messages", 8}};
    char *start;
    char *at;

    if (result == NULL) {
        return NULL;
    }
    /* Decoded text and the newlines between are never longer than the JSON around them. */
    start = arena_alloc(&result->arena, strlen(result->json) + 1);
    if (start == NULL) {
        return NULL;
    }
    at = start;
    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        JsonValue blocks;

        if (json_get(result->root, members[i], &blocks) && json_kind(blocks) == JSON_ARRAY) {
            at = text_add_all(at, start, blocks);
        }
    }
    *at = '\0';
    return start;
}
