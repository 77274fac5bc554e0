/* Which file that is gone is which one that is new (analysis_impl.h). A text is the bag of its
 * lines; two are alike as far as the bytes of the lines go that both have. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "providers/analysis_impl.h"

/* Pairs that are looked at: a thousand files against a thousand. Beyond it nothing is a rename. */
#define ALIKE_MAX_PAIRS ((size_t)1000 * 1000)

/* The same at every run, so that its answer is; who makes two lines of one hash has two files of
 * his own compared with each other. */
static const HashSeed alike_seed = {0x72656e616d656421U, 0x6c696e65732e2e2eU};

static int alike_compare_lines(const void *a, const void *b)
{
    const AnalysisLine *x = a;
    const AnalysisLine *y = b;

    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

int analysis_lines_init(AnalysisLines *lines, Span text)
{
    size_t n = 1;

    *lines = ANALYSIS_LINES_NULL;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    lines->lines = mem_alloc_array(n, sizeof(*lines->lines));
    if (lines->lines == NULL) {
        return err_raise(-ENOMEM);
    }
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n_line = end == NULL ? text.n : (size_t)(end - text.p) + 1;
        bool has_cr = end != NULL && n_line > 1 && end[-1] == '\r';
        size_t n_end = end == NULL ? 0 : has_cr ? 2 : 1;

        lines->lines[lines->n++] = (AnalysisLine){
            hash_span(alike_seed, span_make(text.p, n_line - n_end)), n_line - n_end + 1};
        lines->n_bytes += n_line - n_end + 1;
        text = span_make(text.p + n_line, text.n - n_line);
    }
    qsort(lines->lines, lines->n, sizeof(*lines->lines), alike_compare_lines);
    return 0;
}

void analysis_lines_deinit(AnalysisLines *lines)
{
    lines->lines = mem_free(lines->lines);
    lines->n = 0;
}

/* In parts of a thousand of the longer text. */
static unsigned alike_share(const AnalysisLines *a, const AnalysisLines *b)
{
    uint64_t longer = a->n_bytes > b->n_bytes ? a->n_bytes : b->n_bytes;
    uint64_t shorter = a->n_bytes > b->n_bytes ? b->n_bytes : a->n_bytes;
    uint64_t common = 0;

    if (shorter == 0 || shorter * 2 <= longer) {
        return 0;
    }
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        uint64_t x = a->lines[i].hash;
        uint64_t y = b->lines[k].hash;

        common += x == y ? a->lines[i].n_bytes : 0;
        i += x <= y;
        k += y <= x;
    }
    return (unsigned)(common * 1000 / longer);
}

typedef struct AlikePair {
    unsigned share;
    size_t from;
    size_t to;
} AlikePair;

static int alike_compare_pairs(const void *a, const void *b)
{
    const AlikePair *x = a;
    const AlikePair *y = b;

    if (x->share != y->share) {
        return x->share > y->share ? -1 : 1;
    }
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return x->to < y->to ? -1 : x->to > y->to;
}

int analysis_alike(const AnalysisLines *from, size_t n_from, const AnalysisLines *to, size_t n_to,
                   size_t *ret)
{
    CLEANUP(mem_freep) AlikePair *pairs = NULL;
    CLEANUP(mem_freep) bool *taken = NULL;
    size_t n = 0;

    for (size_t i = 0; i < n_from; i++) {
        ret[i] = ANALYSIS_NOT_ALIKE;
    }
    if (n_from == 0 || n_to == 0 || n_to > ALIKE_MAX_PAIRS / n_from) {
        return 0;
    }
    pairs = mem_alloc_array(n_from * n_to, sizeof(*pairs));
    taken = mem_alloc_array(n_to, sizeof(*taken));
    if (pairs == NULL || taken == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(taken, 0, n_to * sizeof(*taken));
    for (size_t i = 0; i < n_from * n_to; i++) {
        unsigned share = alike_share(&from[i / n_to], &to[i % n_to]);

        if (share > 500) {
            pairs[n++] = (AlikePair){share, i / n_to, i % n_to};
        }
    }
    qsort(pairs, n, sizeof(*pairs), alike_compare_pairs);
    for (size_t i = 0; i < n; i++) {
        if (ret[pairs[i].from] == ANALYSIS_NOT_ALIKE && !taken[pairs[i].to]) {
            ret[pairs[i].from] = pairs[i].to;
            taken[pairs[i].to] = true;
        }
    }
    return 0;
}
