/* What is overwritten in texts that the grammar did not understand. */
#include "toolkit/complexity/lang_c_mend.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/complexity/lang_c_scan.h"
#include "toolkit/complexity/lang_c_text.h"

/* Longer ones were made by a program; their tokens would take as much memory as their tree. */
#define MEND_BYTES_MAX ((size_t)4 * 1024 * 1024)

/* Tokens of a type's arguments, with their brackets. */
#define MEND_TEMPLATE_MAX 64

/* Attributes in a row. */
#define MEND_CHAIN_MAX 4

/* Rules. The token behind a place is looked at, and never one that is not there: the last token is
 * none that a rule is about. */

static const MendToken *mend_at(const Mend *mend, size_t i)
{
    return &mend->tokens[i < mend->n ? i : mend->n - 1];
}

static bool mend_begins_declaration(const MendToken *token)
{
    return token->word == MEND_TYPE || token->word == MEND_STORAGE || token->word == MEND_TAG;
}

static bool mend_is_line_between(const Mend *mend, const MendToken *a, const MendToken *b)
{
    return memchr(mend->p + a->end, '\n', b->start - a->end) != NULL;
}

/* The token behind a word and its arguments, if it has any. */
static size_t mend_behind(const Mend *mend, size_t i)
{
    const MendToken *next = mend_at(mend, i + 1);

    return next->kind == '(' && next->partner > i ? next->partner + 1 : i + 1;
}

/* The same for words of capitals in a row. */
static size_t mend_behind_attributes(const Mend *mend, size_t next)
{
    for (int n = 0; n < MEND_CHAIN_MAX && mend_at(mend, next)->word == MEND_CAPITALS; n++) {
        next = mend_behind(mend, next);
    }
    return next;
}

/* `class EXPORT Name {` */
static bool mend_is_in_class_head(const Mend *mend, const MendToken *before, size_t next)
{
    char behind = mend_at(mend, next + 1)->kind;

    return before->word == MEND_TAG && complexity_c_mend_is_name(mend_at(mend, next)) &&
           (behind == '{' || behind == ':');
}

/* `void NORETURN name(`, `void NORETURN Class::name(` */
static bool mend_is_before_name(const Mend *mend, const MendToken *before, size_t next)
{
    const MendToken *behind;

    if (!complexity_c_mend_is_name(mend_at(mend, next)) ||
        !(before->word == MEND_TYPE || complexity_c_mend_is_name(before) || before->kind == '*' ||
          before->kind == '&')) {
        return false;
    }
    for (int n = 0; n < MEND_CHAIN_MAX && complexity_c_mend_is_name(mend_at(mend, next + 1)); n++) {
        next++;
    }
    behind = mend_at(mend, next + 1);
    return behind->kind == '(' || (behind->kind == ':' && mend_at(mend, next + 2)->kind == ':');
}

/* The token behind `std::vector<int>`; 0 if no such type begins there. */
static size_t mend_behind_template(const Mend *mend, size_t i)
{
    int depth = 0;

    while (complexity_c_mend_is_name(mend_at(mend, i)) && mend_at(mend, i + 1)->kind == ':' &&
           mend_at(mend, i + 2)->kind == ':') {
        i += 3;
    }
    if (!complexity_c_mend_is_name(mend_at(mend, i)) || mend_at(mend, i + 1)->kind != '<') {
        return 0;
    }
    for (size_t n = 1; n < MEND_TEMPLATE_MAX; n++) {
        char kind = mend_at(mend, i + n)->kind;

        depth += (kind == '<') - (kind == '>');
        if (depth == 0) {
            return i + n + 1;
        }
        if (strchr(";{}#", kind) != NULL) {
            return 0;
        }
    }
    return 0;
}

/* `Vec<int> name`, `Vec<int> *name` */
static bool mend_is_template(const Mend *mend, size_t i)
{
    size_t end = mend_behind_template(mend, i);
    const MendToken *behind = mend_at(mend, end);

    return end != 0 && (behind->kind == 'w' || behind->kind == '*' || behind->kind == '&');
}

