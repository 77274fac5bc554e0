/* base/tokens.h: about how many tokens a language model reads in a text. Pure.
 *
 * No tokenizer: those of models differ, and are megabytes of tables. A text is cut as they all cut
 * it before they look at their tables: into words with the blank before them, at small letters that
 * a capital follows, into digits by threes, into runs of other signs, and each piece counts by its
 * length and kind. docs/context.md says how far that is from real ones. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stddef.h>

size_t tokens_estimate(Span text);
