/* fuzz/exact_text.h: text of json_string_exact. */
#pragma once

#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "base/utf8.h"

/* Whether it is UTF-8 but for halves of surrogate pairs. */
static inline bool is_exact_text(Span text)
{
    char *copy = malloc(text.n + 1);
    bool is_text;

    FUZZ_REQUIRE(copy != NULL);
    memcpy(copy, text.n > 0 ? text.p : "", text.n);
    is_text = utf8_valid(copy, utf8_mend(copy, text.n), NULL);
    free(copy);
    return is_text;
}
