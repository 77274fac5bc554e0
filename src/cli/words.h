/* cli/words.h: a command line in one string, cut into words as a shell would, without a shell.
 *
 * Blanks separate words; 'single' quotes keep everything, "double" quotes keep everything but \"
 * and
 * \\, and a backslash keeps the next character. Nothing is expanded: $HOME, * and ; are text.
 * Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"

#include <stddef.h>

enum {
    WORDS_E_SYNTAX = 1, /* a quote or backslash without its end, or no word at all */
};

/* The words, NULL-terminated, in the arena. 0, -ENOMEM, WORDS_E_SYNTAX. */
int words_split(Arena *arena, const char *line, char ***ret_words, size_t *ret_n,
                Diag *reterr_diag);
