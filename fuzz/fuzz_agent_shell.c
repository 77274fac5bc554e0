/* A shell that listens to whatever an agent prints.
 *
 * Input: a stream of lines. One that begins with '!' lets the shell do something: open a request
 * (`!o` and its id), approve a tool (`!a` and the tool), forget (`!f` and the id), wait (`!w`),
 * lose the agent (`!l`). Every other line is the agent's; each gives one event. A request ends
 * once. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "dialect/agent/shell.h"
#include "frame/ndjson.h"

typedef struct Owner {
    AgentShell shell;
    Arena arena;
    Bytes out;
    int64_t now_ms;
    size_t n_open;
} Owner;

/* What an event says is about one that is open, and open no more if it is an end. */
static void check_event(Owner *owner, const AgentShellEvent *event)
{
    switch (event->kind) {
    case AGENT_SHELL_END:
    case AGENT_SHELL_TIMEOUT:
    case AGENT_SHELL_LOST:
        FUZZ_REQUIRE(owner->n_open > 0 && event->context == owner && event->id.n > 0);
        owner->n_open--;
        break;
    case AGENT_SHELL_RESPONSE:
        FUZZ_REQUIRE(event->context == owner && event->id.n > 0);
        break;
    case AGENT_SHELL_NOISE:
        FUZZ_REQUIRE(event->text.n <= 500);
        FUZZ_REQUIRE(utf8_valid(event->text.p, event->text.n, NULL));
        FUZZ_REQUIRE(event->text.n == 0 || memchr(event->text.p, 0x1B, event->text.n) == NULL);
        break;
    default:
        FUZZ_REQUIRE(event->context == NULL);
        break;
    }
    FUZZ_REQUIRE(agent_shell_n_open(&owner->shell) == owner->n_open);
}

static void open_request(Owner *owner, AgentKind kind, Span word)
{
    AgentRequest request = {.kind = kind, .id = word, .message = SPAN("m"), .tool_id = word};
    int r;

    if (word.n == 0) {
        return;
    }
    bytes_clear(&owner->out);
    r = agent_shell_open(&owner->shell, &request, owner, owner->now_ms, &owner->out);
    FUZZ_REQUIRE(r == 0 || r == AGENT_SHELL_E_EXISTS || r == AGENT_SHELL_E_FULL);
    FUZZ_REQUIRE((r == 0) == (owner->out.n > 0));
    owner->n_open += r == 0 ? 1 : 0;
}

static void act(Owner *owner, Span line)
{
    Span word = line.n > 2 ? span_make(line.p + 2, line.n - 2) : SPAN_NULL;
    AgentShellEvent event;
    char what = line.n > 1 ? line.p[1] : 0;

    if (what == 'o' || what == 'a') {
        open_request(owner, what == 'o' ? AGENT_KIND_USER_MESSAGE : AGENT_KIND_TOOL_APPROVAL, word);
    } else if (what == 'f') {
        agent_shell_forget(&owner->shell, word);
        owner->n_open = agent_shell_n_open(&owner->shell);
    } else if (what == 'l') {
        while (agent_shell_lose(&owner->shell, &event)) {
            check_event(owner, &event);
        }
        FUZZ_REQUIRE(owner->n_open == 0);
    } else if (what == 'w') {
        owner->now_ms += LIMIT_AGENT_IDLE_MS / 2;
        while (agent_shell_expire(&owner->shell, &event, owner->now_ms)) {
            check_event(owner, &event);
        }
        FUZZ_REQUIRE(agent_shell_next_deadline(&owner->shell) > owner->now_ms);
    }
}

static void take_line(Owner *owner, Span line)
{
    AgentShellEvent event;

    if (line.n > 0 && line.p[0] == '!') {
        act(owner, line);
        return;
    }
    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(agent_shell_receive(&owner->shell, &event, &owner->arena, line, owner->now_ms) ==
                 0);
    check_event(owner, &event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Owner owner = {.now_ms = 0};
    NdjsonReader reader;
    Span line;
    int r;

    if (size > INQ_AHEAD_BYTES) {
        return 0;
    }
    agent_shell_init(&owner.shell, (HashSeed){1, 2}, 0);
    arena_init(&owner.arena, SIZE_MAX);
    bytes_init(&owner.out, SIZE_MAX);
    ndjson_reader_init(&reader, 65536);
    if (size > 0) {
        FUZZ_REQUIRE(ndjson_reader_feed(&reader, data, size) == 0);
    }
    while ((r = ndjson_reader_next(&reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            take_line(&owner, line);
        }
    }
    ndjson_reader_deinit(&reader);
    agent_shell_deinit(&owner.shell);
    arena_deinit(&owner.arena);
    bytes_deinit(&owner.out);
    return 0;
}
