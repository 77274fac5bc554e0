/* app/audit_line.h: what stands in the record of calls. Pure. Thread: any. */
#pragma once

#include "app/audit.h"

/* Appends one line, newline included. has_arguments: with what the call keeps of them.
 * n_dropped: lines that were lost before it. 0, -ENOMEM, BYTES_E_FULL; on failure out is as it was.
 */
int audit_line_write(Bytes *out, int64_t now_ms, const Call *call, const CallResult *result,
                     const AuditEnd *end, bool has_arguments, uint64_t n_dropped);

/* Appends a line that only says how many were lost. Results as above. */
int audit_line_write_dropped(Bytes *out, int64_t now_ms, uint64_t n_dropped);

/* Appends value without white space, and with "***" in place of the values of all members whose
 * names look like secrets. 0, -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int audit_mask(Bytes *out, JsonValue value);

/* Does a member of that name (decoded) look like a secret? */
bool audit_is_secret(Span name);
