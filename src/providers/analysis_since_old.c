/* How files were at a revision (analysis_impl.h): git prints the blobs as they are, without
 * filters, to as many children as there are threads. Large ones are left out at first, and then
 * read and measured by one thread, one after the other. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "io/work.h"
#include "providers/analysis_impl.h"

/* Ids of a million blobs. */
#define OLD_LIST_BYTES ((size_t)256 * 1024 * 1024)

/* Blobs for which one more child is worth its start. */
#define OLD_BLOBS_PER_THREAD 16

/* What git writes before a blob: an id, a type, a size. */
#define OLD_HEADER_BYTES ((size_t)256)

int analysis_olds_add(AnalysisOlds *olds, const AnalysisOld *old)
{
    if (olds->n == olds->cap) {
        size_t cap = olds->cap > 0 ? olds->cap * 2 : 64;
        AnalysisOld *grown = mem_realloc(olds->olds, cap * sizeof(*grown));

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        olds->olds = grown;
        olds->cap = cap;
    }
    olds->olds[olds->n++] = *old;
    return 0;
}

void analysis_olds_deinit(AnalysisOlds *olds)
{
    for (size_t i = 0; i < olds->n; i++) {
        analysis_lines_deinit(&olds->olds[i].lines);
    }
    for (size_t i = 0; i < olds->n_meters; i++) {
        analysis_meter_deinit(&olds->meters[i]);
    }
    olds->olds = mem_free(olds->olds);
    olds->meters = mem_free(olds->meters);
    olds->n = 0;
    olds->n_meters = 0;
}

/* One child that prints blobs: of olds[at], olds[at + step]… in this order, or of those that are
 * large. */
typedef struct OldReader {
    AnalysisOlds *olds;
    AnalysisMeter *meter;
    size_t at;
    size_t step;
    bool is_second; /* takes the large ones */
    Bytes header;
    uint64_t n_left; /* of the blob, and the newline behind it */
    uint64_t n_blob;
    bool in_blob;
    int r;
    Diag diag;
} OldReader;

/* The first one from i on that is this reader's. */
static size_t reader_find(const OldReader *reader, size_t i)
{
    while (i < reader->olds->n && reader->is_second && !reader->olds->olds[i].is_large) {
        i += reader->step;
    }
    return i;
}

static Span old_word(Span *text)
{
    const char *at = text->n > 0 ? memchr(text->p, ' ', text->n) : NULL;
    size_t n = at == NULL ? text->n : (size_t)(at - text->p);
    Span word = span_make(text->p, n);

    *text = span_make(text->p + n + (at != NULL), text->n - n - (at != NULL));
    return word;
}

/* "ID blob SIZE", or "ID missing". */
static int reader_take_header(OldReader *reader)
{
    Span text = bytes_span(&reader->header);
    Span id = old_word(&text);
    Span type = old_word(&text);
    uint64_t size = 0;

    if (span_equals(type, SPAN("missing"))) {
        return diag_set(&reader->diag, ANALYSIS_E_GIT,
                        "the state at that revision cannot be read: %.*s is missing", (int)id.n,
                        id.p);
    }
    if (!span_equals(type, SPAN("blob")) || text_parse_u64(text, &size) != 0) {
        return diag_set(&reader->diag, ANALYSIS_E_GIT,
                        "the state at that revision cannot be read: git says: %.*s",
                        (int)reader->header.n, reader->header.data);
    }
    reader->in_blob = true;
    reader->n_blob = size;
    reader->n_left = size + 1;
    bytes_clear(&reader->header);
    bytes_clear_keep(&reader->meter->text, COMPLEXITY_FILE_BYTES / 16);
    /* A single reader takes them as they come. */
    reader->olds->olds[reader->at].is_large = !reader->is_second && reader->olds->n_meters > 1 &&
                                              size > ANALYSIS_LARGE_BYTES &&
                                              size <= COMPLEXITY_FILE_BYTES;
    return 0;
}

/* Is the blob one that this reader measures? */
static bool reader_takes(const OldReader *reader)
{
    return reader->n_blob <= COMPLEXITY_FILE_BYTES && !reader->olds->olds[reader->at].is_large;
}

static int reader_end_blob(OldReader *reader)
{
    const AnalysisWalk *walk = reader->olds->walk;
    AnalysisOld *old = &reader->olds->olds[reader->at];
    Span text = bytes_span(&reader->meter->text);
    bool takes = reader_takes(reader);
    bool is_fleeting;
    int r = 0;

    reader->in_blob = false;
    reader->at = reader_find(reader, reader->at + reader->step);
    if (!old->is_large) {
        (void)atomic_fetch_add(&walk->watch->done, 1);
    }
    if (!takes) {
        return 0;
    }
    if (old->is_gone) {
        r = analysis_lines_init(&old->lines, text);
    }
    return r != 0 ? r
                  : analysis_measure(reader->meter, walk->files, walk->watch, false, old->name,
                                     text, &old->what, &old->is_ours, &is_fleeting);
}

