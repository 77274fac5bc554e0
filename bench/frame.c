/* bench_frame: what cutting a stream into messages, and putting messages into one, costs beyond the
 * floor.
 *
 * Streams come in reads of 64 KiB, where a copy stands for the kernel's copy; the reader is
 * drained after each. The floor does the same copy, into a block as large as one read and one
 * message, and looks for the newlines (ndjson) or at the headers (len32): no engine that hands out
 * whole messages can do less. The writer's floor is one memcpy of each message, with a memchr for
 * the newline that must not be there. Rounds are interleaved, so that a slow moment of the machine
 * hits all alike, and the best round counts.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "frame/len32.h"
#include "frame/ndjson.h"

#define ROUNDS        9
#define ROUND_NS      20000000u
#define READ_BYTES    ((size_t)64 * 1024)
#define DELIVER_BYTES ((size_t)1024)
#define STREAM_BYTES  ((size_t)8 * 1024 * 1024)
#define MAX_MESSAGE   (4u << 20)
#define MAX_PENDING   ((size_t)16 << 20)

/* Messages of one size, framed both ways. */
typedef struct Traffic {
    size_t size;
    size_t n_messages;
    char *message;
    char *lines;
    char *frames;
    char *floor; /* room for one message and one read */
    NdjsonReader ndjson_reader;
    NdjsonWriter ndjson_writer;
    Len32Reader len32_reader;
    Len32Writer len32_writer;
} Traffic;

typedef size_t (*RunFn)(Traffic *t);

static void require(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_frame: %s\n", what);
        exit(1);
    }
}

static size_t piece_at(size_t at, size_t n)
{
    return n - at < READ_BYTES ? n - at : READ_BYTES;
}

/* Stands for the kernel's copy. In short steps, because a long memcpy is several times slower on
 * some processors when source and destination happen to lie alike within their pages (rep movsb),
 * and that is neither the reader's merit nor its fault. */
static void deliver(char *to, const char *from, size_t n)
{
    for (size_t at = 0; at < n; at += DELIVER_BYTES) {
        memcpy(to + at, from + at, n - at < DELIVER_BYTES ? n - at : DELIVER_BYTES);
    }
}

static size_t drain_ndjson(NdjsonReader *reader)
{
    Span message;
    size_t n = 0;

    while (ndjson_reader_next(reader, &message) == 0) {
        n++;
    }
    return n;
}

static size_t read_ndjson_in_place(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 1);
    size_t n_messages = 0;

    for (size_t at = 0; at < n;) {
        char *room;
        size_t n_room;
        size_t piece = piece_at(at, n);

        require(ndjson_reader_reserve(&t->ndjson_reader, READ_BYTES, &room, &n_room) == 0,
                "memory");
        deliver(room, t->lines + at, piece);
        ndjson_reader_commit(&t->ndjson_reader, piece);
        at += piece;
        n_messages += drain_ndjson(&t->ndjson_reader);
    }
    return n_messages;
}

static size_t read_ndjson_fed(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 1);
    size_t n_messages = 0;

    for (size_t at = 0; at < n;) {
        size_t piece = piece_at(at, n);

        require(ndjson_reader_feed(&t->ndjson_reader, t->lines + at, piece) == 0, "memory");
        at += piece;
        n_messages += drain_ndjson(&t->ndjson_reader);
    }
    return n_messages;
}

/* Keeps an unfinished message in front of the next piece only by not starting over before its end.
 */
static size_t floor_ndjson(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 1);
    size_t n_messages = 0;
    size_t held = 0;

    for (size_t at = 0; at < n;) {
        size_t piece = piece_at(at, n);
        char *p = t->floor + held;
        char *end = p + piece;

        deliver(p, t->lines + at, piece);
        at += piece;
        held += piece;
        for (char *newline = memchr(p, '\n', piece); newline != NULL;
             newline = memchr(p, '\n', (size_t)(end - p))) {
            n_messages++;
            p = newline + 1;
            held = 0;
        }
    }
    return n_messages;
}

static size_t drain_len32(Len32Reader *reader)
{
    Span message;
    size_t n = 0;

    while (len32_reader_next(reader, &message) == 0) {
        n++;
    }
    return n;
}

