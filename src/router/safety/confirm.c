#include "router/safety/confirm.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

/* The method's name, case not counting, as something of fixed size. Names are short (router_add
 * sees to it), and only as many bytes as here are folded. */
static int confirm_hash_method(Span method, uint8_t ret[SAFETY_HASH_BYTES])
{
    char low[512];

    method = text_trim(method);
    if (method.n <= sizeof(low)) {
        for (size_t i = 0; i < method.n; i++) {
            char c = method.p[i];

            low[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        method.p = low;
    }
    return safety_sha256(method, ret);
}

void safety_confirm_return(SafetyConfirms *confirms, const SafetyConfirmed *taken)
{
    confirms->list[confirms->next] = *taken;
    confirms->next = (confirms->next + 1) % LIMIT_SAFETY_CONFIRMS;
}

int safety_confirm_add(SafetyConfirms *confirms, const uint8_t random[16], Span method,
                       uint64_t document, const char *fingerprint, int64_t until_ms,
                       char ret[SAFETY_CONFIRM_BYTES])
{
    SafetyConfirmed entry = {.document = document, .until_ms = until_ms};
    int r = confirm_hash_method(method, entry.method);

    if (r != 0) {
        return err_pass(r);
    }
    safety_hex("ct-", random, 16, entry.token);
    memcpy(entry.fingerprint, fingerprint, sizeof(entry.fingerprint));
    safety_confirm_return(confirms, &entry);
    memcpy(ret, entry.token, sizeof(entry.token));
    return 0;
}

int safety_confirm_take(SafetyConfirms *confirms, Span token, Span method, uint64_t document,
                        const char *fingerprint, int64_t now_ms, const char **ret_problem,
                        SafetyConfirmed *ret)
{
    uint8_t hash[SAFETY_HASH_BYTES];
    SafetyConfirmed found = {.token = ""};
    int r = confirm_hash_method(method, hash);

    if (r != 0) {
        return err_pass(r);
    }
    for (size_t i = 0; i < LIMIT_SAFETY_CONFIRMS; i++) {
        SafetyConfirmed *entry = &confirms->list[i];

        if (entry->token[0] != '\0' && text_equals_nocase(token, span_from_str(entry->token))) {
            found = *entry;
            *entry = (SafetyConfirmed){.token = ""};
        }
    }
    *ret_problem = NULL;
    if (found.token[0] == '\0' || now_ms >= found.until_ms) {
        *ret_problem =
            "the confirmToken is not known, was used, or is too old; a dry run gives a new one";
    } else if (memcmp(found.method, hash, sizeof(hash)) != 0) {
        *ret_problem = "the confirmToken was given for another method";
    } else if (found.document != document) {
        *ret_problem = "the confirmToken was given for another document";
    } else if (memcmp(found.fingerprint, fingerprint, sizeof(found.fingerprint)) != 0) {
        *ret_problem = "the confirmToken was given for other parameters";
    }
    *ret = found;
    return 0;
}
