/* io/program.h: this process: its program, its number, its terminal. Thread: any. */
#pragma once

#include <stdbool.h>

/* The absolute path of the program that runs. Gives *ret (mem_free). 0, -ENOMEM, another negative
 * errno. */
int io_program_path(char **ret);

long io_program_pid(void);

/* Is the descriptor a terminal, where a person reads or types? */
bool io_terminal_is(int fd);

/* How many columns the terminal has; 0 if it is none, or does not say. */
int io_terminal_columns(int fd);
