/* json/writer.h: writes JSON into a Bytes.
 *
 *     JsonWriter w;
 *
 *     json_writer_init(&w, &out, JSON_STYLE_COMPACT);
 *     json_write_object(&w);
 *     json_write_key(&w, SPAN("id"));
 *     json_write_raw(&w, json_span(id));      // spliced: the exact bytes that came in
 *     json_write_end_object(&w);
 *     r = json_writer_finish(&w);
 *
 * Commas, colons and indentation are the writer's business. The first failure sticks and is
 * returned by json_writer_finish; what follows it writes nothing. Strings may hold any bytes: what
 * is not UTF-8 becomes U+FFFD, so the output is always valid JSON in valid UTF-8. Writing a key
 * outside an object, or closing what is not open, is a bug of the caller. Thread: any, one at a
 * time.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum JsonStyle {
    JSON_STYLE_COMPACT, /* no white space at all: one message is one line */
    JSON_STYLE_PRETTY   /* two blanks a level, for people */
} JsonStyle;

typedef struct JsonWriter {
    Bytes *out;     /* borrowed until finish */
    size_t start;   /* where this writer's output begins in out */
    uint32_t depth; /* open containers */
    int r;          /* first failure */
    JsonStyle style;
    bool is_exact; /* while json_write_exact is at work */
} JsonWriter;

/* Appends to whatever out holds already. */
void json_writer_init(JsonWriter *w, Bytes *out, JsonStyle style);

/* 0, -ENOMEM, BYTES_E_FULL. On failure out is cut back to where it was at init. */
int json_writer_finish(JsonWriter *w);

void json_write_object(JsonWriter *w);
void json_write_end_object(JsonWriter *w);
void json_write_array(JsonWriter *w);
void json_write_end_array(JsonWriter *w);

/* The next value's name; text in any form, escaped here. */
void json_write_key(JsonWriter *w, Span key);

void json_write_string(JsonWriter *w, Span text);

/* The same for text of json_string_exact, which is passed on: half a surrogate pair becomes the
 * escape that it came from ("\ud83d"). Two halves that pieces of a text have brought together are
 * written as the pair that they are. */
void json_write_exact_key(JsonWriter *w, Span key);
void json_write_exact(JsonWriter *w, Span text);

void json_write_int(JsonWriter *w, int64_t value);
void json_write_uint(JsonWriter *w, uint64_t value);
void json_write_bool(JsonWriter *w, bool flag);
void json_write_null(JsonWriter *w);

/* The shortest decimal that reads back as the same double, in JavaScript's notation; null for what
 * JSON cannot say (NaN, infinities). */
void json_write_double(JsonWriter *w, double value);

/* Splices a complete JSON value byte for byte; the caller vouches for it (json_span of a parsed
 * value), and that no white space stands around it. */
void json_write_raw(JsonWriter *w, Span json);

/* An indexed value in this writer's style: white space normalised, every scalar byte for byte. */
void json_write_value(JsonWriter *w, JsonValue v);

/* Room for any double in json_format_double, its NUL included. */
#define JSON_DOUBLE_SIZE 32

/* The text that json_write_double writes, NUL-terminated; returns its length. value must be finite.
 */
size_t json_format_double(double value, char out[JSON_DOUBLE_SIZE]);
