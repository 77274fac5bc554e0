/* cli/cmd_template_json.h: what the sub-commands of `template` print for programs: the names are
 * those that the tools of the server use.
 *
 * Functions return an exit status. Thread: main. */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "cli/cli.h"
#include "toolkit/templates/catalog.h"
#include "toolkit/templates/parameters.h"
#include "toolkit/templates/project.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes "key": "value". */
void template_json_member(JsonWriter *w, const char *key, Span value);

/* Writes "toolchain": {"type": "rust"}. */
void template_json_toolchain(JsonWriter *w, Span toolchain);

/* The members that say which template it is. */
void template_json_head(JsonWriter *w, const Template *t);

/* The object of a template with all that its manifest says; source: also its text. */
void template_json_write(JsonWriter *w, const Template *t, bool with_source);

/* An array of {parameter, code, message, expected, got}. */
void template_json_faults(JsonWriter *w, const TemplateFault *const *faults, size_t n);

/* The members of a file that was made, but for its content. */
void template_json_file(JsonWriter *w, const TemplateFile *file);

/* Ends the text, and prints it on a line of its own. */
int template_json_print(const CliArgs *args, JsonWriter *w);

int template_json_print_list(const CliArgs *args, const TemplateCatalog *catalog,
                             const TemplateFilter *filter);
int template_json_print_hits(const CliArgs *args, Span query, const TemplateHit *hits, size_t n);
