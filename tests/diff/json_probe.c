/* Answers, for each question on stdin, what the JSON reader and writer make of it; json_diff.mjs
 * compares that with JavaScript.
 *
 * A question is a kind byte, a length of 4 bytes (little-endian), and as many bytes:
 * - J: a JSON text. Answered by a line "refused CODE OFFSET" or "accepted DUMP".
 * - D: the 8 bytes (little-endian) of a double. Answered by the line that the writer makes of it.
 * - F: nothing. Sends off the answers so far.
 *
 * A dump is n, f or t; # and the 16 hex digits of the nearest double, or #RANGE; a string's exact
 * form (json_string_exact) as hex in quotes; [a,b]; {"k":v} with keys as strings, sorted by their
 * bytes, and only the last of duplicates. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "json/json.h"
#include "json/writer.h"

#define PROBE_MAX_BYTES ((size_t)1 << 28)

static void require(int r)
{
    if (r != 0) {
        (void)fprintf(stderr, "json_probe: failed with %d\n", r);
        exit(2);
    }
}

static void put(Bytes *out, const char *text)
{
    require(bytes_append(out, text, strlen(text)));
}

static void put_hex(Bytes *out, Span s)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char pair[2] = {digits[c >> 4], digits[c & 15]};

        require(bytes_append(out, pair, 2));
    }
}

static void put_number(Bytes *out, JsonValue v)
{
    double value;
    uint64_t bits;
    char text[32];

    if (json_double(v, &value) != 0) {
        put(out, "#RANGE");
        return;
    }
    memcpy(&bits, &value, sizeof(bits));
    (void)snprintf(text, sizeof(text), "#%016llx", (unsigned long long)bits);
    put(out, text);
}

static void put_string(Bytes *out, JsonValue v, Arena *arena)
{
    Span s;

    require(json_string_exact(v, arena, &s));
    put(out, "\"");
    put_hex(out, s);
    put(out, "\"");
}

typedef struct Member {
    Span key;
    size_t order;
    JsonValue value;
} Member;

static int compare_members(const void *a, const void *b)
{
    const Member *x = a;
    const Member *y = b;
    int c = span_compare(x->key, y->key);

    return c != 0 ? c : (x->order > y->order) - (x->order < y->order);
}

static void dump(Bytes *out, JsonValue v, Arena *arena);

/* NOLINTNEXTLINE(misc-no-recursion): LIMIT_JSON_DEPTH */
static void dump_object(Bytes *out, JsonValue v, Arena *arena)
{
    size_t n = json_count(v);
    Member *members = arena_alloc_array(arena, n + 1, sizeof(*members));
    size_t i = 0;
    bool first = true;

    require(members == NULL);
    for (JsonIter it = json_iter(v); json_iter_next(&it); i++) {
        members[i].order = i;
        members[i].value = it.value;
        require(json_string_exact(it.key, arena, &members[i].key));
    }
    qsort(members, n, sizeof(*members), compare_members);
    put(out, "{");
    for (i = 0; i < n; i++) {
        JsonValue found;

        if (i + 1 < n && span_equals(members[i].key, members[i + 1].key)) {
            continue;
        }
        /* Look-up has its own way to the same member. */
        require(!json_get(v, members[i].key, &found) || found.node != members[i].value.node);
        put(out, first ? "\"" : ",\"");
        put_hex(out, members[i].key);
        put(out, "\":");
        dump(out, members[i].value, arena);
        first = false;
    }
    put(out, "}");
}

/* NOLINTNEXTLINE(misc-no-recursion): LIMIT_JSON_DEPTH */
static void dump(Bytes *out, JsonValue v, Arena *arena)
{
    bool first = true;

    switch (json_kind(v)) {
    case JSON_NULL:
        put(out, "n");
        break;
    case JSON_FALSE:
        put(out, "f");
        break;
    case JSON_TRUE:
        put(out, "t");
        break;
    case JSON_NUMBER:
        put_number(out, v);
        break;
    case JSON_STRING:
        put_string(out, v, arena);
        break;
    case JSON_ARRAY:
        put(out, "[");
        for (JsonIter it = json_iter(v); json_iter_next(&it); first = false) {
            put(out, first ? "" : ",");
            dump(out, it.value, arena);
        }
        put(out, "]");
        break;
    case JSON_OBJECT:
        dump_object(out, v, arena);
        break;
    }
}

static void answer_json(Bytes *out, Span text, Arena *arena)
{
    JsonDoc doc;
    Diag diag = DIAG_NULL;
    int r = json_parse(&doc, arena, text.p, text.n, NULL, &diag);

    if (r > 0) {
        require(bytes_append_format(out, "refused %d %zu\n", r, diag.offset));
        return;
    }
    require(r);
    put(out, "accepted ");
    dump(out, json_root(&doc), arena);
    put(out, "\n");
}

static void answer_double(Bytes *out, Span bytes)
{
    uint64_t bits = 0;
    double value;
    char text[JSON_DOUBLE_SIZE];

    require(bytes.n != sizeof(bits));
    for (size_t i = 0; i < sizeof(bits); i++) {
        bits |= (uint64_t)(unsigned char)bytes.p[i] << 8 * i;
    }
    memcpy(&value, &bits, sizeof(value));
    (void)json_format_double(value, text);
    put(out, text);
    put(out, "\n");
}

int main(void)
{
    unsigned char head[5];
    Arena arena;
    Bytes out;

    arena_init(&arena, PROBE_MAX_BYTES);
    bytes_init(&out, PROBE_MAX_BYTES);
    while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
        size_t n =
            (size_t)head[1] | (size_t)head[2] << 8 | (size_t)head[3] << 16 | (size_t)head[4] << 24;
        char *text;

        if (head[0] == 'F') {
            require(fflush(stdout));
            continue;
        }
        /* A block of its own for each text: a sanitizer then sees every byte read beyond it. */
        text = malloc(n > 0 ? n : 1);
        require(text == NULL);
        require(fread(text, 1, n, stdin) != n);
        if (head[0] == 'D') {
            answer_double(&out, span_make(text, n));
        } else {
            answer_json(&out, span_make(text, n), &arena);
        }
        free(text);
        arena_reset(&arena, (size_t)1 << 20);
        require(fwrite(out.data, 1, out.n, stdout) != out.n);
        bytes_clear(&out);
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
    return fflush(stdout) == 0 ? 0 : 2;
}
