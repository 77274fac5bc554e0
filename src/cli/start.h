/* cli/start.h: what the program does once, before anything else. Thread: main. */
#pragma once

/* Standard streams carry bytes, on every system. */
void cli_start(void);
