#include "support/cmocka.h"

#include <string.h>

#include "base/hash.h"
#include "support/guard.h"

static void hash_is_siphash_1_3(void **state)
{
    /* From CPython 3.11, whose bytes hash is SipHash-1-3, with PYTHONHASHSEED=0 (a key of zeros).
     */
    const HashSeed zero = {0, 0};
    char bytes[512];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
    }
    assert_true(hash_span(zero, SPAN("a")) == 0x407448d2b89b1813u);
    assert_true(hash_span(zero, SPAN("abc")) == 0xc03bc3a0042630f2u);
    assert_true(hash_span(zero, SPAN("abcdefg")) == 0x6db12aae9070f506u);
    assert_true(hash_span(zero, SPAN("abcdefgh")) == 0x3f7b849c0b8e35eau);
    assert_true(hash_span(zero, SPAN("abcdefghi")) == 0xf89b34a3d11eb6e5u);
    assert_true(hash_span(zero, span_make(bytes, 64)) == 0x75e05fd5bbc870c6u);
    assert_true(hash_span(zero, span_make(bytes, 512)) == 0x5f7fccf65fb272f4u);
}

static void seed_is_read_little_endian_and_both_halves_count(void **state)
{
    uint8_t random[16];
    HashSeed seed;

    (void)state;
    for (uint8_t i = 0; i < 16; i++) {
        random[i] = i;
    }
    seed = hash_seed_from(random);
    assert_true(seed.k0 == 0x0706050403020100u);
    assert_true(seed.k1 == 0x0f0e0d0c0b0a0908u);
    assert_true(hash_span(seed, SPAN("x")) != hash_span((HashSeed){seed.k0, 0}, SPAN("x")));
    assert_true(hash_span(seed, SPAN("x")) != hash_span((HashSeed){0, seed.k1}, SPAN("x")));
}

static void length_is_part_of_the_hash(void **state)
{
    static const char zeros[32];
    const HashSeed seed = {1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof(zeros); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_true(hash_span(seed, span_make(zeros, i)) !=
                        hash_span(seed, span_make(zeros, j)));
        }
    }
    assert_true(hash_span(seed, SPAN_NULL) == hash_span(seed, SPAN("")));
}

static void hash_does_not_read_past_the_end(void **state)
{
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    const HashSeed seed = {1, 2};

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        GuardBuffer g = guard_copy(text, n);

        assert_true(hash_span(seed, span_make(g.p, n)) == hash_span(seed, span_make(text, n)));
        guard_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_siphash_1_3),
        cmocka_unit_test(seed_is_read_little_endian_and_both_halves_count),
        cmocka_unit_test(length_is_part_of_the_hash),
        cmocka_unit_test(hash_does_not_read_past_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