static size_t read_len32_in_place(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 4);
    size_t n_messages = 0;

    for (size_t at = 0; at < n;) {
        char *room;
        size_t n_room;
        size_t piece = piece_at(at, n);

        require(len32_reader_reserve(&t->len32_reader, READ_BYTES, &room, &n_room) == 0, "memory");
        piece = piece < n_room ? piece : n_room;
        deliver(room, t->frames + at, piece);
        len32_reader_commit(&t->len32_reader, piece);
        at += piece;
        n_messages += drain_len32(&t->len32_reader);
    }
    return n_messages;
}

static size_t read_len32_fed(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 4);
    size_t n_messages = 0;

    for (size_t at = 0; at < n;) {
        size_t piece = piece_at(at, n);

        require(len32_reader_feed(&t->len32_reader, t->frames + at, piece) == 0, "memory");
        at += piece;
        n_messages += drain_len32(&t->len32_reader);
    }
    return n_messages;
}

static size_t floor_len32(Traffic *t)
{
    size_t n = t->n_messages * (t->size + 4);
    size_t n_messages = 0;
    size_t held = 0;
    size_t next = 0; /* offset of the next header in the stream */

    for (size_t at = 0; at < n;) {
        size_t piece = piece_at(at, n);
        char *p = t->floor + held;

        deliver(p, t->frames + at, piece);
        held += piece;
        /* A header that two pieces share is taken as whole: the floor may cheat. */
        while (next + 4 <= at + piece) {
            unsigned char h[4] = {0};

            memcpy(h, next >= at ? p + (next - at) : t->frames + next, sizeof(h));
            next += 4 + (h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16 | (size_t)h[3] << 24);
            n_messages++;
            held = 0;
        }
        at += piece;
        held = held > t->size ? 0 : held;
    }
    return n_messages;
}

/* What a transport does when 64 KiB are pending, but for the write itself. */
static void flush(Outq *out, size_t limit)
{
    Span slices[16];

    while (outq_pending(out) > limit) {
        size_t n = outq_pull(out, slices, TW_ARRAY_SIZE(slices));
        size_t n_bytes = 0;

        for (size_t i = 0; i < n; i++) {
            n_bytes += slices[i].n;
        }
        outq_consumed(out, n_bytes);
    }
}

static size_t write_ndjson(Traffic *t)
{
    for (size_t i = 0; i < t->n_messages; i++) {
        require(ndjson_writer_push(&t->ndjson_writer, span_make(t->message, t->size)) == 0,
                "memory");
        flush(&t->ndjson_writer.out, READ_BYTES);
    }
    flush(&t->ndjson_writer.out, 0);
    return t->n_messages;
}

static size_t write_len32(Traffic *t)
{
    for (size_t i = 0; i < t->n_messages; i++) {
        require(len32_writer_push(&t->len32_writer, span_make(t->message, t->size)) == 0, "memory");
        flush(&t->len32_writer.out, READ_BYTES);
    }
    flush(&t->len32_writer.out, 0);
    return t->n_messages;
}

static size_t compose_len32(Traffic *t)
{
    for (size_t i = 0; i < t->n_messages; i++) {
        Bytes *out;

        require(len32_writer_begin(&t->len32_writer, &out) == 0, "memory");
        require(bytes_append(out, t->message, t->size) == 0, "memory");
        require(len32_writer_commit(&t->len32_writer) == 0, "memory");
        flush(&t->len32_writer.out, READ_BYTES);
    }
    flush(&t->len32_writer.out, 0);
    return t->n_messages;
}

static size_t floor_write(Traffic *t, bool look)
{
    size_t held = 0;

    for (size_t i = 0; i < t->n_messages; i++) {
        require(!look || memchr(t->message, '\n', t->size) == NULL, "newline");
        memcpy(t->floor + held, t->message, t->size);
        held += t->size;
        held = held > READ_BYTES ? 0 : held;
    }
    return t->n_messages;
}

static size_t floor_write_ndjson(Traffic *t)
{
    return floor_write(t, true);
}

static size_t floor_write_len32(Traffic *t)
{
    return floor_write(t, false);
}

typedef struct Runner {
    const char *name;
    RunFn run;
    size_t floor; /* its floor's place in the table */
} Runner;

