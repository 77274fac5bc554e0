/* ${NAME} and ${NAME:-default} in the strings of the configuration. */
#include "app/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"

/* Longest name and longest result: paths and URLs, nothing more. */
#define CONFIG_NAME_MAX   128
#define CONFIG_STRING_MAX ((size_t)64 * 1024)

/* Without the text: it may be a password. */
static int expand_invalid(Diag *reterr_diag)
{
    return diag_set(reterr_diag, CONFIG_E_INVALID,
                    "a '$' begins ${NAME} or ${NAME:-default}; write $$ for a dollar");
}

/* What stands between the braces: appends its value. */
static int expand_variable(Bytes *out, Span inside, Diag *reterr_diag)
{
    char name[CONFIG_NAME_MAX];
    size_t n = 0;
    const char *value;

    while (n < inside.n && inside.p[n] != ':') {
        n++;
    }
    if (n == 0 || n >= sizeof(name) ||
        (n < inside.n && (n + 1 >= inside.n || inside.p[n + 1] != '-'))) {
        return expand_invalid(reterr_diag);
    }
    memcpy(name, inside.p, n);
    name[n] = '\0';
    value = getenv(name);
    if (value != NULL && value[0] != '\0') {
        return bytes_append(out, value, strlen(value));
    }
    if (n < inside.n) {
        return bytes_append(out, inside.p + n + 2, inside.n - n - 2);
    }
    if (value != NULL) {
        return 0; /* set, and empty */
    }
    return diag_set(reterr_diag, CONFIG_E_VARIABLE,
                    "${%s} is not set in the environment; ${%s:-default} gives a default", name,
                    name);
}

static int expand_into(Bytes *out, Span text, Diag *reterr_diag)
{
    size_t i = 0;

    while (i < text.n) {
        const char *end;
        int r;

        if (text.p[i] != '$') {
            r = bytes_append_byte(out, text.p[i]);
            i++;
        } else if (i + 1 < text.n && text.p[i + 1] == '$') {
            r = bytes_append_byte(out, '$');
            i += 2;
        } else {
            end =
                i + 1 < text.n && text.p[i + 1] == '{' ? memchr(text.p + i, '}', text.n - i) : NULL;
            if (end == NULL) {
                return expand_invalid(reterr_diag);
            }
            r = expand_variable(out, span_make(text.p + i + 2, (size_t)(end - text.p) - i - 2),
                                reterr_diag);
            i = (size_t)(end - text.p) + 1;
        }
        if (r == CONFIG_E_INVALID || r == CONFIG_E_VARIABLE) {
            return r;
        }
        if (r == BYTES_E_FULL && out->n + 1 >= CONFIG_STRING_MAX) {
            return diag_set(reterr_diag, CONFIG_E_INVALID, "a string grows beyond %zu bytes",
                            CONFIG_STRING_MAX);
        }
        if (r != 0) {
            return err_fold(r);
        }
    }
    return 0;
}

int config_expand(char **ret, Span text, Diag *reterr_diag)
{
    Bytes out;
    int r;

    if (text.n > 0 && memchr(text.p, '\0', text.n) != NULL) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "a string with a NUL byte");
    }
    bytes_init(&out, CONFIG_STRING_MAX);
    r = expand_into(&out, text, reterr_diag);
    if (r == 0) {
        r = bytes_append_byte(&out, '\0') == 0 ? 0 : err_raise(-ENOMEM);
    }
    if (r != 0) {
        bytes_deinit(&out);
        return r;
    }
    *ret = out.data;
    return 0;
}
