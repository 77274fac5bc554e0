#include "router/uritemplate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* One variable and the literal text behind it. The text before the first is the template's. */
typedef struct TemplatePart {
    Span name;
    bool any; /* {+name}: also matches '/' */
    Span literal;
} TemplatePart;

struct UriTemplate {
    Span literal;
    size_t n_parts;
    TemplatePart parts[URITEMPLATE_VARIABLES];
    char text[];
};

static bool template_is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

/* The expression that begins behind a '{'; *at is moved behind its '}'. */
static int template_take_variable(UriTemplate *template, Span text, size_t *at, Diag *reterr_diag)
{
    TemplatePart *part = &template->parts[template->n_parts];
    size_t start = *at;
    size_t end;

    if (template->n_parts == URITEMPLATE_VARIABLES) {
        return diag_set(reterr_diag, URITEMPLATE_E_MALFORMED, "more than %d variables",
                        URITEMPLATE_VARIABLES);
    }
    *part = (TemplatePart){.any = start < text.n && text.p[start] == '+'};
    start += part->any;
    end = start;
    while (end < text.n && template_is_name_byte(text.p[end])) {
        end++;
    }
    /* A dot in front is an operator. */
    if (end == start || end == text.n || text.p[end] != '}' || text.p[start] == '.') {
        return diag_set(reterr_diag, URITEMPLATE_E_MALFORMED,
                        "only {name} and {+name} are known as expressions, not \"%.*s\"",
                        (int)(text.n - *at + 1 < 40 ? text.n - *at + 1 : 40), text.p + *at - 1);
    }
    part->name = span_make(text.p + start, end - start);
    if (uritemplate_has(template, part->name)) {
        return diag_set(reterr_diag, URITEMPLATE_E_MALFORMED,
                        "the variable %.*s stands there twice", (int)part->name.n, part->name.p);
    }
    template->n_parts++;
    *at = end + 1;
    return 0;
}

static int template_compile(UriTemplate *template, Span text, Diag *reterr_diag)
{
    size_t at = 0;

    for (;;) {
        Span *literal = template->n_parts == 0 ? &template->literal
                                               : &template->parts[template->n_parts - 1].literal;
        const char *brace = memchr(text.p + at, '{', text.n - at);
        size_t end = brace == NULL ? text.n : (size_t)(brace - text.p);
        int r;

        *literal = span_make(text.p + at, end - at);
        if (memchr(literal->p, '}', literal->n) != NULL) {
            return diag_set(reterr_diag, URITEMPLATE_E_MALFORMED, "a } without its {");
        }
        if (brace == NULL) {
            return 0;
        }
        at = end + 1;
        r = template_take_variable(template, text, &at, reterr_diag);
        if (r != 0) {
            return r;
        }
    }
}

int uritemplate_new(UriTemplate **ret, Span text, Diag *reterr_diag)
{
    UriTemplate *template;
    size_t total;
    int r;

    if (!mem_size_add(text.n, sizeof(*template) + 1, &total)) {
        return err_raise(-ENOMEM);
    }
    template = mem_alloc(total);
    if (template == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(template, 0, sizeof(*template));
    if (text.n > 0) {
        memcpy(template->text, text.p, text.n);
    }
    template->text[text.n] = '\0';
    r = template_compile(template, span_make(template->text, text.n), reterr_diag);
    if (r != 0) {
        (void)uritemplate_free(template);
        return r;
    }
    *ret = template;
    return 0;
}

UriTemplate *uritemplate_free(UriTemplate *template)
{
    return mem_free(template);
}

bool uritemplate_has(const UriTemplate *template, Span name)
{
    for (size_t i = 0; i < template->n_parts; i++) {
        if (span_equals(template->parts[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Can the literal stand at that place of the URI? The last one must also end it. */
static bool template_literal_fits(Span uri, size_t at, Span literal, bool is_last)
{
    if (is_last) {
        return uri.n - at == literal.n && span_ends_with(uri, literal);
    }
    return span_starts_with(span_make(uri.p + at, uri.n - at), literal);
}

/* Finds where each variable ends: ends[i] for the i-th, which begins behind the literal before it.
 *
 * Each variable takes as little as lets its literal follow. When it cannot grow any more, because
 * of a '/', only the last {+name} before it can help: a {name} before it would have to let its
 * literal stand further right in the same stretch without '/', which leaves this one less room, not
 * more. And of several {+name} the last can reach whatever an earlier one could. So there is
 * nothing to try twice but the stretch behind the last {+name}. */
static bool template_search(const UriTemplate *template, Span uri, size_t *steps, size_t *starts,
                            size_t *ends)
{
    size_t n = template->n_parts;
    size_t last_any = n; /* none yet */
    size_t i = 0;

    if (!span_starts_with(uri, template->literal)) {
        return false;
    }
    if (n == 0) {
        return uri.n == template->literal.n;
    }
    starts[0] = template->literal.n;
    ends[0] = starts[0];
    while (i < n) {
        const TemplatePart *part = &template->parts[i];

        if (ends[i] == uri.n || *steps == 0) {
            return false; /* growing is over for all of them */
        }
        --*steps;
        if (uri.p[ends[i]] == '/' && !part->any) {
            if (last_any == n) {
                return false;
            }
            i = last_any;
            continue; /* its literal fitted once: one byte more */
        }
        ends[i]++;
        if (!template_literal_fits(uri, ends[i], part->literal, i + 1 == n)) {
            continue;
        }
        if (part->any) {
            last_any = i;
        }
        i++;
        if (i < n) {
            starts[i] = ends[i - 1] + part->literal.n;
            ends[i] = starts[i];
        }
    }
    return true;
}

static int template_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes the percent signs in place. */
static bool template_decode(char *p, size_t *n)
{
    size_t n_out = 0;

    for (size_t i = 0; i < *n; i++) {
        if (p[i] != '%') {
            p[n_out++] = p[i];
            continue;
        }
        if (*n - i < 3 || template_hex(p[i + 1]) < 0 || template_hex(p[i + 2]) < 0) {
            return false;
        }
        p[n_out++] = (char)(template_hex(p[i + 1]) * 16 + template_hex(p[i + 2]));
        i += 2;
    }
    *n = n_out;
    return true;
}

int uritemplate_match(const UriTemplate *template, Span uri, size_t *steps, Arena *arena,
                      const CallVariable **ret_variables, size_t *ret_n)
{
    size_t starts[URITEMPLATE_VARIABLES];
    size_t ends[URITEMPLATE_VARIABLES];
    CallVariable *variables;

    if (!template_search(template, uri, steps, starts, ends)) {
        return URITEMPLATE_E_MISMATCH;
    }
    variables = arena_alloc_array(arena, template->n_parts, sizeof(*variables));
    if (variables == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < template->n_parts; i++) {
        size_t n = ends[i] - starts[i];
        char *value = arena_alloc(arena, n);

        if (value == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(value, uri.p + starts[i], n);
        if (!template_decode(value, &n)) {
            return URITEMPLATE_E_MISMATCH;
        }
        variables[i] = (CallVariable){template->parts[i].name, span_make(value, n)};
    }
    *ret_variables = variables;
    *ret_n = template->n_parts;
    return 0;
}
