/* How templates are found by words. */
#include <string.h>

#include "base/text.h"
#include "toolkit/templates/catalog_impl.h"

#define SCORE_NAME_EQUAL    10
#define SCORE_NAME_HOLDS    5
#define SCORE_DESCRIPTION   3
#define SCORE_PARAMETER     1
#define SCORE_MISSPELT      1
#define SCORE_QUERY_IS_NAME 10
#define SCORE_ALL           8

/* The sum of a template that lacks a word. */
#define SUM_NONE (-1)

/* More than any template can reach. */
#define SCORE_MAX                                                                                  \
    (TEMPLATE_QUERY_WORDS *                                                                        \
         (SCORE_NAME_EQUAL + SCORE_DESCRIPTION + TEMPLATE_PARAMETERS_MAX * SCORE_PARAMETER) +      \
     SCORE_QUERY_IS_NAME + 1)

typedef struct SearchQuery {
    char text[TEMPLATE_QUERY_BYTES]; /* in small letters, one blank between words */
    size_t n_text;
    size_t n_said;                    /* words in it */
    Span words[TEMPLATE_QUERY_WORDS]; /* each once */
    size_t n_words;
    bool is_hopeless; /* no template has what is in it */
} SearchQuery;

static bool query_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void query_add(SearchQuery *q, Span word)
{
    q->n_said++;
    for (size_t i = 0; i < q->n_words; i++) {
        if (span_equals(q->words[i], word)) {
            return;
        }
    }
    q->words[q->n_words++] = word;
}

static void query_init(SearchQuery *q, Span query)
{
    size_t n = query.n < sizeof(q->text) ? query.n : sizeof(q->text);

    q->n_said = 0;
    q->n_words = 0;
    q->n_text = 0;
    /* A NUL divides the fields of an entry: a word that holds one would be found across them. */
    q->is_hopeless = n > 0 && memchr(query.p, '\0', n) != NULL;
    for (size_t i = 0; i < n && q->n_words < TEMPLATE_QUERY_WORDS;) {
        size_t start;

        while (i < n && query_is_blank(query.p[i])) {
            i++;
        }
        if (i == n) {
            break;
        }
        if (q->n_text > 0) {
            q->text[q->n_text++] = ' ';
        }
        start = q->n_text;
        while (i < n && !query_is_blank(query.p[i])) {
            q->text[q->n_text++] = catalog_lower(query.p[i++]);
        }
        query_add(q, span_make(q->text + start, q->n_text - start));
    }
}

/* A word to look for, by its rarest letter: memchr then stops seldom. */
typedef struct SearchWord {
    Span text;
    size_t rare; /* where that letter stands */
} SearchWord;

static SearchWord word_prepare(Span text)
{
    /* The rarest first, as in English; what is not here is rarer still. */
    static const char letters[] = "zqxjkvbywgpfmucdlhrsnioate";
    SearchWord word = {text, 0};
    size_t best = sizeof(letters);

    for (size_t i = 0; i < text.n; i++) {
        const char *at = memchr(letters, text.p[i], sizeof(letters) - 1);
        size_t rank = at != NULL ? (size_t)(at - letters) + 1 : 0;

        if (rank < best) {
            best = rank;
            word.rare = i;
        }
    }
    return word;
}

/* The first place at or behind p where the word begins; NULL if there is none. */
static const char *words_find(const char *p, const char *end, SearchWord word)
{
    Span text = word.text;

    while ((size_t)(end - p) >= text.n) {
        const char *at = memchr(p + word.rare, text.p[word.rare], (size_t)(end - p) - text.n + 1);

        if (at == NULL) {
            return NULL;
        }
        p = at - word.rare;
        if (memcmp(p, text.p, text.n) == 0) {
            return p;
        }
        p++;
    }
    return NULL;
}

/* One pass over all the words of an entry: what was found says which field it is in, and the search
 * goes on behind that field. No word holds a NUL, so none is found across two fields. */
static int entry_score(const CatalogEntry *e, SearchWord word)
{
    const char *end = e->words + e->n_words;
    const char *description = e->words + e->n_name + 1;
    const char *parameters = description + e->n_description + 1;
    const char *at = words_find(e->words, end, word);
    int score = 0;

    if (at != NULL && at < description) {
        score += e->n_name == word.text.n ? SCORE_NAME_EQUAL : SCORE_NAME_HOLDS;
        at = words_find(description, end, word);
    }
    if (at != NULL && at < parameters) {
        score += SCORE_DESCRIPTION;
        at = words_find(parameters, end, word);
    }
    while (at != NULL) {
        score += SCORE_PARAMETER;
        at = words_find(at + strlen(at) + 1, end, word);
    }
    return score;
}

/* Letters and digits of a word as bits: two words n slips apart differ in 2 n bits at most, which
 * spares most of them the full comparison. */
static uint64_t word_mask(Span word)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < word.n; i++) {
        mask |= (uint64_t)1 << ((unsigned char)word.p[i] & 63);
    }
    return mask;
}

/* Whether so few letters (2 at most) must be inserted, dropped, changed or swapped with their
 * neighbour to turn a into b. As text_edit_distance, but looks only at what may still end so near:
 * row i, columns i - allowed to i + allowed. */
