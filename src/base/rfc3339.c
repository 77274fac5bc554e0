#include "base/rfc3339.h"

#include <stdbool.h>
#include <string.h>

#define RFC3339_MS_PER_S   1000
#define RFC3339_S_PER_DAY  86400
#define RFC3339_MS_PER_DAY ((int64_t)RFC3339_S_PER_DAY * RFC3339_MS_PER_S)

/* The calendar repeats every 400 years. */
#define RFC3339_DAYS_PER_ERA 146097

/* Days from 0000-03-01 to 1970-01-01. Years are counted from March here: the leap day is then the
 * last of its year, and the months' lengths follow one formula. */
#define RFC3339_EPOCH_DAY 719468

/* What a text says, field by field. */
typedef struct Rfc3339Fields {
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t ms;
    int64_t offset_hour;
    int64_t offset_minute;
    bool is_west; /* the offset is negative */
} Rfc3339Fields;

/* Days since 1970-01-01. year >= 0; for January and February of year 0 the era is the one before.
 */
static int64_t rfc3339_days(int64_t year, int64_t month, int64_t day)
{
    int64_t y = year + 400 - (month <= 2); /* one era on, so that all is positive */
    int64_t from_march = (month + 9) % 12;

    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * from_march + 2) / 5 + day - 1 -
           RFC3339_DAYS_PER_ERA - RFC3339_EPOCH_DAY;
}

/* The date of a day of the range that four digits can say. */
static void rfc3339_date(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    int64_t since = days + RFC3339_EPOCH_DAY + RFC3339_DAYS_PER_ERA;
    int64_t era = since / RFC3339_DAYS_PER_ERA;
    int64_t of_era = since % RFC3339_DAYS_PER_ERA;
    /* Takes out the leap days before that day: one in 1460 days, not one in 36524, but one in
     * 146096. */
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t from_march = (5 * of_year + 2) / 153;

    *day = of_year - (153 * from_march + 2) / 5 + 1;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = (era - 1) * 400 + year_of_era + (*month <= 2);
}

static int64_t rfc3339_days_of_month(int64_t year, int64_t month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return days[month - 1] + (month == 2 && is_leap);
}

static char *rfc3339_put(char *out, int64_t value, unsigned n_digits, char after)
{
    for (unsigned i = n_digits; i > 0; i--) {
        out[i - 1] = (char)('0' + value % 10);
        value /= 10;
    }
    out[n_digits] = after;
    return out + n_digits + 1;
}

void rfc3339_format(int64_t unix_ms, char out[RFC3339_SIZE])
{
    int64_t t = unix_ms < RFC3339_MIN_MS ? RFC3339_MIN_MS : unix_ms;
    int64_t days;
    int64_t ms;
    int64_t year;
    int64_t month;
    int64_t day;
    char *at = out;

    t = t > RFC3339_MAX_MS ? RFC3339_MAX_MS : t;
    ms = t % RFC3339_MS_PER_DAY;
    ms += ms < 0 ? RFC3339_MS_PER_DAY : 0;
    days = (t - ms) / RFC3339_MS_PER_DAY;
    rfc3339_date(days, &year, &month, &day);
    at = rfc3339_put(at, year, 4, '-');
    at = rfc3339_put(at, month, 2, '-');
    at = rfc3339_put(at, day, 2, 'T');
    at = rfc3339_put(at, ms / 3600000, 2, ':');
    at = rfc3339_put(at, ms / 60000 % 60, 2, ':');
    at = rfc3339_put(at, ms / RFC3339_MS_PER_S % 60, 2, '.');
    at = rfc3339_put(at, ms % RFC3339_MS_PER_S, 3, 'Z');
    *at = '\0';
}

/* --- Reading
 * ----------------------------------------------------------------------------------------- */

static bool rfc3339_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes n_digits from the front of *s. */
static bool rfc3339_take_number(Span *s, size_t n_digits, int64_t *ret)
{
    int64_t value = 0;

    if (s->n < n_digits) {
        return false;
    }
    for (size_t i = 0; i < n_digits; i++) {
        if (!rfc3339_is_digit(s->p[i])) {
            return false;
        }
        value = value * 10 + (s->p[i] - '0');
    }
    *s = span_make(s->p + n_digits, s->n - n_digits);
    *ret = value;
    return true;
}

