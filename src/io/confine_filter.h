/* io/confine_filter.h: the system calls that a confined child may not make, where landlock does not
 * see them. Private to io/confine*.c. */
#pragma once

#include <stdbool.h>

/* Room for the filter's instructions, checked while it is made. */
#define CONFINE_FILTER_SIZE 128

struct sock_filter;

/* Writes the filter; returns how many instructions it has, 0: it is not known how on this machine.
 */
unsigned short confine_filter_make(struct sock_filter *out, bool allow_network);