/* `EXPORT int`, `FORMAT(1) const char`, `EXPORT Vec<int> name` */
static bool mend_is_before_type(const Mend *mend, size_t i, const MendToken *before, size_t next)
{
    const MendToken *token = &mend->tokens[i];
    bool has_arguments = next > i + 1;

    if (token->in_parens || (token->brace == MEND_BLOCK && has_arguments) ||
        !(complexity_c_mend_is_boundary(before) || before->word == MEND_STORAGE ||
          before->word == MEND_QUALIFIER || (before->kind == '>' && token->brace == MEND_SCOPE))) {
        return false;
    }
    next = mend_behind_attributes(mend, next);
    token = mend_at(mend, next);
    return mend_begins_declaration(token) || (has_arguments && token->word == MEND_QUALIFIER) ||
           mend_is_template(mend, next);
}

/* `int name UNUSED,` */
static bool mend_is_behind_parameter(const Mend *mend, size_t i, const MendToken *before,
                                     size_t next)
{
    char kind = mend_at(mend, next)->kind;

    return mend->tokens[i].in_parens &&
           (complexity_c_mend_is_name(before) || before->kind == ']') &&
           (kind == ',' || kind == ')');
}

/* `int name(void) UNUSED {` */
static bool mend_is_behind_list(const Mend *mend, size_t i, const MendToken *before, size_t next)
{
    if (mend->tokens[i].in_parens || mend->tokens[i].brace != MEND_SCOPE ||
        (before->kind != ')' && before->word != MEND_QUALIFIER)) {
        return false;
    }
    return strchr("{;=:", mend_at(mend, mend_behind_attributes(mend, next))->kind) != NULL;
}

/* A word in capitals, or one in a place where only such words are. */
static bool mend_is_attribute(const Mend *mend, size_t i, size_t next)
{
    const MendToken *token = &mend->tokens[i];
    const MendToken *before = &mend->tokens[mend->previous];

    if (token->word == MEND_NAME) {
        /* With arguments it is a function, unless it is `__attribute((…))`. */
        if (token->brace != MEND_SCOPE || token->in_parens ||
            (next > i + 1 && memcmp(mend->p + token->start, "__", 2) != 0)) {
            return false;
        }
        return mend_is_before_name(mend, before, next) ||
               (before->kind == ')' && mend_is_behind_list(mend, i, before, next) &&
                mend_at(mend, next)->kind == ';');
    }
    return token->word == MEND_CAPITALS &&
           (mend_is_in_class_head(mend, before, next) || mend_is_before_name(mend, before, next) ||
            mend_is_before_type(mend, i, before, next) ||
            mend_is_behind_parameter(mend, i, before, next) ||
            mend_is_behind_list(mend, i, before, next));
}

/* `static MACRO(a, "A")` on lines of its own between declarations. */
static bool mend_is_declaration(const Mend *mend, size_t i, size_t next)
{
    const MendToken *token = mend_at(mend, next);
    const MendToken *second = mend_at(mend, next + 1);
    const MendToken *before = &mend->tokens[mend->previous];

    if (mend->tokens[i].word != MEND_CAPITALS || next == i + 1 || mend->tokens[i].in_parens ||
        mend->tokens[i].brace != MEND_SCOPE ||
        !(complexity_c_mend_is_boundary(before) || before->word == MEND_STORAGE) ||
        !mend_is_line_between(mend, &mend->tokens[next - 1], token)) {
        return false;
    }
    if (token->word == MEND_CAPITALS && second->kind == '(') {
        return mend_at(mend, mend_behind(mend, next))->kind != '{';
    }
    return token->kind == '#' || mend_begins_declaration(token) || token->word == MEND_QUALIFIER ||
           (complexity_c_mend_is_name(token) && (second->kind == 'w' || second->kind == '*'));
}

