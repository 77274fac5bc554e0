#include "providers/tool_index.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* All words of all tools: as many as a router has, each with a long description. */
#define INDEX_MAX_BYTES ((size_t)256 * 1024 * 1024)

/* What a field says of a tool. */
typedef enum IndexField {
    INDEX_NAME,
    INDEX_TITLE,
    INDEX_DESCRIPTION,
    INDEX_PARAMETER,
    INDEX_N_FIELDS
} IndexField;

static const unsigned index_weights[INDEX_N_FIELDS] = {8, 5, 3, 2};

/* How well two words fit. */
enum {
    FIT_NONE,
    FIT_NEAR, /* misspelt, or inside the other */
    FIT_BEGINS,
    FIT_FORM, /* another form of the word: file, files */
    FIT_SAME
};

/* Letters that an ending has at most: reading, created. */
#define INDEX_ENDING 3

typedef struct IndexWord {
    uint32_t at; /* in text */
    uint16_t n;
    uint16_t field;
} IndexWord;

/* A tool's words lie one behind the other; its whole name, which may be said at once, is apart. */
typedef struct IndexTool {
    size_t first;
    size_t n;
    uint32_t name_at;
    uint32_t n_name;
} IndexTool;

struct ToolIndex {
    Bytes text;
    Bytes words; /* IndexWord */
    Bytes tools; /* IndexTool */
    Arena scratch;
};

int tool_index_new(ToolIndex **ret)
{
    ToolIndex *index = mem_alloc_array(1, sizeof(*index));

    if (index == NULL) {
        return err_raise(-ENOMEM);
    }
    bytes_init(&index->text, INDEX_MAX_BYTES);
    bytes_init(&index->words, INDEX_MAX_BYTES);
    bytes_init(&index->tools, INDEX_MAX_BYTES);
    arena_init(&index->scratch, SIZE_MAX);
    *ret = index;
    return 0;
}

ToolIndex *tool_index_free(ToolIndex *index)
{
    if (index != NULL) {
        bytes_deinit(&index->text);
        bytes_deinit(&index->words);
        bytes_deinit(&index->tools);
        arena_deinit(&index->scratch);
    }
    return mem_free(index);
}

static const IndexTool *index_tools(const ToolIndex *index, size_t *ret_n)
{
    *ret_n = index->tools.n / sizeof(IndexTool);
    return (const IndexTool *)(const void *)index->tools.data;
}

static const IndexWord *index_words(const ToolIndex *index)
{
    return (const IndexWord *)(const void *)index->words.data;
}

/* ---- words ---- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char to_lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || is_upper(c) || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

/* The next word of text from *at on; empty: there is none. */
static Span word_next(Span text, size_t *at)
{
    size_t start;

    while (*at < text.n && !is_letter(text.p[*at])) {
        (*at)++;
    }
    start = *at;
    while (*at < text.n && is_letter(text.p[*at]) &&
           !(*at > start && is_upper(text.p[*at]) && !is_upper(text.p[*at - 1]))) {
        (*at)++;
    }
    return span_make(text.p + start, *at - start);
}

static int append_lower(Bytes *out, Span word)
{
    int r = bytes_reserve(out, word.n);

    for (size_t i = 0; r == 0 && i < word.n; i++) {
        out->data[out->n++] = to_lower(word.p[i]);
    }
    return r;
}

/* Adds the words of a field, as long as the tool may have more. */
static int index_add_words(ToolIndex *index, IndexTool *tool, Span text, IndexField field)
{
    for (size_t at = 0; tool->n < TOOL_INDEX_TOOL_WORDS;) {
        Span word = word_next(text, &at);
        IndexWord added = {.at = (uint32_t)index->text.n, .field = (uint16_t)field};
        int r;

        if (word.n == 0) {
            break;
        }
        /* What is longer than a name is no word that anybody looks for. */
        added.n = (uint16_t)(word.n < TEXT_NAME_MAX ? word.n : TEXT_NAME_MAX);
        r = append_lower(&index->text, span_make(word.p, added.n));
        r = r != 0 ? r : bytes_append(&index->words, &added, sizeof(added));
        if (r != 0) {
            return r;
        }
        tool->n++;
    }
    return 0;
}

static int index_add_member(ToolIndex *index, IndexTool *tool, JsonValue object, Span key,
                            IndexField field)
{
    JsonValue value;
    Span text;
    int r;

    if (!json_get(object, key, &value) || json_kind(value) != JSON_STRING) {
        return 0;
    }
    r = json_string(value, &index->scratch, &text);
    return r != 0 ? err_fold(r) : index_add_words(index, tool, text, field);
}

