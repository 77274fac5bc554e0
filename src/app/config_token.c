/* Files that hold a token. */
#include "app/config.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/private_file.h"

/* Shorter ones can be guessed: 16 letters and digits of chance are 82 bits or more. */
#define CONFIG_TOKEN_MIN ((size_t)16)

/* A line end more than the longest that goes into a header field comfortably. */
#define CONFIG_TOKEN_MAX ((size_t)4096)

/* What may stand behind "Bearer " (RFC 6750, b68token), and nothing else: a token that no client
 * could send would lock everybody out. */
static bool token_is_sendable(Span token)
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

static int token_check(Span token, const char *path, Diag *reterr_diag)
{
    if (token.n == 0) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "%s: the token file is empty", path);
    }
    if (token.n < CONFIG_TOKEN_MIN) {
        return diag_set(reterr_diag, CONFIG_E_INVALID,
                        "%s: a token of %zu bytes can be guessed; it needs at least %zu", path,
                        token.n, CONFIG_TOKEN_MIN);
    }
    if (!token_is_sendable(token)) {
        return diag_set(reterr_diag, CONFIG_E_INVALID,
                        "%s: a token is one line of letters, digits and -._~+/=", path);
    }
    return 0;
}

static int token_copy(char **ret, Span token)
{
    char *copy = mem_alloc(token.n + 1);

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, token.p, token.n);
    copy[token.n] = '\0';
    *ret = copy;
    return 0;
}

int config_read_token(char **ret, const char *path, Diag *reterr_diag)
{
    Bytes text;
    Span token;
    int r;

    bytes_init(&text, CONFIG_TOKEN_MAX);
    r = private_file_read(&text, path, reterr_diag);
    if (r == -ENOMEM) {
        bytes_deinit(&text);
        return err_pass(r);
    }
    if (r != 0) {
        bytes_deinit(&text);
        return CONFIG_E_READ; /* it has said why */
    }
    token = bytes_span(&text);
    if (token.n > 0 && token.p[token.n - 1] == '\n') {
        token.n--;
    }
    if (token.n > 0 && token.p[token.n - 1] == '\r') {
        token.n--;
    }
    r = token_check(token, path, reterr_diag);
    r = r != 0 ? r : token_copy(ret, token);
    bytes_deinit(&text);
    return r;
}