static void mend_blank_declaration(Mend *mend, size_t i, size_t next)
{
    if (mend->tokens[mend->previous].word == MEND_STORAGE &&
        !mend_is_line_between(mend, &mend->tokens[mend->previous], &mend->tokens[i])) {
        complexity_c_mend_blank(mend, mend->previous, mend->previous);
        mend->tokens[mend->previous].word = MEND_NO_WORD;
        mend->tokens[mend->previous].kind = ';';
    }
    complexity_c_mend_blank(mend, i, next - 1);
}

/* Statements. */

/* `MACRO(a, b)` before a statement, a block or the end of one. */
static bool mend_is_statement(const Mend *mend, size_t i, size_t next)
{
    const MendToken *token = mend_at(mend, next);
    const MendToken *before = &mend->tokens[mend->previous];

    if (!complexity_c_mend_is_name(&mend->tokens[i]) || next == i + 1 ||
        mend->tokens[i].in_parens || mend->tokens[i].brace != MEND_BLOCK) {
        return false;
    }
    if (token->word == MEND_ELSE) {
        return true;
    }
    if (!complexity_c_mend_is_boundary(before) && before->word != MEND_ELSE) {
        return false;
    }
    return token->kind == '{' ||
           (mend_is_line_between(mend, &mend->tokens[next - 1], token) &&
            (token->kind == '}' || token->word == MEND_STATEMENT || token->word == MEND_QUALIFIER ||
             mend_begins_declaration(token)));
}

/* `TRY {` */
static bool mend_is_block_head(const Mend *mend, size_t i, size_t next)
{
    return mend->tokens[i].word == MEND_CAPITALS && next == i + 1 &&
           mend->tokens[i].brace == MEND_BLOCK && mend_at(mend, next)->kind == '{' &&
           complexity_c_mend_is_boundary(&mend->tokens[mend->previous]);
}

/* Whether the arguments could not stand in an expression. */
static bool mend_has_types(const Mend *mend, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const MendToken *token = &mend->tokens[i];
        char next = mend->tokens[i + 1].kind;

        if (mend_begins_declaration(token) || token->word == MEND_QUALIFIER ||
            token->word == MEND_STATEMENT || token->kind == ';' ||
            ((token->kind == '*' || token->kind == '&') && (next == ',' || next == ')'))) {
            return true;
        }
    }
    return false;
}

/* What is left is an expression: its operators count. */
static void mend_end_statement(Mend *mend, size_t i, size_t next)
{
    MendToken *open = &mend->tokens[i + 1];
    MendToken *close = &mend->tokens[next - 1];

    if (mend_has_types(mend, i + 2, next - 1)) {
        complexity_c_mend_blank(mend, i, next - 1);
    }
    mend->p[open->start] = next - 1 == i + 2 || mend->p[mend->tokens[i].start] == ' ' ? ' ' : ',';
    mend->p[close->start] = ';';
    close->kind = ';';
    mend->previous = next - 1;
    mend->changed = true;
}

/* Types as arguments: `va_arg(ap, const char *)`. */

/* The place behind the type that is an argument of its own; 0 if it is none. */
static size_t mend_type_end(const Mend *mend, size_t i)
{
    const MendToken *token = &mend->tokens[i];
    const MendToken *before = &mend->tokens[mend->previous];
    const MendToken *last;
    size_t end = i;

    if ((token->word != MEND_TYPE && token->word != MEND_TAG && token->word != MEND_QUALIFIER) ||
        !token->in_parens || token->brace == MEND_SCOPE ||
        !(before->kind == ',' || (before->kind == '(' && complexity_c_mend_is_name(before - 1)))) {
        return 0;
    }
    while (mend->tokens[end].kind == 'w' || mend->tokens[end].kind == '*') {
        end++;
    }
    last = &mend->tokens[end - 1];
    if ((mend->tokens[end].kind != ',' && mend->tokens[end].kind != ')') ||
        !(last->kind == '*' || !complexity_c_mend_is_name(last) || (last - 1)->word == MEND_TAG)) {
        return 0;
    }
    return end;
}

