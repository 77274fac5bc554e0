/* Files that hold a token. */
#include "app/config.h"

#include <errno.h>
#include <string.h>

#include "app/http_auth.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/private_file.h"

static int token_check(Span token, const char *path, Diag *reterr_diag)
{
    int r = token.n > 0 ? http_auth_check_token(token, reterr_diag)
                        : diag_set(reterr_diag, HTTP_AUTH_E_INVALID, "the token file is empty");

    if (r != 0) {
        diag_prefix(reterr_diag, "%s: ", path);
    }
    return r != 0 ? CONFIG_E_INVALID : 0;
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

    bytes_init(&text, HTTP_AUTH_TOKEN_MAX);
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
