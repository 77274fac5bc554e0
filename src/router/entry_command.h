/* router/entry_command.h: what the description of a command says beside what its provider wrote.
 * Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "router/safety/safety.h"
#include "json/json.h"

#include <stdbool.h>

/* What a command's name and annotations say about it. Arguments and meta are left empty. */
SafetyCommand router_command_of(Span name, JsonValue description);

/* Appends the description, an object, without white space: outputSchema is that of the envelope,
 * the command's own merged into it; and, unless it is guarded, inputSchema also has the members
 * that the desk reads (expectedContextToken, failureHandling; of what is destructive dryRun,
 * requireConfirmToken, confirmToken), so that callers know of them and closed schemas let them
 * pass; can_undo: what they say differs. 0, -ENOMEM, BYTES_E_FULL. */
int router_command_describe(JsonValue description, bool is_guarded, bool can_undo, Bytes *out);