/* Leaves one name. */
static void mend_name_type(Mend *mend, size_t first, size_t end)
{
    size_t name = end - 1;

    while (name > first && mend->tokens[name].kind != 'w') {
        name--;
    }
    for (size_t i = first; i < end; i++) {
        if (i != name) {
            complexity_c_mend_blank(mend, i, i);
        }
    }
    if (!complexity_c_mend_is_name(&mend->tokens[name])) {
        mend->p[mend->tokens[name].start] = '_';
        mend->changed = true;
    }
    mend->previous = name;
}

/* `compare(a, ==, b)`: the place behind the operator; 0 if it is none. */
static size_t mend_operator_end(const Mend *mend, size_t i)
{
    size_t end = i;

    if (mend->tokens[mend->previous].kind != ',' || !mend->tokens[i].in_parens) {
        return 0;
    }
    while (end < i + 2 && strchr("=<>!", mend->tokens[end].kind) != NULL) {
        end++;
    }
    return end > i && mend->tokens[end].kind == ',' ? end : 0;
}

/* `int * = 0`: a default without a name, which the grammar does not know; the place behind it, or
 * 0.
 */
static size_t mend_default_end(const Mend *mend, size_t i)
{
    const MendToken *before = &mend->tokens[mend->previous];
    const MendToken *value = mend_at(mend, i + 1);
    char behind = mend_at(mend, i + 2)->kind;

    return mend->tokens[i].kind == '=' && mend->tokens[i].in_parens &&
                   mend->tokens[i].brace == MEND_SCOPE &&
                   (before->kind == '*' || before->kind == '>' || before->word == MEND_TYPE) &&
                   (value->kind == 'w' || value->kind == '0') && (behind == ',' || behind == ')')
               ? i + 2
               : 0;
}

/* Arguments that are no expressions; the place behind one, or 0. */
static size_t mend_argument(Mend *mend, size_t i)
{
    size_t end = mend_type_end(mend, i);

    if (end != 0) {
        mend_name_type(mend, i, end);
        return end;
    }
    end = mend_default_end(mend, i);
    if (end != 0) {
        complexity_c_mend_blank(mend, i, end - 1);
        return end;
    }
    end = mend_operator_end(mend, i);
    if (end != 0) {
        memset(mend->p + mend->tokens[i].start, '_',
               mend->tokens[end - 1].end - mend->tokens[i].start);
        mend->changed = true;
        mend->previous = end - 1;
    }
    return end;
}

static void mend_apply(Mend *mend)
{
    size_t next_question = 0;
    size_t i = 1;

    while (i + 1 < mend->n &&
           !stop_is_asked_in(mend->stop, mend->tokens[i].start, &next_question)) {
        size_t next = mend->tokens[i].kind == 'w' ? mend_behind(mend, i) : i + 1;

        complexity_c_mend_sign(mend, i);
        if (complexity_c_mend_text(mend, i, next)) {
            mend->previous = i;
        } else if (mend_is_declaration(mend, i, next)) {
            mend_blank_declaration(mend, i, next);
        } else if (mend_is_attribute(mend, i, next) || mend_is_block_head(mend, i, next)) {
            complexity_c_mend_blank(mend, i, next - 1);
        } else if (mend_is_statement(mend, i, next)) {
            mend_end_statement(mend, i, next);
        } else {
            next = mend_argument(mend, i);
            if (next == 0) {
                mend->previous = i;
                next = i + 1;
            }
        }
        i = next;
    }
}

int complexity_c_mend(char *text, size_t n, Stop stop, bool *ret_changed)
{
    Mend mend = {.p = text, .text = span_make(text, n), .stop = stop};
    int r;

    *ret_changed = false;
    if (n > MEND_BYTES_MAX) {
        return 0;
    }
    r = complexity_c_mend_read(&mend);
    if (r == 0) {
        r = complexity_c_mend_branches(&mend);
    }
    if (r == 0 && mend.changed) {
        (void)mem_free(mend.tokens);
        mend = (Mend){.p = text, .text = span_make(text, n), .changed = true, .stop = stop};
        r = complexity_c_mend_read(&mend);
    }
    if (r == 0) {
        mend_apply(&mend);
        *ret_changed = mend.changed;
    }
    (void)mem_free(mend.tokens);
    return err_pass(r);
}