static bool words_are_within(Span a, Span b, size_t allowed)
{
    size_t rows[3][TEXT_NAME_MAX + 3];

    for (size_t j = 0; j <= b.n + 1; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        const size_t *above = rows[(i - 1) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        size_t first = i > allowed ? i - allowed : 1;
        size_t last = i + allowed < b.n ? i + allowed : b.n;
        size_t least = SIZE_MAX;

        row[first - 1] = first == 1 ? i : allowed + 1;
        for (size_t j = first; j <= last; j++) {
            size_t cost = above[j - 1] + (a.p[i - 1] != b.p[j - 1]);

            cost = above[j] + 1 < cost ? above[j] + 1 : cost;
            cost = row[j - 1] + 1 < cost ? row[j - 1] + 1 : cost;
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1] &&
                above2[j - 2] + 1 < cost) {
                cost = above2[j - 2] + 1;
            }
            row[j] = cost;
            least = cost < least ? cost : least;
        }
        row[last + 1] = allowed + 1;
        if (least > allowed) {
            return false;
        }
    }
    return rows[a.n % 3][b.n] <= allowed;
}

static bool words_are_near(Span a, uint64_t mask_a, Span b, size_t allowed)
{
    size_t apart = a.n > b.n ? a.n - b.n : b.n - a.n;

    return apart <= allowed && a.n <= TEXT_NAME_MAX && b.n <= TEXT_NAME_MAX &&
           (size_t)__builtin_popcountll(mask_a ^ word_mask(b)) <= 2 * allowed &&
           words_are_within(a, b, allowed);
}

static bool name_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static bool entry_is_near(const CatalogEntry *e, Span word, uint64_t mask)
{
    size_t allowed = word.n < 3 ? 0 : word.n < 6 ? 1 : 2;

    for (size_t i = 0; allowed > 0 && i < e->n_name;) {
        size_t start;

        while (i < e->n_name && !name_is_letter(e->words[i])) {
            i++;
        }
        start = i;
        while (i < e->n_name && name_is_letter(e->words[i])) {
            i++;
        }
        if (words_are_near(word, mask, span_make(e->words + start, i - start), allowed)) {
            return true;
        }
    }
    return false;
}

static void sum_add(int *sum, int score)
{
    *sum = *sum == SUM_NONE || score == 0 ? SUM_NONE : *sum + score;
}

static void search_word(TemplateCatalog *catalog, Span text)
{
    SearchWord word = word_prepare(text);
    uint64_t mask = word_mask(text);
    bool is_anywhere = false;

    /* First whether it is anywhere: only a word that is not may be a misspelt one. */
    for (size_t i = 0; i < catalog->n; i++) {
        int score;

        if (is_anywhere && catalog->sums[i] == SUM_NONE) {
            continue;
        }
        score = entry_score(catalog->sorted[i], word);
        if (score > 0 && !is_anywhere) {
            is_anywhere = true;
            for (size_t j = 0; j < i; j++) {
                catalog->sums[j] = SUM_NONE;
            }
        }
        if (is_anywhere) {
            sum_add(&catalog->sums[i], score);
        }
    }
    for (size_t i = 0; !is_anywhere && i < catalog->n; i++) {
        bool is_near =
            catalog->sums[i] != SUM_NONE && entry_is_near(catalog->sorted[i], text, mask);

        sum_add(&catalog->sums[i], is_near ? SCORE_MISSPELT : 0);
    }
}

static bool entry_is_called(const CatalogEntry *e, const SearchQuery *q)
{
    return q->n_said > 1 &&
           span_equals(span_make(e->words, e->n_name), span_make(q->text, q->n_text));
}

/* What is found, by relevance: sums lie in order of URIs, and counting keeps that order among
 * equals. */
static size_t search_collect(TemplateCatalog *catalog, const SearchQuery *q,
                             const TemplateFilter *filter)
{
    size_t starts[SCORE_MAX + 1] = {0};
    size_t n = 0;

    for (size_t i = 0; i < catalog->n; i++) {
        const CatalogEntry *e = catalog->sorted[i];

        if (filter != NULL && !template_matches(e->template, filter)) {
            catalog->sums[i] = SUM_NONE;
        }
        if (catalog->sums[i] != SUM_NONE) {
            catalog->sums[i] += entry_is_called(e, q) ? SCORE_QUERY_IS_NAME : 0;
            starts[catalog->sums[i]]++;
        }
    }
    for (size_t score = SCORE_MAX + 1; score-- > 0;) {
        size_t n_equal = starts[score];

        starts[score] = n;
        n += n_equal;
    }
    for (size_t i = 0; i < catalog->n; i++) {
        if (catalog->sums[i] != SUM_NONE) {
            catalog->hits[starts[catalog->sums[i]]++] =
                (TemplateHit){catalog->sorted[i]->template, catalog->sums[i]};
        }
    }
    return n;
}

int template_catalog_search(TemplateCatalog *catalog, Span query, const TemplateFilter *filter,
                            const TemplateHit **ret_hits, size_t *ret_n)
{
    SearchQuery q;

    query_init(&q, query);
    *ret_hits = catalog->hits;
    *ret_n = 0;
    if (q.is_hopeless) {
        return 0;
    }
    for (size_t i = 0; i < catalog->n; i++) {
        int n = (int)catalog->sorted[i]->template->n_parameters;

        catalog->sums[i] = q.n_words > 0 ? 0 : SCORE_ALL + n;
    }
    for (size_t i = 0; i < q.n_words; i++) {
        search_word(catalog, q.words[i]);
    }
    *ret_n = search_collect(catalog, &q, filter);
    return 0;
}
