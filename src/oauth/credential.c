#include "oauth/credential.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"

/* Every string and number of a credential by name, in the order of the file. */
typedef struct CredentialField {
    Span name;
    size_t offset;
} CredentialField;

static const CredentialField credential_strings[] = {
#define X(field) {SPAN_INIT(#field), offsetof(OauthCredential, field)},
    OAUTH_CREDENTIAL_STRINGS(X)
#undef X
};

static const CredentialField credential_numbers[] = {
#define X(field) {SPAN_INIT(#field), offsetof(OauthCredential, field)},
    OAUTH_CREDENTIAL_NUMBERS(X)
#undef X
};

static char **credential_string(OauthCredential *credential, size_t i)
{
    return (char **)(void *)((char *)credential + credential_strings[i].offset);
}

static int64_t *credential_number(OauthCredential *credential, size_t i)
{
    return (int64_t *)(void *)((char *)credential + credential_numbers[i].offset);
}

/* Nothing of a secret stays in memory that others get. */
static char *credential_forget(char *text)
{
    if (text != NULL) {
        volatile char *p = text;

        for (size_t n = strlen(text); n > 0; n--) {
            *p++ = '\0';
        }
    }
    return mem_free(text);
}

void oauth_credential_deinit(OauthCredential *credential)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_strings); i++) {
        char **place = credential_string(credential, i);

        *place = credential_forget(*place);
    }
    *credential = (OauthCredential){.server = NULL};
}

Span oauth_credential_span(const char *text)
{
    return text == NULL ? SPAN_NULL : span_from_str(text);
}

int oauth_credential_set(char **place, Span value)
{
    char *copy = NULL;

    if (value.n > 0) {
        copy = mem_alloc(value.n + 1);
        if (copy == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(copy, value.p, value.n);
        copy[value.n] = '\0';
    }
    (void)credential_forget(*place);
    *place = copy;
    return 0;
}

int oauth_credential_copy(OauthCredential *to, const OauthCredential *from)
{
    OauthCredential copy = *from;
    OauthCredential source = *from;

    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_strings); i++) {
        *credential_string(&copy, i) = NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_strings); i++) {
        int r = oauth_credential_set(credential_string(&copy, i),
                                     oauth_credential_span(*credential_string(&source, i)));

        if (r != 0) {
            oauth_credential_deinit(&copy);
            *to = copy;
            return r;
        }
    }
    *to = copy;
    return 0;
}

bool oauth_credential_is_fresh(const OauthCredential *credential, int64_t now_s)
{
    int64_t life_s = credential->expires_s - credential->saved_s;
    /* One that lives shorter is good for half its life: else it would never be. */
    int64_t early_s = life_s < 2 * LIMIT_OAUTH_EARLY_S ? life_s / 2 : LIMIT_OAUTH_EARLY_S;

    return credential->access_token != NULL &&
           (credential->expires_s == 0 || credential->expires_s - early_s > now_s);
}

/* ---- as JSON ---- */

void oauth_credential_write(JsonWriter *w, const OauthCredential *credential)
{
    OauthCredential source = *credential;

    json_write_object(w);
    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_strings); i++) {
        const char *text = *credential_string(&source, i);

        if (text != NULL) {
            json_write_key(w, credential_strings[i].name);
            json_write_string(w, span_from_str(text));
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_numbers); i++) {
        int64_t number = *credential_number(&source, i);

        if (number != 0) {
            json_write_key(w, credential_numbers[i].name);
            json_write_int(w, number);
        }
    }
    if (credential->is_registered) {
        json_write_key(w, SPAN("is_registered"));
        json_write_bool(w, true);
    }
    json_write_end_object(w);
}

static int credential_read(JsonValue value, Arena *arena, OauthCredential *ret)
{
    OauthCredential credential = {.server = NULL};
    JsonValue member;
    int r = 0;

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(credential_strings); i++) {
        Span text;

        if (json_get(value, credential_strings[i].name, &member) &&
            json_kind(member) == JSON_STRING) {
            r = json_string(member, arena, &text);
            /* A NUL inside would cut a secret, and with it what is compared. */
            if (r == 0 && (text.n == 0 || memchr(text.p, '\0', text.n) == NULL)) {
                r = oauth_credential_set(credential_string(&credential, i), text);
            }
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(credential_numbers); i++) {
        if (json_get(value, credential_numbers[i].name, &member)) {
            (void)json_int64(member, credential_number(&credential, i));
        }
    }
    if (json_get(value, SPAN("is_registered"), &member)) {
        (void)json_bool(member, &credential.is_registered);
    }
    if (r != 0) {
        oauth_credential_deinit(&credential);
        return err_fold(r);
    }
    *ret = credential;
    return 0;
}

