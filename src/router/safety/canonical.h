/* router/safety/canonical.h: the fingerprint of a command's parameters: the same for the same
 * values, in whatever order and with whatever white space they are written. Thread: any. */
#pragma once

#include "json/json.h"

/* "fp-", 32 hex digits and a NUL. */
#define SAFETY_FINGERPRINT_BYTES 36

/* Members of the confirmation itself (confirmToken, requireConfirmToken, dryRun) do not count. Keys
 * are sorted, of equal ones the last counts; numbers are compared as they are written. arguments
 * may have node NULL: as an empty object. 0, -ENOMEM, -EIO. */
int safety_fingerprint(JsonValue arguments, char ret[SAFETY_FINGERPRINT_BYTES]);
