#include "toolkit/complexity/cache_format.h"

#include <string.h>

static const char cache_magic[8] = {'T', 'W', 'C', 'M', 'P', 'L', 'X', '\n'};

enum {
    CACHE_MEASURED = 0,
    CACHE_SKIPPED = 1
};

/* The numbers of a function, in order. Both directions go by this table, so they cannot disagree.
 */
static const size_t function_fields[] = {
    offsetof(ComplexityFunction, first_line),    offsetof(ComplexityFunction, last_line),
    offsetof(ComplexityFunction, first_column),  offsetof(ComplexityFunction, last_column),
    offsetof(ComplexityFunction, cyclomatic),    offsetof(ComplexityFunction, cyclomatic_modified),
    offsetof(ComplexityFunction, cognitive),     offsetof(ComplexityFunction, nesting),
    offsetof(ComplexityFunction, lines),         offsetof(ComplexityFunction, code_lines),
    offsetof(ComplexityFunction, comment_lines), offsetof(ComplexityFunction, parameters),
    offsetof(ComplexityFunction, tokens),        offsetof(ComplexityFunction, halstead.n1),
    offsetof(ComplexityFunction, halstead.n2),   offsetof(ComplexityFunction, halstead.N1),
    offsetof(ComplexityFunction, halstead.N2),
};

static const size_t file_fields[] = {
    offsetof(ComplexityFile, lines),         offsetof(ComplexityFile, code_lines),
    offsetof(ComplexityFile, comment_lines), offsetof(ComplexityFile, blank_lines),
    offsetof(ComplexityFile, n_errors),      offsetof(ComplexityFile, first_error_line),
};

static const size_t increment_fields[] = {
    offsetof(ComplexityIncrement, line),
    offsetof(ComplexityIncrement, column),
    offsetof(ComplexityIncrement, amount),
    offsetof(ComplexityIncrement, nesting),
};

/* With the length of the construct. */
#define CACHE_INCREMENT_MIN (TW_ARRAY_SIZE(increment_fields) + 1)

/* Every field takes one byte at least, and so do the length of the name and the flag. */
#define CACHE_FUNCTION_MIN (TW_ARRAY_SIZE(function_fields) + 2)

/* The most bytes of a LEB128 number of 64 bits. */
#define CACHE_NUMBER_MAX 10

typedef struct CacheReader {
    const char *p;
    const char *end;
    bool failed; /* sticks; what is read then is 0 or empty */
} CacheReader;

static uint64_t read_number_slowly(CacheReader *reader)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < CACHE_NUMBER_MAX && reader->p < reader->end; i++) {
        uint64_t byte = (uint8_t)*reader->p++;
        uint64_t bits = (byte & 0x7F) << (7 * i);

        /* The tenth byte has room for one bit. */
        if (i == CACHE_NUMBER_MAX - 1 && byte > 1) {
            break;
        }
        value |= bits;
        if (byte < 0x80) {
            return value;
        }
    }
    reader->failed = true;
    reader->p = reader->end;
    return 0;
}

static inline uint64_t read_number(CacheReader *reader)
{
    if (TW_LIKELY(reader->p < reader->end && (uint8_t)*reader->p < 0x80)) {
        return (uint8_t)*reader->p++;
    }
    return read_number_slowly(reader);
}

static int64_t read_time(CacheReader *reader)
{
    uint64_t zigzag = read_number(reader);

    return (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
}

static uint32_t read_u32(CacheReader *reader)
{
    uint64_t value = read_number(reader);

    reader->failed = reader->failed || value > UINT32_MAX;
    return (uint32_t)value;
}

static Span read_bytes(CacheReader *reader, uint64_t n)
{
    Span s = span_make(reader->p, (size_t)n);

    if (n > (uint64_t)(reader->end - reader->p)) {
        reader->failed = true;
        return SPAN("");
    }
    reader->p += n;
    return s;
}

static Span read_text(CacheReader *reader)
{
    return read_bytes(reader, read_number(reader));
}

static void put_fixed(char *p, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(uint8_t)(value >> (8 * i));
    }
}

static uint64_t get_fixed(const char *p, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)(uint8_t)p[i] << (8 * i);
    }
    return value;
}

/* Written out, since compilers make one load of it. */
static inline uint64_t get_u64(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

static uint64_t checksum_mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * 0x9E3779B97F4A7C15;
    return lane ^ lane >> 29;
}

/* Against damage, not against people. Every step can be undone, so a change of one word always
 * shows. Four lanes, because a cache of some MB is read at every start and a step waits for the one
 * before it. */
static uint64_t cache_checksum(Span s)
{
    uint64_t lanes[4] = {1, 2, 3, 4};
    uint64_t sum = s.n;
    size_t at = 0;

    for (; s.n - at >= 32; at += 32) {
        for (size_t i = 0; i < 4; i++) {
            lanes[i] = checksum_mix(lanes[i], get_u64(s.p + at + 8 * i));
        }
    }
    for (; at < s.n; at++) {
        sum = checksum_mix(sum, (uint8_t)s.p[at]);
    }
    for (size_t i = 0; i < 4; i++) {
        sum = checksum_mix(sum, lanes[i]);
    }
    return sum;
}

