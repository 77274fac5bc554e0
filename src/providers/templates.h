/* providers/templates.h: the templates as tools, resources and prompts of a router.
 *
 *     generate_template, list_templates, validate_template, scaffold_project, search_templates
 *     template://CATEGORY/TOOLCHAIN/VARIANT    each template's text, with completion
 *     scaffold-TOOLCHAIN-project               a prompt for each toolchain
 *
 * The templates are read when they are first needed (router_set_filler), unless folders are named:
 * then at once, so that what is wrong with those is known at the beginning. A process that is
 * started for other tools does not wait for them. Errors are the provider's own (CALL_ERROR_OWN),
 * with the numbers below. Every call is answered before its start returns. Once they were
 * read, the folders are looked at every other second; what changed in them is read anew, and
 * resources and prompts change with it. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

/* The numbers of the toolkit's documents. */
#define TEMPLATES_ERROR_NOT_FOUND  (-32000)
#define TEMPLATES_ERROR_URI        (-32001)
#define TEMPLATES_ERROR_PARAMETERS (-32002)
#define TEMPLATES_ERROR_RENDER     (-32004)

enum {
    TEMPLATES_E_FOLDER = 1, /* a folder of templates, or write_root, cannot be used; Diag */
    TEMPLATES_E_EXISTS,     /* a tool of one of the names is there already; Diag */
};

typedef struct TemplatesConfig {
    Router *router;
    IoLoop *loop;
    const LogSink *log;         /* may be NULL */
    const char *const *folders; /* NULL-terminated, or NULL (providers/template_source.h); copied */
    const char *write_root;     /* where scaffold_project may write; NULL: nowhere; copied */
} TemplatesConfig;

typedef struct Templates Templates;

/* Adds the tools to the router, which it borrows until free, as loop and log. 0, a negative errno,
 * TEMPLATES_E_*. Gives *ret. */
int templates_new(Templates **ret, const TemplatesConfig *config, Diag *reterr_diag);

/* Takes all of it out again. */
Templates *templates_free(Templates *templates);

/* Looks at the folders now, and reads them if something has changed: what the clock does otherwise.
 * Nothing is read as long as nobody has needed it. 0, -ENOMEM. */
int templates_refresh(Templates *templates);
