/* agent/model_error.h: what services of models say when they fail, in one sentence. Private to
 * agent/model*. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>

#define MODEL_ERROR_SIZE 400

/* How much of an answer that is an error is worth reading. */
#define MODEL_ERROR_BODY_BYTES ((size_t)16 * 1024)

typedef struct ModelError {
    char text[MODEL_ERROR_SIZE]; /* one line */
    bool is_transient;           /* another attempt may succeed */
} ModelError;

/* From an object that has "error" (an object with message and type or code, or a text), "message"
 * or "detail". 0, -ENOMEM. */
int model_error_read(ModelError *ret, Arena *arena, JsonValue value);

/* From an HTTP answer that is no success; its body may be anything. 0, -ENOMEM. */
int model_error_read_http(ModelError *ret, unsigned status, Span body);

/* Of a status: too many requests, overloaded, or an error of the server's. */
bool model_error_is_transient(unsigned status);

/* Puts stars in place of every occurrence of secret (of 4 bytes at least). */
void model_error_mask(char *text, Span secret);
