#include "agent/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"

/* ---- pictures ---- */

/* What tells a picture is in its first 12 bytes: so many letters of base64 and more, in whole
 * groups. */
#define ATTACH_HEAD_LETTERS 24

static Span attach_picture(Span head)
{
    if (span_starts_with(head, SPAN("\x89PNG\r\n\x1a\n"))) {
        return SPAN("image/png");
    }
    if (span_starts_with(head, SPAN("\xff\xd8\xff"))) {
        return SPAN("image/jpeg");
    }
    if (span_starts_with(head, SPAN("GIF87a")) || span_starts_with(head, SPAN("GIF89a"))) {
        return SPAN("image/gif");
    }
    if (span_starts_with(head, SPAN("RIFF")) && head.n >= 12 &&
        memcmp(head.p + 8, "WEBP", 4) == 0) {
        return SPAN("image/webp");
    }
    return SPAN_NULL;
}

static int attach_fail_size(Diag *reterr_diag, Span name, size_t size, size_t max_bytes)
{
    return diag_set(reterr_diag, AGENT_ATTACH_E_TOO_LARGE,
                    "Attachment too large (max %zuMB): %.*s has %zu bytes",
                    max_bytes / ((size_t)1024 * 1024), (int)(name.n < 120 ? name.n : 120), name.p,
                    size);
}

static int attach_fail_kind(Diag *reterr_diag, Span name, const char *why)
{
    return diag_set(reterr_diag, AGENT_ATTACH_E_KIND, "Attachment cannot be used: %.*s %s",
                    (int)(name.n < 120 ? name.n : 120), name.p, why);
}

/* Encodes in the arena, without a copy of the bytes. */
static int attach_encode(Span bytes, Arena *arena, Span *ret)
{
    size_t size = (bytes.n + 2) / 3 * 4;
    char *room = arena_alloc(arena, size);
    Bytes out = {.data = room, .n = 0, .cap = size, .max_bytes = size};
    int r;

    if (room == NULL) {
        return err_raise(-ENOMEM);
    }
    r = base64_encode(&out, BASE64_STANDARD, bytes);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = bytes_span(&out);
    return 0;
}

/* ---- files ---- */

/* What the model reads: the name, so that it can speak of it, and the text. */
static int attach_text(Span text, const char *path, Arena *arena, AgentBlock *ret)
{
    static const char format[] = "[Attached file: %s]\n";
    size_t n_path = strlen(path);
    char *room;
    int n;

    if (span_starts_with(text, SPAN("\xef\xbb\xbf"))) {
        text = span_make(text.p + 3, text.n - 3);
    }
    room = arena_alloc(arena, sizeof(format) + n_path + text.n);
    if (room == NULL) {
        return err_raise(-ENOMEM);
    }
    n = snprintf(room, sizeof(format) + n_path, format, path);
    if (text.n > 0) {
        memcpy(room + n, text.p, text.n);
    }
    *ret = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = span_make(room, (size_t)n + text.n)};
    return 0;
}

static int attach_bytes(Span bytes, const char *path, Arena *arena, AgentBlock *ret,
                        Diag *reterr_diag)
{
    Span name = span_from_str(path);
    Span mime = attach_picture(bytes);

    if (mime.n > 0) {
        *ret = (AgentBlock){.kind = AGENT_BLOCK_IMAGE, .mime = mime};
        return bytes.n > LIMIT_AGENT_IMAGE_BYTES
                   ? attach_fail_size(reterr_diag, name, bytes.n, LIMIT_AGENT_IMAGE_BYTES)
                   : attach_encode(bytes, arena, &ret->text);
    }
    if ((bytes.n > 0 && memchr(bytes.p, '\0', bytes.n) != NULL) ||
        !utf8_valid(bytes.p, bytes.n, NULL)) {
        return attach_fail_kind(reterr_diag, name,
                                "is neither UTF-8 text nor a PNG, JPEG, GIF or WebP picture");
    }
    return attach_text(bytes, path, arena, ret);
}

static int attach_outcome(int r, Diag *reterr_diag)
{
    int outcome = r;

    switch (r) {
    case IO_BENEATH_E_OUTSIDE:
        outcome = AGENT_ATTACH_E_OUTSIDE;
        break;
    case IO_BENEATH_E_TOO_LARGE:
        outcome = AGENT_ATTACH_E_TOO_LARGE;
        break;
    default:
        outcome = r > 0 ? AGENT_ATTACH_E_UNREADABLE : r;
        break;
    }
    if (reterr_diag != NULL && r > 0) {
        reterr_diag->code = outcome;
    }
    return outcome;
}

/* In the first root that has it; else what the most telling of them says: that it is not there is
 * less than that it may not be read, and more than that it lies elsewhere. */
