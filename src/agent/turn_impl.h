/* agent/turn_impl.h: what the files of the turn share. Private to agent/turn*. */
#pragma once

#include "agent/turn.h"

/* Appends an empty message with room for that many blocks; NULL: no memory, and the turn has
 * failed. The caller fills *ret_blocks and sets n_blocks. */
AgentMessage *turn_add_message(Turn *turn, bool is_assistant, size_t n_blocks,
                               AgentBlock **ret_blocks);

/* What the model has said in this call, and which tools it wants, becomes a message; nothing if it
 * was silent. */
void turn_close_answer(Turn *turn, bool with_tools);

/* Every call has its result: they become a message. */
void turn_close_round(Turn *turn);

/* Begins the end, unless it has begun. */
void turn_begin_end(Turn *turn, TurnEnd end, Span words);
