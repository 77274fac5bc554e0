/* The entries of a cache, under a header that belongs to them: whatever the bytes are, reading
 * stays inside them, what is found can be kept, and is found again. */
#include "fuzz.h"

#include <string.h>

#include "toolkit/complexity/cache.h"
#include "toolkit/complexity/cache_format.h"

#define FUZZ_BYTES     ((size_t)1 << 28)
#define FUZZ_FUNCTIONS 3

static void fuzz_same(const ComplexityCached *a, const ComplexityCached *b)
{
    FUZZ_REQUIRE(a->is_skipped == b->is_skipped);
    FUZZ_REQUIRE(a->reason == b->reason && span_equals(a->detail, b->detail));
    FUZZ_REQUIRE(a->file.language == b->file.language);
    FUZZ_REQUIRE(a->file.n_functions == b->file.n_functions);
    FUZZ_REQUIRE(a->file.lines == b->file.lines);
    for (size_t i = 0; i < a->file.n_functions; i++) {
        const ComplexityFunction *x = &a->file.functions[i];
        const ComplexityFunction *y = &b->file.functions[i];

        FUZZ_REQUIRE(span_equals(x->name, y->name));
        FUZZ_REQUIRE(x->cognitive == y->cognitive && x->tokens == y->tokens);
        FUZZ_REQUIRE(x->halstead.N2 == y->halstead.N2 && x->has_error == y->has_error);
    }
}

/* Asks for every entry, by stamp and by content; true if one was found. */
static bool fuzz_find_all(ComplexityCache *cache, Span entries)
{
    CacheRecord record;
    bool any = false;

    for (size_t at = 0; cache_format_next(entries, &at, &record);) {
        ComplexityCached by_stamp;
        ComplexityCached by_content;
        bool found = complexity_cache_find(cache, record.path, &record.stamp, &by_stamp);

        if (complexity_cache_find_content(cache, record.path, &record.stamp, record.hash,
                                          &by_content)) {
            any = true;
        }
        any = any || found;
    }
    return any;
}

/* What one kept, the other has. */
static void fuzz_compare(ComplexityCache *a, ComplexityCache *b, Span entries)
{
    CacheRecord record;

    for (size_t at = 0; cache_format_next(entries, &at, &record);) {
        ComplexityCached x;
        ComplexityCached y;
        bool found = complexity_cache_find(a, record.path, &record.stamp, &x);

        FUZZ_REQUIRE(found == complexity_cache_find(b, record.path, &record.stamp, &y));
        if (found) {
            fuzz_same(&x, &y);
        }
    }
}

static void fuzz_keep(ComplexityCache *cache, Span entries)
{
    ComplexityCache *again = NULL;
    Bytes kept;
    Bytes kept_again;

    bytes_init(&kept, FUZZ_BYTES);
    bytes_init(&kept_again, FUZZ_BYTES);
    FUZZ_REQUIRE(complexity_cache_write(cache, &kept) == 0);
    FUZZ_REQUIRE(complexity_cache_new(&again) == 0);
    FUZZ_REQUIRE(complexity_cache_read(again, bytes_span(&kept)) == 0);
    fuzz_compare(cache, again, entries);
    (void)fuzz_find_all(again,
                        span_make(kept.data + CACHE_HEADER_SIZE, kept.n - CACHE_HEADER_SIZE));
    FUZZ_REQUIRE(complexity_cache_write(again, &kept_again) == 0);
    FUZZ_REQUIRE(span_equals(bytes_span(&kept), bytes_span(&kept_again)));
    (void)complexity_cache_free(again);
    bytes_deinit(&kept);
    bytes_deinit(&kept_again);
}

/* What a worker sends behind that: what is read is written the same way, and ends where it does. */
static void fuzz_increments(Span data)
{
    ComplexityFunction functions[FUZZ_FUNCTIONS] = {{.n_increments = 0}};
    ComplexityFunction again[FUZZ_FUNCTIONS] = {{.n_increments = 0}};
    ComplexityFile file = {.functions = functions, .n_functions = FUZZ_FUNCTIONS};
    Arena arena;
    Bytes out;

    arena_init(&arena, FUZZ_BYTES);
    bytes_init(&out, FUZZ_BYTES);
    if (cache_format_decode_increments(data, &arena, functions, FUZZ_FUNCTIONS)) {
        FUZZ_REQUIRE(cache_format_encode_increments(&out, &file) == 0);
        FUZZ_REQUIRE(
            cache_format_decode_increments(bytes_span(&out), &arena, again, FUZZ_FUNCTIONS));
        for (size_t i = 0; i < FUZZ_FUNCTIONS; i++) {
            FUZZ_REQUIRE(functions[i].n_increments == again[i].n_increments);
        }
    }
    arena_deinit(&arena);
    bytes_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Span entries = span_make((const char *)data, n);
    ComplexityCache *cache = NULL;
    Bytes file;

    fuzz_increments(entries);
    bytes_init(&file, FUZZ_BYTES);
    /* As it is, it is hardly ever a cache; it must do no harm all the same. */
    FUZZ_REQUIRE(complexity_cache_new(&cache) == 0);
    FUZZ_REQUIRE(complexity_cache_read(cache, entries) == 0);
    cache = complexity_cache_free(cache);

    FUZZ_REQUIRE(cache_format_begin(&file) == 0);
    FUZZ_REQUIRE(bytes_append_span(&file, entries) == 0);
    cache_format_seal(&file, 0);
    FUZZ_REQUIRE(complexity_cache_new(&cache) == 0);
    FUZZ_REQUIRE(complexity_cache_read(cache, bytes_span(&file)) == 0);
    if (fuzz_find_all(cache, entries)) {
        fuzz_keep(cache, entries);
    }
    (void)complexity_cache_free(cache);
    bytes_deinit(&file);
    return 0;
}
