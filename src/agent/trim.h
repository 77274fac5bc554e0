/* agent/trim.h: which messages of a conversation are sent to the model, so that it fits. Pure.
 *
 * Tokens are estimated: a quarter of the bytes, LIMIT_AGENT_IMAGE_TOKENS for an image, and a few
 * for what is around each block. Kept are the newest words of the user, whatever follows them, the
 * newest messages, and the first of the user, which says what it is all about, if it takes no more
 * than half. What is kept begins with words of the user. A call of a tool and its result are kept
 * or left out together; what a cut has parted already (a result without its call, a call without a
 * result) is left out, but for the last message. Thread: any.
 */
#pragma once

#include "agent/model.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    AGENT_TRIM_E_OVER =
        1, /* what must be sent is more than the budget; keep says it all the same */
};

/* The estimate for one message, and for any text (system prompt, a tool's schema). */
size_t agent_trim_message_tokens(const AgentMessage *message);
size_t agent_trim_text_tokens(size_t n_bytes);

typedef struct AgentTrimmed {
    size_t n_kept;
    size_t n_tokens; /* of those kept */
} AgentTrimmed;

/* keep[i]: is messages[i] sent? n of them, all set here. The last message is always kept, with the
 * call that it answers, and the newest words of the user. 0, AGENT_TRIM_E_OVER. */
int agent_trim(const AgentMessage *messages, size_t n, size_t budget_tokens, bool *keep,
               AgentTrimmed *ret);

/* Leaves out what is not kept; returns how many are left. */
size_t agent_trim_apply(AgentMessage *messages, size_t n, const bool *keep);
