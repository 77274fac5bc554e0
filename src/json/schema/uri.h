/* json/schema/uri.h: just enough of RFC 3986 to find out what a reference means. Thread: any. */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>

/* Cuts s at its first '#'. *ret_fragment is what follows, empty if there is none. */
void uri_split_fragment(Span s, Span *ret_rest, Span *ret_fragment);

/* Resolves ref (without fragment) against base (RFC 3986, 5.2); both may be empty. 0, -ENOMEM. */
int uri_resolve(Arena *arena, Span base, Span ref, Span *ret);

/* Undoes percent-encoding; borrows s where there is none. A stray '%' stays. 0, -ENOMEM. */
int uri_percent_decode(Arena *arena, Span s, Span *ret);
