#include "app/end_signals.h"

#include <signal.h>

/* What libuv calls the end of the console, of the session, and of the machine's day. */
#define END_SIGNALS_HANGUP 1

/* Ctrl-Break stands for SIGTERM, which nobody can send there. */
const int end_signals[END_SIGNALS_N] = {SIGBREAK, SIGINT, END_SIGNALS_HANGUP};
const int end_signals_reload = 0; /* a console that is closed is no wish to go on */

/* Before somebody listens there is nothing yet that a program would leave behind, and afterwards
 * the system takes away what it leaves: nothing need wait. */
void end_signals_block(void) {}

void end_signals_unblock(void) {}
