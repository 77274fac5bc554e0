/* Texts that the grammar did not understand: their tokens, and what is overwritten. */
#include "toolkit/complexity/lang_c_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/complexity/lang_c_scan.h"

/* Longer ones were made by a program; their tokens would take as much memory as their tree. */
#define MEND_BYTES_MAX ((size_t)4 * 1024 * 1024)

/* Braces that are deeper are like the last of these. */
#define MEND_BRACES_MAX 256

/* Attributes in a row. */
#define MEND_CHAIN_MAX 4

/* "A_B", not "A". */
#define MEND_CAPITALS_MIN 3

typedef enum MendWord {
    MEND_NO_WORD,
    MEND_NAME,
    MEND_CAPITALS,
    MEND_TYPE,
    MEND_STORAGE, /* also what else begins a declaration */
    MEND_QUALIFIER,
    MEND_TAG,
    MEND_STATEMENT,
    MEND_KEYWORD, /* any other */
} MendWord;

typedef enum MendBrace {
    MEND_SCOPE, /* file, namespace, class */
    MEND_BLOCK, /* statements */
    MEND_LIST,  /* initialisers, enumerators */
} MendBrace;

typedef struct MendToken {
    uint32_t start;
    uint32_t end;
    uint32_t
        partner; /* of ( and ): the other; of a directive: the one before it in its #if; or 0 */
    char kind;   /* 'w' word, '0' number, '"' text, '#' directive, or the byte itself */
    uint8_t word;
    uint8_t brace;
    bool in_parens;
} MendToken;

typedef struct Mend {
    char *p;
    Span text;
    MendToken
        *tokens; /* the first is a semicolon in front of everything, the last one, behind it */
    size_t n;
    size_t cap;
    size_t previous; /* the last token that is left, where the rules are */
    bool changed;

    /* while the tokens are made */
    uint32_t open;      /* ( that is not closed yet; those around it by .partner */
    uint32_t directive; /* #if, #else… of the innermost #if */
    uint32_t n_parens;
    uint8_t braces[MEND_BRACES_MAX];
    size_t n_braces;
    bool has_tag; /* of the declaration that the token is in */
    bool has_parens;
} Mend;

typedef struct MendKeyword {
    const char *name;
    MendWord word;
} MendKeyword;

/* In order. */
static const MendKeyword mend_keywords[] = {
    {"_Bool", MEND_TYPE},         {"asm", MEND_KEYWORD},       {"auto", MEND_TYPE},
    {"bool", MEND_TYPE},          {"break", MEND_STATEMENT},   {"case", MEND_KEYWORD},
    {"catch", MEND_KEYWORD},      {"char", MEND_TYPE},         {"class", MEND_TAG},
    {"const", MEND_QUALIFIER},    {"constexpr", MEND_STORAGE}, {"continue", MEND_STATEMENT},
    {"default", MEND_KEYWORD},    {"delete", MEND_KEYWORD},    {"do", MEND_STATEMENT},
    {"double", MEND_TYPE},        {"else", MEND_KEYWORD},      {"enum", MEND_TAG},
    {"explicit", MEND_STORAGE},   {"extern", MEND_STORAGE},    {"float", MEND_TYPE},
    {"for", MEND_STATEMENT},      {"friend", MEND_STORAGE},    {"goto", MEND_STATEMENT},
    {"if", MEND_STATEMENT},       {"inline", MEND_STORAGE},    {"int", MEND_TYPE},
    {"long", MEND_TYPE},          {"namespace", MEND_TAG},     {"new", MEND_KEYWORD},
    {"noexcept", MEND_QUALIFIER}, {"operator", MEND_KEYWORD},  {"override", MEND_QUALIFIER},
    {"private", MEND_STORAGE},    {"protected", MEND_STORAGE}, {"public", MEND_STORAGE},
    {"register", MEND_STORAGE},   {"return", MEND_STATEMENT},  {"short", MEND_TYPE},
    {"signed", MEND_TYPE},        {"sizeof", MEND_KEYWORD},    {"static", MEND_STORAGE},
    {"struct", MEND_TAG},         {"switch", MEND_STATEMENT},  {"template", MEND_STORAGE},
    {"throw", MEND_STATEMENT},    {"try", MEND_KEYWORD},       {"typedef", MEND_STORAGE},
    {"union", MEND_TAG},          {"unsigned", MEND_TYPE},     {"using", MEND_STORAGE},
    {"virtual", MEND_STORAGE},    {"void", MEND_TYPE},         {"volatile", MEND_QUALIFIER},
    {"while", MEND_STATEMENT},
};

