/* Rules that are about one token and those beside it, whatever is declared there. */
#include "toolkit/complexity/lang_c_mend.h"

#include <string.h>

#include "toolkit/complexity/lang_c_scan.h"

/* Tokens of a value in front of `...`. */
#define MEND_RANGE_MAX 16

bool complexity_c_mend_is_name(const MendToken *token)
{
    return token->word == MEND_NAME || token->word == MEND_CAPITALS;
}

bool complexity_c_mend_is_boundary(const MendToken *token)
{
    return strchr(";{}#:", token->kind) != NULL;
}

void complexity_c_mend_blank(Mend *mend, size_t first, size_t last)
{
    mend->changed |= complexity_c_blank(mend->p, mend->tokens[first].start, mend->tokens[last].end);
}

/* Tokens that may be a function's head, up to its last parenthesis. */
static bool mend_is_head(const Mend *mend, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (strchr(";{}#", mend->tokens[i].kind) != NULL) {
            return false;
        }
    }
    return first < end && mend->tokens[end - 1].kind == ')';
}

/* `#endif` with a body behind it. */
static void mend_share_body(Mend *mend, size_t i)
{
    size_t end = i;
    size_t first = mend->tokens[i].partner;

    if (mend->tokens[i + 1].kind != '{' || mend->tokens[i].brace != MEND_SCOPE || first == 0 ||
        mend->tokens[first].partner == 0) {
        return;
    }
    while (first != 0) {
        if (!mend_is_head(mend, first + 1, end)) {
            return;
        }
        end = first;
        first = mend->tokens[first].partner;
    }
    /* `end` is the #if; the next directive ends its head. */
    complexity_c_mend_blank(mend, end, end);
    for (first = end + 1; mend->tokens[first].kind != '#'; first++) {
    }
    complexity_c_mend_blank(mend, first, i);
}

/* GNU's `case 2 ... 5:`, of which an expression is made. */
static void mend_range(Mend *mend, size_t i)
{
    const MendToken *token = &mend->tokens[i];
    size_t first = i;

    if (i + 3 >= mend->n || token->in_parens || token->brace != MEND_BLOCK ||
        mend->tokens[i + 1].kind != '.' || mend->tokens[i + 2].kind != '.') {
        return;
    }
    for (int n = 0; n < MEND_RANGE_MAX && first > 0; n++) {
        first--;
        if (mend->tokens[first].end - mend->tokens[first].start == 4 &&
            memcmp(mend->p + mend->tokens[first].start, "case", 4) == 0) {
            complexity_c_mend_blank(mend, i, i + 2);
            mend->p[token->start + 1] = '+';
            return;
        }
        if (strchr(";{}:", mend->tokens[first].kind) != NULL) {
            return;
        }
    }
}

/* `end:` with no statement behind it, as an #else or the end of the block is there: an expression
 * is made of it. Of `case A::B:`, which has none either, the grammar knows. */
static void mend_label(Mend *mend, size_t i)
{
    const MendToken *tokens = mend->tokens;
    char behind = tokens[i + 1].kind;

    if (i > 1 && tokens[i].brace == MEND_BLOCK && !tokens[i].in_parens &&
        (behind == '#' || behind == '}') && complexity_c_mend_is_name(&tokens[i - 1]) &&
        complexity_c_mend_is_boundary(&tokens[i - 2]) && tokens[i - 2].kind != ':') {
        mend->p[tokens[i].start] = ';';
        mend->tokens[i].kind = ';';
        mend->changed = true;
    }
}

void complexity_c_mend_sign(Mend *mend, size_t i)
{
    switch (mend->tokens[i].kind) {
    case '#':
        mend_share_body(mend, i);
        break;
    case '.':
        mend_range(mend, i);
        break;
    case ':':
        mend_label(mend, i);
        break;
    default:
        break;
    }
}

bool complexity_c_mend_text(Mend *mend, size_t i, size_t next)
{
    if (next == i + 1 || next >= mend->n || !complexity_c_mend_is_name(&mend->tokens[i]) ||
        mend->tokens[next].kind != '"') {
        return false;
    }
    /* `"a" NAME(N) "b"` is understood, but for a semicolon that would change no number. */
    if (mend->tokens[mend->previous].kind == '"' && mend->tokens[i + 2].kind != '"') {
        return false;
    }
    complexity_c_mend_blank(mend, i + 1, next - 1);
    return true;
}
