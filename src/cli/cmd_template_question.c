#include "cli/cmd_template_question.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/ask_line.h"
#include "cli/cmd_template_catalog.h"
#include "cli/table.h"

/* What a person types. */
#define QUESTION_LINE_BYTES 4096

enum {
    QUESTION_E_ENDED = 1, /* no more answers: the terminal's end, or Ctrl-C */
};

/* "project_name - Name of the project (string): " */
static void print_question(const TemplateParameter *p)
{
    table_print_safe(stderr, p->name, false);
    if (p->description.n > 0) {
        fprintf(stderr, " - ");
        table_print_safe(stderr, p->description, false);
    }
    switch (p->type) {
    case TEMPLATE_BOOLEAN:
        fprintf(stderr, " (yes or no): ");
        break;
    case TEMPLATE_ARRAY:
        fprintf(stderr, " (several, with commas): ");
        break;
    case TEMPLATE_CHOICE:
        fprintf(stderr, " (one of ");
        table_print_safe(stderr, json_span(p->choices), false);
        fprintf(stderr, "): ");
        break;
    default:
        fprintf(stderr, " (%s): ", template_type_name(p->type));
    }
}

/* Is the fault one of this parameter, or of an element of it? */
static bool is_about(const TemplateFault *fault, Span name)
{
    return span_starts_with(fault->parameter, name) &&
           (fault->parameter.n == name.n || fault->parameter.p[name.n] == '[');
}

/* Whether the last answer will do; what is wrong with it is said. 0, -ENOMEM. */
static int check_answer(const TemplateInput *input, const Template *t, Span name, bool *ret_is_good)
{
    TemplateValues values;
    int r;

    *ret_is_good = true;
    template_values_init(&values);
    r = template_values_check(&values, t, input->values, NULL, NULL);
    for (size_t i = 0; r == 0 && i < values.n_faults; i++) {
        if (is_about(&values.faults[i], name)) {
            table_print_safe(stderr, values.faults[i].message, false);
            fprintf(stderr, "\n");
            *ret_is_good = false;
        }
    }
    template_values_deinit(&values);
    return r;
}

/* Asks until the answer will do. 0, -ENOMEM, QUESTION_E_ENDED. */
static int ask_for(TemplateInput *input, const Template *t, const TemplateParameter *p)
{
    char line[QUESTION_LINE_BYTES];
    size_t before = input->text.n;
    bool is_good = false;

    while (!is_good) {
        size_t n = 0;
        int r;

        print_question(p);
        if (!ask_line_read("", line, sizeof(line), &n)) {
            fprintf(stderr, "\n");
            return QUESTION_E_ENDED;
        }
        r = template_input_add_typed(input, p, span_make(line, n));
        if (r == 0) {
            r = template_input_index(input);
        }
        if (r == 0) {
            r = check_answer(input, t, p->name, &is_good);
        }
        if (r == 0 && !is_good) {
            /* Taken off again: the object's end goes back to where it was. */
            input->text.n = before;
            if (before > 0) {
                input->text.data[before - 1] = '}';
            }
            r = template_input_index(input);
        }
        if (r != 0) {
            return err_pass(r);
        }
    }
    return 0;
}

static int ask_for_missing(TemplateInput *input, const Template *t)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < t->n_parameters; i++) {
        const TemplateParameter *p = &t->parameters[i];
        JsonValue given;

        if (p->required && !json_get(input->values, p->name, &given)) {
            r = ask_for(input, t, p);
        }
    }
    return r;
}

int template_question_all(TemplateInput *input, const CliArgs *args)
{
    int r = 0;

    ask_line_forget();
    for (size_t i = 0; r == 0 && i < input->n_templates; i++) {
        r = ask_for_missing(input, input->templates[i]);
    }
    if (ask_line_was_interrupted()) {
        return template_cli_fail(args, "given up; nothing was made");
    }
    return r < 0 ? template_cli_no_memory(args) : 0;
}
