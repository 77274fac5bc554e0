#include "toolkit/complexity/lang_c_mend.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/complexity/lang_c_scan.h"

/* "A_B", not "A". */
#define MEND_CAPITALS_MIN 3

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
    {"double", MEND_TYPE},        {"else", MEND_ELSE},         {"enum", MEND_TAG},
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

int complexity_c_mend_read(Mend *mend)
{
    bool at_line_start = true;
    size_t next_question = 0;
    size_t at = 0;
    int r = mend_add(mend, ';', 0, 0);

    while (r == 0 && at < mend->text.n && !stop_is_asked_in(mend->stop, at, &next_question)) {
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