static int index_add_parameters(ToolIndex *index, IndexTool *tool, JsonValue description)
{
    JsonValue schema;
    JsonValue properties;
    int r = 0;

    if (!json_get(description, SPAN("inputSchema"), &schema) ||
        !json_get(schema, SPAN("properties"), &properties) ||
        json_kind(properties) != JSON_OBJECT) {
        return 0;
    }
    for (JsonIter it = json_iter(properties); r == 0 && json_iter_next(&it);) {
        Span name;

        r = json_string(it.key, &index->scratch, &name);
        r = r != 0 ? err_fold(r) : index_add_words(index, tool, name, INDEX_PARAMETER);
    }
    return r;
}

/* The name as it is said in one word: without what divides it. */
static int index_add_name(ToolIndex *index, IndexTool *tool, JsonValue description)
{
    JsonValue value;
    Span name;
    int r;

    tool->name_at = (uint32_t)index->text.n;
    if (!json_get(description, SPAN("name"), &value) || json_kind(value) != JSON_STRING) {
        return 0;
    }
    r = json_string(value, &index->scratch, &name);
    for (size_t at = 0; r == 0;) {
        Span word = word_next(name, &at);

        if (word.n == 0) {
            break;
        }
        r = append_lower(&index->text, word);
    }
    tool->n_name = (uint32_t)(index->text.n - tool->name_at);
    return r;
}

int tool_index_add(ToolIndex *index, JsonValue tool)
{
    size_t n_text = index->text.n;
    size_t n_words = index->words.n;
    IndexTool added = {.first = n_words / sizeof(IndexWord)};
    int r = index_add_name(index, &added, tool);

    r = r != 0 ? r : index_add_member(index, &added, tool, SPAN("name"), INDEX_NAME);
    r = r != 0 ? r : index_add_member(index, &added, tool, SPAN("title"), INDEX_TITLE);
    r = r != 0 ? r : index_add_parameters(index, &added, tool);
    r = r != 0 ? r : index_add_member(index, &added, tool, SPAN("description"), INDEX_DESCRIPTION);
    r = r != 0 ? r : bytes_append(&index->tools, &added, sizeof(added));
    arena_reset(&index->scratch, LIMIT_KEEP_BYTES);
    if (r != 0) {
        index->text.n = n_text;
        index->words.n = n_words;
    }
    return r > 0 ? err_raise(-ENOMEM) : err_pass(r);
}

/* ---- a query ---- */

typedef struct IndexQuery {
    Bytes text; /* small letters; all words, one behind the other */
    struct {
        size_t at;
        size_t n;
    } words[TOOL_INDEX_QUERY_WORDS];
    size_t n_words;
} IndexQuery;

static Span query_word(const IndexQuery *query, size_t i)
{
    return span_make(query->text.data + query->words[i].at, query->words[i].n);
}

static int query_read(IndexQuery *query, Span text)
{
    for (size_t at = 0; query->n_words < TOOL_INDEX_QUERY_WORDS;) {
        Span word = word_next(text, &at);
        int r;

        if (word.n == 0) {
            break;
        }
        query->words[query->n_words].at = query->text.n;
        query->words[query->n_words].n = word.n < TEXT_NAME_MAX ? word.n : TEXT_NAME_MAX;
        r = append_lower(&query->text, span_make(word.p, query->words[query->n_words].n));
        if (r != 0) {
            return r;
        }
        query->n_words++;
    }
    return 0;
}

static bool span_holds(Span s, Span part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (memcmp(s.p + i, part.p, part.n) == 0) {
            return true;
        }
    }
    return false;
}

/* How a word that was asked for fits one that a tool has. Short words have no forms: "to" is not
 * "tool". */
static unsigned word_fit(Span asked, Span has)
{
    Span less = asked.n < has.n ? asked : has;
    Span more = asked.n < has.n ? has : asked;

    if (span_equals(asked, has)) {
        return FIT_SAME;
    }
    if (less.n < 3) {
        return FIT_NONE;
    }
    if (span_starts_with(more, less)) {
        if (more.n - less.n <= INDEX_ENDING) {
            return FIT_FORM;
        }
        return less.p == asked.p ? FIT_BEGINS : FIT_NONE;
    }
    return asked.n > 3 && span_holds(has, asked) ? FIT_NEAR : FIT_NONE;
}

static unsigned word_misspelt(Span asked, Span has)
{
    size_t allowed = asked.n < 4 ? 0 : asked.n < 7 ? 1 : 2;
    size_t apart = asked.n > has.n ? asked.n - has.n : has.n - asked.n;

    return apart <= allowed && allowed > 0 && text_edit_distance(asked, has) <= allowed ? FIT_NEAR
                                                                                        : FIT_NONE;
}

