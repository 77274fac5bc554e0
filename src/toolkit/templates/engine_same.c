/* JavaScript's ==, which decides whether a block that is entered makes a new depth for "../". */
#include "toolkit/templates/engine_impl.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

#define SAME_MAX_BYTES ((size_t)1 << 30)

static bool same_is_object(const TemplateValue *v)
{
    return v->kind >= VALUE_ARRAY;
}

static Span same_trim(Span s)
{
    const char *end = s.p + s.n;
    size_t n;

    while ((n = template_space_at(s.p, end)) > 0) {
        s.p += n;
    }
    while ((n = template_space_before(s.p, end)) > 0) {
        end -= n;
    }
    return span_make(s.p, (size_t)(end - s.p));
}

/* 0x1F, 0o17, 0b11. False if it is no such number. */
static bool same_radix(Span s, double *ret)
{
    static const char digits[] = "0123456789abcdef";
    unsigned radix;

    if (s.n < 3 || s.p[0] != '0') {
        return false;
    }
    radix = (s.p[1] | 0x20) == 'x'   ? 16
            : (s.p[1] | 0x20) == 'o' ? 8
            : (s.p[1] | 0x20) == 'b' ? 2
                                     : 0;
    *ret = 0;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i] >= 'A' && s.p[i] <= 'F' ? (char)(s.p[i] | 0x20) : s.p[i];
        const char *at = radix == 0 ? NULL : memchr(digits, c, radix);

        if (at == NULL) {
            return false;
        }
        *ret = *ret * radix + (double)(at - digits);
    }
    return true;
}

static size_t same_digits(Span s, size_t i)
{
    size_t begin = i;

    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
        i++;
    }
    return i - begin;
}

/* [digits][.digits][e±digits], with digits on one side of the point: rewritten as JSON has it. */
static int same_decimal(Span s, bool is_negative, double *ret)
{
    size_t whole = same_digits(s, 0);
    bool has_point = whole < s.n && s.p[whole] == '.';
    size_t fraction = has_point ? same_digits(s, whole + 1) : 0;
    size_t at = whole + has_point + fraction;
    Span exponent = span_make(s.p + at, s.n - at);
    Span digits = span_make(s.p, whole);
    TemplateValue number;
    JsonNode node;
    Bytes text;
    int r;

    *ret = NAN;
    if (whole + fraction == 0) {
        return 0;
    }
    if (exponent.n > 0) {
        size_t sign = exponent.n > 1 && (exponent.p[1] == '+' || exponent.p[1] == '-');
        size_t n = same_digits(exponent, 1 + sign);

        if ((exponent.p[0] | 0x20) != 'e' || n == 0 || 1 + sign + n != exponent.n) {
            return 0;
        }
    }
    while (digits.n > 0 && digits.p[0] == '0') {
        digits = span_make(digits.p + 1, digits.n - 1);
    }
    bytes_init(&text, SAME_MAX_BYTES);
    r = bytes_append_span(&text, digits.n > 0 ? digits : SPAN("0"));
    if (r == 0 && fraction > 0) {
        r = bytes_append(&text, s.p + whole, fraction + 1);
    }
    if (r == 0) {
        r = bytes_append_span(&text, exponent);
    }
    if (r == 0) {
        node = (JsonNode){.size = (uint32_t)text.n, .skip = 1, .tag = JSON_NUMBER};
        number = template_value_json((JsonValue){text.data, &node});
        *ret = template_value_double(&number);
        *ret = is_negative ? -*ret : *ret;
    }
    bytes_deinit(&text);
    return err_fold(r);
}

/* Number(text). */
static int same_to_number(Span text, double *ret)
{
    Span s = same_trim(text);
    bool has_sign;
    bool is_negative;

    *ret = 0;
    if (s.n == 0 || same_radix(s, ret)) {
        return 0;
    }
    has_sign = s.p[0] == '+' || s.p[0] == '-';
    is_negative = s.p[0] == '-';
    s = span_make(s.p + has_sign, s.n - has_sign);
    if (span_equals(s, SPAN("Infinity"))) {
        *ret = is_negative ? -INFINITY : INFINITY;
        return 0;
    }
    return same_decimal(s, is_negative, ret);
}

/* Text and text, or text and a number (truth values count as 0 and 1). */
static int same_scalars(const TemplateValue *a, Span a_text, const TemplateValue *b, Span b_text,
                        bool *ret)
{
    double numbers[2] = {0, 0};
    const TemplateValue *values[2] = {a, b};
    Span texts[2] = {a_text, b_text};
    bool is_text[2];

    for (int i = 0; i < 2; i++) {
        is_text[i] = values[i]->kind == VALUE_TEXT || same_is_object(values[i]);
    }
    if (is_text[0] && is_text[1]) {
        *ret = span_equals(a_text, b_text);
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (is_text[i]) {
            int r = same_to_number(texts[i], &numbers[i]);

            if (r != 0) {
                return r;
            }
        } else {
            numbers[i] = values[i]->kind == VALUE_NUMBER ? template_value_double(values[i])
                                                         : values[i]->kind == VALUE_TRUE;
        }
    }
    *ret = numbers[0] == numbers[1];
    return 0;
}

/* A text that needs no decoding; false for anything else. An object counts as its text. */
static bool same_plain(const TemplateValue *v, Span *ret)
{
    if (v->kind >= VALUE_OBJECT) {
        *ret = SPAN("[object Object]");
        return true;
    }
    if (v->kind != VALUE_TEXT) {
        return false;
    }
    if (!v->is_json) {
        *ret = v->text;
        return true;
    }
    return json_string_plain(v->json, ret);
}

int template_value_same(const TemplateValue *a, const TemplateValue *b, bool *ret)
{
    Span a_text;
    Span b_text;
    Bytes text;
    size_t n_first;
    int r = 0;

    if (template_value_is_nothing(a) || template_value_is_nothing(b)) {
        *ret = template_value_is_nothing(a) && template_value_is_nothing(b);
        return 0;
    }
    if (same_is_object(a) && same_is_object(b)) {
        *ret = a->kind == b->kind && (!a->is_json || a->json.node == b->json.node);
        return 0;
    }
    /* Anything but objects are == to "[object Object]" only if they are that text. */
    if ((a->kind >= VALUE_OBJECT && b->kind != VALUE_TEXT) ||
        (b->kind >= VALUE_OBJECT && a->kind != VALUE_TEXT)) {
        *ret = false;
        return 0;
    }
    if (same_plain(a, &a_text) && same_plain(b, &b_text)) {
        *ret = span_equals(a_text, b_text);
        return 0;
    }
    bytes_init(&text, SAME_MAX_BYTES);
    if (a->kind == VALUE_TEXT || same_is_object(a)) {
        r = template_value_print(a, &text);
    }
    n_first = text.n;
    if (r == 0 && (b->kind == VALUE_TEXT || same_is_object(b))) {
        r = template_value_print(b, &text);
    }
    if (r == 0) {
        r = same_scalars(
            a, span_make(text.data, n_first), b,
            span_make(text.data == NULL ? NULL : text.data + n_first, text.n - n_first), ret);
    }
    bytes_deinit(&text);
    return err_fold(r);
}
