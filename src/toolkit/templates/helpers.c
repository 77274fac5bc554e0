#include "toolkit/templates/helpers.h"

#include "base/error.h"
#include "base/rfc3339.h"
#include "base/text.h"

#define HELPERS_YEAR_CHARS 4
#define HELPERS_DATE_CHARS 10
#define HELPERS_ROOM_BYTES 128

static bool helper_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char helper_lower(char c)
{
    return helper_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static char helper_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool helper_ends_word(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

/* Text that is made byte by byte, and appended by the piece. */
typedef struct HelperText {
    Bytes *out;
    size_t n;
    char room[HELPERS_ROOM_BYTES];
} HelperText;

static int helper_flush(HelperText *text)
{
    int r = bytes_append(text->out, text->room, text->n);

    text->n = 0;
    return r;
}

static int helper_put(HelperText *text, char c)
{
    int r = text->n == sizeof(text->room) ? helper_flush(text) : 0;

    text->room[text->n++] = c;
    return r;
}

/* snake_case and kebab_case, by what stands between the words. */
static int helper_write_words(Span text, char between, Bytes *out)
{
    HelperText made;
    int r = 0;

    made.out = out;
    made.n = 0;
    for (size_t i = 0; i < text.n && r == 0; i++) {
        char c = text.p[i];

        if (i > 0 && helper_is_upper(c) && !helper_is_upper(text.p[i - 1])) {
            r = helper_put(&made, between);
        }
        if (r == 0) {
            r = helper_put(&made, helper_ends_word(c) ? between : helper_lower(c));
        }
    }
    return r != 0 ? r : helper_flush(&made);
}

static int helper_snake(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_words(call->text, '_', out);
}

static int helper_kebab(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_words(call->text, '-', out);
}

/* pascal_case, and title, which keeps what ends a word. */
static int helper_write_capitals(Span text, bool keeps, Bytes *out)
{
    HelperText made;
    bool is_first = true;
    int r = 0;

    made.out = out;
    made.n = 0;
    for (size_t i = 0; i < text.n && r == 0; i++) {
        bool ends = helper_ends_word(text.p[i]);

        if (keeps || !ends) {
            r = helper_put(&made, is_first ? helper_upper(text.p[i]) : text.p[i]);
        }
        is_first = ends;
    }
    return r != 0 ? r : helper_flush(&made);
}

static int helper_pascal(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_capitals(call->text, false, out);
}

static int helper_title(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_capitals(call->text, true, out);
}

static int helper_write_mapped(Span text, char (*map_fn)(char), Bytes *out)
{
    HelperText made;
    int r = 0;

    made.out = out;
    made.n = 0;
    for (size_t i = 0; i < text.n && r == 0; i++) {
        r = helper_put(&made, map_fn(text.p[i]));
    }
    return r != 0 ? r : helper_flush(&made);
}

static int helper_upper_case(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_mapped(call->text, helper_upper, out);
}

static int helper_lower_case(const TemplateHelperCall *call, Bytes *out)
{
    return helper_write_mapped(call->text, helper_lower, out);
}

static int helper_join(const TemplateHelperCall *call, Bytes *out)
{
    /* An array that is not given has no elements. */
    return call->args[0].kind == VALUE_ARRAY
               ? template_value_join(&call->args[0], call->separator, out)
               : 0;
}

static int helper_year(const TemplateHelperCall *call, Bytes *out)
{
    char text[RFC3339_SIZE];

    rfc3339_format(call->unix_ms, text);
    return bytes_append(out, text, HELPERS_YEAR_CHARS);
}

static int helper_date(const TemplateHelperCall *call, Bytes *out)
{
    char text[RFC3339_SIZE];

    rfc3339_format(call->unix_ms, text);
    return bytes_append(out, text, HELPERS_DATE_CHARS);
}

static const TemplateHelper helpers[] = {
    {"snake_case", 1, true, false, helper_snake},
    {"kebab_case", 1, true, false, helper_kebab},
    {"pascal_case", 1, true, false, helper_pascal},
    {"upper", 1, true, false, helper_upper_case},
    {"lower", 1, true, false, helper_lower_case},
    {"title", 1, true, false, helper_title},
    {"default", 2, false, false, NULL},
    {"join", 2, false, true, helper_join},
    {"current_year", 0, false, false, helper_year},
    {"current_date", 0, false, false, helper_date},
};

const TemplateHelper *template_helper_find(Span name, uint8_t *ret_index)
{
    for (uint8_t i = 0; i < TW_ARRAY_SIZE(helpers); i++) {
        if (span_equals(name, span_from_str(helpers[i].name))) {
            *ret_index = i;
            return &helpers[i];
        }
    }
    return NULL;
}

const TemplateHelper *template_helper_at(uint8_t index)
{
    return &helpers[index];
}

const char *template_helper_nearest(Span name)
{
    const char *names[TW_ARRAY_SIZE(helpers)];

    for (size_t i = 0; i < TW_ARRAY_SIZE(helpers); i++) {
        names[i] = helpers[i].name;
    }
    return text_nearest(name, names, TW_ARRAY_SIZE(helpers));
}
