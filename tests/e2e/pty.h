/* A program on a terminal of its own, as a person would use it: what it shows is waited for, and
 * answered. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PTY_SHOWN 65536

typedef struct Pty {
    pid_t pid;
    int fd;
    char shown[PTY_SHOWN]; /* all of it so far, NUL-terminated */
    size_t n;
    size_t n_expected; /* up to where it was asked for */
} Pty;

/* Starts it on a terminal of 80 columns. environment: "NAME=value", up to a NULL, beside ours. */
void pty_start(Pty *pty, const char *const *argv, const char *const *environment);

/* Waits until text is shown behind what was expected before. Fails the test if the program ends
 * first; one that shows something else for ever is ended by the test's own time limit. */
void pty_expect(Pty *pty, const char *text);

/* Types; "\x03" is Ctrl-C, "\x04" Ctrl-D. */
void pty_type(Pty *pty, const char *text);

/* Reads to the end and returns the exit status; -1 if a signal ended it. */
int pty_finish(Pty *pty);

/* Was text shown at any time? */
bool pty_has_shown(const Pty *pty, const char *text);