/* ---- the file ---- */

/* The array of credentials; *ret_any false: the text is empty. */
static int store_parse(Span text, Arena *arena, JsonValue *ret, bool *ret_any, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    JsonValue version;
    int64_t number = 0;
    JsonDoc doc;
    int r;

    *ret_any = text.n > 0;
    if (text.n == 0) {
        return 0;
    }
    r = json_parse(&doc, arena, text.p, text.n, NULL, &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return diag_set(reterr_diag, OAUTH_STORE_E_INVALID, "it is not JSON: %s", diag.message);
    }
    if (!json_get(json_root(&doc), SPAN("version"), &version) ||
        json_int64(version, &number) != 0 || number != 1 ||
        !json_get(json_root(&doc), SPAN("credentials"), ret) || json_kind(*ret) != JSON_ARRAY) {
        return diag_set(reterr_diag, OAUTH_STORE_E_INVALID,
                        "it is not a file of credentials of version 1");
    }
    return 0;
}

static bool store_is(JsonValue value, Span server, Span issuer)
{
    JsonValue member;

    return json_get(value, SPAN("server"), &member) && json_string_equals(member, server) &&
           (issuer.n == 0 ||
            (json_get(value, SPAN("issuer"), &member) && json_string_equals(member, issuer)));
}

static int64_t store_saved(JsonValue value)
{
    JsonValue member;
    int64_t number = 0;

    if (json_get(value, SPAN("saved_s"), &member)) {
        (void)json_int64(member, &number);
    }
    return number;
}

int oauth_store_find(Span text, Span server, Span issuer, OauthCredential *ret, Diag *reterr_diag)
{
    JsonValue found = JSON_VALUE_NULL;
    JsonValue list;
    Arena arena;
    bool any;
    int r;

    arena_init(&arena, 20 * LIMIT_OAUTH_STORE_BYTES);
    r = store_parse(text, &arena, &list, &any, reterr_diag);
    if (r == 0 && any) {
        for (JsonIter it = json_iter(list); json_iter_next(&it);) {
            if (store_is(it.value, server, issuer) &&
                (found.node == NULL || store_saved(it.value) >= store_saved(found))) {
                found = it.value;
            }
        }
    }
    if (r == 0) {
        r = found.node == NULL ? OAUTH_STORE_E_NONE : credential_read(found, &arena, ret);
    }
    arena_deinit(&arena);
    return r;
}

int oauth_store_at(Span text, size_t i, OauthCredential *ret, Diag *reterr_diag)
{
    JsonValue list;
    JsonValue value;
    Arena arena;
    bool any;
    int r;

    arena_init(&arena, 20 * LIMIT_OAUTH_STORE_BYTES);
    r = store_parse(text, &arena, &list, &any, reterr_diag);
    if (r == 0) {
        r = any && json_at(list, i, &value) ? credential_read(value, &arena, ret)
                                            : OAUTH_STORE_E_NONE;
    }
    arena_deinit(&arena);
    return r;
}

int oauth_store_put(Bytes *out, Span text, Span server, Span issuer,
                    const OauthCredential *credential, size_t *ret_n, Diag *reterr_diag)
{
    JsonWriter w;
    JsonValue list;
    Arena arena;
    size_t n = 0;
    bool any;
    int r;

    arena_init(&arena, 20 * LIMIT_OAUTH_STORE_BYTES);
    r = store_parse(text, &arena, &list, &any, reterr_diag);
    if (r == 0) {
        json_writer_init(&w, out, JSON_STYLE_PRETTY);
        json_write_object(&w);
        json_write_key(&w, SPAN("version"));
        json_write_int(&w, 1);
        json_write_key(&w, SPAN("credentials"));
        json_write_array(&w);
        if (any) {
            for (JsonIter it = json_iter(list); json_iter_next(&it);) {
                if (store_is(it.value, server, issuer)) {
                    n++;
                } else {
                    json_write_value(&w, it.value);
                }
            }
        }
        if (credential != NULL) {
            oauth_credential_write(&w, credential);
        }
        json_write_end_array(&w);
        json_write_end_object(&w);
        r = json_writer_finish(&w);
        if (r == 0) {
            r = bytes_append_byte(out, '\n');
        }
        if (r > 0) {
            r = diag_set(reterr_diag, OAUTH_STORE_E_INVALID, "it would be too large");
        }
    }
    arena_deinit(&arena);
    if (r == 0 && ret_n != NULL) {
        *ret_n = n;
    }
    return r;
}
