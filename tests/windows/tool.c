/* A command for the tools of the tests: what it does is its first argument.
 *
 *   tool echo       standard input, as it came
 *   tool fail       words on standard error, and status 3
 *   tool wait       does not end by itself
 *   tool where      the folder that it was started in
 *   tool variable NAME
 *   tool arguments …, one a line
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static int tool_echo(void)
{
    char part[65536];
    size_t n;

    while ((n = fread(part, 1, sizeof(part), stdin)) > 0) {
        (void)fwrite(part, 1, n, stdout);
    }
    return 0;
}

static int tool_where(void)
{
    char folder[MAX_PATH];
    DWORD n = GetCurrentDirectoryA(sizeof(folder), folder);

    (void)fwrite(folder, 1, n, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
    if (strcmp(what, "echo") == 0) {
        return tool_echo();
    }
    if (strcmp(what, "where") == 0) {
        return tool_where();
    }
    if (strcmp(what, "variable") == 0 && argc > 2) {
        const char *value = getenv(argv[2]);

        printf("%s", value != NULL ? value : "(not set)");
        return 0;
    }
    if (strcmp(what, "arguments") == 0) {
        for (int i = 2; i < argc; i++) {
            printf("%s\n", argv[i]);
        }
        return 0;
    }
    if (strcmp(what, "wait") == 0) {
        Sleep(INFINITE);
    }
    fprintf(stderr, "the tool fails\n");
    return 3;
}
