/* app/command_there.h: which methods applications that fetch are known to take. One is known while
 * it has a job under a lease, and for a while after it was last heard of: it may be busy, or about
 * to start again. What nobody has, and no such application takes, is an unknown command.
 * Thread: loop. */
#pragma once

#include "base/span.h"
#include "queue/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that are remembered; of more the one that was asked for longest ago goes. */
#define COMMAND_THERE_NAMES 512

/* Leases that are remembered; of more it is only known that their applications were there. */
#define COMMAND_THERE_LEASES 1024

typedef struct CommandThereName {
    char *name;
    size_t n;
    int64_t at_ms;
} CommandThereName;

typedef struct CommandThereLease CommandThereLease;

typedef struct CommandThere {
    int64_t known_ms; /* after it was last heard of */
    int64_t any_ms;   /* when one that takes any method was last heard of; INT64_MIN: never */
    CommandThereName names[COMMAND_THERE_NAMES];
    size_t n;
    CommandThereLease *leases;
    size_t n_leases;
} CommandThere;

void command_there_init(CommandThere *there, int64_t known_ms);
void command_there_deinit(CommandThere *there);

/* One asks for these; methods NULL: for any. What there is no memory for is not remembered. */
void command_there_note(CommandThere *there, const Span *methods, size_t n, int64_t now_ms);

/* One that takes these has a job until then. Those who are not known any more are forgotten. */
void command_there_lease(CommandThere *there, const char *id, const Span *methods, size_t n,
                         int64_t until_ms, int64_t now_ms);

/* It has given a sign of life, and has the job until then; or it has answered (until_ms 0). Of a
 * lease that is not remembered nobody knows what its application takes: any method. */
void command_there_beat(CommandThere *there, const char *id, int64_t until_ms, int64_t now_ms);

bool command_there_has_lease(const CommandThere *there, const char *id);

/* Is an application known that takes it? */
bool command_there_has(const CommandThere *there, Span method, int64_t now_ms);
