/* What the players of both sides share: the lines of a transcript, and a wire of frames as they are
 * on a pipe, where what one side writes is read back and compared; ids that count, and a clock that
 * stands at 2025-01-15T10:30:00.000Z until time passes.
 *
 *     > JSON       the other side sends this in a frame
 *     < JSON       our side sent exactly this in a frame
 *     ! WORDS      a command of the player; here: id UUID, raw HEX…, header N
 *     @ MS         so much time passes
 *     #            a comment
 */
#pragma once

#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "dialect/pipe/sink.h"
#include "frame/len32.h"
#include "support/files.h"

#define WIRE_UNIX_MS 1736937000000

typedef struct Wire {
    const char *file;
    size_t line;
    PipeSink sink;
    PipeSource source;
    Len32Reader in;      /* what the other side sends */
    Len32Writer out;     /* what our side sends */
    Len32Reader arrived; /* the same, on the other side */
    unsigned n_ids;
    char next_id[UUID_SIZE]; /* instead of the next number, if not empty */
    int64_t now_ms;
} Wire;

static void wire_fail(const Wire *wire, const char *what, const char *text)
{
    print_error("%s:%zu: %s: %s\n", wire->file, wire->line, what, text);
    fail();
}

static int wire_begin(void *context, Bytes **ret_bytes)
{
    Wire *wire = context;

    return len32_writer_begin(&wire->out, ret_bytes);
}

static int wire_commit(void *context)
{
    Wire *wire = context;

    return len32_writer_commit(&wire->out);
}

static void wire_abort(void *context)
{
    Wire *wire = context;

    len32_writer_abort(&wire->out);
}

static void wire_uuid(void *context, char ret[UUID_SIZE])
{
    Wire *wire = context;

    wire->n_ids++;
    if (wire->next_id[0] != '\0') {
        memcpy(ret, wire->next_id, UUID_SIZE);
        wire->next_id[0] = '\0';
        return;
    }
    (void)snprintf(ret, UUID_SIZE, "00000000-0000-4000-8000-%012u", wire->n_ids % 1000000000u);
}

static int64_t wire_unix_ms(void *context)
{
    return WIRE_UNIX_MS + ((Wire *)context)->now_ms;
}

static int64_t wire_now_ms(void *context)
{
    return ((Wire *)context)->now_ms;
}

static void wire_open(Wire *wire)
{
    uint32_t max = LIMIT_PIPE_MESSAGE_BYTES;

    len32_reader_init(&wire->in, LEN32_ORDER_LE, max);
    len32_writer_init(&wire->out, LEN32_ORDER_LE, max, SIZE_MAX);
    len32_reader_init(&wire->arrived, LEN32_ORDER_LE, max);
}

static void wire_init(Wire *wire, const char *file)
{
    *wire = (Wire){
        .file = file,
        .sink = {.begin = wire_begin, .commit = wire_commit, .abort = wire_abort, .context = wire},
        .source = {
            .uuid = wire_uuid, .unix_ms = wire_unix_ms, .now_ms = wire_now_ms, .context = wire}};
    wire_open(wire);
}

static void wire_deinit(Wire *wire)
{
    len32_reader_deinit(&wire->in);
    len32_writer_deinit(&wire->out);
    len32_reader_deinit(&wire->arrived);
}

/* A new connection: nothing of the last one is left. */
static inline void wire_reopen(Wire *wire)
{
    wire_deinit(wire);
    wire_open(wire);
}

static void wire_feed(Wire *wire, const void *data, size_t n)
{
    const char *p = data;

    while (n > 0) {
        size_t piece = n < INQ_AHEAD_BYTES ? n : INQ_AHEAD_BYTES;

        assert_int_equal(len32_reader_feed(&wire->in, p, piece), 0);
        p += piece;
        n -= piece;
    }
}

static void wire_feed_header(Wire *wire, size_t n)
{
    unsigned char header[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 24)};

    wire_feed(wire, header, sizeof(header));
}

static void wire_feed_message(Wire *wire, const char *text, size_t n)
{
    wire_feed_header(wire, n);
    wire_feed(wire, text, n);
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

/* Moves what our side has written over to the other; false if no message is there. */
static bool wire_take(Wire *wire, Span *ret)
{
    Span slices[8];
    size_t n;

    if (len32_reader_next(&wire->arrived, ret) == 0) {
        return true;
    }
    while ((n = len32_writer_pull(&wire->out, slices, 1)) > 0) {
        size_t piece = slices[0].n < INQ_AHEAD_BYTES ? slices[0].n : INQ_AHEAD_BYTES;

        assert_int_equal(len32_reader_feed(&wire->arrived, slices[0].p, piece), 0);
        len32_writer_consumed(&wire->out, piece);
        if (len32_reader_next(&wire->arrived, ret) == 0) {
            return true;
        }
    }
    len32_writer_consumed(&wire->out, 0);
    return false;
}

static void wire_expect(Wire *wire, const char *expected)
{
    Span message;
    char *text;

    if (!wire_take(wire, &message)) {
        wire_fail(wire, "nothing was sent, expected", expected);
        return;
    }
    text = calloc(1, message.n + 1);
    memcpy(text, message.p, message.n);
    if (strcmp(text, expected) != 0) {
        print_error("expected %s\n", expected);
        wire_fail(wire, "was sent", text);
    }
    free(text);
}

static void wire_expect_silence(Wire *wire)
{
    Span message;

    if (wire_take(wire, &message)) {
        print_error("%.*s\n", (int)(message.n < 1000 ? message.n : 1000), message.p);
        wire_fail(wire, "was sent, and not expected", "");
    }
}

/* The commands of both players; false if it is none of them. */
static bool wire_command(Wire *wire, const char *text)
{
    if (strncmp(text, "id ", 3) == 0) {
        (void)snprintf(wire->next_id, sizeof(wire->next_id), "%s", text + 3);
    } else if (strncmp(text, "raw ", 4) == 0) {
        wire_feed_hex(wire, text + 4);
    } else if (strncmp(text, "header ", 7) == 0) {
        wire_feed_header(wire, strtoul(text + 7, NULL, 10));
    } else {
        return false;
    }
    return true;
}

/* Gives each line, without its newline, to play. */
static void wire_play(Wire *wire, const char *folder, void (*play)(void *context, const char *line),
                      void *context)
{
    char path[512];
    size_t n;
    char *text;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, wire->file);
    text = files_read(path, &n);
    for (char *line = text; line < text + n; line += strlen(line) + 1) {
        char *end = strchr(line, '\n');

        assert_non_null(end);
        *end = '\0';
        wire->line++;
        if (line[0] != '\0' && line[0] != '#') {
            play(context, line);
        }
    }
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
