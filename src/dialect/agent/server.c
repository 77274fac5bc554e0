#include "dialect/agent/server.h"

#include "base/error.h"

void agent_server_init(AgentServer *server, HashSeed seed, size_t max_open)
{
    map_init(&server->open, seed, max_open);
}

void agent_server_deinit(AgentServer *server)
{
    map_deinit(&server->open);
}

/* Says no, to whom it can be said. */
static int server_refuse(Span id, int64_t wall_ms, Bytes *out, const char *words)
{
    int r = id.n > 0 ? agent_write_error(out, id, span_from_str(words), wall_ms) : 0;

    return r == 0 ? AGENT_SERVER_E_REFUSED : r;
}

int agent_server_receive(AgentServer *server, AgentRequest *ret, Arena *arena, Span line,
                         int64_t wall_ms, Bytes *out, Diag *reterr_diag)
{
    AgentRequest request;
    Diag diag = DIAG_NULL;
    int r = agent_request_read(&request, arena, line, &diag);

    if (r < 0) {
        return err_pass(r);
    }
    if (r == 0) {
        r = map_add(&server->open, request.id, NULL);
        if (r == 0) {
            *ret = request;
            return 0;
        }
        if (r < 0) {
            return err_pass(r);
        }
        (void)diag_set(&diag, AGENT_SERVER_E_REFUSED,
                       r == MAP_E_EXISTS
                           ? "Duplicate request id: a request with this id is still running"
                           : "Too many requests at once");
    }
    if (reterr_diag != NULL) {
        *reterr_diag = diag;
        reterr_diag->code = AGENT_SERVER_E_REFUSED;
    }
    return server_refuse(request.id, wall_ms, out, diag.message);
}

void agent_server_set(AgentServer *server, Span id, void *owner)
{
    (void)map_replace(&server->open, id, owner);
}

void *agent_server_get(const AgentServer *server, Span id)
{
    return map_get(&server->open, id);
}

void agent_server_end(AgentServer *server, Span id)
{
    (void)map_remove(&server->open, id);
}
