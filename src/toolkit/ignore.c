#include "toolkit/ignore.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "toolkit/glob.h"

/* What a text may begin with, which no pattern does. */
#define IGNORE_BOM "\xef\xbb\xbf"

/* Layers that there is room for at first. */
#define IGNORE_LAYERS_FIRST 16

typedef struct IgnoreRule {
    Span pattern;    /* without '!', and without the slashes at both ends */
    size_t n_plain;  /* so many bytes of it, from the beginning, mean themselves */
    bool is_back;    /* '!' */
    bool for_folder; /* ended in a slash */
    bool for_name;   /* has no slash inside: is of the name alone */
    bool is_suffix;  /* for_name, and "*" and bytes that mean themselves */
} IgnoreRule;

typedef struct IgnoreLayer {
    char *memory; /* the folder, and the text behind it */
    Span folder;
    IgnoreRule *rules;
    size_t n;
} IgnoreLayer;

struct IgnoreRules {
    IgnoreLayer *layers;
    size_t n;
    size_t cap;
    bool ignores_case;
};

int ignore_rules_new(IgnoreRules **ret, bool ignores_case)
{
    IgnoreRules *rules = mem_alloc_array(1, sizeof(*rules));

    if (rules == NULL) {
        return err_raise(-ENOMEM);
    }
    rules->ignores_case = ignores_case;
    *ret = rules;
    return 0;
}

IgnoreRules *ignore_rules_free(IgnoreRules *rules)
{
    if (rules != NULL) {
        while (rules->n > 0) {
            ignore_rules_pop(rules);
        }
        (void)mem_free(rules->layers);
    }
    return mem_free(rules);
}

/* ---- reading ---- */

/* Spaces at the end go, but for one that follows a backslash and those before it. */
static Span rule_trim(Span line)
{
    size_t n = 0;

    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\\') {
            i++;
            if (i == line.n) {
                return line; /* nothing follows: all of it stays */
            }
            n = i + 1;
        } else if (line.p[i] != ' ') {
            n = i + 1;
        }
    }
    return span_make(line.p, n);
}

static size_t rule_plain_length(Span pattern)
{
    size_t n = 0;

    while (n < pattern.n && memchr("*?[\\", pattern.p[n], 4) == NULL) {
        n++;
    }
    return n;
}

/* False if it is an empty line, or a comment. */
static bool rule_parse(Span line, IgnoreRule *ret)
{
    IgnoreRule rule = {.is_back = false};
    Span tail;

    /* As strings are: nothing comes behind a NUL. */
    if (line.n > 0 && memchr(line.p, '\0', line.n) != NULL) {
        line.n = (size_t)((const char *)memchr(line.p, '\0', line.n) - line.p);
    }
    if (line.n == 0 || line.p[0] == '#') {
        return false;
    }
    line = rule_trim(line);
    if (line.n > 0 && line.p[0] == '!') {
        rule.is_back = true;
        line = span_make(line.p + 1, line.n - 1);
    }
    if (line.n > 0 && line.p[line.n - 1] == '/') {
        rule.for_folder = true;
        line.n--;
    }
    rule.for_name = line.n == 0 || memchr(line.p, '/', line.n) == NULL;
    if (line.n > 0 && line.p[0] == '/') {
        line = span_make(line.p + 1, line.n - 1);
    }
    tail = line.n > 0 ? span_make(line.p + 1, line.n - 1) : line;
    rule.is_suffix =
        rule.for_name && line.n > 0 && line.p[0] == '*' && rule_plain_length(tail) == tail.n;
    rule.pattern = line;
    rule.n_plain = rule_plain_length(line);
    *ret = rule;
    return line.n > 0; /* an empty pattern says nothing */
}

static bool layer_next_line(Span *text, Span *ret)
{
    const char *end;
    Span line;

    if (text->n == 0) {
        return false;
    }
    end = memchr(text->p, '\n', text->n);
    line = span_make(text->p, end == NULL ? text->n : (size_t)(end - text->p));
    text->n -= line.n + (end == NULL ? 0 : 1);
    text->p += line.n + (end == NULL ? 0 : 1);
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    *ret = line;
    return true;
}

/* Fills layer->rules, if there are any. 0, -ENOMEM. */
static int layer_parse(IgnoreLayer *layer, Span text)
{
    IgnoreRule rule;
    Span rest = text;
    Span line;
    size_t n = 0;

    while (layer_next_line(&rest, &line)) {
        n += rule_parse(line, &rule) ? 1 : 0;
    }
    if (n == 0) {
        return 0;
    }
    layer->rules = mem_alloc_array(n, sizeof(*layer->rules));
    if (layer->rules == NULL) {
        return err_raise(-ENOMEM);
    }
    while (layer_next_line(&text, &line)) {
        if (rule_parse(line, &rule)) {
            layer->rules[layer->n++] = rule;
        }
    }
    return 0;
}

static void layer_deinit(IgnoreLayer *layer)
{
    (void)mem_free(layer->rules);
    (void)mem_free(layer->memory);
}

