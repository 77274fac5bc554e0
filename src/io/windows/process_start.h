/* io/windows/process_start.h: CreateProcess, and what it wants; for io/windows/process.c alone.
 *
 * libuv's uv_spawn starts a program before it can be put into a job, and so what that starts at
 * once is not in it. Here the program is put into its job first and runs then.
 */
#pragma once

#include "io/process.h"
#include "io/windows/system.h"

typedef struct WinChild {
    HANDLE process;
    DWORD pid;
    bool has_console; /* ours: its group can be told to end */
} WinChild;

/* Starts the program of spec in the job, with theirs as standard handles (NULL: ours of that
 * number), which alone it inherits. Borrows everything. 0, a negative errno, or
 * IO_PROCESS_E_CANNOT_START with a Diag. */
int win_process_start(const IoProcessSpec *spec, HANDLE job, const HANDLE theirs[3], WinChild *ret,
                      Diag *reterr_diag);