static int attach_read(IoBeneath *const *roots, size_t n_roots, const char *path, Bytes *out,
                       Diag *reterr_diag)
{
    int last = diag_set(reterr_diag, IO_BENEATH_E_OUTSIDE,
                        "Access denied: path outside allowed directory: %s", path);

    for (size_t i = 0; i < n_roots; i++) {
        Diag diag = DIAG_NULL;
        int r = io_beneath_read(roots[i], path, LIMIT_AGENT_FILE_BYTES, out, &diag);

        if (r <= 0) {
            return r;
        }
        if (r != IO_BENEATH_E_OUTSIDE &&
            (last == IO_BENEATH_E_OUTSIDE || last == IO_BENEATH_E_MISSING)) {
            last = r;
            if (reterr_diag != NULL) {
                *reterr_diag = diag;
            }
        }
    }
    return last;
}

int agent_attach_file(IoBeneath *const *roots, size_t n_roots, Span path, Arena *arena,
                      AgentBlock *ret, Diag *reterr_diag)
{
    Span copy = arena_copy(arena, path);
    Bytes bytes;
    int r;

    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    if (path.n == 0 || memchr(path.p, '\0', path.n) != NULL) {
        return diag_set(reterr_diag, AGENT_ATTACH_E_UNREADABLE,
                        "Attachment cannot be read: its path is empty, or holds a NUL");
    }
    bytes_init(&bytes, LIMIT_AGENT_FILE_BYTES);
    r = attach_read(roots, n_roots, copy.p, &bytes, reterr_diag);
    r = r != 0 ? attach_outcome(r, reterr_diag)
               : attach_bytes(bytes_span(&bytes), copy.p, arena, ret, reterr_diag);
    bytes_deinit(&bytes);
    return r;
}

/* ---- pictures in the message ---- */

static bool attach_is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

/* Letters in groups of four, and at most two '=' at the end: what the model's server reads. */
static bool attach_is_base64(Span text)
{
    size_t n = text.n;

    if (n == 0 || n % 4 != 0) {
        return false;
    }
    n -= text.p[n - 1] == '=';
    n -= n < text.n && text.p[n - 1] == '=';
    for (size_t i = 0; i < n; i++) {
        if (!attach_is_letter(text.p[i])) {
            return false;
        }
    }
    return true;
}

static size_t attach_decoded_size(Span text)
{
    size_t n_padding = 0;

    while (n_padding < 2 && n_padding < text.n && text.p[text.n - 1 - n_padding] == '=') {
        n_padding++;
    }
    return text.n / 4 * 3 - (text.n >= 4 ? n_padding : 0);
}

/* "data:image/png;base64,AAAA": the part behind the comma. */
static Span attach_skip_url(Span data)
{
    const char *comma;

    if (!span_starts_with(data, SPAN("data:"))) {
        return data;
    }
    comma = memchr(data.p, ',', data.n);
    return comma == NULL ? data : span_make(comma + 1, data.n - (size_t)(comma + 1 - data.p));
}

/* Some write lines of 76 letters, which no model's server takes: then a copy without their ends. */
static int attach_join_lines(Span data, Arena *arena, Span *ret)
{
    char *room;
    size_t n = 0;

    *ret = data;
    if (data.n == 0 || memchr(data.p, '\n', data.n) == NULL) {
        return 0;
    }
    room = arena_alloc(arena, data.n);
    if (room == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < data.n; i++) {
        if (data.p[i] != '\n' && data.p[i] != '\r') {
            room[n++] = data.p[i];
        }
    }
    *ret = span_make(room, n);
    return 0;
}

int agent_attach_image(Span data, Span name, Arena *arena, AgentBlock *ret, Diag *reterr_diag)
{
    char room[ATTACH_HEAD_LETTERS];
    Bytes head = {.data = room, .n = 0, .cap = sizeof(room), .max_bytes = sizeof(room)};
    Span mime;
    int r = attach_join_lines(attach_skip_url(data), arena, &data);

    if (r != 0) {
        return r;
    }
    if (attach_decoded_size(data) > LIMIT_AGENT_IMAGE_BYTES) {
        return attach_fail_size(reterr_diag, name, attach_decoded_size(data),
                                LIMIT_AGENT_IMAGE_BYTES);
    }
    if (!attach_is_base64(data) ||
        base64_decode(
            &head, BASE64_STANDARD,
            span_make(data.p, data.n < ATTACH_HEAD_LETTERS ? data.n : ATTACH_HEAD_LETTERS)) != 0) {
        return attach_fail_kind(reterr_diag, name, "is not base64");
    }
    mime = attach_picture(bytes_span(&head));
    if (mime.n == 0) {
        return attach_fail_kind(reterr_diag, name, "is no PNG, JPEG, GIF or WebP picture");
    }
    *ret = (AgentBlock){.kind = AGENT_BLOCK_IMAGE, .text = data, .mime = mime};
    return 0;
}
