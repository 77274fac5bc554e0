#include "unit/toolkit/complexity/cache_rig.h"

#include "support/guard.h"
#include "toolkit/complexity/cache_format.h"

/* Whether anything is found in a cache that is read from these bytes. */
static bool is_empty(Span data)
{
    GuardBuffer guarded = guard_copy(data.p, data.n);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;
    bool empty;

    assert_int_equal(complexity_cache_read(cache, span_make(guarded.p, data.n)), 0);
    /* Copied: what was read may go. */
    guard_free(&guarded);
    empty = !finds(cache, "a.py", &stamp_a, &found) && !finds(cache, "b.py", &stamp_b, &found);
    (void)complexity_cache_free(cache);
    return empty;
}

static void damaged_cache_is_an_empty_one(void **state)
{
    Bytes kept = small_cache();

    (void)state;
    assert_false(is_empty(bytes_span(&kept)));
    for (size_t n = 0; n < kept.n; n++) {
        assert_true(is_empty(span_make(kept.data, n)));
    }
    for (size_t i = 0; i < kept.n; i++) {
        for (int bit = 0; bit < 8; bit += 3) {
            kept.data[i] = (char)(kept.data[i] ^ (1 << bit));
            assert_true(is_empty(bytes_span(&kept)));
            kept.data[i] = (char)(kept.data[i] ^ (1 << bit));
        }
    }
    assert_int_equal(bytes_append_byte(&kept, 'x'), 0);
    assert_true(is_empty(bytes_span(&kept)));
    bytes_deinit(&kept);
}

static void cache_of_other_rules_is_an_empty_one(void **state)
{
    Bytes kept = small_cache();

    (void)state;
    /* Format and rules are not part of the checksum: they alone must be enough. */
    for (size_t at = 8; at < 16; at++) {
        kept.data[at] = (char)(kept.data[at] + 1);
        assert_true(is_empty(bytes_span(&kept)));
        kept.data[at] = (char)(kept.data[at] - 1);
    }
    assert_false(is_empty(bytes_span(&kept)));
    bytes_deinit(&kept);
}

/* Damage that somebody made, with the checksum that belongs to it: nothing but not found may come
 * of it. */
static void wrong_bytes_under_a_right_checksum_do_no_harm(void **state)
{
    Bytes kept = small_cache();
    CacheRecord record;
    size_t first = 0;

    (void)state;
    for (size_t i = CACHE_HEADER_SIZE; i < kept.n; i++) {
        static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};
        char right = kept.data[i];

        for (size_t j = 0; j < TW_ARRAY_SIZE(values); j++) {
            kept.data[i] = (char)values[j];
            cache_format_seal(&kept, 0);
            (void)is_empty(bytes_span(&kept));
        }
        kept.data[i] = right;
    }
    /* Cut: only where an entry ends it is a cache, of that entry. */
    assert_true(cache_format_next(
        span_make(kept.data + CACHE_HEADER_SIZE, kept.n - CACHE_HEADER_SIZE), &first, &record));
    for (size_t n = kept.n; n-- > CACHE_HEADER_SIZE;) {
        kept.n = n;
        cache_format_seal(&kept, 0);
        assert_int_equal(is_empty(bytes_span(&kept)), n != CACHE_HEADER_SIZE + first);
    }
    bytes_deinit(&kept);
}

static bool payload_decodes(Span payload)
{
    GuardBuffer guarded = guard_copy(payload.p, payload.n);
    ComplexityCached what;
    Arena arena;
    bool ok;

    arena_init(&arena, 1 << 20);
    ok = cache_format_decode(span_make(guarded.p, payload.n), &arena, &what);
    arena_deinit(&arena);
    guard_free(&guarded);
    return ok;
}

