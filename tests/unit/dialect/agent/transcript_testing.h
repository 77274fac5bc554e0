/* What the players of both sides share: the lines of a transcript, played once with the input whole
 * and once byte by byte.
 *
 *     > TEXT       the other side sends this line
 *     < TEXT       our side sent exactly this line
 *     = TEXT       what came of it, in our own words (each player says which)
 *     @ MS         so much time passes
 *     ! WORDS      a command of the player; here: raw HEX…, long N (a line of so many bytes)
 *     #            a comment
 *
 * Everything that is sent and everything that comes of it must be expected, in order. */
#pragma once

#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "frame/ndjson.h"
#include "support/files.h"

typedef struct Wire {
    const char *file;
    size_t line;
    bool by_bytes;
    NdjsonReader in;
    Bytes heard; /* what was sent and what came of it, in order: lines of a transcript, NUL-ended */
    size_t n_heard_read;
    int64_t now_ms;
    void (*take)(void *context, Span line); /* a line has come */
    void (*too_long)(void *context);
    void *context;
} Wire;

static void wire_fail(const Wire *wire, const char *what, const char *text)
{
    print_error("%s:%zu: %s: %s\n", wire->file, wire->line, what, text);
    fail();
}

/* Remembers a line of the transcript that must be there. */
static void wire_hear(Wire *wire, const char *mark, Span text)
{
    assert_int_equal(bytes_append_format(&wire->heard, "%s ", mark), 0);
    assert_int_equal(bytes_append_span(&wire->heard, text), 0);
    assert_int_equal(bytes_append_byte(&wire->heard, '\0'), 0);
}

static void wire_cut(Wire *wire)
{
    Span line;
    int r;

    while ((r = ndjson_reader_next(&wire->in, &line)) != NDJSON_E_AGAIN) {
        if (r == NDJSON_E_TOO_LONG) {
            wire->too_long(wire->context);
        } else {
            wire->take(wire->context, line);
        }
    }
}

static void wire_feed(Wire *wire, const char *p, size_t n)
{
    while (n > 0) {
        size_t piece = wire->by_bytes ? 1 : n < INQ_AHEAD_BYTES ? n : INQ_AHEAD_BYTES;

        assert_int_equal(ndjson_reader_feed(&wire->in, p, piece), 0);
        wire_cut(wire);
        p += piece;
        n -= piece;
    }
}

static void wire_feed_hex(Wire *wire, const char *words)
{
    unsigned value;
    int used;

    while (sscanf(words, " %2x%n", &value, &used) == 1) {
        char byte = (char)value;

        wire_feed(wire, &byte, 1);
        words += used;
    }
}

static void wire_feed_long(Wire *wire, size_t n)
{
    char *text = malloc(n + 1);
    bool by_bytes = wire->by_bytes;

    memset(text, 'x', n);
    text[n] = '\n';
    wire->by_bytes = false; /* ten million times would take too long */
    wire_feed(wire, text, n + 1);
    wire->by_bytes = by_bytes;
    free(text);
}

static void wire_expect(Wire *wire, const char *expected)
{
    const char *next = wire->heard.n > 0 ? wire->heard.data + wire->n_heard_read : "";

    if (wire->n_heard_read == wire->heard.n) {
        wire_fail(wire, "nothing came, expected", expected);
    } else if (strcmp(next, expected) != 0) {
        print_error("expected %s\n", expected);
        wire_fail(wire, "came", next);
    }
    wire->n_heard_read += strlen(next) + 1;
}

static void wire_expect_silence(Wire *wire)
{
    if (wire->n_heard_read < wire->heard.n) {
        wire_fail(wire, "came, and was not expected", wire->heard.data + wire->n_heard_read);
    }
}

/* Plays one line; command: what the player does for `!`, false if it does not know it. */
static void wire_play_line(Wire *wire, const char *line,
                           bool (*command)(void *context, const char *words))
{
    if (line[0] == '<' || line[0] == '=') {
        wire_expect(wire, line);
        return;
    }
    wire_expect_silence(wire);
    if (line[0] == '>') {
        wire_feed(wire, line + 2, strlen(line + 2));
        wire_feed(wire, "\n", 1);
    } else if (line[0] == '@') {
        wire->now_ms += strtoll(line + 2, NULL, 10);
        (void)command(wire->context, "time");
    } else if (strncmp(line, "! raw ", 6) == 0) {
        wire_feed_hex(wire, line + 6);
    } else if (strncmp(line, "! long ", 7) == 0) {
        wire_feed_long(wire, strtoul(line + 7, NULL, 10));
    } else if (line[0] != '!' || !command(wire->context, line + 2)) {
        wire_fail(wire, "what is this", line);
    }
}

static void wire_play(Wire *wire, const char *folder,
                      bool (*command)(void *context, const char *words))
{
    char path[512];
    size_t n;
    char *text;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, wire->file);
    text = files_read(path, &n);
    ndjson_reader_init(&wire->in, LIMIT_AGENT_LINE_BYTES);
    bytes_init(&wire->heard, (size_t)1 << 20);
    for (char *line = text; line < text + n; line += strlen(line) + 1) {
        char *end = strchr(line, '\n');

        assert_non_null(end);
        *end = '\0';
        wire->line++;
        if (line[0] != '\0' && line[0] != '#') {
            wire_play_line(wire, line, command);
        }
    }
    wire_expect_silence(wire);
    ndjson_reader_deinit(&wire->in);
    bytes_deinit(&wire->heard);
    free(text);
}

/* Runs a test for each transcript of the folder. */
static int wire_main(const char *folder, void (*test)(void **state))
{
    size_t n = 0;
    char **names = files_list(folder, ".txt", &n);
    struct CMUnitTest *tests = calloc(n + 1, sizeof(*tests));
    int r;

    for (size_t i = 0; i < n; i++) {
        tests[i] =
            (struct CMUnitTest){.name = names[i], .test_func = test, .initial_state = names[i]};
    }
    r = n == 0 ? 1 : _cmocka_run_group_tests("transcripts", tests, n, NULL, NULL);
    free(tests);
    files_list_free(names);
    return r;
}

/* The next word of a command, and what is behind it. */
static Span wire_word(const char **words)
{
    size_t n = strcspn(*words, " ");
    Span word = span_make(*words, n);

    *words += n + ((*words)[n] == ' ' ? 1 : 0);
    return word;
}
