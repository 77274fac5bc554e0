/* What git might print, whole and in pieces: both must come to the same analysis, in every format.
 *
 * Input: flags (FLAG_*), piece size, then the text of all runs; or with FLAG_TABLE the file of a
 * table, which must come back as it was, or empty. */
#include "fuzz.h"

#include <string.h>

#include "toolkit/churn/churn.h"

enum {
    FLAG_TABLE = 1u << 0,   /* the rest is the file of a table */
    FLAG_SHALLOW = 1u << 1, /* headers have decorations */
    FLAG_KNOWN = 1u << 2,   /* a table that knows something: the log is read twice */
    FLAG_NO_LINES = 1u << 3,
    FLAG_EXTRAS = 1u << 4, /* folders and pairs */
};

#define FUZZ_OUT_BYTES ((size_t)1 << 24)
#define FUZZ_MAX_PAIRS 64

static void fuzz_table(Span data)
{
    ChurnTable *table = NULL;
    ChurnTable *again = NULL;
    Bytes out;

    bytes_init(&out, FUZZ_OUT_BYTES);
    FUZZ_REQUIRE(churn_table_new(&table, SIZE_MAX) == 0);
    FUZZ_REQUIRE(churn_table_new(&again, SIZE_MAX) == 0);
    FUZZ_REQUIRE(churn_table_read(table, data) == 0);
    FUZZ_REQUIRE(!churn_table_changed(table));
    FUZZ_REQUIRE(churn_table_write(table, &out) == 0);
    if (churn_table_size(table) > 0) {
        FUZZ_REQUIRE(out.n <= data.n);
    }
    FUZZ_REQUIRE(churn_table_read(again, bytes_span(&out)) == 0);
    FUZZ_REQUIRE(churn_table_size(again) == churn_table_size(table));
    bytes_deinit(&out);
    (void)churn_table_free(table);
    (void)churn_table_free(again);
}

/* A table that knows one change of no interest. */
static ChurnTable *fuzz_known(void)
{
    static const char text[] = "\x01"
                               "1111111111111111111111111111111111111111\x02"
                               "1\x02"
                               "1\x02"
                               "A\0\n:100644 100644 1111111111111111111111111111111111111111 "
                               "2222222222222222222222222222222222222222 M\0x\0"
                               "1\t1\tx\0";
    ChurnOptions options = {.until_s = INT64_MAX};
    ChurnRepository repository = {.head = SPAN("1")};
    ChurnTable *table = NULL;
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = false;

    FUZZ_REQUIRE(churn_table_new(&table, FUZZ_MAX_PAIRS) == 0);
    FUZZ_REQUIRE(churn_new(&churn, &options, &repository, table) == 0);
    FUZZ_REQUIRE(churn_next_run(churn, &run, &is_one) == 0 && is_one);
    FUZZ_REQUIRE(churn_feed(churn, text, sizeof(text) - 1, NULL) == 0);
    FUZZ_REQUIRE(churn_end_run(churn, NULL) == 0);
    FUZZ_REQUIRE(churn_table_size(table) == 1);
    (void)churn_free(churn);
    return table;
}

static int fuzz_run(Churn *churn, Span text, size_t piece)
{
    Diag diag = DIAG_NULL;
    int r = 0;

    for (size_t at = 0; at < text.n && r == 0; at += piece) {
        r = churn_feed(churn, text.p + at, text.n - at < piece ? text.n - at : piece, &diag);
    }
    r = r != 0 ? r : churn_end_run(churn, &diag);
    FUZZ_REQUIRE(r == 0 || r == CHURN_E_FORMAT);
    FUZZ_REQUIRE(r == 0 || (diag.code == CHURN_E_FORMAT && diag.message[0] != '\0'));
    return r;
}

/* Every run gets the same text, but one of a tree nothing. Appends what came out. */
static int fuzz_analyse(unsigned flags, Span text, size_t piece, Bytes *out)
{
    ChurnOptions options = {
        .until_s = INT64_MAX,
        .n_pairs = (flags & FLAG_EXTRAS) != 0 ? 10 : 0,
        .directories = (flags & FLAG_EXTRAS) != 0,
        .without_lines = (flags & FLAG_NO_LINES) != 0,
    };
    ChurnRepository repository = {
        .root = SPAN("/r"), .is_shallow = (flags & FLAG_SHALLOW) != 0, .head = SPAN("1")};
    ChurnTable *table = (flags & FLAG_KNOWN) != 0 ? fuzz_known() : NULL;
    Churn *churn = NULL;
    ChurnRun run;
    bool is_one = true;
    int r = 0;

    FUZZ_REQUIRE(churn_new(&churn, &options, &repository, table) == 0);
    for (size_t n = 0; r == 0; n++) {
        FUZZ_REQUIRE(churn_next_run(churn, &run, &is_one) == 0);
        if (!is_one) {
            break;
        }
        FUZZ_REQUIRE(n < 4);
        r = fuzz_run(churn, strcmp(run.argv[1], "ls-tree") == 0 ? SPAN("a\0b\0") : text, piece);
    }
    if (r == 0) {
        FUZZ_REQUIRE(churn_finish(churn) == 0);
        for (int format = 0; format < CHURN_N_FORMATS; format++) {
            int w = churn_write(churn, (ChurnFormat)format, out);

            FUZZ_REQUIRE(w == 0 || w == BYTES_E_FULL);
        }
        for (size_t i = 0; i < churn_n_files(churn); i++) {
            const ChurnFile *file = churn_file_at(churn, i);

            FUZZ_REQUIRE(churn_file_find(churn, file->path) == file);
            FUZZ_REQUIRE(file->commits > 0 && file->n_authors > 0);
            FUZZ_REQUIRE(file->churn_score >= 0 && file->churn_score <= 1);
            FUZZ_REQUIRE(file->robust_rank >= 0 && file->robust_rank <= 1);
            FUZZ_REQUIRE(file->ownership > 0 && file->ownership <= 1);
        }
    }
    (void)churn_free(churn);
    (void)churn_table_free(table);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Span text;
    Bytes whole;
    Bytes pieces;

    if (size < 2) {
        return 0;
    }
    text = span_make((const char *)data + 2, size - 2);
    if ((data[0] & FLAG_TABLE) != 0) {
        fuzz_table(text);
        return 0;
    }
    bytes_init(&whole, FUZZ_OUT_BYTES);
    bytes_init(&pieces, FUZZ_OUT_BYTES);
    FUZZ_REQUIRE(fuzz_analyse(data[0], text, SIZE_MAX, &whole) ==
                 fuzz_analyse(data[0], text, (size_t)data[1] + 1, &pieces));
    FUZZ_REQUIRE(span_equals(bytes_span(&whole), bytes_span(&pieces)));
    bytes_deinit(&whole);
    bytes_deinit(&pieces);
    return 0;
}
