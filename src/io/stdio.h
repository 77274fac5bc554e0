/* io/stdio.h: standard input and output as a wire of our own.
 *
 * After io_stdio_claim nothing in the process can write into the protocol by accident: descriptor 1
 * is stderr's twin and descriptor 0 reads /dev/null. All other open descriptors become
 * close-on-exec, so that no child inherits what we did. Thread: loop, once, before other threads.
 */
#pragma once

/* Gives two close-on-exec descriptors for what was standard input and output; an output pipe is
 * widened to 1 MiB where the system lets us (for input see io_stream_widen_input). 0, or a negative
 * errno with nothing changed. */
int io_stdio_claim(int *ret_in_fd, int *ret_out_fd);
