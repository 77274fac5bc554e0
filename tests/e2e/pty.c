#include "e2e/pty.h"

#include "support/cmocka.h"

#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void pty_start(Pty *pty, const char *const *argv, const char *const *environment)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};

    *pty = (Pty){.fd = -1};
    pty->pid = forkpty(&pty->fd, NULL, NULL, &size);
    assert_true(pty->pid >= 0);
    if (pty->pid == 0) {
        for (; environment != NULL && *environment != NULL; environment++) {
            char *copy = strdup(*environment);

            (void)putenv(copy);
        }
        (void)execvp(argv[0], (char *const *)(const void *)argv);
        _exit(127);
    }
}

/* Reads once; false at the end, which a terminal tells by EIO. */
static bool pty_read(Pty *pty)
{
    ssize_t n;

    assert_true(pty->n + 1 < PTY_SHOWN);
    do {
        n = read(pty->fd, pty->shown + pty->n, PTY_SHOWN - 1 - pty->n);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return false;
    }
    pty->n += (size_t)n;
    pty->shown[pty->n] = '\0';
    return true;
}

void pty_expect(Pty *pty, const char *text)
{
    const char *found;

    while ((found = strstr(pty->shown + pty->n_expected, text)) == NULL) {
        if (!pty_read(pty)) {
            print_error("the program ended before it showed '%s':\n%s\n", text, pty->shown);
            fail();
            return;
        }
    }
    pty->n_expected = (size_t)(found - pty->shown) + strlen(text);
}

void pty_type(Pty *pty, const char *text)
{
    assert_int_equal(write(pty->fd, text, strlen(text)), (ssize_t)strlen(text));
}

int pty_finish(Pty *pty)
{
    int status = 0;

    while (pty_read(pty)) {
    }
    (void)close(pty->fd);
    assert_int_equal(waitpid(pty->pid, &status, 0), pty->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool pty_has_shown(const Pty *pty, const char *text)
{
    return strstr(pty->shown, text) != NULL;
}
