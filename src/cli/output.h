/* cli/output.h: standard output, and why what was written did not get there. Thread: main. */
#pragma once

/* Sends what has been written so far. Whoever goes on to other things calls this first: they would
 * make the reason of a failure be forgotten. */
void output_flush(void);

/* The same at the end. 0; or the errno of the first failure, also of one before: EIO if it is not
 * known any more. */
int output_finish(void);
