/* cli/ask_line.h: one line that a person types. Thread: main. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Prints prompt on stderr and reads a line from the terminal, without its newline, up to size bytes
 * of it. False at its end and on Ctrl-C, which does not end the program from the moment on in which
 * the prompt can be read. */
bool ask_line_read(const char *prompt, char *line, size_t size, size_t *ret_n);

/* Drops what was typed and not read yet: an answer to a question that nobody has seen is none. */
void ask_line_drop_typed(void);

/* Has Ctrl-C been pressed at a line since the last forget? */
bool ask_line_was_interrupted(void);
void ask_line_forget(void);
