/* tests/unit/router/safety/safety_rig.h: a desk with a document, and commands that come to it. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "router/safety/safety.h"

typedef struct SafetyRig {
    SafetyDesk *desk;
    Arena arena;
    SafetyPlan plan;       /* of the last command */
    SafetyCommand command; /* likewise */
    SafetyRefusal refusal;
    Bytes members; /* what its end gave */
    Bytes warnings;
    int64_t now_ms;
    uint8_t last_random;
    int r_random;
} SafetyRig;

static int rig_random(void *context, uint8_t *ret, size_t n)
{
    SafetyRig *rig = context;

    memset(ret, ++rig->last_random, n);
    return rig->r_random;
}

TW_UNUSED static void rig_show_document(SafetyRig *rig, const char *guid, const char *path,
                                        int64_t view_id)
{
    SafetyDocument document = {.guid = span_from_str(guid),
                               .path = span_from_str(path),
                               .title = SPAN("Plan \"A\""),
                               .view_id = view_id,
                               .view_name = SPAN("Level 1"),
                               .view_type = SPAN("FloorPlan")};

    assert_int_equal(safety_desk_show(rig->desk, &document), 0);
}

/* With a document in front. */
static void rig_init(SafetyRig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->now_ms = 1000;
    arena_init(&rig->arena, 1 << 24);
    bytes_init(&rig->members, 1 << 24);
    bytes_init(&rig->warnings, 1 << 24);
    safety_plan_init(&rig->plan);
    assert_int_equal(
        safety_desk_new(&rig->desk, &(SafetyConfig){.random = rig_random, .context = rig}), 0);
    rig_show_document(rig, "G-1", "/plans/a.rvt", 11);
}

static void rig_deinit(SafetyRig *rig)
{
    safety_plan_deinit(&rig->plan);
    bytes_deinit(&rig->members);
    bytes_deinit(&rig->warnings);
    arena_deinit(&rig->arena);
    rig->desk = safety_desk_free(rig->desk);
}

TW_UNUSED static JsonValue rig_parse(SafetyRig *rig, const char *json)
{
    Span copy = arena_copy(&rig->arena, span_from_str(json));
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &rig->arena, copy.p, copy.n, NULL, NULL), 0);
    return json_root(&doc);
}

TW_UNUSED static const char *rig_token(SafetyRig *rig)
{
    char token[SAFETY_TOKEN_BYTES];

    assert_int_equal(safety_desk_token(rig->desk, token), 0);
    return arena_copy(&rig->arena, span_from_str(token)).p;
}

/* May it run? NULL: yes; else the code of the refusal. arguments, meta: JSON, or NULL. */
TW_UNUSED static const char *rig_admit_meta(SafetyRig *rig, const char *method,
                                            const char *arguments, const char *meta)
{
    int r;

    safety_plan_deinit(&rig->plan);
    safety_plan_init(&rig->plan);
    rig->command = (SafetyCommand){.method = span_from_str(method),
                                   .arguments = arguments == NULL ? JSON_VALUE_NULL
                                                                  : rig_parse(rig, arguments),
                                   .meta = meta == NULL ? JSON_VALUE_NULL : rig_parse(rig, meta)};
    r = safety_admit(rig->desk, &rig->command, rig->now_ms, &rig->plan, &rig->refusal);
    if (r == 0) {
        return NULL;
    }
    assert_int_equal(r, SAFETY_E_REFUSED);
    assert_true(rig->refusal.message.n > 0);
    return rig->refusal.code;
}

TW_UNUSED static const char *rig_admit(SafetyRig *rig, const char *method, const char *arguments)
{
    return rig_admit_meta(rig, method, arguments, NULL);
}

static const char *rig_value_at(SafetyRig *rig, Span json, const char *pointer)
{
    JsonDoc doc;
    JsonValue value;

    assert_int_equal(json_parse(&doc, &rig->arena, json.p, json.n, NULL, NULL), 0);
    if (json_pointer(json_root(&doc), span_from_str(pointer), &value) != 0) {
        return "";
    }
    return arena_copy(&rig->arena, json_span(value)).p;
}

TW_UNUSED static const char *rig_data(SafetyRig *rig, const char *pointer)
{
    return rig_value_at(rig, rig->refusal.data, pointer);
}

TW_UNUSED static const char *rig_action(SafetyRig *rig, const char *pointer)
{
    return rig_value_at(rig, rig->refusal.next_actions, pointer);
}

/* The last command is over. */
TW_UNUSED static void rig_end(SafetyRig *rig, SafetyEnd end)
{
    bytes_clear(&rig->members);
    bytes_clear(&rig->warnings);
    assert_int_equal(safety_end(rig->desk, &rig->command, &rig->plan, &end, rig->now_ms,
                                1700000000000, &rig->members, &rig->warnings),
                     0);
}

/* A member that its end gave. */
TW_UNUSED static const char *rig_member(SafetyRig *rig, const char *pointer)
{
    char *text = arena_alloc(&rig->arena, rig->members.n + 3);

    (void)snprintf(text, rig->members.n + 3, "{%.*s}", (int)rig->members.n,
                   rig->members.n > 0 ? rig->members.data : "");
    return rig_value_at(rig, span_from_str(text), pointer);
}

TW_UNUSED static const char *rig_warnings(SafetyRig *rig)
{
    return rig->warnings.n == 0 ? "" : arena_copy(&rig->arena, bytes_span(&rig->warnings)).p;
}

/* One command that goes well. */
TW_UNUSED static void rig_run(SafetyRig *rig, const char *method, const char *arguments)
{
    assert_null(rig_admit(rig, method, arguments));
    rig_end(rig, (SafetyEnd){.is_ok = true,
                             .is_committed = rig->plan.is_write && !rig->plan.is_dry_run,
                             .is_rolled_back = rig->plan.is_dry_run});
}