bool cache_format_open(Span data, Span *ret_entries)
{
    Span entries;

    if (data.n < CACHE_HEADER_SIZE || memcmp(data.p, cache_magic, sizeof(cache_magic)) != 0 ||
        get_fixed(data.p + 8, 4) != CACHE_FORMAT_VERSION ||
        get_fixed(data.p + 12, 4) != COMPLEXITY_RULES_VERSION) {
        return false;
    }
    entries = span_make(data.p + CACHE_HEADER_SIZE, data.n - CACHE_HEADER_SIZE);
    if (get_fixed(data.p + 16, 8) != cache_checksum(entries)) {
        return false;
    }
    *ret_entries = entries;
    return true;
}

bool cache_format_next(Span entries, size_t *at, CacheRecord *ret)
{
    CacheReader reader = {entries.p + *at, entries.p + entries.n, false};
    Span hash;

    if (*at >= entries.n) {
        return false;
    }
    ret->path = read_text(&reader);
    ret->stamp.size = read_number(&reader);
    ret->stamp.mtime_ns = read_time(&reader);
    ret->stamp.ctime_ns = read_time(&reader);
    ret->stamp.inode = read_number(&reader);
    hash = read_bytes(&reader, CACHE_HASH_SIZE);
    ret->payload = read_text(&reader);
    if (reader.failed) {
        return false;
    }
    memcpy(ret->hash, hash.p, CACHE_HASH_SIZE);
    *at = (size_t)(reader.p - entries.p);
    return true;
}

static int put_number(Bytes *out, uint64_t value)
{
    char bytes[CACHE_NUMBER_MAX];
    size_t n = 0;

    while (value >= 0x80) {
        bytes[n++] = (char)(uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (char)(uint8_t)value;
    return bytes_append(out, bytes, n);
}

static int put_text(Bytes *out, Span s)
{
    int r = put_number(out, s.n);

    return r != 0 ? r : bytes_append_span(out, s);
}

int cache_format_begin(Bytes *out)
{
    char header[CACHE_HEADER_SIZE] = {0};

    memcpy(header, cache_magic, sizeof(cache_magic));
    put_fixed(header + 8, CACHE_FORMAT_VERSION, 4);
    put_fixed(header + 12, COMPLEXITY_RULES_VERSION, 4);
    return bytes_append(out, header, sizeof(header));
}

static uint64_t zigzag_of(int64_t time_ns)
{
    uint64_t bits = (uint64_t)time_ns;

    return (bits << 1) ^ (0 - (bits >> 63));
}

int cache_format_append(Bytes *out, const CacheRecord *record)
{
    uint64_t numbers[4] = {
        record->stamp.size,
        zigzag_of(record->stamp.mtime_ns),
        zigzag_of(record->stamp.ctime_ns),
        record->stamp.inode,
    };
    int r = put_text(out, record->path);

    for (size_t i = 0; i < TW_ARRAY_SIZE(numbers) && r == 0; i++) {
        r = put_number(out, numbers[i]);
    }
    if (r == 0) {
        r = bytes_append(out, record->hash, CACHE_HASH_SIZE);
    }
    return r != 0 ? r : put_text(out, record->payload);
}

void cache_format_seal(Bytes *out, size_t start)
{
    size_t from = start + CACHE_HEADER_SIZE;
    Span entries = span_make(out->data + from, out->n - from);

    put_fixed(out->data + start + 16, cache_checksum(entries), 8);
}

static uint32_t field_get(const void *object, size_t offset)
{
    uint32_t value;

    memcpy(&value, (const char *)object + offset, sizeof(value));
    return value;
}

static void field_set(void *object, size_t offset, uint32_t value)
{
    memcpy((char *)object + offset, &value, sizeof(value));
}

static int put_fields(Bytes *out, const void *object, const size_t *fields, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = put_number(out, field_get(object, fields[i]));
    }
    return r;
}

static void read_fields(CacheReader *reader, void *object, const size_t *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        field_set(object, fields[i], read_u32(reader));
    }
}

static int put_file(Bytes *out, const ComplexityFile *file)
{
    int r = put_text(out, complexity_language_name(file->language));

    if (r == 0) {
        r = put_fields(out, file, file_fields, TW_ARRAY_SIZE(file_fields));
    }
    if (r == 0) {
        r = put_number(out, file->n_functions);
    }
    for (size_t i = 0; i < file->n_functions && r == 0; i++) {
        const ComplexityFunction *f = &file->functions[i];

        r = put_text(out, f->name);
        if (r == 0) {
            r = put_fields(out, f, function_fields, TW_ARRAY_SIZE(function_fields));
        }
        if (r == 0) {
            r = put_number(out, f->has_error ? 1 : 0);
        }
    }
    return r;
}

