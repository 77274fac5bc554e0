/* Tokens, as the lexer of Handlebars 4.7 cuts them. Content is cut where a tag or an escaped tag
 * begins; inside a tag, what could be several tokens is the first of the list in lex_tag_token. */
#include "toolkit/templates/engine_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Of a name or token, in a message. */
#define LEX_SHOWN_BYTES 40

int template_syntax(const TemplateLexer *lexer, const char *at, const char *format, ...)
{
    char message[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)diag_set(lexer->diag, TEMPLATE_E_SYNTAX, "%s", message);
    diag_set_place(lexer->diag, lexer->text, (size_t)(lexer->end - lexer->text),
                   (size_t)(at - lexer->text));
    return TEMPLATE_E_SYNTAX;
}

int template_shown(Span s)
{
    size_t n = 0;

    while (n < s.n && (unsigned char)s.p[n] >= ' ') {
        unsigned size = utf8_sequence(s.p + n, s.p + s.n);

        if (size == 0 || n + size > LEX_SHOWN_BYTES) {
            break;
        }
        n += size;
    }
    return (int)n;
}

/* White space of more than one byte: U+00A0, 1680, 2000 to 200A, 2028, 2029, 202F, 205F, 3000,
 * FEFF. Three bytes are looked at only where the first says that there are three. */
static size_t lex_wide_space(const unsigned char *p, size_t n)
{
    if (n >= 2 && p[0] == 0xC2 && p[1] == 0xA0) {
        return 2;
    }
    if (n < 3) {
        return 0;
    }
    switch (p[0]) {
    case 0xE1:
        return p[1] == 0x9A && p[2] == 0x80 ? 3 : 0;
    case 0xE2:
        if (p[1] == 0x80) {
            return p[2] <= 0x8A || p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF ? 3 : 0;
        }
        return p[1] == 0x81 && p[2] == 0x9F ? 3 : 0;
    case 0xE3:
        return p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
    case 0xEF:
        return p[1] == 0xBB && p[2] == 0xBF ? 3 : 0;
    default:
        return 0;
    }
}

size_t template_space_at(const char *p, const char *end)
{
    if (p >= end) {
        return 0;
    }
    if (*p == ' ' || (*p >= '\t' && *p <= '\r')) {
        return 1;
    }
    if ((unsigned char)*p < 0x80) {
        return 0;
    }
    return lex_wide_space((const unsigned char *)p, (size_t)(end - p));
}

size_t template_space_before(const char *begin, const char *p)
{
    if (p <= begin) {
        return 0;
    }
    for (size_t n = 1; n <= 3 && n <= (size_t)(p - begin); n++) {
        if (template_space_at(p - n, p) == n) {
            return n;
        }
    }
    return 0;
}

static const char *lex_skip_space(const char *p, const char *end)
{
    size_t n;

    while ((n = template_space_at(p, end)) > 0) {
        p += n;
    }
    return p;
}