/* What the best of a tool's words is worth. */
static unsigned tool_worth(const ToolIndex *index, const IndexTool *tool, Span asked,
                           unsigned (*fit)(Span asked, Span has))
{
    const IndexWord *words = index_words(index) + tool->first;
    unsigned best = 0;

    for (size_t i = 0; i < tool->n; i++) {
        Span has = span_make(index->text.data + words[i].at, words[i].n);
        unsigned worth = index_weights[words[i].field];

        if (worth * FIT_SAME > best) {
            worth *= fit(asked, has);
            best = worth > best ? worth : best;
        }
    }
    return best;
}

/* A word that one tool has says more than one that all have: 1 + log2(tools / tools with it). */
static unsigned word_rarity(size_t n_tools, size_t n_with)
{
    unsigned rarity = 1;

    for (size_t n = n_tools / n_with; n > 1; n /= 2) {
        rarity++;
    }
    return rarity;
}

typedef struct IndexSum {
    uint64_t score;
    unsigned worth; /* of the word that is looked at */
    unsigned n_had; /* words of the query */
} IndexSum;

static size_t sums_look(const ToolIndex *index, IndexSum *sums, Span asked,
                        unsigned (*fit)(Span asked, Span has))
{
    size_t n_tools;
    const IndexTool *tools = index_tools(index, &n_tools);
    size_t n_with = 0;

    for (size_t i = 0; i < n_tools; i++) {
        sums[i].worth = tool_worth(index, &tools[i], asked, fit);
        n_with += sums[i].worth > 0;
    }
    return n_with;
}

static void sums_add_word(const ToolIndex *index, IndexSum *sums, Span asked)
{
    size_t n_tools = index->tools.n / sizeof(IndexTool);
    size_t n_with = sums_look(index, sums, asked, word_fit);

    if (n_with == 0) {
        n_with = sums_look(index, sums, asked, word_misspelt);
    }
    for (size_t i = 0; n_with > 0 && i < n_tools; i++) {
        sums[i].score += (uint64_t)sums[i].worth * word_rarity(n_tools, n_with);
        sums[i].n_had += sums[i].worth > 0;
    }
}

/* The whole of what was asked is the name of the tool, however it is divided. */
#define INDEX_SCORE_NAMED 1000000u

static void sums_finish(const ToolIndex *index, IndexSum *sums, const IndexQuery *query)
{
    size_t n_tools;
    const IndexTool *tools = index_tools(index, &n_tools);

    for (size_t i = 0; i < n_tools; i++) {
        Span name = span_make(index->text.data + tools[i].name_at, tools[i].n_name);

        sums[i].score = query->n_words == 0 ? tools[i].n > 0 : sums[i].score * sums[i].n_had;
        if (query->n_words > 0 && span_equals(name, bytes_span(&query->text))) {
            sums[i].score += INDEX_SCORE_NAMED;
        }
    }
}

/* Puts a hit in its place among the best so far. */
static void hits_put(ToolHit *hits, size_t max, size_t *n, ToolHit hit)
{
    size_t i = *n;

    if (i == max) {
        if (max == 0 || hits[max - 1].score >= hit.score) {
            return;
        }
        i--;
    } else {
        (*n)++;
    }
    for (; i > 0 && hits[i - 1].score < hit.score; i--) {
        hits[i] = hits[i - 1];
    }
    hits[i] = hit;
}

static int index_search(ToolIndex *index, const IndexQuery *query, ToolHit *hits, size_t max,
                        size_t *ret_n, size_t *ret_total)
{
    size_t n_tools = index->tools.n / sizeof(IndexTool);
    IndexSum *sums = arena_alloc_array(&index->scratch, n_tools, sizeof(*sums));

    *ret_n = 0;
    *ret_total = 0;
    if (sums == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(sums, 0, n_tools * sizeof(*sums));
    for (size_t i = 0; i < query->n_words; i++) {
        sums_add_word(index, sums, query_word(query, i));
    }
    sums_finish(index, sums, query);
    for (size_t i = 0; i < n_tools; i++) {
        if (sums[i].score > 0) {
            (*ret_total)++;
            hits_put(hits, max, ret_n, (ToolHit){.place = i, .score = sums[i].score});
        }
    }
    return 0;
}

int tool_index_search(ToolIndex *index, Span query, ToolHit *hits, size_t max, size_t *ret_n,
                      size_t *ret_total)
{
    IndexQuery read = {.n_words = 0};
    int r;

    bytes_init(&read.text, (size_t)TOOL_INDEX_QUERY_WORDS * TEXT_NAME_MAX);
    *ret_n = 0;
    *ret_total = 0;
    r = query_read(&read, query);
    if (r == 0 && index->tools.n > 0) {
        r = index_search(index, &read, hits, max, ret_n, ret_total);
    }
    arena_reset(&index->scratch, LIMIT_KEEP_BYTES);
    bytes_deinit(&read.text);
    return err_fold(r);
}
