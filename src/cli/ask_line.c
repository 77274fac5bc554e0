#include "cli/ask_line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

/* Set by Ctrl-C while a question stands on the terminal. */
static volatile sig_atomic_t arg_interrupted;

static void ask_on_interrupt(int signum)
{
    (void)signum;
    arg_interrupted = 1;
}

/* The next byte; false at the end of the input, and if Ctrl-C came, which it only does in here. */
static bool ask_next(char *ret, const sigset_t *mask)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

    /* Not pselect, which the thread sanitizer does not know: it keeps the handler back until a call
     * that it does. */
    while (arg_interrupted == 0 && ppoll(&input, 1, NULL, mask) < 0 && errno == EINTR) {
    }
    return arg_interrupted == 0 && read(STDIN_FILENO, ret, 1) == 1;
}

bool ask_line_read(const char *prompt, char *line, size_t size, size_t *ret_n)
{
    struct sigaction ours = {.sa_handler = ask_on_interrupt};
    struct sigaction before;
    sigset_t interrupt;
    sigset_t mask;
    size_t n = 0;
    bool is_read = true;

    /* Blocked but while we wait for input: a Ctrl-C between the prompt and the waiting would not
     * end it. */
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupt, &mask);
    (void)sigaction(SIGINT, &ours, &before);
    fputs(prompt, stderr);
    (void)fflush(stderr);
    while (n < size && (is_read = ask_next(&line[n], &mask)) && line[n] != '\n') {
        n++;
    }
    (void)sigaction(SIGINT, &before, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    *ret_n = n;
    return is_read;
}

void ask_line_drop_typed(void)
{
    (void)tcflush(STDIN_FILENO, TCIFLUSH);
}

bool ask_line_was_interrupted(void)
{
    return arg_interrupted != 0;
}

void ask_line_forget(void)
{
    arg_interrupted = 0;
}
