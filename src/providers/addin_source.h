/* providers/addin_source.h: ids and time for the sessions of a hub; used by the hub of the pipe
 * only. Thread: loop. */
#pragma once

#include "dialect/pipe/sink.h"
#include "io/loop.h"

#include <stddef.h>
#include <stdint.h>

/* Ids that one question to the kernel yields: asking for each would cost as much as sending a small
 * message. */
#define ADDIN_SOURCE_IDS 64

typedef struct AddinSource {
    PipeSource source; /* what a session is given; borrows this object, which must not move */
    IoLoop *loop;
    size_t n_left;
    uint64_t n_failed;
    uint8_t random[ADDIN_SOURCE_IDS][16];
} AddinSource;

/* Borrows loop for as long as it is used. */
void addin_source_init(AddinSource *source, IoLoop *loop);
