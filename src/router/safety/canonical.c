/* Containers are walked with a stack of frames, one for each level: sorted members of an object, or
 * the elements of an array, of which the next is kept. */
#include "router/safety/canonical.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "router/safety/arguments.h"
#include "router/safety/sha256.h"

typedef struct CanonicalMember {
    Span key;
    JsonValue value;
} CanonicalMember;

typedef struct CanonicalFrame CanonicalFrame;
struct CanonicalFrame {
    CanonicalMember *members; /* sorted; of an array: with empty keys */
    size_t n;
    size_t at;
    bool is_object;
    CanonicalFrame *outer;
};

typedef struct Canonical {
    Arena arena;
    Bytes out;
    CanonicalFrame *top;
    size_t depth;
} Canonical;

static void canonical_deinit(Canonical *c)
{
    bytes_deinit(&c->out);
    arena_deinit(&c->arena);
}

/* Equal keys stay in the order of the text: the values tell it. */
static int canonical_compare(const void *a, const void *b)
{
    const CanonicalMember *x = a;
    const CanonicalMember *y = b;
    int order = span_compare(x->key, y->key);

    if (order != 0) {
        return order;
    }
    return x->value.node->start < y->value.node->start ? -1 : 1;
}

/* Does the member belong to the confirmation, and not to the command? */
static bool canonical_is_left_out(JsonValue key)
{
    return safety_key_is(key, safety_names_dry_run) ||
           safety_key_is(key, safety_names_confirm_token) ||
           safety_key_is(key, safety_names_require_token);
}

static int canonical_collect(Canonical *c, JsonValue v, bool is_scope, CanonicalFrame *frame)
{
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        CanonicalMember *member = &frame->members[frame->n];

        *member = (CanonicalMember){.value = it.value};
        if (it.is_object) {
            int r;

            if (is_scope && canonical_is_left_out(it.key)) {
                continue;
            }
            r = json_string_exact(it.key, &c->arena, &member->key);
            if (r != 0) {
                return err_fold(r);
            }
        }
        frame->n++;
    }
    return 0;
}

static int canonical_open(Canonical *c, JsonValue v, bool is_scope)
{
    CanonicalFrame *frame = arena_alloc_array(&c->arena, 1, sizeof(*frame));
    size_t room = json_count(v);
    int r;

    if (frame == NULL) {
        return err_raise(-ENOMEM);
    }
    frame->is_object = json_kind(v) == JSON_OBJECT;
    frame->members = arena_alloc_array(&c->arena, room + 1, sizeof(*frame->members));
    if (frame->members == NULL) {
        return err_raise(-ENOMEM);
    }
    r = canonical_collect(c, v, is_scope, frame);
    if (r != 0) {
        return err_pass(r);
    }
    if (frame->is_object && frame->n > 1) {
        qsort(frame->members, frame->n, sizeof(*frame->members), canonical_compare);
    }
    frame->outer = c->top;
    c->top = frame;
    c->depth++;
    return bytes_append_byte(&c->out, frame->is_object ? '{' : '[');
}

/* The text's length before it: no text can then look like a piece of structure. */
static int canonical_text(Canonical *c, Span text)
{
    int r = bytes_append_format(&c->out, "\"%zu:", text.n);

    return r != 0 ? r : bytes_append_span(&c->out, text);
}

/* is_scope: an object in which members of the confirmation may be (arguments.h). */
static int canonical_value(Canonical *c, JsonValue v, bool is_scope)
{
    Span text;
    int r;

    if (json_kind(v) >= JSON_ARRAY) {
        return canonical_open(c, v, is_scope);
    }
    if (json_kind(v) != JSON_STRING) {
        return bytes_append_span(&c->out, json_span(v));
    }
    r = json_string_exact(v, &c->arena, &text);
    return r != 0 ? err_fold(r) : canonical_text(c, text);
}

/* One step of the innermost container. */
static int canonical_step(Canonical *c)
{
    CanonicalFrame *frame = c->top;
    CanonicalMember *member;
    int r;

    /* Of equal keys only the last. */
    while (frame->is_object && frame->at + 1 < frame->n &&
           span_equals(frame->members[frame->at].key, frame->members[frame->at + 1].key)) {
        frame->at++;
    }
    if (frame->at == frame->n) {
        c->top = frame->outer;
        c->depth--;
        return bytes_append_byte(&c->out, frame->is_object ? '}' : ']');
    }
    member = &frame->members[frame->at++];
    r = frame->is_object ? canonical_text(c, member->key) : 0;
    r = r != 0 ? r : bytes_append_byte(&c->out, frame->is_object ? ':' : ',');
    return r != 0
               ? r
               : canonical_value(c, member->value,
                                 c->depth == 1 && text_equals_nocase(member->key, SPAN("params")));
}

int safety_fingerprint(JsonValue arguments, char ret[SAFETY_FINGERPRINT_BYTES])
{
    CLEANUP(canonical_deinit) Canonical c = {.top = NULL};
    uint8_t hash[SAFETY_HASH_BYTES];
    int r;

    /* The index of the arguments, which somebody has allowed, takes as much. */
    arena_init(&c.arena, SIZE_MAX);
    bytes_init(&c.out, SIZE_MAX);
    r = arguments.node == NULL ? bytes_append_span(&c.out, SPAN("{}"))
                               : canonical_value(&c, arguments, true);
    while (r == 0 && c.top != NULL) {
        r = canonical_step(&c);
    }
    if (r != 0) {
        return err_fold(r);
    }
    r = safety_sha256(bytes_span(&c.out), hash);
    if (r != 0) {
        return err_pass(r);
    }
    safety_hex("fp-", hash, 16, ret);
    return 0;
}
