/* cli/cmd_template_input.h: the values of parameters: from a file, from words, and from the person
 * at the terminal.
 *
 *     NAME=VALUE   text, as the parameter's type wants it: yes and no for a boolean, commas between
 *                  the elements of an array
 *     NAME:=JSON   JSON, whatever the type
 *
 * What does not fit the type stays text, so that the check of all values names it with the rest.
 * Thread: main.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "cli/cli.h"
#include "toolkit/templates/manifest.h"
#include "toolkit/templates/project.h"
#include "json/json.h"

#include <stddef.h>

enum {
    TEMPLATE_INPUT_E_WRONG = 1, /* a word that cannot be used; the Diag says why */
};

/* The values for one or several templates. */
typedef struct TemplateInput {
    const Template *const *templates; /* borrowed */
    size_t n_templates;
    Bytes text; /* of the object */
    Arena arena;
    JsonValue values; /* after template_input_index */
} TemplateInput;

void template_input_init(TemplateInput *input, const Template *const *templates, size_t n);
void template_input_deinit(TemplateInput *input);

/* Appends the members of an object. 0, -ENOMEM, TEMPLATE_INPUT_E_WRONG. */
int template_input_add_object(TemplateInput *input, Span json, Diag *reterr_diag);

/* Appends one NAME=VALUE or NAME:=JSON. 0, -ENOMEM, TEMPLATE_INPUT_E_WRONG. */
int template_input_add_word(TemplateInput *input, const char *word, Diag *reterr_diag);

/* Appends a value that was typed for a parameter. 0, -ENOMEM. */
int template_input_add_typed(TemplateInput *input, const TemplateParameter *p, Span typed);

/* Makes `values` of what was added. 0, -ENOMEM. */
int template_input_index(TemplateInput *input);

/* Where in the tables of options these two stand: -p and --params. */
typedef struct TemplateInputOptions {
    size_t p;
    size_t params;
} TemplateInputOptions;

#define TEMPLATE_OPTION_P_ROW                                                                      \
    {                                                                                              \
        "p", "NAME=VALUE...", "a parameter; NAME:=JSON for a value in JSON"                        \
    }
#define TEMPLATE_OPTION_PARAMS_ROW                                                                 \
    {                                                                                              \
        "params", "FILE", "parameters as a JSON object; '-' is standard input"                     \
    }

/* Takes the options, and asks for required parameters that are missing if standard input is a
 * terminal. 0 or an exit status, the reason said. */
int template_input_read(TemplateInput *input, const CliArgs *args, TemplateInputOptions options);

/* Says why templates could not be made, each fault once, on stderr, and with --json on stdout, too.
 * Returns CLI_EXIT_USAGE where values are at fault, else CLI_EXIT_FAILED. */
int template_input_explain(const CliArgs *args, const TemplateProject *project);
