/* call/envelope_impl.h: what the files of the envelope share. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "call/envelope.h"
#include "json/json.h"

/* The members that are the envelope's, in the order in which they are written. */
typedef enum EnvelopeMember {
    ENVELOPE_MEMBER_OK,
    ENVELOPE_MEMBER_CODE,
    ENVELOPE_MEMBER_MSG,
    ENVELOPE_MEMBER_WARNINGS,
    ENVELOPE_MEMBER_NEXT_ACTIONS,
    ENVELOPE_MEMBER_TIMINGS,
    ENVELOPE_MEMBER_CONTEXT,
    ENVELOPE_N_MEMBERS /* as an answer: it is none of them */
} EnvelopeMember;

EnvelopeMember envelope_member_of(JsonValue key);
Span envelope_member_name(EnvelopeMember member);

/* The value as it lies there, or, if there is a line end in it, without white space, in the arena:
 * what is spliced into a message must be one line. 0, -ENOMEM. */
int envelope_take_value(JsonValue value, Arena *arena, Span *ret);

/* The members of an object that are not the envelope's: `"name":value` with commas, byte for byte
 * but for line ends. 0, -ENOMEM. */
int envelope_take_own(JsonValue object, Arena *arena, Span *ret);

/* `"name":value`. value: JSON. 0, -ENOMEM. */
int envelope_make_member(const char *name, Span value, Arena *arena, Span *ret);

/* An array of strings, and one of objects with a method, whatever was given. 0, -ENOMEM. */
int envelope_take_warnings(JsonValue value, Arena *arena, Span *ret);
int envelope_take_actions(JsonValue value, Arena *arena, Span *ret);

/* It failed, whatever it says itself. */
void envelope_set_failed(Envelope *envelope);
