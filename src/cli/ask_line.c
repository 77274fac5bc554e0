#include "cli/ask_line.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Set by Ctrl-C while a question stands on the terminal. */
static volatile sig_atomic_t arg_interrupted;

static void ask_on_interrupt(int signum)
{
    (void)signum;
    arg_interrupted = 1;
}

bool ask_line_read(char *line, size_t size, size_t *ret_n)
{
    struct sigaction ours = {.sa_handler = ask_on_interrupt}; /* no SA_RESTART: read returns */
    struct sigaction before;
    size_t n = 0;
    ssize_t got = 1;

    (void)fflush(stderr);
    (void)sigaction(SIGINT, &ours, &before);
    while (n < size && (got = read(STDIN_FILENO, line + n, 1)) == 1 && line[n] != '\n') {
        n++;
    }
    (void)sigaction(SIGINT, &before, NULL);
    *ret_n = n;
    return got == 1;
}

bool ask_line_was_interrupted(void)
{
    return arg_interrupted != 0;
}

void ask_line_forget(void)
{
    arg_interrupted = 0;
}
