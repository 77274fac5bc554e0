/* app/command_there.h: which methods applications that fetch have asked for lately. What nobody
 * has, and nobody fetches, is an unknown command. Thread: loop. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that are remembered; of more the one that was asked for longest ago goes. */
#define COMMAND_THERE_NAMES 512

typedef struct CommandThereName {
    char *name;
    size_t n;
    int64_t at_ms;
} CommandThereName;

typedef struct CommandThere {
    int64_t any_ms; /* when one last asked for any method; INT64_MIN: never */
    CommandThereName names[COMMAND_THERE_NAMES];
    size_t n;
} CommandThere;

void command_there_init(CommandThere *there);
void command_there_deinit(CommandThere *there);

/* One asks for these; methods NULL: for any. What there is no memory for is not remembered. */
void command_there_note(CommandThere *there, const Span *methods, size_t n, int64_t now_ms);

/* Has one asked for it within LIMIT_COMMAND_THERE_MS? */
bool command_there_has(const CommandThere *there, Span method, int64_t now_ms);
