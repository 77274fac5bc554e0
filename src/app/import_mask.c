/* What of settings is not shown: secrets, by the names that they have and the places where they
 * stand. */
#include "app/import.h"

#include <errno.h>
#include <string.h>

#include "app/jsonc.h"
#include "base/error.h"
#include "base/text.h"
#include "json/writer.h"

static bool holds_nocase(Span s, Span part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (text_equals_nocase(span_make(s.p + i, part.n), part)) {
            return true;
        }
    }
    return false;
}

bool import_is_secret(Span name)
{
    static const Span words[] = {SPAN_INIT("key"),      SPAN_INIT("token"),     SPAN_INIT("secret"),
                                 SPAN_INIT("password"), SPAN_INIT("passwd"),    SPAN_INIT("bearer"),
                                 SPAN_INIT("auth"),     SPAN_INIT("credential")};

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        if (holds_nocase(name, words[i])) {
            return true;
        }
    }
    return false;
}

/* Where the host begins, behind "://"; 0: there is none. */
static size_t url_authority(Span text)
{
    for (size_t i = 0; i + 2 < text.n; i++) {
        if (text.p[i] == ':' && text.p[i + 1] == '/' && text.p[i + 2] == '/') {
            return i + 3;
        }
    }
    return 0;
}

static size_t url_find(Span url, size_t from, const char *ends)
{
    while (from < url.n && strchr(ends, url.p[from]) == NULL) {
        from++;
    }
    return from;
}

/* Where the host begins behind "user:password@"; from, if there is no such thing. A password may
 * hold what would have to be written otherwise in an address: then what stands behind the colon is
 * no port. */
static size_t url_host(Span url, size_t from)
{
    size_t end = url_find(url, from, "/?# \t\"'");
    size_t colon = url_find(url, from, ":@/?#");
    size_t port = colon + 1;
    size_t host = from;

    while (port < end && url.p[port] >= '0' && url.p[port] <= '9') {
        port++;
    }
    if (colon < end && url.p[colon] == ':' && port < end) {
        end = url_find(url, from, " \t\"'");
    }
    for (size_t i = from; i < end; i++) {
        host = url.p[i] == '@' ? i + 1 : host;
    }
    return host;
}

/* An address, wherever it begins, without user and password and the values of its query. */
static int append_url(Bytes *out, Span url)
{
    size_t at = url_authority(url);
    size_t host = url_host(url, at);
    bool is_value = false;
    int r = bytes_append(out, url.p, at);

    if (host > at) {
        r = r != 0 ? r : bytes_append_span(out, SPAN(IMPORT_MASK "@"));
    }
    for (size_t i = host; r == 0 && i < url.n; i++) {
        bool was_value = is_value;

        is_value = url.p[i] != '&' && (is_value || (url.p[i] == '=' && i > host));
        if (is_value && !was_value) {
            r = bytes_append_span(out, SPAN("=" IMPORT_MASK));
        } else if (!is_value) {
            r = bytes_append_byte(out, url.p[i]);
        }
    }
    return r;
}

static bool is_variable(Span text)
{
    return span_starts_with(text, SPAN("${")) && span_ends_with(text, SPAN("}"));
}

static int append_argument(Bytes *out, Span argument, bool *is_secret)
{
    size_t n_name = url_find(argument, 0, "=:");
    Span name = span_make(argument.p, n_name);
    bool has_value = n_name < argument.n && n_name + 3 != url_authority(argument);
    bool was_secret = *is_secret;

    *is_secret = !has_value && span_starts_with(argument, SPAN("-")) && import_is_secret(argument);
    if (was_secret && !span_starts_with(argument, SPAN("-"))) {
        return bytes_append_span(out, is_variable(argument) ? argument : SPAN(IMPORT_MASK));
    }
    if (has_value && import_is_secret(name)) {
        int r = bytes_append(out, argument.p, n_name + 1);

        return r != 0 ? r : bytes_append_span(out, SPAN(IMPORT_MASK));
    }
    return url_authority(argument) > 0 ? append_url(out, argument)
                                       : bytes_append_span(out, argument);
}

