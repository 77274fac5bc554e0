#include "call/content.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "call/result.h"

/* Kinds of content block, and the strings that each must have. */
typedef struct BlockKind {
    Span type;
    uint32_t bit;
    const char *strings[2];
} BlockKind;

static const BlockKind block_kinds[] = {
    {SPAN_INIT("text"), CALL_CONTENT_TEXT, {"text", NULL}},
    {SPAN_INIT("image"), CALL_CONTENT_IMAGE, {"data", "mimeType"}},
    {SPAN_INIT("audio"), CALL_CONTENT_AUDIO, {"data", "mimeType"}},
    {SPAN_INIT("resource"), CALL_CONTENT_RESOURCE, {NULL, NULL}},
    {SPAN_INIT("resource_link"), CALL_CONTENT_LINK, {"uri", "name"}},
};

static bool has_string(JsonValue object, const char *name)
{
    JsonValue value;

    return json_get(object, span_from_str(name), &value) && json_kind(value) == JSON_STRING;
}

static bool has_member(JsonValue object, const char *name)
{
    JsonValue value;

    return json_get(object, span_from_str(name), &value);
}

static int wrong(CallContentFault *reterr, const char *member, const char *wanted)
{
    *reterr = (CallContentFault){.member = member, .wanted = wanted};
    return CALL_CONTENT_E_WRONG;
}

static int check_embedded(JsonValue block, uint32_t *kinds, CallContentFault *reterr)
{
    JsonValue resource;

    if (!json_get(block, SPAN("resource"), &resource) || json_kind(resource) != JSON_OBJECT) {
        return wrong(reterr, "resource", "object");
    }
    if (!has_string(resource, "uri")) {
        return wrong(reterr, "resource.uri", "string");
    }
    if (!has_string(resource, "text") && !has_string(resource, "blob")) {
        return wrong(reterr, "resource", "a string 'text' or 'blob'");
    }
    if (has_member(resource, "_meta")) {
        *kinds |= CALL_CONTENT_UNKNOWN;
    }
    return 0;
}

int call_content_check(JsonValue block, uint32_t *kinds, CallContentFault *reterr)
{
    const BlockKind *kind = NULL;
    JsonValue type;

    if (json_kind(block) != JSON_OBJECT) {
        return wrong(reterr, "", "object");
    }
    if (!json_get(block, SPAN("type"), &type) || json_kind(type) != JSON_STRING) {
        return wrong(reterr, "type", "string");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(block_kinds) && kind == NULL; i++) {
        if (json_string_equals(type, block_kinds[i].type)) {
            kind = &block_kinds[i];
        }
    }
    if (kind == NULL) {
        *kinds |= CALL_CONTENT_UNKNOWN;
        return CALL_CONTENT_E_TYPE;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(kind->strings) && kind->strings[i] != NULL; i++) {
        if (!has_string(block, kind->strings[i])) {
            return wrong(reterr, kind->strings[i], "string");
        }
    }
    *kinds |= kind->bit;
    /* These came later. */
    if (has_member(block, "_meta") || has_member(block, "icons")) {
        *kinds |= CALL_CONTENT_UNKNOWN;
    }
    return kind->bit == CALL_CONTENT_RESOURCE ? check_embedded(block, kinds, reterr) : 0;
}
