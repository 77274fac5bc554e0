/* json/schema/regex.h: ECMA-262 patterns run by PCRE2. Inside json/schema only.
 *
 * A pattern is rewritten where the two languages differ (\s, \p{Letter}, surrogate pairs), compiled
 * with JIT where the machine allows it, and matched under limits of work and memory. A compiled
 * pattern is shared; what a match writes lives in a RegexScratch, one per SchemaCheck.
 */
#pragma once

#include "base/arena.h"
#include "base/limits.h"
#include "base/span.h"
#include "json/schema/program.h"

enum {
    REGEX_E_NO_MATCH = 1,
    REGEX_E_LIMIT,    /* gave up */
    REGEX_E_MALFORMED /* compile: not a pattern */
};

typedef struct RegexScratch {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_match_data *data;
    uint32_t limit; /* the step limit that is set */
} RegexScratch;

/* A PCRE2 memory context that allocates through base/alloc.h; NULL if there is no memory. */
pcre2_general_context *regex_memory_new(void);

/* Compiles source, which is borrowed for the regex's life. On REGEX_E_MALFORMED the reason is in
 * message. 0, -ENOMEM, REGEX_E_MALFORMED. */
int regex_compile(SchemaRegex *ret, Arena *arena, pcre2_general_context *memory, Span source,
                  char *message, size_t message_size);
void regex_deinit(SchemaRegex *regex);

/* 0, -ENOMEM. */
int regex_scratch_init(RegexScratch *scratch);
void regex_scratch_deinit(RegexScratch *scratch);

/* Does the pattern occur in text (valid UTF-8)? What it costs is taken from *n_steps_left, in the
 * steps of limits.h; REGEX_E_LIMIT when they run out. 0 (yes), REGEX_E_NO_MATCH, REGEX_E_LIMIT,
 * -ENOMEM. */
int regex_match(const SchemaRegex *regex, RegexScratch *scratch, Span text, int64_t *n_steps_left);

/* Rewrites an ECMA pattern for PCRE2; in regex_translate.c. 0, -ENOMEM. */
int regex_translate(Arena *arena, Span source, Span *ret);
