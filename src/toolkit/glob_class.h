/* toolkit/glob_class.h: bracket expressions, as git reads them. Of toolkit/glob*.c alone. Thread:
 * any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether c, which is no slash, is in the class that begins with the '[' at pattern.p[at]; *ret_end
 * is where the pattern goes on. no_case: c is a small letter, if one. A class that has no end, or
 * names no known kind of characters, is met by nothing, and *ret_end is the pattern's end. */
bool glob_class_has(Span pattern, size_t at, unsigned char c, bool no_case, size_t *ret_end);

/* Does the bracket expression at `at` have its end, and no kind in it that there is not? */
bool glob_class_is_whole(Span pattern, size_t at);
