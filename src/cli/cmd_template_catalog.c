#include "cli/cmd_template_catalog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/program.h"
#include "providers/template_source.h"

int template_cli_fail(const CliArgs *args, const char *format, ...)
{
    va_list words;

    fprintf(stderr, "toolwire %s: ", args->command->name);
    va_start(words, format);
    (void)vfprintf(stderr, format, words);
    va_end(words);
    fprintf(stderr, "\n");
    return CLI_EXIT_FAILED;
}

int template_cli_no_memory(const CliArgs *args)
{
    return template_cli_fail(args, "out of memory");
}

int template_cli_open(const CliArgs *args, TemplateCatalog **ret)
{
    const char *folders[CLI_MAX_REPEATS + 1];
    size_t n = 0;
    Diag diag = DIAG_NULL;
    int r;

    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == TEMPLATE_OPTION_TEMPLATES) {
            folders[n++] = args->repeats[i].value;
        }
    }
    folders[n] = NULL;
    r = template_source_load(ret, folders, &args->log, &diag);
    if (r > 0) {
        return cli_usage_error(args, "%s", diag.message);
    }
    return r == 0 ? 0 : template_cli_fail(args, "cannot read the templates: %s", io_error_text(-r));
}

void template_cli_closep(TemplateCatalog **catalog)
{
    *catalog = template_catalog_free(*catalog);
}

/* Cuts the first part off a name at its slash. */
static Span take_part(Span *name)
{
    const char *slash = name->n > 0 ? memchr(name->p, '/', name->n) : NULL;
    size_t n = slash != NULL ? (size_t)(slash - name->p) : name->n;
    Span part = span_make(name->p, n);

    n += slash != NULL;
    *name = span_make(name->p + n, name->n - n);
    return part;
}

static bool is_uri(Span name)
{
    return span_starts_with(name, SPAN(TEMPLATE_URI_SCHEME));
}

/* The variant cli, else the first there is; but that one, if it is said. */
static const Template *find_by_parts(const TemplateCatalog *catalog, Span category, Span toolchain,
                                     Span variant)
{
    TemplateFilter filter = {.toolchain = toolchain, .category = category, .variant = variant};
    const Template *first = NULL;

    /* An empty part would let all pass. */
    for (size_t i = 0; category.n > 0 && toolchain.n > 0 && i < template_catalog_count(catalog);
         i++) {
        const Template *t = template_catalog_at(catalog, i);

        if (template_matches(t, &filter)) {
            if (variant.n > 0 || span_equals(t->uri.variant, SPAN("cli"))) {
                return t;
            }
            first = first != NULL ? first : t;
        }
    }
    return first;
}

const Template *template_cli_find(const TemplateCatalog *catalog, Span name)
{
    Span category;
    Span toolchain;

    if (is_uri(name)) {
        return template_catalog_find(catalog, name);
    }
    category = take_part(&name);
    toolchain = take_part(&name);
    return find_by_parts(catalog, category, toolchain, name);
}

const Template *template_cli_find_in(const TemplateCatalog *catalog, Span toolchain, Span word)
{
    Span category;

    if (is_uri(word)) {
        return template_catalog_find(catalog, word);
    }
    category = take_part(&word);
    return find_by_parts(catalog, category, toolchain, word);
}

/* How far what was typed is from a template's name: from its URI, or, where the scheme or the
 * variant was left out, from the rest of it. */
static size_t name_distance(Span typed, const Template *t)
{
    Span uri = t->uri_text;
    size_t n_scheme = sizeof(TEMPLATE_URI_SCHEME) - 1;
    size_t n_short = t->uri.category.n + 1 + t->uri.toolchain.n;
    const char *slash = typed.n > 0 ? memchr(typed.p, '/', typed.n) : NULL;

    if (is_uri(typed)) {
        return text_edit_distance(typed, uri);
    }
    if (slash != NULL && memchr(slash + 1, '/', typed.n - 1 - (size_t)(slash - typed.p)) != NULL) {
        return text_edit_distance(typed, span_make(uri.p + n_scheme, uri.n - n_scheme));
    }
    return text_edit_distance(typed, span_make(uri.p + n_scheme, n_short));
}

/* The template that was probably meant; NULL if none is near: more than a third of the letters
 * differ. */
static const Template *nearest_template(const TemplateCatalog *catalog, Span typed)
{
    const Template *best = NULL;
    size_t best_distance = typed.n / 3 + 1;

    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        size_t distance = name_distance(typed, template_catalog_at(catalog, i));

        if (distance < best_distance) {
            best = template_catalog_at(catalog, i);
            best_distance = distance;
        }
    }
    return best;
}

int template_cli_need(const CliArgs *args, const TemplateCatalog *catalog, const char *name,
                      const Template **ret)
{
    Span typed = span_from_str(name);
    TemplateUri uri;
    const Template *nearest;

    *ret = template_cli_find(catalog, typed);
    if (*ret != NULL) {
        return 0;
    }
    if (is_uri(typed) && !template_uri_parse(typed, &uri)) {
        return cli_usage_error(args, "'%s' is no URI of a template: it has the form %s", name,
                               TEMPLATE_URI_TEMPLATE);
    }
    nearest = nearest_template(catalog, typed);
    return template_cli_fail(args, "there is no template '%s'%s%s%s", name,
                             nearest != NULL ? "; did you mean '" : "",
                             nearest != NULL ? nearest->uri_text.p : "",
                             nearest != NULL ? "'?" : "; 'toolwire template ls' lists them");
}

int template_cli_no_toolchain(const CliArgs *args, const TemplateCatalog *catalog, const char *name)
{
    const Span *toolchains;
    size_t n = template_catalog_toolchains(catalog, &toolchains);
    Span best = SPAN_NULL;
    size_t best_distance = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t distance = text_edit_distance(span_from_str(name), toolchains[i]);

        if (distance < best_distance && 3 * distance <= strlen(name)) {
            best = toolchains[i];
            best_distance = distance;
        }
    }
    if (best.n > 0) {
        return template_cli_fail(args, "there is no toolchain '%s'; did you mean '%.*s'?", name,
                                 (int)best.n, best.p);
    }
    fprintf(stderr, "toolwire %s: there is no toolchain '%s'; known are", args->command->name,
            name);
    for (size_t i = 0; i < n; i++) {
        fprintf(stderr, "%s%.*s", i == 0 ? " " : ", ", (int)toolchains[i].n, toolchains[i].p);
    }
    fprintf(stderr, "\n");
    return CLI_EXIT_FAILED;
}

void template_cli_print_text(Span text)
{
    if (io_terminal_is(fileno(stdout))) {
        table_print_safe(stdout, text, true);
    } else {
        (void)fwrite(text.p, 1, text.n, stdout);
    }
}
