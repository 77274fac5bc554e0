/* A request whose clock runs is in a list, the one that was silent longest first: every request has
 * the same time, so the list is in order of their ends, and one that is heard of moves to its end.
 */
#include "dialect/agent/shell.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/plain.h"
#include "base/utf8.h"

/* Of a line that is no message, so much is shown. */
#define NOISE_BYTES 500

/* Approvals that a shell may owe at once: a request has few. */
#define MAX_APPROVALS ((size_t)LIMIT_AGENT_REQUESTS * 4)

struct AgentShellRequest {
    void *context;
    int64_t heard_ms;
    size_t n_approvals; /* that it waits for; its clock stands */
    bool is_timed;      /* in the list */
    AgentShellRequest *older;
    AgentShellRequest *newer;
    size_t n_id;
    char id[];
};

/* ---- the list ---- */

static void shell_stop_clock(AgentShell *shell, AgentShellRequest *request)
{
    if (!request->is_timed) {
        return;
    }
    *(request->older != NULL ? &request->older->newer : &shell->oldest) = request->newer;
    *(request->newer != NULL ? &request->newer->older : &shell->newest) = request->older;
    request->older = NULL;
    request->newer = NULL;
    request->is_timed = false;
}

/* Something was heard of it. */
static void shell_start_clock(AgentShell *shell, AgentShellRequest *request, int64_t now_ms)
{
    shell_stop_clock(shell, request);
    if (request->n_approvals > 0) {
        return;
    }
    request->heard_ms = now_ms;
    request->older = shell->newest;
    *(shell->newest != NULL ? &shell->newest->newer : &shell->oldest) = request;
    shell->newest = request;
    request->is_timed = true;
}

/* ---- approvals ---- */

/* A tool waits for the shell's word. One that cannot be remembered is not waited for: then the
 * clock runs on, and the worst is a time-out. */
static void shell_owe(AgentShell *shell, AgentShellRequest *request, Span tool_id, int64_t now_ms)
{
    if (map_add(&shell->approvals, tool_id, request) == 0) {
        request->n_approvals++;
    }
    shell_start_clock(shell, request, now_ms);
}

static void shell_settle(AgentShell *shell, Span tool_id, int64_t now_ms)
{
    AgentShellRequest *request = map_remove(&shell->approvals, tool_id);

    if (request != NULL) {
        request->n_approvals--;
        shell_start_clock(shell, request, now_ms);
    }
}

/* The request is over: nobody waits for its approvals. */
static void shell_forget_approvals(AgentShell *shell, const AgentShellRequest *request)
{
    size_t cursor = 0;
    void *value;
    Span key;

    if (request->n_approvals == 0) {
        return;
    }
    while (map_next(&shell->approvals, &cursor, &key, &value)) {
        if (value == request) {
            (void)map_remove(&shell->approvals, key);
        }
    }
}

/* ---- life ---- */

void agent_shell_init(AgentShell *shell, HashSeed seed, int64_t idle_ms)
{
    *shell = (AgentShell){.idle_ms = idle_ms > 0 ? idle_ms : LIMIT_AGENT_IDLE_MS};
    map_init(&shell->open, seed, LIMIT_AGENT_REQUESTS);
    map_init(&shell->approvals, seed, MAX_APPROVALS);
    bytes_init(&shell->noise, NOISE_BYTES);
}

static AgentShellRequest *shell_request(AgentShell *shell, Span id)
{
    return id.n > 0 ? map_get(&shell->open, id) : NULL;
}

/* Takes it out; it is freed when the next function is called, since events name it. */
static void shell_close(AgentShell *shell, AgentShellRequest *request)
{
    shell_stop_clock(shell, request);
    shell_forget_approvals(shell, request);
    (void)map_remove(&shell->open, span_make(request->id, request->n_id));
    shell->ended = mem_free(shell->ended);
    shell->ended = request;
}

void agent_shell_deinit(AgentShell *shell)
{
    size_t cursor = 0;
    void *value;
    Span key;

    while (map_next(&shell->open, &cursor, &key, &value)) {
        (void)mem_free(value);
    }
    map_deinit(&shell->open);
    map_deinit(&shell->approvals);
    bytes_deinit(&shell->noise);
    shell->ended = mem_free(shell->ended);
    shell->oldest = NULL;
    shell->newest = NULL;
}

int agent_shell_open(AgentShell *shell, const AgentRequest *request, void *context, int64_t now_ms,
                     Bytes *out)
{
    AgentShellRequest *open = mem_alloc_array(1, sizeof(*open) + request->id.n);
    size_t n = out->n;
    int r;

    if (open == NULL) {
        return err_raise(-ENOMEM);
    }
    open->context = context;
    open->n_id = request->id.n;
    memcpy(open->id, request->id.p, request->id.n);
    r = agent_request_write(out, request);
    if (r != 0) {
        (void)mem_free(open);
        return r < 0 ? err_pass(r) : r;
    }
    r = map_add(&shell->open, request->id, open);
    if (r != 0) {
        out->n = n;
        (void)mem_free(open);
        return r < 0 ? err_pass(r) : r == MAP_E_EXISTS ? AGENT_SHELL_E_EXISTS : AGENT_SHELL_E_FULL;
    }
    shell_start_clock(shell, open, now_ms);
    if (request->kind == AGENT_KIND_TOOL_APPROVAL) {
        shell_settle(shell, request->tool_id, now_ms);
    }
    return 0;
}

