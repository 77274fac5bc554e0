/* tests/unit/call/envelope_rig.h: envelopes as text. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "call/envelope.h"

typedef struct EnvelopeRig {
    Arena arena;
    Bytes out;
} EnvelopeRig;

static void rig_init(EnvelopeRig *rig)
{
    arena_init(&rig->arena, 1 << 24);
    bytes_init(&rig->out, 1 << 24);
}

static void rig_deinit(EnvelopeRig *rig)
{
    arena_deinit(&rig->arena);
    bytes_deinit(&rig->out);
}

static JsonValue rig_parse(EnvelopeRig *rig, const char *json)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &rig->arena, json, strlen(json), NULL, NULL), 0);
    return json_root(&doc);
}

/* NUL-terminated. */
static const char *rig_text(EnvelopeRig *rig)
{
    assert_int_equal(bytes_append_byte(&rig->out, '\0'), 0);
    rig->out.n--;
    return rig->out.data;
}

TW_UNUSED static Envelope rig_read(EnvelopeRig *rig, const char *json)
{
    Envelope envelope;

    assert_int_equal(envelope_read(rig_parse(rig, json), &rig->arena, &envelope), 0);
    return envelope;
}

/* As it is written for a command m that took 1 ms. */
TW_UNUSED static const char *rig_write(EnvelopeRig *rig, const Envelope *envelope)
{
    EnvelopeTimes times = {.run_us = -1, .total_us = 1000};

    bytes_clear(&rig->out);
    assert_int_equal(envelope_write(envelope, &times, SPAN("m"), &rig->out), 0);
    return rig_text(rig);
}

TW_UNUSED static const char *rig_at(EnvelopeRig *rig, const char *json, const char *pointer)
{
    JsonValue value;

    if (json_pointer(rig_parse(rig, json), span_from_str(pointer), &value) != 0) {
        return "";
    }
    return arena_copy(&rig->arena, json_span(value)).p;
}

TW_UNUSED static void assert_span(Span span, const char *text)
{
    assert_int_equal(span.n, strlen(text));
    if (span.n > 0) {
        assert_memory_equal(span.p, text, span.n);
    }
}

#define TAIL                                                                                       \
    "\"warnings\":[],\"nextActions\":[],\"timings\":{\"queueWaitMs\":0,\"revitMs\":1,"             \
    "\"transferMs\":0,\"totalMs\":1},\"context\":{\"method\":\"m\"}}"
