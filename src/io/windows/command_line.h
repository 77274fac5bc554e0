/* io/windows/command_line.h: what CreateProcess wants of a program: its path, its arguments in one
 * line, its variables in one block. Thread: any.
 */
#pragma once

#include "io/process.h"
#include "io/windows/system.h"

/* The program that argv[0] means: a path as it is, seen from folder if it is relative; a name where
 * PATH of the environment has it. With .com and .exe added if it has no such ending. Gives *ret
 * (mem_free). 0, -ENOMEM, another negative errno (-ENOENT). */
int win_program_find(wchar_t **ret, const IoProcessSpec *spec);

/* Is it a batch file? The system would have a shell read our arguments, which then mean something
 * else. */
bool win_program_is_batch(const wchar_t *path);

/* The arguments so that the C library of the program takes them apart as they were. Gives *ret
 * (mem_free). 0 or a negative errno. */
int win_command_line(wchar_t **ret, const char *const *argv);

/* The variables as a block, in the order that the system wants; with those of ours without which
 * hardly a program starts. Gives *ret (mem_free); NULL for ours. 0 or a negative errno. */
int win_environment_block(wchar_t **ret, const char *const *environment);
