/* oauth/scope.h: lists of scopes, as words with blanks between them (RFC 6749 3.3). Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>

/* Takes the next word off *list; false: there is none. */
bool oauth_scope_next(Span *list, Span *ret);

bool oauth_scope_has(Span list, Span scope);

/* Is every scope of `part` in `list`? True for an empty part. */
bool oauth_scope_covers(Span list, Span part);

/* Adds to out those of list that are not there yet. 0, -ENOMEM, BYTES_E_FULL. */
int oauth_scope_add(Bytes *out, Span list);
