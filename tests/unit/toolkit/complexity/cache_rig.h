/* tests/unit/toolkit/complexity/cache_rig.h: caches made by hand. Every failure fails the test. */
#pragma once

#include "unit/toolkit/complexity/report_rig.h"

#include "toolkit/complexity/cache.h"

static const ComplexityStamp stamp_a = {100, 1700000000123456789, 1700000000123456790, 42};
static const ComplexityStamp stamp_b = {100, -5, -6, UINT64_MAX};

typedef struct Hash {
    uint8_t bytes[16];
} Hash;

static inline Hash hash_of(int n)
{
    Hash hash = {{(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), 7, 0, 0xFF}};

    return hash;
}

static inline ComplexityCached skipped(ComplexitySkip reason, const char *detail)
{
    return (ComplexityCached){
        .is_skipped = true, .reason = reason, .detail = span_from_str(detail)};
}

static inline ComplexityCached measured(const char *language, const ComplexityFunction *functions,
                                        size_t n)
{
    return (ComplexityCached){.file = rig_file(language, functions, n)};
}

static inline ComplexityCache *new_cache(void)
{
    ComplexityCache *cache = NULL;

    assert_int_equal(complexity_cache_new(&cache), 0);
    return cache;
}

static inline void put(ComplexityCache *cache, const char *path, const ComplexityStamp *stamp,
                       int hash, const ComplexityCached *what)
{
    Hash h = hash_of(hash);

    assert_int_equal(complexity_cache_put(cache, span_from_str(path), stamp, h.bytes, what), 0);
}

static inline bool finds(ComplexityCache *cache, const char *path, const ComplexityStamp *stamp,
                         ComplexityCached *ret)
{
    return complexity_cache_find(cache, span_from_str(path), stamp, ret);
}

static inline bool finds_content(ComplexityCache *cache, const char *path,
                                 const ComplexityStamp *stamp, int hash, ComplexityCached *ret)
{
    Hash h = hash_of(hash);

    return complexity_cache_find_content(cache, span_from_str(path), stamp, h.bytes, ret);
}

static inline Bytes write_cache(const ComplexityCache *cache)
{
    Bytes out;

    bytes_init(&out, RIG_BYTES);
    assert_int_equal(complexity_cache_write(cache, &out), 0);
    return out;
}

/* The cache as it is after it was kept; frees the old one. */
static inline ComplexityCache *reopen(ComplexityCache *cache)
{
    Bytes kept = write_cache(cache);
    ComplexityCache *again = new_cache();

    assert_null(complexity_cache_free(cache));
    assert_int_equal(complexity_cache_read(again, bytes_span(&kept)), 0);
    bytes_deinit(&kept);
    return again;
}

/* Every number another one, and large ones among them. */
static inline ComplexityFunction distinct_function(void)
{
    return (ComplexityFunction){
        .name = SPAN_INIT("Outer.inner"),
        .first_line = 1,
        .last_line = 128,
        .first_column = 3,
        .last_column = UINT32_MAX,
        .cyclomatic = 5,
        .cyclomatic_modified = 16384,
        .cognitive = 7,
        .nesting = 8,
        .lines = 9,
        .code_lines = 10,
        .comment_lines = 11,
        .parameters = 12,
        .tokens = 13,
        .halstead = {14, 15, 16, 17},
        .has_error = true,
    };
}

static inline void function_is(const ComplexityFunction *f, const ComplexityFunction *expected)
{
    rig_span_is(f->name, "Outer.inner");
    assert_int_equal(f->first_line, expected->first_line);
    assert_int_equal(f->last_line, expected->last_line);
    assert_int_equal(f->first_column, expected->first_column);
    assert_int_equal(f->last_column, expected->last_column);
    assert_int_equal(f->cyclomatic, expected->cyclomatic);
    assert_int_equal(f->cyclomatic_modified, expected->cyclomatic_modified);
    assert_int_equal(f->cognitive, expected->cognitive);
    assert_int_equal(f->nesting, expected->nesting);
    assert_int_equal(f->lines, expected->lines);
    assert_int_equal(f->code_lines, expected->code_lines);
    assert_int_equal(f->comment_lines, expected->comment_lines);
    assert_int_equal(f->parameters, expected->parameters);
    assert_int_equal(f->tokens, expected->tokens);
    assert_int_equal(f->halstead.n1, expected->halstead.n1);
    assert_int_equal(f->halstead.n2, expected->halstead.n2);
    assert_int_equal(f->halstead.N1, expected->halstead.N1);
    assert_int_equal(f->halstead.N2, expected->halstead.N2);
    assert_int_equal(f->has_error, expected->has_error);
    assert_null(f->increments);
    assert_int_equal(f->n_increments, 0);
}

static inline Bytes small_cache(void)
{
    ComplexityFunction function = distinct_function();
    ComplexityCached what = measured("python", &function, 1);
    ComplexityCached skip = skipped(COMPLEXITY_SKIP_BINARY, "why");
    ComplexityCache *cache = new_cache();
    Bytes kept;

    put(cache, "a.py", &stamp_a, 1, &what);
    put(cache, "b.py", &stamp_b, 2, &skip);
    kept = write_cache(cache);
    (void)complexity_cache_free(cache);
    return kept;
}
