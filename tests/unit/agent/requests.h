/* Requests for tests: short ways to write down a conversation. */
#pragma once

#include "agent/model.h"
#include "base/compiler.h"

#define BLOCK_TEXT(s)                                                                              \
    {                                                                                              \
        .kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT(s)                                             \
    }
#define BLOCK_USE(i, n, in)                                                                        \
    {                                                                                              \
        .kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT(i), .name = SPAN_INIT(n),                    \
        .input = SPAN_INIT(in)                                                                     \
    }
#define BLOCK_RESULT(i, s, error)                                                                  \
    {                                                                                              \
        .kind = AGENT_BLOCK_TOOL_RESULT, .id = SPAN_INIT(i), .text = SPAN_INIT(s),                 \
        .is_error = (error)                                                                        \
    }
#define MESSAGE_USER(array)                                                                        \
    {                                                                                              \
        .is_assistant = false, .blocks = (array), .n_blocks = TW_ARRAY_SIZE(array)                 \
    }
#define MESSAGE_MODEL(array)                                                                       \
    {                                                                                              \
        .is_assistant = true, .blocks = (array), .n_blocks = TW_ARRAY_SIZE(array)                  \
    }

/* A conversation of one message, alive as long as the request is. */
typedef struct OneMessage {
    AgentBlock block;
    AgentMessage message;
    ModelRequest request;
} OneMessage;

TW_UNUSED static ModelRequest *one_message(OneMessage *one, const char *text)
{
    one->block = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = span_from_str(text)};
    one->message = (AgentMessage){.blocks = &one->block, .n_blocks = 1};
    one->request = (ModelRequest){.messages = &one->message, .n_messages = 1};
    return &one->request;
}
