#include "agent/model_retry.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/rfc3339.h"
#include "base/text.h"

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
#define RETRY_DATE_BYTES 29

/* 0 and milliseconds since 1970; else it is no date. The day of the week is not looked at. */
static int date_parse(Span s, int64_t *ret_ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[RFC3339_SIZE];
    size_t month = 0;

    if (s.n != RETRY_DATE_BYTES || memcmp(s.p + 3, ", ", 2) != 0 || s.p[7] != ' ' ||
        s.p[11] != ' ' || s.p[16] != ' ' || memcmp(s.p + 25, " GMT", 4) != 0) {
        return RFC3339_E_SYNTAX;
    }
    while (month < 12 && memcmp(months + 3 * month, s.p + 8, 3) != 0) {
        month++;
    }
    (void)snprintf(text, sizeof(text), "%.4s-%02u-%.2sT%.8sZ", s.p + 12, (unsigned)month + 1,
                   s.p + 5, s.p + 17);
    return rfc3339_parse(span_from_str(text), ret_ms);
}

int64_t model_retry_after_ms(Span value, Span date, int64_t now_ms)
{
    const char *dot = value.n > 0 ? memchr(value.p, '.', value.n) : NULL;
    Span whole = span_make(value.p, dot != NULL ? (size_t)(dot - value.p) : value.n);
    uint64_t n = 0;
    int64_t until_ms = 0;

    if (text_parse_u64(whole, &n) == 0) {
        return n < (uint64_t)LIMIT_TIME_MS / 1000 ? (int64_t)n * 1000 : -1;
    }
    if (date_parse(value, &until_ms) != 0) {
        return -1;
    }
    (void)date_parse(date, &now_ms);
    return until_ms > now_ms ? until_ms - now_ms : 0;
}