int cache_format_encode(Bytes *out, const ComplexityCached *what)
{
    int r = put_number(out, what->is_skipped ? CACHE_SKIPPED : CACHE_MEASURED);

    if (r == 0 && what->is_skipped) {
        r = put_number(out, (uint64_t)what->reason);
        return r != 0 ? r : put_text(out, what->detail);
    }
    return r != 0 ? r : put_file(out, &what->file);
}

static bool read_functions(CacheReader *reader, Arena *arena, ComplexityFile *file)
{
    uint64_t n = read_number(reader);
    ComplexityFunction *functions;

    if (reader->failed || n > (uint64_t)(reader->end - reader->p) / CACHE_FUNCTION_MIN) {
        return false;
    }
    functions = arena_alloc_array(arena, (size_t)n, sizeof(*functions));
    if (functions == NULL) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t flag;

        functions[i] = (ComplexityFunction){.name = read_text(reader)};
        read_fields(reader, &functions[i], function_fields, TW_ARRAY_SIZE(function_fields));
        flag = read_number(reader);
        functions[i].has_error = flag == 1;
        reader->failed = reader->failed || flag > 1;
    }
    file->functions = functions;
    file->n_functions = (size_t)n;
    return !reader->failed;
}

bool cache_format_decode(Span payload, Arena *arena, ComplexityCached *ret)
{
    CacheReader reader = {payload.p, payload.p + payload.n, false};
    uint64_t kind = read_number(&reader);

    *ret = (ComplexityCached){.is_skipped = kind == CACHE_SKIPPED};
    if (kind == CACHE_SKIPPED) {
        uint64_t reason = read_number(&reader);

        ret->detail = read_text(&reader);
        ret->reason = (ComplexitySkip)(reason < COMPLEXITY_N_SKIPS ? reason : 0);
        return !reader.failed && reason < COMPLEXITY_N_SKIPS && reader.p == reader.end;
    }
    if (kind != CACHE_MEASURED) {
        return false;
    }
    ret->file.language = complexity_language_named(read_text(&reader));
    read_fields(&reader, &ret->file, file_fields, TW_ARRAY_SIZE(file_fields));
    return !reader.failed && ret->file.language != NULL &&
           read_functions(&reader, arena, &ret->file) && reader.p == reader.end;
}

static int put_increments(Bytes *out, const ComplexityFunction *function)
{
    int r = put_number(out, function->n_increments);

    for (size_t i = 0; r == 0 && i < function->n_increments; i++) {
        const ComplexityIncrement *increment = &function->increments[i];

        r = put_fields(out, increment, increment_fields, TW_ARRAY_SIZE(increment_fields));
        if (r == 0) {
            r = put_text(out, span_from_str(increment->construct));
        }
    }
    return r;
}

int cache_format_encode_increments(Bytes *out, const ComplexityFile *file)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < file->n_functions; i++) {
        r = put_increments(out, &file->functions[i]);
    }
    return r;
}

/* NUL-terminated; most files have a dozen of them, thousands of times. */
static const char *read_construct(CacheReader *reader, Arena *arena, const char *last)
{
    Span text = read_text(reader);

    if (last != NULL && span_equals(text, span_from_str(last))) {
        return last;
    }
    text = reader->failed ? SPAN_NULL : arena_copy(arena, text);
    reader->failed = reader->failed || text.p == NULL || memchr(text.p, '\0', text.n) != NULL;
    return text.p;
}

static void read_increments(CacheReader *reader, Arena *arena, ComplexityFunction *function)
{
    uint64_t n = read_number(reader);
    ComplexityIncrement *list;
    const char *construct = NULL;

    if (n == 0 || reader->failed) {
        return;
    }
    list = n > (uint64_t)(reader->end - reader->p) / CACHE_INCREMENT_MIN
               ? NULL
               : arena_alloc_array(arena, (size_t)n, sizeof(*list));
    reader->failed = list == NULL;
    for (uint64_t i = 0; i < n && !reader->failed; i++) {
        read_fields(reader, &list[i], increment_fields, TW_ARRAY_SIZE(increment_fields));
        construct = read_construct(reader, arena, construct);
        list[i].construct = construct;
    }
    function->increments = list;
    function->n_increments = (size_t)n;
}

bool cache_format_decode_increments(Span data, Arena *arena, ComplexityFunction *functions,
                                    size_t n_functions)
{
    CacheReader reader = {data.p, data.p + data.n, false};

    for (size_t i = 0; i < n_functions && !reader.failed; i++) {
        read_increments(&reader, arena, &functions[i]);
    }
    return !reader.failed && reader.p == reader.end;
}

bool cache_format_is_skipped(Span payload)
{
    return payload.n > 0 && payload.p[0] == CACHE_SKIPPED;
}
