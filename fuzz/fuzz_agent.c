/* Requests of an agent's shell, as they come: a stream of bytes, cut into lines.
 *
 * Input: flags (FLAG_*), then the stream. Every line is a request that survives being written and
 * read again, or is refused with words; an answer is one line of JSON with a type and the id. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/agent/server.h"
#include "frame/ndjson.h"
#include "json/json.h"

enum {
    FLAG_KEEP = 1u << 0,  /* requests stay open */
    FLAG_SMALL = 1u << 1, /* lines of 100 bytes at most */
    FLAG_FEW = 1u << 2,   /* two open requests at most */
};

typedef struct Agent {
    AgentServer server;
    Arena arena;
    Bytes out;
    unsigned flags;
} Agent;

static bool same_request(const AgentRequest *a, const AgentRequest *b)
{
    bool is_same = a->kind == b->kind && span_equals(a->id, b->id) &&
                   span_equals(a->message, b->message) && a->n_attachments == b->n_attachments &&
                   span_equals(a->conversation_id, b->conversation_id) &&
                   span_equals(a->user_id, b->user_id) && span_equals(a->title, b->title) &&
                   span_equals(a->request_id, b->request_id) &&
                   span_equals(a->tool_id, b->tool_id) && a->approved == b->approved;

    for (size_t i = 0; is_same && i < a->n_attachments; i++) {
        const AgentAttachment *x = &a->attachments[i];
        const AgentAttachment *y = &b->attachments[i];

        is_same = span_equals(x->path, y->path) && span_equals(x->mime, y->mime) &&
                  span_equals(x->name, y->name) && (x->path.n > 0 || span_equals(x->data, y->data));
    }
    return is_same;
}

static void require_line(const Bytes *out)
{
    FUZZ_REQUIRE(out->n > 0 && memchr(out->data, '\n', out->n) == NULL);
    FUZZ_REQUIRE(memchr(out->data, '\r', out->n) == NULL);
}

static void check_request(Agent *agent, const AgentRequest *request)
{
    AgentRequest again;

    FUZZ_REQUIRE(request->id.n > 0 && agent->out.n == 0);
    FUZZ_REQUIRE(agent_request_write(&agent->out, request) == 0);
    require_line(&agent->out);
    FUZZ_REQUIRE(agent_request_read(&again, &agent->arena, bytes_span(&agent->out), NULL) == 0);
    FUZZ_REQUIRE(same_request(request, &again));
    if ((agent->flags & FLAG_KEEP) == 0) {
        agent_server_end(&agent->server, request->id);
    }
}

static void check_refusal(Agent *agent, const Diag *diag)
{
    JsonDoc doc;
    JsonValue value;

    FUZZ_REQUIRE(diag->message[0] != '\0');
    if (agent->out.n == 0) {
        return;
    }
    require_line(&agent->out);
    FUZZ_REQUIRE(json_parse(&doc, &agent->arena, agent->out.data, agent->out.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("type"), &value) &&
                 json_string_equals(value, SPAN("error")));
    FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("id"), &value) && json_span(value).n > 2);
}

static void take_line(Agent *agent, Span line)
{
    AgentRequest request;
    Diag diag = DIAG_NULL;
    int r;

    arena_reset(&agent->arena, 65536);
    bytes_clear(&agent->out);
    r = agent_server_receive(&agent->server, &request, &agent->arena, line, 1, &agent->out, &diag);
    FUZZ_REQUIRE(r == 0 || r == AGENT_SERVER_E_REFUSED);
    if (r == 0) {
        check_request(agent, &request);
    } else {
        check_refusal(agent, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Agent agent = {.flags = size > 0 ? data[0] : 0};
    NdjsonReader reader;
    Span line;
    int r;

    if (size > INQ_AHEAD_BYTES) {
        return 0;
    }
    agent_server_init(&agent.server, (HashSeed){1, 2}, (agent.flags & FLAG_FEW) != 0 ? 2 : 1000);
    arena_init(&agent.arena, SIZE_MAX);
    bytes_init(&agent.out, SIZE_MAX);
    ndjson_reader_init(&reader, (agent.flags & FLAG_SMALL) != 0 ? 100 : 65536);
    if (size > 1) {
        FUZZ_REQUIRE(ndjson_reader_feed(&reader, data + 1, size - 1) == 0);
    }
    while ((r = ndjson_reader_next(&reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            take_line(&agent, line);
        }
    }
    if (ndjson_reader_finish(&reader, &line) == NDJSON_E_INCOMPLETE) {
        take_line(&agent, line);
    }
    ndjson_reader_deinit(&reader);
    agent_server_deinit(&agent.server);
    arena_deinit(&agent.arena);
    bytes_deinit(&agent.out);
    return 0;
}
