#include "cli/ask_line.h"

#include <stdio.h>
#include <windows.h>

/* Set by Ctrl-C while a question stands on the terminal; the system calls the handler on a thread
 * of its own. */
static volatile LONG arg_interrupted;

static BOOL WINAPI ask_on_interrupt(DWORD event)
{
    if (event != CTRL_C_EVENT) {
        return FALSE;
    }
    (void)InterlockedExchange(&arg_interrupted, 1);
    return TRUE;
}

bool ask_line_read(const char *prompt, char *line, size_t size, size_t *ret_n)
{
    HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
    size_t n = 0;
    DWORD got = 0;
    bool is_read = true;

    (void)SetConsoleCtrlHandler(ask_on_interrupt, TRUE);
    fputs(prompt, stderr);
    (void)fflush(stderr);
    while (n < size) {
        is_read = ReadFile(input, line + n, 1, &got, NULL) && got == 1;
        if (!is_read || line[n] == '\n') {
            break;
        }
        n++;
    }
    (void)SetConsoleCtrlHandler(ask_on_interrupt, FALSE);
    if (n > 0 && line[n - 1] == '\r') {
        n--; /* lines end in two characters there */
    }
    *ret_n = n;
    return is_read;
}

void ask_line_drop_typed(void)
{
    (void)FlushConsoleInputBuffer(GetStdHandle(STD_INPUT_HANDLE));
}

bool ask_line_was_interrupted(void)
{
    return arg_interrupted != 0;
}

void ask_line_forget(void)
{
    (void)InterlockedExchange(&arg_interrupted, 0);
}
