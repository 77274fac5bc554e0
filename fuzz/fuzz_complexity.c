/* A text: whatever it is, rows lie in the file and in order, increments explain the cognitive
 * value, and measuring again gives the same. Under the name fuzz_complexity_LANGUAGE (a link to
 * this program, which is large) it is the target of that language, with a corpus of its own; else a
 * byte before the text picks the language. The grammars and tree-sitter are built for fuzzing, too.
 */
#include "fuzz.h"

#include <string.h>

#include "toolkit/complexity/measure.h"

#define FUZZ_ARENA_BYTES ((size_t)1 << 26)

/* tree-sitter may take long for nonsense. */
#define FUZZ_PARSE_US 200000

/* NULL: a byte says it. */
static const ComplexityLanguage *fuzz_only;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = strstr((*argv)[0], "fuzz_complexity_");

    (void)argc;
    if (name != NULL) {
        fuzz_only = complexity_language_named(span_from_str(name + strlen("fuzz_complexity_")));
        FUZZ_REQUIRE(fuzz_only != NULL);
    }
    return 0;
}

/* Takes the byte off the text. */
static const ComplexityLanguage *fuzz_language(Span *text)
{
    uint8_t byte = text->n > 0 ? (uint8_t)text->p[0] : 0;
    size_t n = 0;

    while (complexity_language_at(n) != NULL) {
        n++;
    }
    *text = text->n > 1 ? span_make(text->p + 1, text->n - 1) : SPAN_NULL;
    return complexity_language_at(byte % n);
}

static void fuzz_row(const ComplexityFile *file, const ComplexityFunction *row)
{
    const ComplexityHalstead *h = &row->halstead;
    uint64_t sum = 0;

    FUZZ_REQUIRE(row->name.n > 0);
    FUZZ_REQUIRE(row->first_line >= 1 && row->first_column >= 1);
    FUZZ_REQUIRE(row->first_line <= row->last_line && row->last_line <= file->lines);
    FUZZ_REQUIRE(row->lines == row->last_line - row->first_line + 1);
    FUZZ_REQUIRE(row->code_lines + row->comment_lines <= row->lines);
    FUZZ_REQUIRE(row->cyclomatic >= 1 && row->cyclomatic_modified >= 1);
    FUZZ_REQUIRE(h->n1 <= h->N1 && h->n2 <= h->N2 && h->N1 + h->N2 <= row->tokens);
    FUZZ_REQUIRE((h->n1 == 0) == (h->N1 == 0) && (h->n2 == 0) == (h->N2 == 0));
    FUZZ_REQUIRE(complexity_halstead_effort(h) >= 0);
    for (size_t i = 0; i < row->n_increments; i++) {
        const ComplexityIncrement *increment = &row->increments[i];

        FUZZ_REQUIRE(increment->line >= row->first_line && increment->line <= row->last_line);
        FUZZ_REQUIRE(increment->amount == increment->nesting + 1);
        FUZZ_REQUIRE(increment->construct[0] != '\0');
        sum += increment->amount;
    }
    FUZZ_REQUIRE(row->cognitive == 0 || row->n_increments == 0 || sum == row->cognitive);
}

static void fuzz_file(const ComplexityFile *file)
{
    FUZZ_REQUIRE(file->code_lines + file->comment_lines + file->blank_lines == file->lines);
    FUZZ_REQUIRE((file->n_errors == 0) == (file->first_error_line == 0));
    for (size_t i = 0; i < file->n_functions; i++) {
        const ComplexityFunction *row = &file->functions[i];

        fuzz_row(file, row);
        FUZZ_REQUIRE(i == 0 || row[-1].first_line <= row->first_line);
        FUZZ_REQUIRE(!row->has_error || file->n_errors > 0);
    }
}

static void fuzz_same(const ComplexityFile *a, const ComplexityFile *b)
{
    FUZZ_REQUIRE(a->n_functions == b->n_functions && a->code_lines == b->code_lines);
    for (size_t i = 0; i < a->n_functions; i++) {
        const ComplexityFunction *one = &a->functions[i];
        const ComplexityFunction *other = &b->functions[i];

        FUZZ_REQUIRE(span_equals(one->name, other->name));
        FUZZ_REQUIRE(one->cyclomatic == other->cyclomatic && one->cognitive == other->cognitive);
        FUZZ_REQUIRE(memcmp(&one->halstead, &other->halstead, sizeof(one->halstead)) == 0);
        FUZZ_REQUIRE(other->increments == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ComplexityOptions options = {.increments = true, .max_parse_us = FUZZ_PARSE_US};
    Span text = n > 0 ? span_make((const char *)data, n) : SPAN_NULL;
    const ComplexityLanguage *language = fuzz_only != NULL ? fuzz_only : fuzz_language(&text);
    /* One for all inputs: what it keeps in reserve takes longer to make than most of them do. */
    static ComplexityMeter *meter;
    ComplexityFile first;
    ComplexityFile second;
    Arena arena;

    arena_init(&arena, FUZZ_ARENA_BYTES);
    FUZZ_REQUIRE(meter != NULL || complexity_meter_new(&meter) == 0);
    if (complexity_measure(meter, language, text, &options, &arena, &first) == 0) {
        fuzz_file(&first);
        options.increments = false;
        if (complexity_measure(meter, language, text, &options, &arena, &second) == 0) {
            fuzz_same(&first, &second);
        }
    }
    (void)complexity_language_of(SPAN("x.h"), text);
    (void)complexity_language_of(SPAN("x"), text);
    arena_deinit(&arena);
    return 0;
}