/* Takes one character of the set from the front of *s. */
static bool rfc3339_take_one(Span *s, const char *set, char *ret)
{
    if (s->n == 0 || s->p[0] == '\0' || strchr(set, s->p[0]) == NULL) {
        return false;
    }
    *ret = s->p[0];
    *s = span_make(s->p + 1, s->n - 1);
    return true;
}

/* Takes the digits behind the point: one at least, of which three count. */
static bool rfc3339_take_fraction(Span *s, int64_t *ret_ms)
{
    int64_t weight = 100;
    int64_t ms = 0;
    size_t n = 0;

    while (n < s->n && rfc3339_is_digit(s->p[n])) {
        ms += (s->p[n] - '0') * weight;
        weight /= 10;
        n++;
    }
    *s = span_make(s->p + n, s->n - n);
    *ret_ms = ms;
    return n > 0;
}

static bool rfc3339_take_fields(Span s, Rfc3339Fields *f)
{
    char c;

    *f = (Rfc3339Fields){0};
    if (!rfc3339_take_number(&s, 4, &f->year) || !rfc3339_take_one(&s, "-", &c) ||
        !rfc3339_take_number(&s, 2, &f->month) || !rfc3339_take_one(&s, "-", &c) ||
        !rfc3339_take_number(&s, 2, &f->day) || !rfc3339_take_one(&s, "Tt ", &c) ||
        !rfc3339_take_number(&s, 2, &f->hour) || !rfc3339_take_one(&s, ":", &c) ||
        !rfc3339_take_number(&s, 2, &f->minute) || !rfc3339_take_one(&s, ":", &c) ||
        !rfc3339_take_number(&s, 2, &f->second)) {
        return false;
    }
    if (rfc3339_take_one(&s, ".", &c) && !rfc3339_take_fraction(&s, &f->ms)) {
        return false;
    }
    if (!rfc3339_take_one(&s, "Zz+-", &c)) {
        return false;
    }
    if (c == '+' || c == '-') {
        f->is_west = c == '-';
        if (!rfc3339_take_number(&s, 2, &f->offset_hour) || !rfc3339_take_one(&s, ":", &c) ||
            !rfc3339_take_number(&s, 2, &f->offset_minute)) {
            return false;
        }
    }
    return s.n == 0;
}

/* Whether a time in seconds since 1970, read from a text with second 60, follows a second 23:59:59
 * UTC at the end of a month: then it is the first second of a month. */
static bool rfc3339_may_be_leap(int64_t seconds)
{
    int64_t year;
    int64_t month;
    int64_t day;

    if (seconds % RFC3339_S_PER_DAY != 0) {
        return false;
    }
    rfc3339_date(seconds / RFC3339_S_PER_DAY, &year, &month, &day);
    return day == 1;
}

int rfc3339_parse(Span s, int64_t *ret_unix_ms)
{
    Rfc3339Fields f;
    int64_t offset_s;
    int64_t seconds;

    if (!rfc3339_take_fields(s, &f)) {
        return RFC3339_E_SYNTAX;
    }
    if (f.month < 1 || f.month > 12 || f.day < 1 ||
        f.day > rfc3339_days_of_month(f.year, f.month) || f.hour > 23 || f.minute > 59 ||
        f.second > 60 || f.offset_hour > 23 || f.offset_minute > 59) {
        return RFC3339_E_RANGE;
    }
    offset_s = (f.offset_hour * 60 + f.offset_minute) * 60;
    seconds = rfc3339_days(f.year, f.month, f.day) * RFC3339_S_PER_DAY + f.hour * 3600 +
              f.minute * 60 + f.second - (f.is_west ? -offset_s : offset_s);
    if (f.second == 60 && !rfc3339_may_be_leap(seconds)) {
        return RFC3339_E_RANGE;
    }
    *ret_unix_ms = seconds * RFC3339_MS_PER_S + f.ms;
    return 0;
}