/* Takes some of p; *ret_n says how much. */
static int reader_take(OldReader *reader, const char *p, size_t n, size_t *ret_n)
{
    size_t n_text;
    int r = 0;

    if (!reader->in_blob) {
        const char *end = memchr(p, '\n', n);

        *ret_n = end == NULL ? n : (size_t)(end - p) + 1;
        r = bytes_append(&reader->header, p, *ret_n - (end != NULL));
        if (r != 0 || reader->at >= reader->olds->n) {
            return r < 0 ? r : err_raise(-EPROTO);
        }
        return end == NULL ? 0 : reader_take_header(reader);
    }
    *ret_n = n < reader->n_left ? n : (size_t)reader->n_left;
    /* The newline behind the blob is not its. */
    n_text = *ret_n == reader->n_left ? *ret_n - 1 : *ret_n;
    if (reader_takes(reader)) {
        r = bytes_append(&reader->meter->text, p, n_text);
    }
    reader->n_left -= *ret_n;
    r = r != 0 ? err_fold(r) : 0;
    return r == 0 && reader->n_left == 0 ? reader_end_blob(reader) : r;
}

static int reader_on_output(void *context, const char *p, size_t n)
{
    int r = 0;

    while (r == 0 && n > 0) {
        size_t n_taken = 0;

        r = reader_take(context, p, n, &n_taken);
        p += n_taken;
        n -= n_taken;
    }
    return r;
}

static void reader_run(OldReader *reader)
{
    /* Neither --filters nor --textconv: no program but git runs. */
    static const char *const argv[] = {"git", "cat-file", "--batch", NULL};
    const AnalysisOlds *olds = reader->olds;
    Bytes input;
    int r = 0;

    bytes_init(&input, OLD_LIST_BYTES);
    for (size_t i = reader->at; r == 0 && i < olds->n; i = reader_find(reader, i + reader->step)) {
        r = bytes_append_span(&input, olds->olds[i].blob);
        r = r != 0 ? r : bytes_append_byte(&input, '\n');
    }
    r = r != 0 ? err_fold(r)
               : analysis_git_run(olds->git,
                                  &(AnalysisGitRun){.argv = argv,
                                                    .input = bytes_span(&input),
                                                    .output = reader_on_output,
                                                    .context = reader},
                                  &reader->diag);
    if (r == 0 && reader->at < olds->n) {
        r = diag_set(&reader->diag, ANALYSIS_E_GIT,
                     "the state at that revision cannot be read: git printed too little");
    }
    reader->r = r;
    bytes_deinit(&input);
}

static void olds_on_thread(void *context, size_t i)
{
    OldReader *readers = context;

    reader_run(&readers[i]);
    analysis_meter_rest(readers[i].meter);
}

static int olds_make_meters(AnalysisOlds *olds, size_t n)
{
    int r = 0;

    olds->meters = mem_alloc_array(n, sizeof(*olds->meters));
    if (olds->meters == NULL) {
        return err_raise(-ENOMEM);
    }
    while (r == 0 && olds->n_meters < n) {
        r = analysis_meter_init(&olds->meters[olds->n_meters++]);
    }
    return r;
}

/* readers[0…n-1], each with its meter. */
static int olds_read(AnalysisOlds *olds, OldReader *readers, size_t n, bool is_second,
                     Diag *reterr_diag)
{
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        readers[i] = (OldReader){.olds = olds,
                                 .meter = &olds->meters[i],
                                 .at = i,
                                 .step = n,
                                 .is_second = is_second,
                                 .diag = DIAG_NULL};
        readers[i].at = reader_find(&readers[i], i);
        bytes_init(&readers[i].header, OLD_HEADER_BYTES);
    }
    if (readers[0].at < olds->n) {
        io_work_fan(n, olds_on_thread, readers);
    }
    for (size_t i = 0; i < n; i++) {
        if (r == 0 && readers[i].r > 0 && reterr_diag != NULL) {
            *reterr_diag = readers[i].diag;
        }
        r = r != 0 ? r : readers[i].r;
        bytes_deinit(&readers[i].header);
    }
    return r;
}

int analysis_olds_read(AnalysisOlds *olds, Diag *reterr_diag)
{
    size_t n = analysis_threads(olds->walk->files,
                                (olds->n + OLD_BLOBS_PER_THREAD - 1) / OLD_BLOBS_PER_THREAD);
    CLEANUP(mem_freep) OldReader *readers = NULL;
    int r;

    if (olds->n == 0) {
        return 0;
    }
    readers = mem_alloc_array(n, sizeof(*readers));
    r = readers == NULL ? err_raise(-ENOMEM) : olds_make_meters(olds, n);
    r = r != 0 ? r : olds_read(olds, readers, n, false, reterr_diag);
    return r != 0 ? r : olds_read(olds, readers, 1, true, reterr_diag);
}
