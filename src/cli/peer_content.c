#include "cli/peer_content.h"

#include <inttypes.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/table.h"
#include "io/program.h"

Span peer_content_text(JsonValue object, Span key, Arena *arena)
{
    JsonValue member;
    Span text = SPAN_NULL;

    if (json_get(object, key, &member)) {
        (void)json_string(member, arena, &text);
    }
    return text;
}

static const char *kind_words(JsonKind kind)
{
    switch (kind) {
    case JSON_ARRAY:
        return "an array";
    case JSON_OBJECT:
        return "an object";
    default:
        return "a string";
    }
}

/* One entry of a list of a result. */
static int check_entry(JsonValue entry, Span list, size_t index, Span member, JsonKind kind,
                       Diag *reterr_diag)
{
    JsonValue value;

    if (json_kind(entry) != JSON_OBJECT) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.%.*s[%zu] must be an object",
                        (int)list.n, list.p, index);
    }
    if (member.n == 0) {
        return 0;
    }
    if (!json_get(entry, member, &value)) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.%.*s[%zu].%.*s is missing",
                        (int)list.n, list.p, index, (int)member.n, member.p);
    }
    if (json_kind(value) != kind) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.%.*s[%zu].%.*s must be %s",
                        (int)list.n, list.p, index, (int)member.n, member.p, kind_words(kind));
    }
    return 0;
}

int peer_content_check_list(JsonValue result, Span list, Span member, JsonKind kind,
                            Diag *reterr_diag)
{
    JsonValue entries;
    size_t index = 0;
    int r = 0;

    if (!json_get(result, list, &entries)) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.%.*s is missing", (int)list.n,
                        list.p);
    }
    if (json_kind(entries) != JSON_ARRAY) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.%.*s must be an array",
                        (int)list.n, list.p);
    }
    for (JsonIter it = json_iter(entries); r == 0 && json_iter_next(&it); index++) {
        r = check_entry(it.value, list, index, member, kind, reterr_diag);
    }
    return r;
}

int peer_content_check_call(JsonValue result, Diag *reterr_diag)
{
    JsonValue member;

    /* Such a result says what it has to say, although the other form ought to be there, too. */
    if (!json_get(result, SPAN("content"), &member) &&
        json_get(result, SPAN("structuredContent"), &member)) {
        return 0;
    }
    return peer_content_check_list(result, SPAN("content"), SPAN("type"), JSON_STRING, reterr_diag);
}

int peer_content_check_read(JsonValue result, Diag *reterr_diag)
{
    JsonValue contents;
    JsonValue member;
    size_t index = 0;
    int r = peer_content_check_list(result, SPAN("contents"), SPAN_NULL, JSON_NULL, reterr_diag);

    if (r != 0) {
        return r;
    }
    (void)json_get(result, SPAN("contents"), &contents);
    for (JsonIter it = json_iter(contents); r == 0 && json_iter_next(&it); index++) {
        if (!json_get(it.value, SPAN("text"), &member) &&
            !json_get(it.value, SPAN("blob"), &member)) {
            r = diag_set(reterr_diag, PEER_CONTENT_E_SHAPE,
                         "result.contents[%zu] has neither text nor blob", index);
        } else if (json_kind(member) != JSON_STRING) {
            r = diag_set(reterr_diag, PEER_CONTENT_E_SHAPE,
                         "result.contents[%zu] must have a string as its text or blob", index);
        }
    }
    return r;
}

int peer_content_check_get(JsonValue result, Diag *reterr_diag)
{
    int r =
        peer_content_check_list(result, SPAN("messages"), SPAN("role"), JSON_STRING, reterr_diag);

    return r != 0 ? r
                  : peer_content_check_list(result, SPAN("messages"), SPAN("content"), JSON_OBJECT,
                                            reterr_diag);
}

uint64_t peer_content_size(Span base64)
{
    uint64_t n = base64.n;

    while (n > 0 && base64.p[n - 1] == '=') {
        n--;
    }
    return n / 4 * 3 + (n % 4 == 0 ? 0 : n % 4 - 1);
}

