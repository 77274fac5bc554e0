/* call/record.h: how a call ended, as one JSON value, to be kept and read again.
 *
 *     {"kind":"tool","content":[…],"structured":…,"isError":true,"meta":{…},"members":{…}}
 *     {"kind":"error","error":"timeout","message":"…","data":…,"type":"…","code":-32000}
 *     {"kind":"ask","asks":{"key":{"kind":"form","message":…,"schema":…}…},"state":"…"}
 *
 * (also "beside" of a tool and "retryAfterMs" of an error; what is empty is left out.)
 *
 * Content, structured and meta are kept byte for byte, so that a door that reads them back writes
 * what it would have written at once. Kinds other than tool, error and ask are not kept: they
 * become the error bad_result. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "call/result.h"
#include "json/json.h"

enum {
    RECORD_E_MALFORMED = 1, /* that is no record of ours */
};

/* 0, -ENOMEM, BYTES_E_FULL. */
int call_record_write(const CallResult *result, Bytes *out);

/* Spans of *ret point into value's text or the arena. 0, -ENOMEM, RECORD_E_MALFORMED. */
int call_record_read(JsonValue value, Arena *arena, CallResult *ret);
