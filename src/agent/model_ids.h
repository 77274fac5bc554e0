/* agent/model_ids.h: ids of calls as services want them: each one only once in a request.
 *
 * Some services name the calls of every answer alike (`functions.echo:0`), so that ids repeat in a
 * conversation; others refuse a request in which one is there twice. The first keeps its id, later
 * ones get a number behind it, and a result has that of the call that it belongs to. Private to
 * agent/model*. Thread: any.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"

#include <stddef.h>

/* *ret is the request with such ids; what did not change is the request's own. max_bytes > 0: ids
 * are so long at most, and of letters, digits, '_' and '-'. 0, -ENOMEM. */
int model_ids_make(Arena *arena, const ModelRequest *request, size_t max_bytes, ModelRequest *ret);
