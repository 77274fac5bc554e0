/* Where lists go on, and whether they are still those (analysis_tools_impl.h). */
#include <inttypes.h>

#include "base/error.h"
#include "base/hash.h"
#include "providers/analysis_tools_impl.h"

/* "1f-0123456789abcdef": the offset and the number of the lists, both in base 16. */
#define CURSOR_SEEN_DIGITS 16

/* Nobody gains by a cursor that fits other lists: no secret, the same in every process. */
static uint64_t cursor_mix(uint64_t seen, Span text)
{
    return hash_span((HashSeed){.k0 = seen, .k1 = 1}, text);
}

/* What may differ from one page to the next. */
static bool cursor_passes_over(JsonValue key)
{
    static const Span keys[] = {
        SPAN_INIT("cursor"), SPAN_INIT("offset"),  SPAN_INIT("limit"),
        SPAN_INIT("format"), SPAN_INIT("threads"), SPAN_INIT("no_cache"),
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(keys); i++) {
        if (json_string_equals(key, keys[i])) {
            return true;
        }
    }
    return false;
}

uint64_t analysis_cursor_arguments(JsonValue arguments)
{
    uint64_t all = 0;

    for (JsonIter it = json_iter(arguments); json_iter_next(&it);) {
        if (json_kind(it.value) != JSON_NULL && !cursor_passes_over(it.key)) {
            all += cursor_mix(cursor_mix(0, json_span(it.key)), json_span(it.value));
        }
    }
    return all;
}

uint64_t analysis_cursor_begin(const AnalysisAsked *asked)
{
    return asked->arguments;
}

uint64_t analysis_cursor_row(uint64_t seen, Span path, uint64_t a, uint64_t b)
{
    uint64_t numbers[] = {a, b};

    return cursor_mix(cursor_mix(seen, path), span_make((const char *)numbers, sizeof(numbers)));
}

int analysis_cursor_write(size_t offset, uint64_t seen, Bytes *out)
{
    return bytes_append_format(out, "%zx-%016" PRIx64, offset, seen);
}

static bool cursor_number(Span digits, uint64_t *ret)
{
    uint64_t number = 0;

    if (digits.n == 0 || digits.n > CURSOR_SEEN_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < digits.n; i++) {
        char c = digits.p[i];

        if (c >= '0' && c <= '9') {
            number = number * 16 + (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            number = number * 16 + (uint64_t)(c - 'a') + 10;
        } else {
            return false;
        }
    }
    *ret = number;
    return true;
}

bool analysis_cursor_read(Span cursor, size_t *ret_offset, uint64_t *ret_seen)
{
    size_t n = cursor.n > CURSOR_SEEN_DIGITS ? cursor.n - CURSOR_SEEN_DIGITS - 1 : 0;
    uint64_t offset = 0;

    if (n == 0 || cursor.p[n] != '-' || !cursor_number(span_make(cursor.p, n), &offset) ||
        offset > UINT32_MAX ||
        !cursor_number(span_make(cursor.p + n + 1, CURSOR_SEEN_DIGITS), ret_seen)) {
        return false;
    }
    *ret_offset = (size_t)offset;
    return true;
}

int analysis_cursor_check(AnalysisJob *job, uint64_t seen)
{
    if (!job->asked.has_cursor || job->asked.seen == seen) {
        return 0;
    }
    (void)diag_set(&job->diag, ANALYSIS_E_OPTION,
                   "cursor: the arguments or the files are not those of the answer that gave it: "
                   "begin without one");
    diag_set_field(&job->diag, "cursor");
    return ANALYSIS_E_OPTION;
}