/* 0, -ENOMEM. */
static int layer_init(IgnoreLayer *layer, Span folder, Span text)
{
    int r;

    if (span_starts_with(text, SPAN(IGNORE_BOM))) {
        text = span_make(text.p + SPAN(IGNORE_BOM).n, text.n - SPAN(IGNORE_BOM).n);
    }
    *layer = (IgnoreLayer){.memory = mem_alloc(folder.n + text.n)};
    if (layer->memory == NULL) {
        return err_raise(-ENOMEM);
    }
    if (folder.n > 0) {
        memcpy(layer->memory, folder.p, folder.n);
    }
    if (text.n > 0) {
        memcpy(layer->memory + folder.n, text.p, text.n);
    }
    layer->folder = span_make(layer->memory, folder.n);
    r = layer_parse(layer, span_make(layer->memory + folder.n, text.n));
    if (r != 0) {
        layer_deinit(layer);
    }
    return r;
}

int ignore_rules_push(IgnoreRules *rules, Span folder, Span text)
{
    int r;

    if (rules->n == rules->cap) {
        size_t cap = rules->cap == 0 ? IGNORE_LAYERS_FIRST : 2 * rules->cap;
        IgnoreLayer *layers = mem_realloc(rules->layers, cap * sizeof(*layers));

        if (layers == NULL) {
            return err_raise(-ENOMEM);
        }
        rules->layers = layers;
        rules->cap = cap;
    }
    r = layer_init(&rules->layers[rules->n], folder, text);
    if (r != 0) {
        return err_pass(r);
    }
    rules->n++;
    return 0;
}

void ignore_rules_pop(IgnoreRules *rules)
{
    if (rules->n > 0) {
        layer_deinit(&rules->layers[--rules->n]);
    }
}

/* ---- matching ---- */

static bool ignore_equals(const IgnoreRules *rules, Span a, Span b)
{
    return rules->ignores_case ? text_equals_nocase(a, b) : span_equals(a, b);
}

static bool ignore_wildmatch(const IgnoreRules *rules, Span pattern, Span text)
{
    return rules->ignores_case ? toolkit_wildmatch_nocase(pattern, text)
                               : toolkit_wildmatch(pattern, text);
}

static bool rule_fits_name(const IgnoreRules *rules, const IgnoreRule *rule, Span name)
{
    Span pattern = rule->pattern;

    if (rule->n_plain == pattern.n) {
        return ignore_equals(rules, pattern, name);
    }
    if (rule->is_suffix) {
        size_t n = pattern.n - 1;

        return n <= name.n && ignore_equals(rules, span_make(pattern.p + 1, n),
                                            span_make(name.p + (name.n - n), n));
    }
    return ignore_wildmatch(rules, pattern, name);
}

/* path: from the folder of the rule. */
static bool rule_fits_path(const IgnoreRules *rules, const IgnoreRule *rule, Span path)
{
    Span pattern = rule->pattern;
    size_t n = rule->n_plain;

    if (n > path.n || !ignore_equals(rules, span_make(pattern.p, n), span_make(path.p, n))) {
        return false;
    }
    if (n == pattern.n) {
        return n == path.n;
    }
    /* What is left is a pattern of its own, as it is for git: a "**" that follows plain bytes is at
     * its beginning. */
    return ignore_wildmatch(rules, span_make(pattern.p + n, pattern.n - n),
                            span_make(path.p + n, path.n - n));
}

/* Cuts the folder of the layer off the path; false if it is not beneath it. */
static bool layer_enter(const IgnoreRules *rules, const IgnoreLayer *layer, Span *path)
{
    size_t n = layer->folder.n;

    if (n == 0) {
        return true;
    }
    if (path->n <= n || path->p[n] != '/' ||
        !ignore_equals(rules, layer->folder, span_make(path->p, n))) {
        return false;
    }
    *path = span_make(path->p + n + 1, path->n - n - 1);
    return true;
}

/* The last rule that fits; NULL if none does. */
static const IgnoreRule *layer_find(const IgnoreRules *rules, const IgnoreLayer *layer, Span path,
                                    Span name, bool is_folder)
{
    if (layer->n == 0 || !layer_enter(rules, layer, &path)) {
        return NULL;
    }
    for (size_t i = layer->n; i-- > 0;) {
        const IgnoreRule *rule = &layer->rules[i];

        if (rule->for_folder && !is_folder) {
            continue;
        }
        if (rule->for_name ? rule_fits_name(rules, rule, name)
                           : rule_fits_path(rules, rule, path)) {
            return rule;
        }
    }
    return NULL;
}

bool ignore_rules_match(const IgnoreRules *rules, Span path, bool is_folder)
{
    size_t begin = path.n;

    while (begin > 0 && path.p[begin - 1] != '/') {
        begin--;
    }
    for (size_t i = rules->n; i-- > 0;) {
        const IgnoreRule *rule = layer_find(rules, &rules->layers[i], path,
                                            span_make(path.p + begin, path.n - begin), is_folder);

        if (rule != NULL) {
            return !rule->is_back;
        }
    }
    return false;
}