void agent_shell_forget(AgentShell *shell, Span id)
{
    AgentShellRequest *request = shell_request(shell, id);

    if (request != NULL) {
        shell_close(shell, request);
    }
}

/* ---- events ---- */

static bool shell_is_end(AgentType type)
{
    return type == AGENT_TYPE_DONE || type == AGENT_TYPE_ERROR || type == AGENT_TYPE_STATUS;
}

static AgentShellEvent shell_event(AgentShellEventKind kind, const AgentShellRequest *request)
{
    return (AgentShellEvent){
        .kind = kind, .id = span_make(request->id, request->n_id), .context = request->context};
}

/* Makes it UTF-8: what is not, such as a letter that the limit has cut, is a question mark. */
static void shell_mend(Bytes *text)
{
    const char *end = text->data + text->n;

    for (char *p = text->data; p < end;) {
        unsigned n = utf8_sequence(p, end);

        if (n == 0) {
            *p = '?';
            n = 1;
        }
        p += n;
    }
}

/* What may be shown of a line that is no message. */
static int shell_noise(AgentShell *shell, AgentShellEvent *ret, Span line)
{
    Plain plain = PLAIN_NULL;
    int r;

    shell->n_noise++;
    bytes_clear(&shell->noise);
    r = plain_feed(&plain, line, &shell->noise);
    if (r < 0) {
        return err_pass(r);
    }
    if (shell->noise.n > 0) {
        shell_mend(&shell->noise);
    }
    *ret = (AgentShellEvent){.kind = AGENT_SHELL_NOISE, .text = bytes_span(&shell->noise)};
    return 0;
}

static void shell_on_response(AgentShell *shell, AgentShellEvent *ret,
                              const AgentResponse *response, int64_t now_ms)
{
    AgentShellRequest *request = shell_request(shell, response->id);
    bool is_end = shell_is_end(response->type);

    if (request == NULL) {
        *ret = (AgentShellEvent){.kind = AGENT_SHELL_UNASKED, .id = response->id};
    } else {
        *ret = shell_event(is_end ? AGENT_SHELL_END : AGENT_SHELL_RESPONSE, request);
    }
    ret->response = *response;
    if (request == NULL) {
        return;
    }
    if (is_end) {
        shell_close(shell, request);
    } else if (response->type == AGENT_TYPE_TOOL_USE && response->tool.approval_required) {
        shell_owe(shell, request, response->tool.id, now_ms);
    } else {
        shell_start_clock(shell, request, now_ms);
        if (response->type == AGENT_TYPE_TOOL_RESULT) {
            shell_settle(shell, response->tool.id, now_ms);
        }
    }
}

int agent_shell_receive(AgentShell *shell, AgentShellEvent *ret, Arena *arena, Span line,
                        int64_t now_ms)
{
    AgentResponse response;
    int r = agent_response_read(&response, arena, line, NULL);

    shell->ended = mem_free(shell->ended);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        /* A message of a type that we do not know is still a word about its request. */
        AgentShellRequest *request = shell_request(shell, response.id);

        if (request != NULL) {
            shell_start_clock(shell, request, now_ms);
        }
        return shell_noise(shell, ret, line);
    }
    if (response.type == AGENT_TYPE_READY) {
        shell->is_ready = true;
        *ret = (AgentShellEvent){.kind = AGENT_SHELL_READY, .response = response};
        return 0;
    }
    shell_on_response(shell, ret, &response, now_ms);
    return 0;
}

int64_t agent_shell_next_deadline(const AgentShell *shell)
{
    return shell->oldest == NULL ? INT64_MAX : shell->oldest->heard_ms + shell->idle_ms;
}

bool agent_shell_expire(AgentShell *shell, AgentShellEvent *ret, int64_t now_ms)
{
    AgentShellRequest *request = shell->oldest;
    char words[96];

    shell->ended = mem_free(shell->ended);
    if (request == NULL || now_ms < agent_shell_next_deadline(shell)) {
        return false;
    }
    *ret = shell_event(AGENT_SHELL_TIMEOUT, request);
    (void)snprintf(words, sizeof(words), "the agent has not said a word about this for %lld s",
                   (long long)(shell->idle_ms / 1000));
    bytes_clear(&shell->noise);
    if (bytes_append_span(&shell->noise, span_from_str(words)) == 0) {
        ret->text = bytes_span(&shell->noise);
    } else {
        ret->text = SPAN("the agent is silent");
    }
    shell_close(shell, request);
    return true;
}

void agent_shell_slept(AgentShell *shell, int64_t ms)
{
    for (AgentShellRequest *request = shell->oldest; request != NULL; request = request->newer) {
        request->heard_ms += ms;
    }
}

bool agent_shell_lose(AgentShell *shell, AgentShellEvent *ret)
{
    size_t cursor = 0;
    void *value;
    Span key;

    shell->ended = mem_free(shell->ended);
    shell->is_ready = false;
    if (!map_next(&shell->open, &cursor, &key, &value)) {
        return false;
    }
    *ret = shell_event(AGENT_SHELL_LOST, value);
    ret->text = SPAN("the agent has ended");
    shell_close(shell, value);
    return true;
}
