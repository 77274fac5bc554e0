#include "cli/start.h"

void cli_start(void)
{
    /* They do. */
}
