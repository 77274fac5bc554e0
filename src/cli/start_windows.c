#include "cli/start.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>

void cli_start(void)
{
    /* Else every newline would become two characters, and Ctrl-Z the end of a file. */
    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
    (void)_setmode(_fileno(stderr), _O_BINARY);
}