static int mend_compare(const void *key, const void *element)
{
    const Span *word = key;
    const MendKeyword *keyword = element;

    return span_compare(*word, span_from_str(keyword->name));
}

static bool mend_is_capitals(Span word)
{
    size_t n = 0;

    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if ((c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_') {
            return false;
        }
        n += c >= 'A' && c <= 'Z';
    }
    return n >= MEND_CAPITALS_MIN;
}

static MendWord mend_word(Span word)
{
    const MendKeyword *found =
        bsearch(&word, mend_keywords, sizeof(mend_keywords) / sizeof(mend_keywords[0]),
                sizeof(mend_keywords[0]), mend_compare);

    if (found != NULL) {
        return found->word;
    }
    return mend_is_capitals(word) ? MEND_CAPITALS : MEND_NAME;
}

/* Tokens. */

static Span mend_token_text(const Mend *mend, const MendToken *token)
{
    return span_make(mend->p + token->start, token->end - token->start);
}

/* What a { begins. */
static MendBrace mend_brace(const Mend *mend, MendBrace outer)
{
    char before = mend->tokens[mend->n - 1].kind;

    if (outer == MEND_LIST || before == '=' || before == ',' || before == '(') {
        return MEND_LIST;
    }
    return mend->has_tag && !mend->has_parens ? MEND_SCOPE : MEND_BLOCK;
}

static void mend_note_brace(Mend *mend, MendToken *token)
{
    size_t top = mend->n_braces < MEND_BRACES_MAX ? mend->n_braces : MEND_BRACES_MAX - 1;

    if (token->kind == '{') {
        MendBrace brace = mend_brace(mend, (MendBrace)mend->braces[top]);

        mend->n_braces++;
        if (mend->n_braces < MEND_BRACES_MAX) {
            mend->braces[mend->n_braces] = (uint8_t)brace;
        }
        /* Nothing in parentheses that are open here belongs to those before. */
        mend->open = 0;
        mend->n_parens = 0;
    } else if (token->kind == '}') {
        mend->n_braces -= mend->n_braces > 0;
        mend->open = 0;
        mend->n_parens = 0;
    }
}

static void mend_note_paren(Mend *mend, MendToken *token)
{
    uint32_t at = (uint32_t)mend->n;

    if (token->kind == '(') {
        token->partner = mend->open;
        mend->open = at;
        mend->n_parens++;
    } else if (mend->open != 0) {
        MendToken *open = &mend->tokens[mend->open];

        token->partner = mend->open;
        mend->open = open->partner;
        open->partner = at;
        mend->n_parens--;
    }
}

static void mend_note_directive(Mend *mend, MendToken *token)
{
    Span word = complexity_c_directive_word(mend->text, token->start);

    if (span_starts_with(word, SPAN("if"))) {
        /* Those around it are found again by nobody: they have more than heads in them. */
        token->partner = 0;
        mend->directive = (uint32_t)mend->n;
    } else if (span_starts_with(word, SPAN("el"))) {
        token->partner = mend->directive;
        mend->directive = (uint32_t)mend->n;
    } else if (span_equals(word, SPAN("endif"))) {
        token->partner = mend->directive;
        mend->directive = 0;
    }
}

