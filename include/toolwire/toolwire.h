/* toolwire/toolwire.h: all of libtoolwire: MCP servers and clients in C.
 *
 *     server.h    a program that has tools, resources and prompts
 *     call.h      inside a handler: arguments, answers, progress, questions
 *     host.h      a program whose tools are reached through bridges
 *     addin.h     a program that offers them to a hub
 *     agent.h     a program that starts an agent and shows what it answers
 *     document.h  a program with a document, and commands that change it safely
 *     client.h    a program that uses them
 *     queue.h     a program with jobs that survive it
 *     json.h      writing JSON text
 *     error.h     error numbers and their words
 *     version.h   which version this is
 *
 * Strings are UTF-8 and end in NUL; where data may hold NUL, there is a length. JSON is passed as
 * text. Several servers and clients may live in one process: the library has no global state.
 */
#pragma once

#include <toolwire/addin.h>
#include <toolwire/agent.h>
#include <toolwire/call.h>
#include <toolwire/client.h>
#include <toolwire/document.h>
#include <toolwire/error.h>
#include <toolwire/host.h>
#include <toolwire/json.h>
#include <toolwire/queue.h>
#include <toolwire/server.h>
#include <toolwire/version.h>
