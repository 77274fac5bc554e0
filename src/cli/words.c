#include "cli/words.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static bool words_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts one word at *at; it is built at *to. False if a quote or backslash has no end. */
static bool words_take(const char **at, char **to)
{
    const char *p = *at;
    char *q = *to;
    char quote = '\0';

    while (*p != '\0' && (quote != '\0' || !words_is_blank(*p))) {
        if (quote == '\0' && (*p == '\'' || *p == '"')) {
            quote = *p++;
        } else if (quote != '\0' && *p == quote) {
            quote = '\0';
            p++;
        } else if (*p == '\\' &&
                   (quote == '\0' || (quote == '"' && (p[1] == '"' || p[1] == '\\')))) {
            if (p[1] == '\0') {
                return false;
            }
            *q++ = p[1];
            p += 2;
        } else {
            *q++ = *p++;
        }
    }
    *q++ = '\0';
    *at = p;
    *to = q;
    return quote == '\0';
}

int words_split(Arena *arena, const char *line, char ***ret_words, size_t *ret_n, Diag *reterr_diag)
{
    size_t length = strlen(line);
    /* A word needs a character and, but for the last, a blank behind it; each gets a NUL. */
    char **words = arena_alloc_array(arena, length / 2 + 2, sizeof(*words));
    char *to = arena_alloc(arena, 2 * length + 2);
    size_t n = 0;

    if (words == NULL || to == NULL) {
        return err_raise(-ENOMEM);
    }
    for (;;) {
        while (words_is_blank(*line)) {
            line++;
        }
        if (*line == '\0') {
            break;
        }
        words[n++] = to;
        if (!words_take(&line, &to)) {
            return diag_set(reterr_diag, WORDS_E_SYNTAX, "a quote or backslash has no end");
        }
    }
    if (n == 0) {
        return diag_set(reterr_diag, WORDS_E_SYNTAX, "it is empty");
    }
    words[n] = NULL;
    *ret_words = words;
    *ret_n = n;
    return 0;
}
