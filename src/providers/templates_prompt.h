/* providers/templates_prompt.h: what the files of the prompt share. Private. */
#pragma once

#include "providers/templates_impl.h"

#include <stdbool.h>
#include <stddef.h>

/* Arguments of a prompt: what a person fills in. */
#define PROMPT_ARGUMENTS 12

/* Names of templates in one argument: what a project takes. */
#define PROMPT_NAMES TEMPLATE_PROJECT_NAMES

typedef struct PromptArguments {
    const TemplateParameter *parameters[PROMPT_ARGUMENTS];
    size_t n;
} PromptArguments;

/* A prompt that is got. */
typedef struct PromptRun {
    Templates *templates;
    Span toolchain;
    JsonValue given;                     /* the call's arguments; node NULL if there are none */
    Span names[PROMPT_NAMES];            /* of templates, as they are to be asked for */
    const Template *found[PROMPT_NAMES]; /* NULL: none, which the check refuses */
    size_t n;
    size_t n_asked;            /* with those for which there is no place */
    PromptArguments arguments; /* that the prompt has, beside project_name and templates */
} PromptRun;

/* The parameter of that name of one of the chosen templates; NULL if none has it. */
const TemplateParameter *templates_prompt_parameter(const PromptRun *run, Span name);

/* Writes the arguments as an object of parameters, each of its type: those that the chosen
 * templates have, or all of them. project_name is always there; another one that is empty was not
 * filled in. 0, -ENOMEM. */
int templates_prompt_write_values(const PromptRun *run, JsonWriter *w, bool all);

/* Checks names and values. *ret_ended: the call has ended with all that is wrong. What is missing
 * is not, since the prompt says to ask for it. Uses structured. 0, -ENOMEM, BYTES_E_FULL. */
int templates_prompt_check(const PromptRun *run, Call *call, bool *ret_ended);
