/* fuzz/fuzz.h: the one function that every fuzz target defines, and how it reports a finding. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Called once before the first input, where a target has it. Returns 0. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Called by libFuzzer, or by replay_main.c for each file of the corpus. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, in every build type, if a promise is broken: assert would be gone in release
 * builds. */
#define FUZZ_REQUIRE(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
