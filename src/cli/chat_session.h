/* cli/chat_session.h: a conversation with an agent that this program has started. Thread: main. */
#pragma once

#include "base/span.h"
#include "cli/cli.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ChatSession ChatSession;

typedef struct ChatOptions {
    const CliArgs *args;
    const char *const *argv;  /* of the agent */
    const char *conversation; /* NULL: the agent's default */
    const char *const *files; /* that go with the first message */
    size_t n_files;
    int64_t idle_ms;     /* 0: the default */
    bool is_json;        /* print the agent's messages as they are */
    bool allows_all;     /* --yes */
    bool can_ask;        /* a person sits at the terminal */
    bool is_interactive; /* several messages */
} ChatOptions;

/* Starts the agent. 0 or an exit status, the reason said. Gives *ret; borrows what the options
 * point to. */
int chat_session_open(ChatSession **ret, const ChatOptions *options);

/* Ends the agent in order, or quickly if the person is in a hurry. NULL is accepted. */
ChatSession *chat_session_close(ChatSession *session);
void chat_session_closep(ChatSession **session);

/* Says something and shows what comes of it, to its end. An exit status. */
int chat_session_say(ChatSession *session, Span message);

/* Is it over: told to leave, or the agent cannot be used? */
bool chat_session_is_over(const ChatSession *session);

/* The person pressed Ctrl-C where nothing runs: true if it is for the second time in a row. */
bool chat_session_note_interrupt(ChatSession *session);
