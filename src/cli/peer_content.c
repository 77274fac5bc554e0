#include "cli/peer_content.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/table.h"

Span peer_content_text(JsonValue object, Span key, Arena *arena)
{
    JsonValue member;
    Span text = SPAN_NULL;

    if (json_get(object, key, &member)) {
        (void)json_string(member, arena, &text);
    }
    return text;
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
    if (isatty(fileno(out)) == 1) {
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

static void print_embedded(FILE *out, JsonValue block, Arena *arena)
{
    JsonValue resource;
    JsonValue text;

    if (!json_get(block, SPAN("resource"), &resource)) {
        return;
    }
    if (json_get(resource, SPAN("text"), &text)) {
        print_line(out, peer_content_text(resource, SPAN("text"), arena));
        return;
    }
    print_what(out, "resource", peer_content_text(resource, SPAN("mimeType"), arena),
               peer_content_text(resource, SPAN("blob"), arena));
}

void peer_content_print(FILE *out, JsonValue block, Arena *arena)
{
    Span type = peer_content_text(block, SPAN("type"), arena);

    if (span_equals(type, SPAN("text"))) {
        print_line(out, peer_content_text(block, SPAN("text"), arena));
    } else if (span_equals(type, SPAN("image")) || span_equals(type, SPAN("audio"))) {
        print_what(out, span_equals(type, SPAN("image")) ? "image" : "audio",
                   peer_content_text(block, SPAN("mimeType"), arena),
                   peer_content_text(block, SPAN("data"), arena));
    } else if (span_equals(type, SPAN("resource_link"))) {
        print_link(out, block, arena);
    } else if (span_equals(type, SPAN("resource"))) {
        print_embedded(out, block, arena);
    } else {
        fputs("[", out);
        table_print_safe(out, type.n > 0 ? type : SPAN("content without a type"), false);
        fputs("]\n", out);
    }
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
    if (isatty(fileno(out)) == 1) {
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
