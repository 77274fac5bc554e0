/* json/schema/regex_syntax.h: what PCRE2 understands and ECMA-262 does not. Inside json/schema
 * only.
 */
#pragma once

#include "base/span.h"

/* Why the pattern is refused, or NULL. Other mistakes are left to PCRE2, which words them. */
const char *regex_syntax_refuse(Span pattern);
