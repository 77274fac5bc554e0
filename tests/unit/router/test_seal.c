#include "support/cmocka.h"

#include <string.h>

#include "base/compiler.h"
#include "router/seal.h"

static void hex_of(const uint8_t *code, char out[2 * ROUTER_SEAL_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < ROUTER_SEAL_BYTES; i++) {
        out[2 * i] = digits[code[i] >> 4];
        out[2 * i + 1] = digits[code[i] & 15];
    }
    out[2 * ROUTER_SEAL_BYTES] = '\0';
}

/* HMAC pads a short key with zeros, so that keys of 4, 20 and 25 bytes are keys of 32. */
static void codes_of_rfc_4231_hold(void **state)
{
    static const struct {
        uint8_t key[ROUTER_SEAL_BYTES];
        size_t n_fill; /* bytes of key[0] */
        const char *data;
        size_t n_data; /* 0: the string; else so many of data[0] */
        const char *code;
    } cases[] = {
        {{0x0b},
         20,
         "Hi There",
         0,
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {{'J', 'e', 'f', 'e'},
         0,
         "what do ya want for nothing?",
         0,
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{0xaa},
         20,
         "\xdd",
         50,
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
          14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25},
         0,
         "\xcd",
         50,
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        RouterSealKey key;
        char data[64];
        size_t n = cases[i].n_data == 0 ? strlen(cases[i].data) : cases[i].n_data;
        uint8_t code[ROUTER_SEAL_BYTES];
        char hex[2 * ROUTER_SEAL_BYTES + 1];

        memcpy(key.bytes, cases[i].key, sizeof(key.bytes));
        memset(key.bytes, cases[i].key[0], cases[i].n_fill);
        if (cases[i].n_data == 0) {
            memcpy(data, cases[i].data, n);
        } else {
            memset(data, cases[i].data[0], n);
        }
        /* However it is cut. */
        for (size_t cut = 0; cut <= n; cut++) {
            Span pieces[] = {{data, cut}, {data + cut, n - cut}};

            assert_int_equal(router_seal_plain(&key, pieces, 2, code), 0);
            hex_of(code, hex);
            assert_string_equal(hex, cases[i].code);
        }
    }
}

static void pieces_are_sealed_with_their_lengths(void **state)
{
    static const Span pieces[] = {{"ab", 2}, {"c", 1}};
    static const Span moved[] = {{"a", 1}, {"bc", 2}};
    static const Span more[] = {{"ab", 2}, {"c", 1}, {NULL, 0}};
    RouterSealKey key;
    uint8_t code[ROUTER_SEAL_BYTES];
    uint8_t other[ROUTER_SEAL_BYTES];
    char hex[2 * ROUTER_SEAL_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(key.bytes); i++) {
        key.bytes[i] = (uint8_t)i;
    }
    assert_int_equal(router_seal(&key, pieces, 2, code), 0);
    hex_of(code, hex);
    assert_string_equal(hex, "17eca1f3cf4e1f92cd415f54de5121e367cbc209edff96da287c5cd432cf9a46");
    assert_int_equal(router_seal(&key, moved, 2, other), 0);
    assert_false(router_seal_equals(code, other));
    assert_int_equal(router_seal(&key, more, 3, other), 0);
    assert_false(router_seal_equals(code, other));
    assert_int_equal(router_seal(&key, pieces, 2, other), 0);
    assert_true(router_seal_equals(code, other));
    key.bytes[31] ^= 1;
    assert_int_equal(router_seal(&key, pieces, 2, other), 0);
    assert_false(router_seal_equals(code, other));
}

static void one_bit_anywhere_makes_codes_differ(void **state)
{
    uint8_t a[ROUTER_SEAL_BYTES] = {0};
    uint8_t b[ROUTER_SEAL_BYTES] = {0};

    (void)state;
    assert_true(router_seal_equals(a, b));
    for (size_t i = 0; i < 8 * sizeof(a); i++) {
        b[i / 8] = (uint8_t)(1u << i % 8);
        assert_false(router_seal_equals(a, b));
        b[i / 8] = 0;
    }
}

static void two_new_keys_differ(void **state)
{
    RouterSealKey a;
    RouterSealKey b;

    (void)state;
    assert_int_equal(router_seal_key_init(&a), 0);
    assert_int_equal(router_seal_key_init(&b), 0);
    assert_memory_not_equal(a.bytes, b.bytes, sizeof(a.bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_rfc_4231_hold),
        cmocka_unit_test(pieces_are_sealed_with_their_lengths),
        cmocka_unit_test(one_bit_anywhere_makes_codes_differ),
        cmocka_unit_test(two_new_keys_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
