/* cli/cmd_template_catalog.h: the templates that a sub-command works on, and how people name them.
 *
 * Functions that return an exit status have said the reason on stderr. Thread: main. */
#pragma once

#include "base/span.h"
#include "cli/cli.h"
#include "toolkit/templates/catalog.h"

/* Options that several sub-commands have, at the same places in their tables. */
enum {
    TEMPLATE_OPTION_TEMPLATES,
    TEMPLATE_OPTION_JSON,
    TEMPLATE_OPTION_OWN, /* the first of their own */
};

#define TEMPLATE_OPTION_TEMPLATES_ROW                                                              \
    {                                                                                              \
        "templates", "DIR...", "take also the templates in this folder; may be repeated"           \
    }
#define TEMPLATE_OPTION_JSON_ROW                                                                   \
    {                                                                                              \
        "json", NULL, "print JSON, for a program to read"                                          \
    }

/* Everything that is built in, in the user's folder, and in those of --templates. 0 or an exit
 * status. Gives *ret. */
int template_cli_open(const CliArgs *args, TemplateCatalog **ret);
void template_cli_closep(TemplateCatalog **catalog);

/* The template of a URI, or of "CATEGORY/TOOLCHAIN" (the variant cli, else the first there is), or
 * of "CATEGORY/TOOLCHAIN/VARIANT"; NULL if there is none. */
const Template *template_cli_find(const TemplateCatalog *catalog, Span name);

/* The template that a word means in a project of that toolchain: "makefile", "license/isc" or a
 * whole URI; NULL if there is none. */
const Template *template_cli_find_in(const TemplateCatalog *catalog, Span toolchain, Span word);

/* The same as `find`, but what is not there is said, with the nearest that is. */
int template_cli_need(const CliArgs *args, const TemplateCatalog *catalog, const char *name,
                      const Template **ret);

/* Says that there is no such toolchain, with the nearest; returns the exit status. */
int template_cli_no_toolchain(const CliArgs *args, const TemplateCatalog *catalog,
                              const char *name);

/* Says what went wrong; returns CLI_EXIT_FAILED. */
TW_PRINTF(2, 3) int template_cli_fail(const CliArgs *args, const char *format, ...);
int template_cli_no_memory(const CliArgs *args);

/* Text of a file: byte for byte, but at a terminal without its control characters. */
void template_cli_print_text(Span text);
