/* Dates, times and durations of RFC 3339. */
#include "json/schema/format.h"
#include "json/schema/format_scan.h"

static bool time_is_leap_year(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool time_take_date(Span *s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year;
    int month;
    int day;

    if (!scan_number(s, 4, &year) || !scan_take(s, '-') || !scan_number(s, 2, &month) ||
        !scan_take(s, '-') || !scan_number(s, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1) {
        return false;
    }
    return day <= days[month - 1] + (month == 2 && time_is_leap_year(year));
}

/* "Z" or "+01:30"; *ret_minutes is how far local time is ahead of UTC. */
static bool time_take_offset(Span *s, int *ret_minutes)
{
    int sign = 1;
    int hour;
    int minute;

    *ret_minutes = 0;
    if (scan_take(s, 'Z') || scan_take(s, 'z')) {
        return true;
    }
    if (scan_take(s, '-')) {
        sign = -1;
    } else if (!scan_take(s, '+')) {
        return false;
    }
    if (!scan_number(s, 2, &hour) || !scan_take(s, ':') || !scan_number(s, 2, &minute)) {
        return false;
    }
    *ret_minutes = sign * (hour * 60 + minute);
    return hour <= 23 && minute <= 59;
}

static bool time_take_time(Span *s)
{
    int hour;
    int minute;
    int second;
    int offset;

    if (!scan_number(s, 2, &hour) || !scan_take(s, ':') || !scan_number(s, 2, &minute) ||
        !scan_take(s, ':') || !scan_number(s, 2, &second)) {
        return false;
    }
    if (scan_take(s, '.')) {
        size_t n = scan_digits(*s);

        if (n == 0) {
            return false;
        }
        *s = scan_skip(*s, n);
    }
    if (hour > 23 || minute > 59 || second > 60 || !time_take_offset(s, &offset)) {
        return false;
    }
    /* Leap seconds are inserted at 23:59:60 UTC, wherever the clock is. */
    return second < 60 || (hour * 60 + minute - offset + 2 * 1440) % 1440 == 1439;
}

bool format_date(Span s)
{
    return time_take_date(&s) && s.n == 0;
}

bool format_time(Span s)
{
    return time_take_time(&s) && s.n == 0;
}

bool format_date_time(Span s)
{
    return time_take_date(&s) && (scan_take(&s, 'T') || scan_take(&s, 't')) && time_take_time(&s) &&
           s.n == 0;
}

/* Takes "1Y2M3D": units in order and without gaps. False if malformed or empty. */
static bool duration_take_units(Span *s, const char *units)
{
    const char *next = NULL; /* the only unit that may follow; NULL: any */
    size_t n;

    for (n = scan_digits(*s); n > 0; n = scan_digits(*s)) {
        const char *unit;

        if (n == s->n || !scan_is_in(s->p[n], units)) {
            return false;
        }
        unit = strchr(units, s->p[n]);
        if (next != NULL && unit != next) {
            return false;
        }
        next = unit + 1;
        *s = scan_skip(*s, n + 1);
    }
    return next != NULL;
}

bool format_duration(Span s)
{
    size_t n;

    if (!scan_take(&s, 'P')) {
        return false;
    }
    n = scan_digits(s);
    if (n > 0 && n + 1 == s.n && s.p[n] == 'W') {
        return true;
    }
    if (!scan_at(s, 'T') && !duration_take_units(&s, "YMD")) {
        return false;
    }
    if (scan_take(&s, 'T') && !duration_take_units(&s, "HMS")) {
        return false;
    }
    return s.n == 0;
}