static const Runner runners[] = {
    {"ndjson read in place", read_ndjson_in_place, 2},
    {"ndjson feed", read_ndjson_fed, 2},
    {"floor: memcpy, memchr", floor_ndjson, 2},
    {"len32 read in place", read_len32_in_place, 5},
    {"len32 feed", read_len32_fed, 5},
    {"floor: memcpy, headers", floor_len32, 5},
    {"ndjson push", write_ndjson, 7},
    {"floor: memchr, memcpy", floor_write_ndjson, 7},
    {"len32 push", write_len32, 10},
    {"len32 begin, commit", compose_len32, 10},
    {"floor: memcpy", floor_write_len32, 10},
};

static const size_t sizes[] = {100, 1000, 64 * 1024, 1000 * 1000};

enum {
    N_RUNNERS = TW_ARRAY_SIZE(runners),
    N_SIZES = TW_ARRAY_SIZE(sizes)
};

static void traffic_make(Traffic *t, size_t size)
{
    *t = (Traffic){.size = size, .n_messages = STREAM_BYTES / size};
    t->message = malloc(size);
    t->lines = malloc(t->n_messages * (size + 1));
    t->frames = malloc(t->n_messages * (size + 4));
    t->floor = malloc(2 * size + 2 * READ_BYTES);
    require(t->message != NULL && t->lines != NULL && t->frames != NULL && t->floor != NULL,
            "memory");
    memset(t->message, 'x', size);
    memset(t->floor, 0, 2 * size + 2 * READ_BYTES);
    for (size_t i = 0; i < t->n_messages; i++) {
        char *line = t->lines + i * (size + 1);
        char *frame = t->frames + i * (size + 4);

        memcpy(line, t->message, size);
        line[size] = '\n';
        for (size_t k = 0; k < 4; k++) {
            frame[k] = (char)(unsigned char)(size >> (8 * k));
        }
        memcpy(frame + 4, t->message, size);
    }
    ndjson_reader_init(&t->ndjson_reader, MAX_MESSAGE);
    ndjson_writer_init(&t->ndjson_writer, MAX_MESSAGE, MAX_PENDING);
    len32_reader_init(&t->len32_reader, LEN32_ORDER_LE, MAX_MESSAGE);
    len32_writer_init(&t->len32_writer, LEN32_ORDER_LE, MAX_MESSAGE, MAX_PENDING);
}

static void traffic_free(Traffic *t)
{
    ndjson_reader_deinit(&t->ndjson_reader);
    ndjson_writer_deinit(&t->ndjson_writer);
    len32_reader_deinit(&t->len32_reader);
    len32_writer_deinit(&t->len32_writer);
    free(t->message);
    free(t->lines);
    free(t->frames);
    free(t->floor);
}

/* Nanoseconds a message in one round. */
static double measure(const Runner *runner, Traffic *t)
{
    uint64_t start = clock_monotonic_ns();
    uint64_t elapsed;
    size_t n = 0;

    do {
        size_t n_now = runner->run(t);

        require(n_now == t->n_messages, runner->name);
        n += n_now;
        elapsed = clock_monotonic_ns() - start;
    } while (elapsed < ROUND_NS);
    return (double)elapsed / (double)n;
}

int main(void)
{
    double best[N_RUNNERS][N_SIZES] = {{0}};

    for (size_t s = 0; s < N_SIZES; s++) {
        Traffic t;

        traffic_make(&t, sizes[s]);
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < N_RUNNERS; i++) {
                double ns = measure(&runners[i], &t);

                best[i][s] = round == 0 || ns < best[i][s] ? ns : best[i][s];
            }
        }
        traffic_free(&t);
    }
    printf("frames in 64 KiB reads: ns per message, MB/s, times the floor (best of %d rounds)\n",
           ROUNDS);
    printf("%-24s", "message bytes");
    for (size_t s = 0; s < N_SIZES; s++) {
        printf("%27zu", sizes[s]);
    }
    printf("\n");
    for (size_t i = 0; i < N_RUNNERS; i++) {
        printf("%-24s", runners[i].name);
        for (size_t s = 0; s < N_SIZES; s++) {
            printf("%11.1f %8.0f %6.2f", best[i][s], (double)sizes[s] * 1e3 / best[i][s],
                   best[i][s] / best[runners[i].floor][s]);
        }
        printf("\n");
    }
    return 0;
}