static bool lex_starts(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* The first {{ from p on; end if there is none. */
static const char *lex_find_open(const char *p, const char *end)
{
    while (p < end) {
        p = memchr(p, '{', (size_t)(end - p));
        if (p == NULL) {
            break;
        }
        if (p + 1 < end && p[1] == '{') {
            return p;
        }
        p++;
    }
    return end;
}

/* The first "}}" from p on; NULL if there is none. */
static const char *lex_find_close(const char *p, const char *end)
{
    while (p < end && (p = memchr(p, '}', (size_t)(end - p))) != NULL) {
        if (p + 1 < end && p[1] == '}') {
            return p;
        }
        p++;
    }
    return NULL;
}

static void lex_take(TemplateLexer *lexer, TemplateToken *ret, TemplateTokenKind kind,
                     const char *end)
{
    *ret = (TemplateToken){.kind = kind, .text = span_make(lexer->at, (size_t)(end - lexer->at))};
    lexer->at = end;
}

/* Text up to the next tag. False if there is none: a tag follows at once, or the text is over. */
static bool lex_text(TemplateLexer *lexer, TemplateToken *ret)
{
    const char *open = lex_find_open(lexer->at, lexer->end);
    const char *content_end = open;

    if (open == lexer->end) {
        lex_take(lexer, ret, lexer->at == lexer->end ? TOKEN_END : TOKEN_CONTENT, lexer->end);
        return true;
    }
    lexer->state = LEX_TAG;
    if (open > lexer->at && open[-1] == '\\') {
        content_end--;
        /* Two of them: the second is escaped by the first, and the tag is one. */
        if (open - lexer->at < 2 || open[-2] != '\\') {
            lexer->state = LEX_ESCAPED;
        }
    }
    lex_take(lexer, ret, TOKEN_CONTENT, content_end);
    lexer->at = open;
    return ret->text.n > 0;
}

/* From the {{ behind a backslash to the next tag, escaped or not. */
static void lex_escaped(TemplateLexer *lexer, TemplateToken *ret)
{
    const char *least = lexer->at + 2;
    const char *end = lex_find_open(least, lexer->end);

    if (end < lexer->end) {
        for (int i = 0; i < 2 && end > least && end[-1] == '\\'; i++) {
            end--;
        }
    }
    lex_take(lexer, ret, TOKEN_CONTENT, end);
    lexer->state = LEX_TEXT;
}

static int lex_comment(TemplateLexer *lexer, const char *mark, TemplateToken *ret)
{
    bool is_long = lex_starts(mark, lexer->end, "!--");
    const char *begin = lexer->at;
    /* The two dashes of {{!--}} both begin and end it. */
    const char *p = is_long ? mark + 1 : mark;
    const char *end = lex_find_close(p, lexer->end);

    while (is_long && end != NULL) {
        const char *dashes = end - (end > p && end[-1] == '~' ? 1 : 0);

        if (dashes - p >= 2 && dashes[-1] == '-' && dashes[-2] == '-') {
            break;
        }
        end = lex_find_close(end + 1, lexer->end);
    }
    if (end == NULL) {
        return template_syntax(lexer, begin, "the comment is not closed: expected %s",
                               is_long ? "--}}" : "}}");
    }
    lex_take(lexer, ret, TOKEN_COMMENT, end + 2);
    ret->strip_open = begin[2] == '~';
    ret->strip_close = end[-1] == '~';
    lexer->state = LEX_TEXT;
    return 0;
}

/* {{else}} or {{^}}, as a whole, whose word ends at p. */
static bool lex_inverse(TemplateLexer *lexer, const char *p, TemplateToken *ret)
{
    const char *begin = lexer->at;
    bool strip_close;

    p = lex_skip_space(p, lexer->end);
    strip_close = p < lexer->end && *p == '~';
    p += strip_close;
    if (!lex_starts(p, lexer->end, "}}")) {
        return false;
    }
    lex_take(lexer, ret, TOKEN_INVERSE, p + 2);
    ret->strip_open = begin[2] == '~';
    ret->strip_close = strip_close;
    lexer->state = LEX_TEXT;
    return true;
}

/* Where the word `else` of {{else ends; NULL if it is another word. */
static const char *lex_else(const char *p, const char *end)
{
    p = lex_skip_space(p, end);
    if (!lex_starts(p, end, "else")) {
        return NULL;
    }
    p += strlen("else");
    if (p < end && (*p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                    (*p >= 'A' && *p <= 'Z'))) {
        return NULL;
    }
    return p;
}

static int lex_unsupported(const TemplateLexer *lexer, const char *p)
{
    if (lex_starts(p, lexer->end, "{{{{")) {
        return template_syntax(lexer, p, "raw blocks ({{{{) are not supported");
    }
    p += p + 2 < lexer->end && p[2] == '~' ? 3 : 2;
    if (lex_starts(p, lexer->end, ">") || lex_starts(p, lexer->end, "#>")) {
        return template_syntax(lexer, lexer->at, "partials ({{>) are not supported");
    }
    if (lex_starts(p, lexer->end, "*") || lex_starts(p, lexer->end, "#*")) {
        return template_syntax(lexer, lexer->at, "decorators ({{*) are not supported");
    }
    return 0;
}

/* The token at a {{. */
static int lex_open(TemplateLexer *lexer, TemplateToken *ret)
{
    const char *begin = lexer->at;
    bool strip = begin + 2 < lexer->end && begin[2] == '~';
    const char *p = begin + 2 + strip;
    char c = p < lexer->end ? *p : '\0';
    TemplateTokenKind kind = TOKEN_OPEN;
    const char *word;
    int r = lex_unsupported(lexer, begin);

    if (r != 0) {
        return r;
    }
    if (c == '!') {
        return lex_comment(lexer, p, ret);
    }
    word = lex_else(p, lexer->end);
    if ((c == '^' && lex_inverse(lexer, p + 1, ret)) ||
        (word != NULL && lex_inverse(lexer, word, ret))) {
        return 0;
    }
    switch (c) {
    case '#':
        kind = TOKEN_OPEN_BLOCK;
        break;
    case '/':
        kind = TOKEN_OPEN_END;
        break;
    case '^':
        kind = TOKEN_OPEN_INVERSE;
        break;
    case '{':
        kind = TOKEN_OPEN_RAW;
        break;
    case '&':
        break;
    default:
        p--;
        break;
    }
    if (word != NULL) {
        kind = TOKEN_OPEN_CHAIN;
        p = word - 1;
    }
    lex_take(lexer, ret, kind, p + 1);
    ret->strip_open = strip;
    return 0;
}

static bool lex_is_name(const char *p, const char *end)
{
    static const char others[] = "!\"#%&'()*+,./;<=>@[\\]^`{|}~";

    return p < end && memchr(others, *p, sizeof(others) - 1) == NULL &&
           template_space_at(p, end) == 0;
}

/* Whether a name, a number or a word may end here; a name also before = / . and |. */
static bool lex_may_end(const char *p, const char *end, const char *marks)
{
    return p < end && (strchr(marks, *p) != NULL || template_space_at(p, end) > 0);
}

static const char *lex_number_end(const char *p, const char *end)
{
    const char *digits;

    p += *p == '-';
    digits = p;
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    if (p == digits) {
        return NULL;
    }
    if (p + 1 < end && *p == '.' && p[1] >= '0' && p[1] <= '9') {
        p++;
        while (p < end && *p >= '0' && *p <= '9') {
            p++;
        }
    }
    return lex_may_end(p, end, "~})") ? p : NULL;
}

/* The end of "...", '...' or [...], whose closing mark may be escaped by a backslash. One that is
 * never closed otherwise ends at its last mark, escaped as that is. NULL if there is none. */
static const char *lex_quoted_end(const char *p, const char *end, char mark)
{
    const char *last = NULL;

    for (p++; p < end && (p = memchr(p, mark, (size_t)(end - p))) != NULL; p++) {
        last = p;
        if (p[-1] != '\\') {
            break;
        }
    }
    return last == NULL ? NULL : last + 1;
}

/* true, false, undefined, null, numbers, `as |` and names. */
static bool lex_word(TemplateLexer *lexer, TemplateToken *ret)
{
    static const struct {
        const char *word;
        TemplateTokenKind kind;
    } words[] = {{"true", TOKEN_TRUE},
                 {"false", TOKEN_FALSE},
                 {"undefined", TOKEN_UNDEFINED},
                 {"null", TOKEN_NULL}};
    const char *p = lexer->at;
    const char *number = lex_number_end(p, lexer->end);

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        const char *after = p + strlen(words[i].word);

        if (lex_starts(p, lexer->end, words[i].word) && lex_may_end(after, lexer->end, "~})")) {
            lex_take(lexer, ret, words[i].kind, after);
            return true;
        }
    }
    if (number != NULL) {
        lex_take(lexer, ret, TOKEN_NUMBER, number);
        return true;
    }
    if (lex_starts(p, lexer->end, "as") && template_space_at(p + 2, lexer->end) > 0) {
        const char *bar = lex_skip_space(p + 2, lexer->end);

        if (bar < lexer->end && *bar == '|') {
            lex_take(lexer, ret, TOKEN_OPEN_PARAMS, bar + 1);
            return true;
        }
    }
    while (lex_is_name(p, lexer->end)) {
        p++;
    }
    if (p == lexer->at || !lex_may_end(p, lexer->end, "=~}/.)|")) {
        return false;
    }
    lex_take(lexer, ret, TOKEN_ID, p);
    return true;
}

/* ".." and "." are names, and so is "." where nothing follows; else "." and "/" go between names.
 */
static void lex_dot(TemplateLexer *lexer, TemplateToken *ret)
{
    const char *p = lexer->at;

    if (lex_starts(p, lexer->end, "..")) {
        lex_take(lexer, ret, TOKEN_ID, p + 2);
    } else if (*p == '.' && lex_may_end(p + 1, lexer->end, "=~}/.)|")) {
        lex_take(lexer, ret, TOKEN_ID, p + 1);
    } else {
        lex_take(lexer, ret, TOKEN_SEPARATOR, p + 1);
    }
}

static bool lex_close(TemplateLexer *lexer, TemplateToken *ret)
{
    static const struct {
        const char *text;
        TemplateTokenKind kind;
        bool strip;
    } marks[] = {{"}}}}", TOKEN_INVALID, false}, /* would end the opening tag of a raw block */
                 {"}}}", TOKEN_CLOSE_RAW, false},
                 {"}~}}", TOKEN_CLOSE_RAW, true},
                 {"}}", TOKEN_CLOSE, false},
                 {"~}}", TOKEN_CLOSE, true}};

    for (size_t i = 0; i < TW_ARRAY_SIZE(marks); i++) {
        if (lex_starts(lexer->at, lexer->end, marks[i].text)) {
            lex_take(lexer, ret, marks[i].kind, lexer->at + strlen(marks[i].text));
            ret->strip_close = marks[i].strip;
            lexer->state = LEX_TEXT;
            return true;
        }
    }
    return false;
}

static bool lex_quoted(TemplateLexer *lexer, TemplateToken *ret)
{
    char c = *lexer->at;
    const char *end = lex_quoted_end(lexer->at, lexer->end, c == '[' ? ']' : c);

    if (end == NULL) {
        return false;
    }
    lex_take(lexer, ret, c == '[' ? TOKEN_ID : TOKEN_STRING, end);
    return true;
}

static int lex_tag_token(TemplateLexer *lexer, TemplateToken *ret)
{
    static const struct {
        char c;
        TemplateTokenKind kind;
    } marks[] = {{'(', TOKEN_LEFT},
                 {')', TOKEN_RIGHT},
                 {'=', TOKEN_EQUALS},
                 {'@', TOKEN_AT},
                 {'|', TOKEN_PIPE}};

    lexer->at = lex_skip_space(lexer->at, lexer->end);
    if (lexer->at == lexer->end) {
        lex_take(lexer, ret, TOKEN_END, lexer->end);
        return 0;
    }
    if (lex_starts(lexer->at, lexer->end, "{{")) {
        return lex_open(lexer, ret);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(marks); i++) {
        if (*lexer->at == marks[i].c) {
            lex_take(lexer, ret, marks[i].kind, lexer->at + 1);
            return 0;
        }
    }
    if (*lexer->at == '.' || *lexer->at == '/') {
        lex_dot(lexer, ret);
        return 0;
    }
    if (lex_close(lexer, ret)) {
        return 0;
    }
    if (*lexer->at == '"' || *lexer->at == '\'' || *lexer->at == '[') {
        if (lex_quoted(lexer, ret)) {
            return 0;
        }
    } else if (lex_word(lexer, ret)) {
        return 0;
    }
    lex_take(lexer, ret, TOKEN_INVALID, lexer->at + 1);
    return 0;
}

int template_lex(TemplateLexer *lexer, TemplateToken *ret)
{
    if (lexer->state == LEX_TEXT && lex_text(lexer, ret)) {
        return 0;
    }
    if (lexer->state == LEX_ESCAPED) {
        lex_escaped(lexer, ret);
        return 0;
    }
    return lex_tag_token(lexer, ret);
}
