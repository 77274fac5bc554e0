/* call/content.h: what a content block of MCP must have, for those who read blocks that somebody
 * else wrote: a client would refuse the whole answer, and nobody would know whose fault it was.
 * Thread: any. */
#pragma once

#include "json/json.h"

#include <stdint.h>

enum {
    CALL_CONTENT_E_WRONG = 1, /* no block: not an object with a type, or a member is wrong */
    CALL_CONTENT_E_TYPE,      /* a type that MCP does not have, for all we know */
};

/* What is wrong with a block; static text. */
typedef struct CallContentFault {
    const char *member; /* "" if it is the block itself */
    const char *wanted;
} CallContentFault;

/* Looks at one block, and adds its CALL_CONTENT_* to *kinds: UNKNOWN if a bit must not vouch for
 * it, since not every revision knows all of its members or its type. 0, CALL_CONTENT_E_*; *reterr
 * is set with WRONG. */
int call_content_check(JsonValue block, uint32_t *kinds, CallContentFault *reterr);
