/* cli/up_text.h: what `toolwire up` prints when it serves: what listens where, and how MCP clients
 * are told of it. Thread: any.
 */
#pragma once

#include "app/up.h"
#include "base/bytes.h"
#include "io/private_file.h"

typedef struct UpTextWith {
    const char *program; /* the absolute path of toolwire, for clients that start it */
    const char *state;   /* the absolute path of the state folder; NULL: there is none */
    /* What clients that start it must put into its environment. */
    const PrivateFolderVariable *variables;
    size_t n_variables;
    long pid;
} UpTextWith;

/* For people, with configurations to be pasted. A token is never in it, only where it goes. 0,
 * -ENOMEM, BYTES_E_FULL. */
int up_text_write(Bytes *out, const UpFacts *facts, const UpTextWith *with);

/* The same facts as one line of JSON. */
int up_text_write_json(Bytes *out, const UpFacts *facts, const UpTextWith *with);
