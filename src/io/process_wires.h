/* io/process_wires.h: what a child reads and writes; for io/process.c alone. */
#pragma once

#include "io/process.h"

/* Both ends of the three wires; -1 where there is none. */
typedef struct IoProcessWires {
    int ours[3];
    int theirs[3];
} IoProcessWires;

/* Opens those that spec asks for, and places its input where that can be. 0, or a negative errno:
 * the caller closes what is open in either case. */
int io_process_open_wires(IoProcessWires *wires, const IoProcessSpec *spec);
void io_process_close_wires(int fds[3]);
