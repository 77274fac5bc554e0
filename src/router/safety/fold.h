/* router/safety/fold.h: the form in which the guid and the path of a document go into its context
 * token: without white space at both ends, NFKC, lower case; as .NET does it (Trim, Normalize,
 * ToLowerInvariant), since tokens are compared with those of .NET programs. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

/* Appends the folded text. What is not UTF-8 counts as U+FFFD,
 * but for halves of surrogate pairs, which stay (json_string_exact). Beyond LIMIT_SAFETY_FOLD_BYTES
 * only ASCII letters are folded. 0, -ENOMEM, BYTES_E_FULL. */
int safety_fold(Span text, Bytes *out);

/* The part of it that the system does, for valid UTF-8 of that length: NFKC, then the simple
 * lower-case mapping, one code point for one: no final sigma, no two letters for one, and U+0130
 * stays, as the invariant culture wants it. */
int safety_fold_unicode(Span text, Bytes *out);
