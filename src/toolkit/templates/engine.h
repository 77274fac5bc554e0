/* toolkit/templates/engine.h: text with {{…}} in it, compiled once, rendered often.
 *
 * The language is Handlebars without what a file needs not: values are written as they are, never
 * as HTML. Output is byte for byte that of Handlebars 4 with noEscape. Known are
 *
 *     {{name}} {{a.b}} {{this}} {{../name}} {{./name}} {{[odd name]}} {{@root.name}} {{{name}}}
 *     {{&name}}
 *     {{#if}} {{#unless}} {{#each}} {{#with}} {{#value}}, {{^if}}… {{^value}}, {{else}} {{^}},
 *     {{else if}} {{else each}}…, block parameters of each and with (as |x i|)
 *     @index @first @last @key, also of the loop around (@../index)
 *     {{! comment }} {{!-- comment --}}, {{~ and ~}}, \{{ and \\{{, tags alone on their line
 *     helpers (toolkit/templates/helpers.h) with values, literals ("text", 1, true, null) and
 *     (helper …) as arguments: snake_case kebab_case pascal_case upper lower title default join
 *     current_year current_date
 *
 * Errors, with line and column, are partials, decorators, raw blocks, named arguments, unknown
 * helpers (also where the text never comes to them), lookup and log, helpers as blocks, and a wrong
 * number of arguments. What differs from Handlebars otherwise: numbers that are printed side by
 * side are not added ({{a}}{{b}} of 1 and 2 is 12, where noEscape makes 3 of it); half of a
 * character beyond U+FFFF ({{text.[0]}}) is U+FFFD; an object prints as [object Object] whatever
 * members it has. A program is not changed by rendering. Performs no I/O; time is given. Thread:
 * any.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TEMPLATE_E_SYNTAX = 1, /* the Diag has line, column, and what was expected */
    TEMPLATE_E_RENDER,     /* a helper got what it cannot use; the Diag has line and column */
};

typedef struct TemplateProgram TemplateProgram;

/* Copies text, which is UTF-8, without NUL, and of 16 MiB at most. Blocks nest TEMPLATE_DEPTH deep
 * at most. 0, -ENOMEM, TEMPLATE_E_SYNTAX. Gives *ret. */
#define TEMPLATE_DEPTH 64
int template_compile(TemplateProgram **ret, Span text, Diag *reterr_diag);
TemplateProgram *template_free(TemplateProgram *program);

/* Appends the text for values (an object; node NULL counts as {}). unix_ms: what current_year,
 * current_date and the value current_timestamp (which values cannot override) say, in UTC. Loops in
 * loops that take too long are a TEMPLATE_E_RENDER, without a place. 0, -ENOMEM, BYTES_E_FULL (also
 * if arguments of helpers make more than 16 MiB), TEMPLATE_E_RENDER; on failure out is as it was.
 */
int template_render(const TemplateProgram *program, JsonValue values, int64_t unix_ms, Bytes *out,
                    Diag *reterr_diag);

/* The names at the top that the text uses, each once, in the order of their first use; borrowed.
 * Names inside each and with are left out where they mean the inner value; those inside {{#value}}
 * are there, since for true it changes nothing. Not there: current_timestamp. */
size_t template_variables(const TemplateProgram *program, const Span **ret_names);
