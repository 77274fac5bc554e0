#include "base/text.h"

/* A unit and how many of the smallest one it holds. */
typedef struct TextUnit {
    const char *name;
    uint64_t factor;
} TextUnit;

static bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

int text_parse_u64(Span s, uint64_t *ret)
{
    uint64_t value = 0;
    bool fits = true;

    if (s.n == 0) {
        return TEXT_E_SYNTAX;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!text_is_digit(s.p[i])) {
            return TEXT_E_SYNTAX;
        }
        fits = fits && !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value);
    }
    if (!fits) {
        return TEXT_E_RANGE;
    }
    *ret = value;
    return 0;
}

int text_parse_i64(Span s, int64_t *ret)
{
    bool is_negative = s.n > 0 && s.p[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + is_negative;
    uint64_t value;
    int r = text_parse_u64(is_negative ? span_make(s.p + 1, s.n - 1) : s, &value);

    if (r != 0) {
        return r == TEXT_E_RANGE ? TEXT_E_RANGE : TEXT_E_SYNTAX;
    }
    if (value > limit) {
        return TEXT_E_RANGE;
    }
    /* INT64_MIN has no positive counterpart, so the sign is applied to one less. */
    *ret = is_negative && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return 0;
}

/* Digits, then one of the units; is_exact: the unit's case counts. */
static int text_parse_with_unit(Span s, const TextUnit *units, size_t n_units, bool is_exact,
                                uint64_t *ret)
{
    size_t n_digits = 0;
    Span unit;
    uint64_t value;
    int r;

    if (s.n == 0) {
        return TEXT_E_SYNTAX;
    }
    while (n_digits < s.n && text_is_digit(s.p[n_digits])) {
        n_digits++;
    }
    r = text_parse_u64(span_make(s.p, n_digits), &value);
    unit = span_make(s.p + n_digits, s.n - n_digits);
    for (size_t i = 0; i < n_units && r != TEXT_E_SYNTAX; i++) {
        Span name = span_from_str(units[i].name);

        if (is_exact ? !span_equals(unit, name) : !text_equals_nocase(unit, name)) {
            continue;
        }
        if (r != 0 || __builtin_mul_overflow(value, units[i].factor, &value)) {
            return TEXT_E_RANGE;
        }
        *ret = value;
        return 0;
    }
    return TEXT_E_SYNTAX;
}

int text_parse_duration_ms(Span s, int64_t *ret_ms)
{
    static const TextUnit units[] = {
        {"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
    };
    uint64_t ms;
    int r = text_parse_with_unit(s, units, TW_ARRAY_SIZE(units), true, &ms);

    if (r != 0) {
        return r == TEXT_E_RANGE ? TEXT_E_RANGE : TEXT_E_SYNTAX;
    }
    if (ms > INT64_MAX) {
        return TEXT_E_RANGE;
    }
    *ret_ms = (int64_t)ms;
    return 0;
}

int text_parse_size(Span s, uint64_t *ret_bytes)
{
    static const TextUnit units[] = {
        {"", 1},           {"b", 1},     {"kib", 1u << 10}, {"mib", 1u << 20},
        {"gib", 1u << 30}, {"kb", 1000}, {"mb", 1000000},   {"gb", 1000000000},
    };

    return text_parse_with_unit(s, units, TW_ARRAY_SIZE(units), false, ret_bytes);
}

bool text_equals_nocase(Span a, Span b)
{
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (text_lower(a.p[i]) != text_lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

static bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

Span text_trim(Span s)
{
    while (s.n > 0 && text_is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    while (s.n > 0 && text_is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    return s;
}

bool text_is_one_of(Span s, const char *const *names, size_t n, size_t *ret_index)
{
    for (size_t i = 0; i < n; i++) {
        if (span_equals(s, span_from_str(names[i]))) {
            if (ret_index != NULL) {
                *ret_index = i;
            }
            return true;
        }
    }
    return false;
}

static size_t text_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: row i holds the distances of a's first i letters from every beginning
 * of b. Three rows suffice, as a swap looks back two. */
size_t text_edit_distance(Span a, Span b)
{
    size_t rows[3][TEXT_NAME_MAX + 1];

    if (a.n > TEXT_NAME_MAX || b.n > TEXT_NAME_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b.n; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        const size_t *above = rows[(i - 1) % 3];
        const size_t *above2 = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        char ca = text_lower(a.p[i - 1]);

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char cb = text_lower(b.p[j - 1]);

            row[j] = text_min(text_min(above[j], row[j - 1]) + 1, above[j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == text_lower(b.p[j - 2]) && cb == text_lower(a.p[i - 2])) {
                row[j] = text_min(row[j], above2[j - 2] + 1);
            }
        }
    }
    return rows[a.n % 3][b.n];
}

const char *text_nearest(Span s, const char *const *names, size_t n)
{
    const char *nearest = NULL;
    /* One slip in three letters; the shortest names may still have one, or "fil" would suggest
     * nothing. */
    size_t allowed = s.n < 6 ? 1 : s.n / 3;
    size_t best = allowed + 1;

    /* A single letter is one slip away from every other. */
    if (s.n < 2) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        size_t distance = text_edit_distance(s, span_from_str(names[i]));

        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