/* What the token says about the declaration that it is in. */
static void mend_note_declaration(Mend *mend, const MendToken *token)
{
    const MendToken *before = &mend->tokens[mend->n - 1];

    if (strchr(";{}#", token->kind) != NULL) {
        mend->has_tag = false;
        mend->has_parens = false;
    } else if (token->kind == '(') {
        mend->has_parens = true;
    } else if (token->word == MEND_TAG || (token->kind == '"' && before->word == MEND_STORAGE)) {
        mend->has_tag = true;
    }
}

static int mend_add(Mend *mend, char kind, size_t start, size_t end)
{
    MendToken token = {.start = (uint32_t)start, .end = (uint32_t)end, .kind = kind};
    size_t top;

    if (mend->n == mend->cap) {
        size_t cap = mend->cap == 0 ? 1024 : mend->cap * 2;
        MendToken *tokens = mem_realloc(mend->tokens, cap * sizeof(*tokens));

        if (tokens == NULL) {
            return err_raise(-ENOMEM);
        }
        mend->tokens = tokens;
        mend->cap = cap;
    }
    if (kind == 'w') {
        token.word = (uint8_t)mend_word(mend_token_text(mend, &token));
    }
    if (kind == '{' || kind == '}') {
        mend_note_brace(mend, &token);
    } else if (kind == '(' || kind == ')') {
        mend_note_paren(mend, &token);
    } else if (kind == '#') {
        mend_note_directive(mend, &token);
    }
    if (mend->n > 0) {
        mend_note_declaration(mend, &token);
    }
    top = mend->n_braces < MEND_BRACES_MAX ? mend->n_braces : MEND_BRACES_MAX - 1;
    token.brace = mend->braces[top];
    token.in_parens = mend->n_parens > 0;
    mend->tokens[mend->n++] = token;
    return 0;
}

/* The token at that place, which is no blank and no comment. */
static size_t mend_read(const Mend *mend, size_t at, bool at_line_start, char *ret_kind)
{
    char c = mend->p[at];
    size_t end;

    *ret_kind = c;
    if (c == '#' && at_line_start) {
        return complexity_c_directive(mend->text, at, &end);
    }
    if (c == '"' || c == '\'') {
        *ret_kind = '"';
        return complexity_c_quoted(mend->text, at);
    }
    if (c >= '0' && c <= '9') {
        *ret_kind = '0';
        return complexity_c_number(mend->text, at);
    }
    if (!complexity_c_is_word(c)) {
        *ret_kind = c == '#' ? '?' : c;
        return at + 1;
    }
    *ret_kind = 'w';
    end = complexity_c_word(mend->text, at);
    if (end < mend->text.n && mend->p[end] == '"') {
        *ret_kind = '"';
        end = complexity_c_text(mend->text, end, span_make(mend->p + at, end - at));
    }
    return end;
}

static int mend_read_all(Mend *mend)
{
    bool at_line_start = true;
    size_t at = 0;
    int r = mend_add(mend, ';', 0, 0);

    while (r == 0 && at < mend->text.n) {
        size_t joint = complexity_c_joint(mend->text, at);

        if (mend->p[at] == '\n' || complexity_c_is_blank(mend->p[at])) {
            at_line_start |= mend->p[at] == '\n';
            at++;
        } else if (joint > 0) {
            at += joint;
        } else if (complexity_c_is_comment(mend->text, at)) {
            at = complexity_c_comment(mend->text, at);
        } else {
            char kind;
            size_t end = mend_read(mend, at, at_line_start, &kind);

            r = mend_add(mend, kind, at, end);
            at_line_start = false;
            at = end;
        }
    }
    return r == 0 ? err_pass(mend_add(mend, ';', mend->text.n, mend->text.n)) : err_pass(r);
}

/* Rules. The token behind a place is looked at, and never one that is not there: the last token is
 * none that a rule is about. */

