/* cli/cmd_template_question.h: required parameters that were not given, asked for at the terminal.
 * Thread: main. */
#pragma once

#include "cli/cli.h"
#include "cli/cmd_template_input.h"

/* Asks, on stderr, for each once, until its answer will do. At the terminal's end what is missing
 * stays so; after Ctrl-C the status is CLI_EXIT_FAILED. 0 or an exit status, the reason said. */
int template_question_all(TemplateInput *input, const CliArgs *args);
