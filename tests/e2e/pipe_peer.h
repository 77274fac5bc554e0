/* tests/e2e/pipe_peer.h: a real hub (`toolwire serve --pipe …`) with an MCP client on its stdio,
 * and add-ins played by the test on its pipe. Every failure fails the test, and so does a message
 * of the hub's whose envelope is not the document's.
 */
#pragma once

#include "e2e/peer.h"

#include "base/arena.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PIPE_NAME "e2e"

/* Arguments of the command line that is built below, at most. */
#define PIPE_MAX_ARGUMENTS 20

/* A tools file: the document's tool, and one that takes anything. */
#define PIPE_TOOLS                                                                                 \
    "[{\"name\":\"revit.create_wall\",\"description\":\"Creates a wall.\",\"input_schema\":{"      \
    "\"type\":\"object\",\"properties\":{\"height\":{\"type\":\"number\",\"minimum\":0}},"         \
    "\"required\":[\"height\"]}},"                                                                 \
    "{\"name\":\"revit.any\",\"description\":\"Takes anything.\",\"input_schema\":{"               \
    "\"type\":\"object\"}}]"

/* A tool as an add-in describes it. */
#define PIPE_TOOL(name)                                                                            \
    "{\"name\":\"" name "\",\"description\":\"A tool.\",\"input_schema\":{\"type\":\"object\"}}"

/* What the hub says when it asks what an add-in offers. */
#define PIPE_LIST_ARGS "{\"understands\":[\"tool_progress\",\"tools_changed\"]}"

/* A request of the revision 2026-07-28. */
#define MODERN_META                                                                                \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"                   \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN_CALL(id, tool, arguments)                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "," MODERN_META "}}"
#define LIST(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/list\"}"

/* ---- the hub ---- */

typedef struct PipeHubProcess {
    const char *program;
    char folder[64];  /* TMPDIR of the hub, too */
    char socket[128]; /* the pipe */
    char tools[96];   /* a path for a tools file, for a configuration */
    char config[96];
    Peer client;
    int n_tools_changed; /* notifications that came and were not awaited yet */
    int n_resources_changed;
} PipeHubProcess;

/* A folder, nothing else. */
void hub_init(PipeHubProcess *hub, const char *program);

/* Starts `serve --pipe NAME arguments…` (NULL-terminated; may be NULL) and opens a session. */
void hub_serve(PipeHubProcess *hub, const char *const *arguments);

/* The same with this configuration, without --pipe. */
void hub_serve_config(PipeHubProcess *hub, const char *config);

/* Its client leaves; it must end well and take the pipe with it. */
void hub_end(PipeHubProcess *hub);

/* After kill -9: reaps it. The pipe stays. */
void hub_reap_killed(PipeHubProcess *hub);

/* Removes the folder, which must hold nothing that the test has not put there. */
void hub_deinit(PipeHubProcess *hub);

void hub_write_file(const char *path, const char *text);

/* ---- its client ---- */

void hub_send(PipeHubProcess *hub, const char *line);

/* The next answer; free() it. Notifications of changed lists are counted on the way. */
char *hub_answer(PipeHubProcess *hub);

/* Takes the answer to that request: a result that is no error with this structured content and text
 * (NULL: the JSON of that content, in any order). */
void hub_expect_result(PipeHubProcess *hub, int id, const char *structured, const char *text);

/* A result with isError, whose text and structured content have this code, and these words. */
void hub_expect_failure(PipeHubProcess *hub, int id, const char *code, const char *words);

/* One notification that the list of tools, or resources, has changed, came or comes before any
 * answer. */
void hub_await_tools_changed(PipeHubProcess *hub);
void hub_await_resources_changed(PipeHubProcess *hub);

/* Asks for the list (request 900): the names, each followed by a blank. */
void hub_expect_tools(PipeHubProcess *hub, const char *names);

/* ---- an add-in, played by the test ---- */

typedef struct AddinPeer {
    int fd;
    bool is_deaf; /* pings are not answered, only counted */
    int n_pings;
} AddinPeer;

/* One message of the hub's, checked. */
typedef struct AddinMessage {
    char *text; /* NULL: the connection has ended */
    Arena arena;
    JsonDoc doc;
    char id[40];
    char type[16];
} AddinMessage;

void addin_connect(AddinPeer *addin, const PipeHubProcess *hub);
void addin_close(AddinPeer *addin);

/* The same, and offers what the data says: {"name","tools":[…]}. */
void addin_open(AddinPeer *addin, const PipeHubProcess *hub, const char *data);

void addin_write(AddinPeer *addin, const void *p, size_t n);
void addin_write_frame(AddinPeer *addin, const void *p, size_t n);
void addin_send(AddinPeer *addin, const char *message);

/* The next message; a ping is answered on the way, unless the add-in is deaf. deinit follows. */
void addin_next(AddinPeer *addin, AddinMessage *ret);
/* The same, pings too; they are not answered. */
void addin_next_any(AddinPeer *addin, AddinMessage *ret);
void addin_message_deinit(AddinMessage *message);

/* Takes the next message, a call of this tool with these arguments (NULL: any). */
void addin_expect_call(AddinPeer *addin, const char *tool, const char *args, char ret_id[40]);

/* Takes the next message, an error with this code and these words. */
void addin_expect_error(AddinPeer *addin, const char *code, const char *words);

/* The hub closes the connection, now or after pings; closes ours. */
void addin_expect_end(AddinPeer *addin);

/* Sends a tool_result: data is JSON, duration 45 ms; or an error. */
void addin_answer(AddinPeer *addin, const char *call_id, const char *data);
void addin_fail(AddinPeer *addin, const char *call_id, const char *code, const char *message);
void addin_pong(AddinPeer *addin);

/* Takes a call of the hub's question what is offered, and answers it. */
void addin_offer(AddinPeer *addin, const char *data);

/* As the add-ins of the original: it knows no such tool. */
void addin_offer_unknown(AddinPeer *addin);