static const MendToken *mend_at(const Mend *mend, size_t i)
{
    return &mend->tokens[i < mend->n ? i : mend->n - 1];
}

static bool mend_is_name(const MendToken *token)
{
    return token->word == MEND_NAME || token->word == MEND_CAPITALS;
}

static bool mend_begins_declaration(const MendToken *token)
{
    return token->word == MEND_TYPE || token->word == MEND_STORAGE || token->word == MEND_TAG;
}

/* What may stand in front of a declaration. */
static bool mend_is_boundary(const MendToken *token)
{
    return strchr(";{}#:", token->kind) != NULL;
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

static void mend_blank(Mend *mend, size_t first, size_t last)
{
    mend->changed |= complexity_c_blank(mend->p, mend->tokens[first].start, mend->tokens[last].end);
}

/* `class EXPORT Name {` */
static bool mend_is_in_class_head(const Mend *mend, const MendToken *before, size_t next)
{
    char behind = mend_at(mend, next + 1)->kind;

    return before->word == MEND_TAG && mend_is_name(mend_at(mend, next)) &&
           (behind == '{' || behind == ':');
}

/* `void NORETURN name(`, `void NORETURN Class::name(` */
static bool mend_is_before_name(const Mend *mend, const MendToken *before, size_t next)
{
    const MendToken *behind;

    if (!mend_is_name(mend_at(mend, next)) || !(before->word == MEND_TYPE || mend_is_name(before) ||
                                                before->kind == '*' || before->kind == '&')) {
        return false;
    }
    for (int n = 0; n < MEND_CHAIN_MAX && mend_is_name(mend_at(mend, next + 1)); n++) {
        next++;
    }
    behind = mend_at(mend, next + 1);
    return behind->kind == '(' || (behind->kind == ':' && mend_at(mend, next + 2)->kind == ':');
}

/* `EXPORT int`, `FORMAT(1) const char` */
static bool mend_is_before_type(const Mend *mend, size_t i, const MendToken *before, size_t next)
{
    const MendToken *token = &mend->tokens[i];
    bool has_arguments = next > i + 1;

    if (token->in_parens || (token->brace == MEND_BLOCK && has_arguments) ||
        !(mend_is_boundary(before) || before->word == MEND_STORAGE ||
          before->word == MEND_QUALIFIER)) {
        return false;
    }
    next = mend_behind_attributes(mend, next);
    token = mend_at(mend, next);
    return mend_begins_declaration(token) || (has_arguments && token->word == MEND_QUALIFIER);
}

/* `int name UNUSED,` */
static bool mend_is_behind_parameter(const Mend *mend, size_t i, const MendToken *before,
                                     size_t next)
{
    char kind = mend_at(mend, next)->kind;

    return mend->tokens[i].in_parens && (mend_is_name(before) || before->kind == ']') &&
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
        return token->brace == MEND_SCOPE && !token->in_parens &&
               (mend_is_before_name(mend, before, next) ||
                (before->kind == ')' && mend_is_behind_list(mend, i, before, next) &&
                 mend_at(mend, next)->kind == ';'));
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
        !(mend_is_boundary(before) || before->word == MEND_STORAGE) ||
        !mend_is_line_between(mend, &mend->tokens[next - 1], token)) {
        return false;
    }
    if (token->word == MEND_CAPITALS && second->kind == '(') {
        return mend_at(mend, mend_behind(mend, next))->kind != '{';
    }
    return token->kind == '#' || mend_begins_declaration(token) || token->word == MEND_QUALIFIER ||
           (mend_is_name(token) && (second->kind == 'w' || second->kind == '*'));
}

static void mend_blank_declaration(Mend *mend, size_t i, size_t next)
{
    if (mend->tokens[mend->previous].word == MEND_STORAGE &&
        !mend_is_line_between(mend, &mend->tokens[mend->previous], &mend->tokens[i])) {
        mend_blank(mend, mend->previous, mend->previous);
        mend->tokens[mend->previous].word = MEND_NO_WORD;
        mend->tokens[mend->previous].kind = ';';
    }
    mend_blank(mend, i, next - 1);
}