const char *peer_content_number(uint64_t n, char text[PEER_CONTENT_NUMBER_SIZE])
{
    char digits[PEER_CONTENT_NUMBER_SIZE];
    size_t n_digits = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
    size_t at = 0;

    for (size_t i = 0; i < n_digits; i++) {
        if (i > 0 && (n_digits - i) % 3 == 0) {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static void print_text(FILE *out, Span text)
{
    if (io_terminal_is(fileno(out))) {
        table_print_safe(out, text, true);
    } else if (text.n > 0) {
        (void)fwrite(text.p, 1, text.n, out);
    }
}

/* "[image: image/png, 1,234 bytes]" */
static void print_what(FILE *out, const char *what, Span type, Span base64)
{
    char number[PEER_CONTENT_NUMBER_SIZE];

    fprintf(out, "[%s: ", what);
    table_print_safe(out, type.n > 0 ? type : SPAN("unknown type"), false);
    fprintf(out, ", %s bytes]\n", peer_content_number(peer_content_size(base64), number));
}

static void print_line(FILE *out, Span text)
{
    print_text(out, text);
    if (text.n == 0 || text.p[text.n - 1] != '\n') {
        fputc('\n', out);
    }
}

static void print_link(FILE *out, JsonValue block, Arena *arena)
{
    Span name = peer_content_text(block, SPAN("name"), arena);

    fputs("[link: ", out);
    table_print_safe(out, peer_content_text(block, SPAN("uri"), arena), false);
    if (name.n > 0) {
        fputs(", ", out);
        table_print_safe(out, name, false);
    }
    fputs("]\n", out);
}

/* "[resource: URI, text/plain]" and its text, or how many bytes it has. */
static void print_embedded(FILE *out, JsonValue block, Arena *arena)
{
    char number[PEER_CONTENT_NUMBER_SIZE];
    JsonValue resource;
    JsonValue text;
    Span type;
    Span uri;
    bool has_text;

    if (!json_get(block, SPAN("resource"), &resource)) {
        fputs("[resource without content]\n", out);
        return;
    }
    has_text = json_get(resource, SPAN("text"), &text);
    type = peer_content_text(resource, SPAN("mimeType"), arena);
    uri = peer_content_text(resource, SPAN("uri"), arena);
    fputs("[resource: ", out);
    table_print_safe(out, uri.n > 0 ? uri : SPAN("without a URI"), false);
    if (type.n > 0) {
        fputs(", ", out);
        table_print_safe(out, type, false);
    }
    if (!has_text) {
        uint64_t n = peer_content_size(peer_content_text(resource, SPAN("blob"), arena));

        fprintf(out, ", %s bytes", peer_content_number(n, number));
    }
    fputs("]\n", out);
    if (has_text) {
        print_line(out, peer_content_text(resource, SPAN("text"), arena));
    }
}

bool peer_content_print(FILE *out, JsonValue block, Arena *arena)
{
    Span type = peer_content_text(block, SPAN("type"), arena);

    if (span_equals(type, SPAN("text"))) {
        print_line(out, peer_content_text(block, SPAN("text"), arena));
        return true;
    }
    if (span_equals(type, SPAN("image")) || span_equals(type, SPAN("audio"))) {
        print_what(out, span_equals(type, SPAN("image")) ? "image" : "audio",
                   peer_content_text(block, SPAN("mimeType"), arena),
                   peer_content_text(block, SPAN("data"), arena));
    } else if (span_equals(type, SPAN("resource_link"))) {
        print_link(out, block, arena);
    } else if (span_equals(type, SPAN("resource"))) {
        print_embedded(out, block, arena);
    } else {
        /* A kind that comes after us: as it is. */
        fputs("[", out);
        table_print_safe(out, type.n > 0 ? type : SPAN("content without a type"), false);
        fputs("] ", out);
        table_print_safe(out, json_span(block), false);
        fputc('\n', out);
    }
    return false;
}

int peer_content_print_resource(FILE *out, JsonValue contents, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes bytes = BYTES_NULL;
    JsonValue member;
    Span blob;
    int r;

    if (json_get(contents, SPAN("text"), &member)) {
        /* As it is: what was asked for is a file, and may be written to one. */
        print_text(out, peer_content_text(contents, SPAN("text"), arena));
        return 0;
    }
    blob = peer_content_text(contents, SPAN("blob"), arena);
    if (io_terminal_is(fileno(out))) {
        print_what(out, "blob", peer_content_text(contents, SPAN("mimeType"), arena), blob);
        return 0;
    }
    bytes_init(&bytes, SIZE_MAX);
    r = base64_decode(&bytes, BASE64_STANDARD, blob);
    if (r != 0) {
        return r == BASE64_E_SYNTAX ? PEER_CONTENT_E_BLOB : err_fold(r);
    }
    if (bytes.n > 0) {
        (void)fwrite(bytes.data, 1, bytes.n, out);
    }
    return 0;
}