static void payloads_are_read_to_their_end_and_no_further(void **state)
{
    (void)state;
    /* kind, language, six counts, no functions */
    assert_true(payload_decodes(SPAN("\0\1c\1\2\3\4\5\6\0")));
    assert_false(payload_decodes(SPAN("\0\1c\1\2\3\4\5\6\0x")));
    assert_false(payload_decodes(SPAN("\0\1c\1\2\3\4\5\6")));
    assert_false(payload_decodes(SPAN("\0\1?\1\2\3\4\5\6\0")));
    assert_false(payload_decodes(SPAN("\2\1c\1\2\3\4\5\6\0")));
    assert_false(payload_decodes(SPAN("")));
    /* A number of functions for which there are no bytes, and no memory. */
    assert_false(payload_decodes(SPAN("\0\1c\1\2\3\4\5\6\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1")));
    /* More than 32 bits, more than 64. */
    assert_false(payload_decodes(SPAN("\0\1c\x80\x80\x80\x80\x10\2\3\4\5\6\0")));
    assert_true(payload_decodes(SPAN("\0\1c\xFF\xFF\xFF\xFF\x0F\2\3\4\5\6\0")));
    assert_false(payload_decodes(SPAN("\0\1c\1\2\3\4\5\6\x80\x80\x80\x80\x80\x80\x80\x80\x80\2")));
    /* Reasons. */
    assert_true(payload_decodes(SPAN("\1\0\0")));
    assert_true(payload_decodes(SPAN("\1\3\2no")));
    assert_false(payload_decodes(SPAN("\1\3\3no")));
    assert_false(payload_decodes(SPAN("\1\x7F\2no")));
    assert_false(payload_decodes(SPAN("\1\0\0\0")));
}

/* A count without the bytes for it takes no memory, however small the text is. */
static void count_of_functions_is_held_against_the_bytes(void **state)
{
    ComplexityCached what;
    Arena arena;

    (void)state;
    arena_init(&arena, (size_t)1 << 30);
    assert_false(cache_format_decode(SPAN("\0\1c\1\2\3\4\5\6\x80\x80\x04"), &arena, &what));
    assert_int_equal(arena.n_held, 0);
    arena_deinit(&arena);
}

static void increments_come_back_whole_or_not_at_all(void **state)
{
    static const ComplexityIncrement lists[] = {
        {1, 2, "if", 1, 0}, {300, 70000, "if", 3, 2}, {UINT32_MAX, 1, "&&", 1, 0}};
    const ComplexityFunction functions[] = {{.increments = lists, .n_increments = 2},
                                            {.n_increments = 0},
                                            {.increments = lists + 2, .n_increments = 1}};
    const ComplexityFile file = {.functions = functions, .n_functions = 3};
    ComplexityFunction got[3] = {{.n_increments = 0}};
    Arena arena;
    Bytes out;

    (void)state;
    arena_init(&arena, 1 << 20);
    bytes_init(&out, 1 << 20);
    assert_int_equal(cache_format_encode_increments(&out, &file), 0);
    for (size_t n = 0; n <= out.n; n++) {
        GuardBuffer guarded = guard_copy(out.data, n);

        assert_int_equal(cache_format_decode_increments(span_make(guarded.p, n), &arena, got, 3),
                         n == out.n);
        guard_free(&guarded);
    }
    assert_false(cache_format_decode_increments(bytes_span(&out), &arena, got, 2));
    assert_true(cache_format_decode_increments(bytes_span(&out), &arena, got, 3));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(got[i].n_increments, functions[i].n_increments);
        for (size_t k = 0; k < got[i].n_increments; k++) {
            const ComplexityIncrement *one = &got[i].increments[k];
            const ComplexityIncrement *other = &functions[i].increments[k];

            assert_string_equal(one->construct, other->construct);
            assert_true(one->line == other->line && one->column == other->column);
            assert_true(one->amount == other->amount && one->nesting == other->nesting);
        }
    }
    arena_deinit(&arena);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(increments_come_back_whole_or_not_at_all),
        cmocka_unit_test(damaged_cache_is_an_empty_one),
        cmocka_unit_test(cache_of_other_rules_is_an_empty_one),
        cmocka_unit_test(wrong_bytes_under_a_right_checksum_do_no_harm),
        cmocka_unit_test(payloads_are_read_to_their_end_and_no_further),
        cmocka_unit_test(count_of_functions_is_held_against_the_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