/* Statements. */

/* `MACRO(a, b)` before a statement, a block or the end of one. */
static bool mend_is_statement(const Mend *mend, size_t i, size_t next)
{
    const MendToken *token = mend_at(mend, next);

    if (!mend_is_name(&mend->tokens[i]) || next == i + 1 || mend->tokens[i].in_parens ||
        mend->tokens[i].brace != MEND_BLOCK || !mend_is_boundary(&mend->tokens[mend->previous])) {
        return false;
    }
    if (token->kind == '{') {
        return true;
    }
    return mend_is_line_between(mend, &mend->tokens[next - 1], token) &&
           (token->kind == '}' || token->word == MEND_STATEMENT || token->word == MEND_QUALIFIER ||
            mend_begins_declaration(token));
}

/* `TRY {` */
static bool mend_is_block_head(const Mend *mend, size_t i, size_t next)
{
    return mend->tokens[i].word == MEND_CAPITALS && next == i + 1 &&
           mend->tokens[i].brace == MEND_BLOCK && mend_at(mend, next)->kind == '{' &&
           mend_is_boundary(&mend->tokens[mend->previous]);
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
        mend_blank(mend, i, next - 1);
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
        !(before->kind == ',' || (before->kind == '(' && mend_is_name(before - 1)))) {
        return 0;
    }
    while (mend->tokens[end].kind == 'w' || mend->tokens[end].kind == '*') {
        end++;
    }
    last = &mend->tokens[end - 1];
    if ((mend->tokens[end].kind != ',' && mend->tokens[end].kind != ')') ||
        !(last->kind == '*' || !mend_is_name(last) || (last - 1)->word == MEND_TAG)) {
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
            mend_blank(mend, i, i);
        }
    }
    if (!mend_is_name(&mend->tokens[name])) {
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

/* Heads. */

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
    mend_blank(mend, end, end);
    for (first = end + 1; mend->tokens[first].kind != '#'; first++) {
    }
    mend_blank(mend, first, i);
}

static void mend_apply(Mend *mend)
{
    size_t i = 1;

    while (i + 1 < mend->n) {
        size_t next = mend->tokens[i].kind == 'w' ? mend_behind(mend, i) : i + 1;

        if (mend->tokens[i].kind == '#') {
            mend_share_body(mend, i);
        }
        if (mend_is_declaration(mend, i, next)) {
            mend_blank_declaration(mend, i, next);
            i = next;
        } else if (mend_is_attribute(mend, i, next) || mend_is_block_head(mend, i, next)) {
            mend_blank(mend, i, next - 1);
            i = next;
        } else if (mend_is_statement(mend, i, next)) {
            mend_end_statement(mend, i, next);
            i = next;
        } else if (mend_type_end(mend, i) != 0) {
            next = mend_type_end(mend, i);
            mend_name_type(mend, i, next);
            i = next;
        } else if (mend_operator_end(mend, i) != 0) {
            next = mend_operator_end(mend, i);
            memset(mend->p + mend->tokens[i].start, '_',
                   mend->tokens[next - 1].end - mend->tokens[i].start);
            mend->changed = true;
            mend->previous = next - 1;
            i = next;
        } else {
            mend->previous = i++;
        }
    }
}

int complexity_c_mend(char *text, size_t n, bool *ret_changed)
{
    Mend mend = {.p = text, .text = span_make(text, n)};
    int r;

    *ret_changed = false;
    if (n > MEND_BYTES_MAX) {
        return 0;
    }
    r = mend_read_all(&mend);
    if (r == 0) {
        mend_apply(&mend);
        *ret_changed = mend.changed;
    }
    (void)mem_free(mend.tokens);
    return err_pass(r);
}
