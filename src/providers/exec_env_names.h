/* providers/exec_env_names.h: which variables of ours every command gets, and when two names are
 * the same: what differs between systems; for providers/exec_env.c alone. All else stays here:
 * tokens and keys are kept in variables, and a tool that needs one names it. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* NULL-terminated. */
extern const char *const exec_env_names[];

/* Whether the first n bytes of a and b name the same variable; an end of string is a byte like any
 * other. */
bool exec_env_is_same(const char *a, const char *b, size_t n);
