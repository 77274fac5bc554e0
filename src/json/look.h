/* json/look.h: looks for the id of a message that cannot be read: not JSON, too deep, too long.
 *
 * Takes the text piece by piece, so that it need not be kept, and follows nothing but the members
 * of the outermost object: what is inside of strings, objects and arrays is passed over, whatever
 * is wrong there. Where the members themselves are not as they must be it stops, since nothing
 * behind that can be told from text; what was found before stands. Of two ids the last counts.
 * Bounded memory, one pass. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer values are no ids. */
#define JSON_LOOK_VALUE_BYTES 1024

/* Of a name, quotes included: enough to tell "id" and "method" from others. */
#define JSON_LOOK_NAME_BYTES 16

typedef enum JsonLookState {
    JSON_LOOK_BEFORE, /* the object's bracket is awaited */
    JSON_LOOK_NAME,   /* a member, or the end of an empty object */
    JSON_LOOK_IN_NAME,
    JSON_LOOK_COLON,
    JSON_LOOK_VALUE,
    JSON_LOOK_IN_STRING,
    JSON_LOOK_IN_BARE, /* a number or a word */
    JSON_LOOK_IN_NESTED,
    JSON_LOOK_AFTER,   /* a comma, or the object's end */
    JSON_LOOK_STOPPED, /* at its end, or where it cannot be followed */
} JsonLookState;

typedef struct JsonLook {
    JsonLookState state;
    uint64_t depth;    /* of IN_NESTED */
    bool is_in_string; /* likewise */
    bool is_escaped;   /* the next byte of a string belongs to a backslash */
    bool has_method;   /* a member of that name has begun */
    bool is_value_id;  /* the value that is being read is an id */
    size_t n_name;     /* JSON_LOOK_NAME_BYTES: too long to be one of ours */
    size_t n_value;    /* likewise, of an id */
    size_t n_id;       /* 0: none was found */
    char name[JSON_LOOK_NAME_BYTES];
    char value[JSON_LOOK_VALUE_BYTES];
    char id[JSON_LOOK_VALUE_BYTES];
} JsonLook;

void json_look_init(JsonLook *look);

/* The next bytes of the text; borrowed until return. */
void json_look_feed(JsonLook *look, Span text);

/* The id as it is written, a string or a number that is whole, of an object that has a method; else
 * empty. Borrowed from look. */
Span json_look_id(const JsonLook *look);

/* For messages that have no method, and whose ids are strings: the id in all of a text, as
 * json_string_exact has it, in the arena; empty if there is none. 0, -ENOMEM. */
int json_look_text_id(Span text, Arena *arena, Span *ret);