int import_mask_argument(Arena *arena, Span argument, bool *is_secret, Span *ret)
{
    Bytes out;
    int r;

    bytes_init(&out, 2 * argument.n + 16);
    r = append_argument(&out, argument, is_secret);
    *ret = out.n == 0 ? SPAN("") : arena_copy(arena, bytes_span(&out));
    r = r > 0 || (r == 0 && ret->p == NULL) ? err_raise(-ENOMEM) : r;
    bytes_deinit(&out);
    return err_pass(r);
}

/* ---- a file of settings ---- */

typedef struct Mask {
    Arena arena;
    Bytes *out;
    Span text;
    size_t at; /* copied up to there */
    int r;
} Mask;

/* Writes a string in the place of the value. */
static void mask_put(Mask *mask, JsonValue value, Span text)
{
    Span span = json_span(value);
    size_t start = (size_t)(span.p - mask->text.p);
    JsonWriter w;

    mask->r =
        mask->r != 0 ? mask->r : bytes_append(mask->out, mask->text.p + mask->at, start - mask->at);
    if (mask->r == 0) {
        json_writer_init(&w, mask->out, JSON_STYLE_COMPACT);
        json_write_string(&w, text);
        mask->r = json_writer_finish(&w);
    }
    mask->at = start + span.n;
}

static void mask_string(Mask *mask, JsonValue value, bool is_all, bool *is_secret)
{
    Span text = SPAN("");
    Span masked = SPAN(IMPORT_MASK);
    int r = json_string(value, &mask->arena, &text);

    if (r == 0 && (text.n == 0 || is_variable(text))) {
        return;
    }
    if (r == 0 && !is_all) {
        r = import_mask_argument(&mask->arena, text, is_secret, &masked);
    }
    mask->r = mask->r != 0 || r >= 0 ? mask->r : r;
    if (is_all || !span_equals(text, masked)) {
        mask_put(mask, value, masked);
    }
}

/* is_all: whatever is in it. It calls itself as deep as JSON may be nested: LIMIT_JSON_DEPTH. */
static void mask_value(Mask *mask, JsonValue value, bool is_all)
{
    bool is_secret = false;

    if (json_kind(value) == JSON_STRING) {
        mask_string(mask, value, is_all, &is_secret);
        return;
    }
    for (JsonIter it = json_iter(value); mask->r == 0 && json_iter_next(&it);) {
        Span key = SPAN("");

        if (json_kind(value) == JSON_OBJECT) {
            (void)json_string(it.key, &mask->arena, &key);
        }
        if (json_kind(value) == JSON_ARRAY && json_kind(it.value) == JSON_STRING) {
            mask_string(mask, it.value, is_all, &is_secret);
        } else {
            mask_value(mask, it.value,
                       is_all || span_equals(key, SPAN("env")) ||
                           span_equals(key, SPAN("headers")) ||
                           (json_kind(it.value) == JSON_STRING && import_is_secret(key)));
        }
    }
}

int import_mask_settings(Span text, Bytes *out)
{
    Mask mask = {.out = out};
    JsonDoc doc;
    Bytes plain;
    int r;

    arena_init(&mask.arena, SIZE_MAX);
    bytes_init(&plain, text.n);
    /* A comment may be a server that somebody has taken out, secrets and all. */
    r = jsonc_to_json(&plain, text, NULL);
    mask.text = bytes_span(&plain);
    r = r != 0 ? r : json_parse(&doc, &mask.arena, mask.text.p, mask.text.n, NULL, NULL);
    if (r == 0) {
        mask_value(&mask, json_root(&doc), false);
        r = mask.r != 0 ? mask.r : bytes_append(out, mask.text.p + mask.at, mask.text.n - mask.at);
    } else if (r > 0) {
        r = 0; /* no JSON */
    }
    bytes_deinit(&plain);
    arena_deinit(&mask.arena);
    return r;
}
