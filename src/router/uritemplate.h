/* router/uritemplate.h: URI templates (RFC 6570) read backwards: from a URI to the values.
 *
 * Known are `{name}` (one or more bytes, no '/') and `{+name}` (one or more bytes of any kind),
 * with one name each, and no name twice; every other expression is refused. Where several ways of
 * matching exist, earlier variables are the shorter ones. Thread: any; a template may be shared.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "call/call.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    URITEMPLATE_E_MALFORMED = 1, /* not a template, or an expression that is not known; the Diag */
    URITEMPLATE_E_MISMATCH       /* the URI is not one of the template's */
};

/* Most variables of a template; a path with more is not meant for people. */
#define URITEMPLATE_VARIABLES 32

/* Comparisons that one URI may cost, over all the templates it is tried with: a URI of a megabyte
 * against two `{+name}` would need its square. 5 ms; honest URIs need a thousandth. */
#define URITEMPLATE_STEPS 4000000

typedef struct UriTemplate UriTemplate;

/* Copies text. 0, -ENOMEM, URITEMPLATE_E_MALFORMED. Gives *ret. */
int uritemplate_new(UriTemplate **ret, Span text, Diag *reterr_diag);
UriTemplate *uritemplate_free(UriTemplate *template);

/* Is it the template's URI? *steps is what may still be spent, and becomes less; at 0 nothing
 * matches. The values, percent-decoded, are built in the arena (a name is borrowed from the
 * template); a stray percent sign is a mismatch. A decoded value may hold any byte, '/' and NUL
 * included: whoever opens a file by it looks at it first.
 * 0, -ENOMEM, URITEMPLATE_E_MISMATCH. */
int uritemplate_match(const UriTemplate *template, Span uri, size_t *steps, Arena *arena,
                      const CallVariable **ret_variables, size_t *ret_n);

/* Is there a variable of that name? */
bool uritemplate_has(const UriTemplate *template, Span name);
