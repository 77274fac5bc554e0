#include "base/base64.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BASE64_BAD 0xff /* no letter of the alphabet */

static const char alphabets[2][65] = {
    [BASE64_STANDARD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* The value of each byte from '+' to 'z' in either alphabet; where they differ, the standard's two
 * are marked 0x80 and the other's 0x40 (the upper bits are free). */
#define BASE64_ONLY_STANDARD 0x80
#define BASE64_ONLY_URL      0x40
#define B                    BASE64_BAD
static const uint8_t values['z' - '+' + 1] = {
    /* + , - . / */
    62 | BASE64_ONLY_STANDARD, B, 62 | BASE64_ONLY_URL, B, 63 | BASE64_ONLY_STANDARD,
    /* 0-9, then : ; < = > ? @ */
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, B, B, B, B, B, B, B,
    /* A-Z */
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    /* [ \ ] ^ _ ` */
    B, B, B, B, 63 | BASE64_ONLY_URL, B,
    /* a-z */
    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49,
    50, 51};
#undef B

int base64_encode(Bytes *out, Base64Form form, Span data)
{
    const char *letters = alphabets[form];
    const uint8_t *p = (const uint8_t *)data.p;
    size_t n_whole = data.n / 3;
    size_t n_rest = data.n % 3;
    size_t n_text = n_whole * 4;
    char *at;
    int r;

    if (data.n == 0) {
        return 0;
    }
    if (n_rest > 0) {
        n_text += form == BASE64_STANDARD ? 4 : n_rest + 1;
    }
    r = bytes_reserve(out, n_text);
    if (r != 0) {
        return r;
    }
    at = out->data + out->n;
    for (size_t i = 0; i < n_whole; i++, p += 3) {
        uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

        *at++ = letters[bits >> 18];
        *at++ = letters[bits >> 12 & 63];
        *at++ = letters[bits >> 6 & 63];
        *at++ = letters[bits & 63];
    }
    if (n_rest > 0) {
        uint32_t bits = (uint32_t)p[0] << 16 | (n_rest == 2 ? (uint32_t)p[1] << 8 : 0);
        char last[4] = {letters[bits >> 18], letters[bits >> 12 & 63],
                        n_rest == 2 ? letters[bits >> 6 & 63] : '=', '='};

        for (size_t i = 0; i < (form == BASE64_STANDARD ? 4 : n_rest + 1); i++) {
            *at++ = last[i];
        }
    }
    out->n += n_text;
    return 0;
}

/* The bits of up to four letters, left-aligned in 24; false if one is not of the form. */
static bool base64_take(Base64Form form, const char *p, size_t n, uint32_t *ret_bits)
{
    uint8_t other = form == BASE64_STANDARD ? BASE64_ONLY_URL : BASE64_ONLY_STANDARD;
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        /* Bytes below '+' become large. */
        unsigned index = (unsigned)(unsigned char)p[i] - '+';
        uint8_t value = index < sizeof(values) ? values[index] : BASE64_BAD;

        /* A bad byte carries both marks. */
        if ((value & other) != 0) {
            return false;
        }
        bits |= (uint32_t)(value & 63) << (18 - 6 * i);
    }
    *ret_bits = bits;
    return true;
}

/* Takes the padding off; false if it is not what the form wants. */
static bool base64_unpad(Base64Form form, Span *text)
{
    if (form == BASE64_URL) {
        return text->n % 4 != 1;
    }
    if (text->n % 4 != 0) {
        return false;
    }
    for (int i = 0; i < 2 && text->n > 0 && text->p[text->n - 1] == '='; i++) {
        text->n--;
    }
    return true;
}

int base64_decode(Bytes *out, Base64Form form, Span text)
{
    size_t n_start = out->n;
    size_t n_whole;
    size_t n_rest;
    uint32_t bits;
    char *at;
    int r;

    if (!base64_unpad(form, &text)) {
        return BASE64_E_SYNTAX;
    }
    if (text.n == 0) {
        return 0;
    }
    n_whole = text.n / 4;
    n_rest = text.n % 4;
    r = bytes_reserve(out, n_whole * 3 + (n_rest > 0 ? n_rest - 1 : 0));
    if (r != 0) {
        return r;
    }
    at = out->data + n_start;
    for (size_t i = 0; i < n_whole; i++, text.p += 4) {
        if (!base64_take(form, text.p, 4, &bits)) {
            return BASE64_E_SYNTAX;
        }
        *at++ = (char)(bits >> 16);
        *at++ = (char)(bits >> 8 & 0xff);
        *at++ = (char)(bits & 0xff);
    }
    if (n_rest > 0) {
        /* Two letters hold one byte and four bits, three hold two bytes and two. */
        if (!base64_take(form, text.p, n_rest, &bits) ||
            (bits & (n_rest == 2 ? 0xffff : 0xff)) != 0) {
            return BASE64_E_SYNTAX;
        }
        *at++ = (char)(bits >> 16);
        if (n_rest == 3) {
            *at++ = (char)(bits >> 8 & 0xff);
        }
    }
    out->n = n_start + n_whole * 3 + (n_rest > 0 ? n_rest - 1 : 0);
    return 0;
}
