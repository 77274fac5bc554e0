/* Tokens as text: what may be one, and where none may be. */
#include "app/http_auth.h"

#include <string.h>

/* Shorter ones can be guessed: 16 letters and digits of chance are 82 bits or more. */
#define AUTH_TOKEN_MIN ((size_t)16)

/* What may stand behind "Bearer " (RFC 6750, b68token), and nothing else: a token that no client
 * could send would lock everybody out. */
static bool auth_is_sendable(Span token)
{
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!is_letter && !(c >= '0' && c <= '9') && (c == '\0' || strchr("-._~+/=", c) == NULL)) {
            return false;
        }
    }
    return true;
}

int http_auth_check_token(Span token, Diag *reterr_diag)
{
    if (token.n == 0) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID, "the token is empty");
    }
    if (token.n < AUTH_TOKEN_MIN) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                        "a token of %zu bytes can be guessed; it needs at least %zu", token.n,
                        AUTH_TOKEN_MIN);
    }
    if (token.n > HTTP_AUTH_TOKEN_MAX) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                        "a token of %zu bytes is too long; it may have %zu", token.n,
                        HTTP_AUTH_TOKEN_MAX);
    }
    if (!auth_is_sendable(token)) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                        "a token is one line of letters, digits and -._~+/=");
    }
    return 0;
}

static int auth_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | ' ');
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes one character off, which may be spelled "%5F". */
static char auth_take_character(Span *text)
{
    char c = text->p[0];
    size_t n = 1;

    if (c == '%' && text->n >= 3 && auth_hex_digit(text->p[1]) >= 0 &&
        auth_hex_digit(text->p[2]) >= 0) {
        c = (char)(16 * auth_hex_digit(text->p[1]) + auth_hex_digit(text->p[2]));
        n = 3;
    }
    *text = span_make(text->p + n, text->n - n);
    return c;
}

static bool auth_pair_is(Span pair, Span name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (pair.n == 0 || auth_take_character(&pair) != name.p[i]) {
            return false;
        }
    }
    return pair.n == 0 || pair.p[0] == '=';
}

bool http_auth_is_in_query(Span query)
{
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        size_t n = end == NULL ? query.n : (size_t)(end - query.p);

        if (auth_pair_is(span_make(query.p, n), SPAN("access_token"))) {
            return true;
        }
        n += end == NULL ? 0 : 1;
        query = span_make(query.p + n, query.n - n);
    }
    return false;
}
