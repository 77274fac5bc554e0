/* The hub's side of the pipe, with an add-in who says anything and a connection that fails at any
 * moment.
 *
 * Input: lines. "!c" calls, "!d" calls and has its end lead to another call, "!r" reads a resource,
 * "!u" one of a long name, "!x" takes the last call back, "!q" asks for the list, "!l" the add-in
 * has gone, "!s" a frame is too large, "!w" the sink fails, "!f" it has no room, "!t" time passes;
 * anything else is a frame from the add-in. Our ids count, so that it can name them. Whatever
 * happens, each call ends once, with JSON on one line (one that reads: with contents, or with an
 * error), and what is sent is a message of this protocol. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "call/content.h"
#include "dialect/pipe/hub.h"

#define MAX_CALLS 256
#define MAX_BYTES 600

typedef struct Owner Owner;

typedef struct Asked {
    Call call; /* first */
    Owner *owner;
    bool is_open;
    bool leads;
} Asked;

struct Owner {
    PipeHub *hub;
    PipeSink sink;
    PipeSource source;
    Bytes message;
    Arena arena;
    Asked asked[MAX_CALLS];
    size_t n_asked;
    size_t n_open;
    unsigned n_ids;
    int64_t now_ms;
    bool is_lost;
    int fails; /* what the sink says */
};

static int sink_begin(void *context, Bytes **ret)
{
    Owner *owner = context;

    bytes_clear(&owner->message);
    *ret = &owner->message;
    return 0;
}

static int sink_commit(void *context)
{
    Owner *owner = context;
    PipeMessage message;

    FUZZ_REQUIRE(!owner->is_lost && owner->message.n <= MAX_BYTES);
    if (owner->fails != 0) {
        return owner->fails;
    }
    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(pipe_message_read(&message, &owner->arena, bytes_span(&owner->message), NULL) ==
                 0);
    FUZZ_REQUIRE(message.type != PIPE_TOOL_RESULT && message.type != PIPE_TOOL_PROGRESS &&
                 message.type != PIPE_TOOLS_CHANGED && uuid_is_v4(message.id));
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Owner *)context)->message);
}

static void source_uuid(void *context, char ret[UUID_SIZE])
{
    (void)snprintf(ret, UUID_SIZE, "00000000-0000-4000-8000-%012u",
                   ++((Owner *)context)->n_ids % 1000000000u);
}

static int64_t source_unix_ms(void *context)
{
    return ((Owner *)context)->now_ms;
}

static void require_json(Arena *arena, Span json)
{
    JsonDoc doc;

    FUZZ_REQUIRE(json_parse(&doc, arena, json.p, json.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_kind(json_root(&doc)) == JSON_OBJECT);
    FUZZ_REQUIRE(memchr(json.p, '\n', json.n) == NULL && memchr(json.p, '\r', json.n) == NULL);
}

static void require_string(JsonValue object, Span name, bool is_needed)
{
    JsonValue value;

    FUZZ_REQUIRE(json_get(object, name, &value) ? json_kind(value) == JSON_STRING : !is_needed);
}

/* {"contents":[…]} as MCP wants them. */
static void require_contents(Arena *arena, Span json)
{
    JsonDoc doc;
    JsonValue list;
    JsonValue value;

    require_json(arena, json);
    FUZZ_REQUIRE(json_parse(&doc, arena, json.p, json.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("contents"), &list));
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        FUZZ_REQUIRE(json_kind(it.value) == JSON_OBJECT);
        require_string(it.value, SPAN("uri"), true);
        require_string(it.value, SPAN("mimeType"), false);
        require_string(it.value, SPAN("text"), !json_get(it.value, SPAN("blob"), &value));
        require_string(it.value, SPAN("blob"), !json_get(it.value, SPAN("text"), &value));
    }
}

/* {"content":[…]}: blocks that MCP has, of the kinds that the result says. */
static void require_content(Arena *arena, Span json, uint32_t kinds)
{
    JsonDoc doc;
    JsonValue list;
    CallContentFault fault;
    uint32_t found = 0;

    require_json(arena, json);
    FUZZ_REQUIRE(json_parse(&doc, arena, json.p, json.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("content"), &list));
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        FUZZ_REQUIRE(call_content_check(it.value, &found, &fault) == 0);
    }
    FUZZ_REQUIRE(found == kinds);
}

static void join(Bytes *joined, Span before, const CallResult *result, Span after)
{
    FUZZ_REQUIRE(bytes_append_span(joined, before) == 0);
    for (size_t i = 0; i < result->n_pieces; i++) {
        FUZZ_REQUIRE(bytes_append_span(joined, result->pieces[i]) == 0);
    }
    FUZZ_REQUIRE(bytes_append_span(joined, after) == 0);
}

static void submit(Owner *owner, bool leads, Span uri);

static void finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;
    Arena arena;
    Bytes joined;

    FUZZ_REQUIRE(asked->is_open);
    arena_init(&arena, SIZE_MAX);
    bytes_init(&joined, SIZE_MAX);
    if (call->verb == CALL_READ && result->kind == CALL_RESULT_ERROR) {
        FUZZ_REQUIRE(result->error != CALL_ERROR_NONE && result->message.n > 0);
    } else if (call->verb == CALL_READ) {
        FUZZ_REQUIRE(result->kind == CALL_RESULT_RESOURCE);
        join(&joined, SPAN("{\"contents\":["), result, SPAN("]}"));
        require_contents(&arena, bytes_span(&joined));
    } else {
        FUZZ_REQUIRE(result->kind == CALL_RESULT_TOOL);
        join(&joined, SPAN("{\"content\":["), result, SPAN("]}"));
        require_content(&arena, bytes_span(&joined), result->content_kinds);
        if (result->structured.n > 0) {
            require_json(&arena, result->structured);
        }
    }
    if (result->meta.n > 0) {
        require_json(&arena, result->meta);
    }
    bytes_deinit(&joined);
    arena_deinit(&arena);
    asked->is_open = false;
    asked->owner->n_open--;
    if (asked->leads) {
        submit(asked->owner, false, SPAN_NULL);
    }
}

static void progress(Call *call, const CallProgress *progress)
{
    FUZZ_REQUIRE(((Asked *)call)->is_open);
    FUZZ_REQUIRE(progress->spelt.n > 0 && progress->progress == progress->progress);
    FUZZ_REQUIRE(progress->total >= 0 || progress->spelt_total.n == 0);
}

static const CallDoor door = {.finish = finish, .progress = progress};

/* uri: one to be read; empty: a tool is called. */
static void submit(Owner *owner, bool leads, Span uri)
{
    Asked *asked;

    if (owner->n_asked == MAX_CALLS) {
        return;
    }
    asked = &owner->asked[owner->n_asked++];
    call_init(&asked->call);
    asked->call.door = &door;
    asked->call.wants_progress = true;
    asked->owner = owner;
    asked->is_open = true;
    asked->leads = leads;
    asked->call.verb = uri.n > 0 ? CALL_READ : CALL_TOOL;
    asked->call.target = uri;
    owner->n_open++;
    pipe_hub_submit(owner->hub, &asked->call, SPAN("t"), owner->now_ms);
}

static void take_back(Owner *owner)
{
    for (size_t i = owner->n_asked; i-- > 0;) {
        Asked *asked = &owner->asked[i];

        if (asked->is_open) {
            pipe_hub_cancel(owner->hub, &asked->call, owner->now_ms);
            asked->is_open = false;
            owner->n_open--;
            return;
        }
    }
}

static void lose(Owner *owner)
{
    owner->is_lost = true;
    pipe_hub_lost(owner->hub, SPAN("why"));
    FUZZ_REQUIRE(owner->n_open == 0);
}

static void command(Owner *owner, char what)
{
    static const char long_uri[MAX_BYTES - 100] = "x:\"\n";

    if (what == 'c' || what == 'd') {
        submit(owner, what == 'd', SPAN_NULL);
    } else if (what == 'r') {
        submit(owner, false, SPAN("x:y"));
    } else if (what == 'u') {
        submit(owner, false, span_make(long_uri, sizeof(long_uri)));
    } else if (what == 'x') {
        take_back(owner);
    } else if (what == 'q') {
        (void)pipe_hub_list(owner->hub, owner->now_ms);
    } else if (what == 'l') {
        lose(owner);
    } else if (what == 's' && !owner->is_lost) {
        (void)pipe_hub_refuse_size(owner->hub, UINT32_MAX);
        (void)pipe_hub_refuse_result(owner->hub, UINT32_MAX,
                                     SPAN("{\"call_id\":\"00000000-0000-4000-8000-000000000002\""));
        lose(owner);
    } else if (what == 'w' || what == 'f') {
        owner->fails = owner->fails != 0 ? 0 : what == 'w' ? -EPIPE : 1;
    } else if (what == 't') {
        owner->now_ms += 7000;
    }
}

static void play(Owner *owner, Span line)
{
    if (line.n == 2 && line.p[0] == '!') {
        command(owner, line.p[1]);
    } else if (!owner->is_lost && pipe_hub_receive(owner->hub, line, owner->now_ms) != 0) {
        lose(owner);
    }
    if (!owner->is_lost &&
        (!pipe_hub_advance(owner->hub, owner->now_ms) || pipe_hub_error(owner->hub) != 0)) {
        lose(owner);
    }
    FUZZ_REQUIRE(owner->is_lost || pipe_hub_deadline(owner->hub) > owner->now_ms);
    FUZZ_REQUIRE(pipe_hub_pending(owner->hub) == owner->n_open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Owner owner;
    PipeHubConfig config = {.seed = {1, 2}, .max_bytes = MAX_BYTES};
    Span input = span_make((const char *)data, size);

    owner = (Owner){.now_ms = 1};
    owner.sink = (PipeSink){
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &owner};
    owner.source = (PipeSource){.uuid = source_uuid, .unix_ms = source_unix_ms, .context = &owner};
    config.sink = &owner.sink;
    config.source = &owner.source;
    bytes_init(&owner.message, SIZE_MAX);
    arena_init(&owner.arena, SIZE_MAX);
    FUZZ_REQUIRE(pipe_hub_new(&owner.hub, &config, owner.now_ms) == 0);
    while (input.n > 0) {
        const char *newline = memchr(input.p, '\n', input.n);
        size_t n = newline == NULL ? input.n : (size_t)(newline - input.p);

        play(&owner, span_make(input.p, n));
        n += newline != NULL ? 1 : 0;
        input = span_make(input.p + n, input.n - n);
    }
    owner.hub = pipe_hub_free(owner.hub);
    FUZZ_REQUIRE(owner.n_open == 0);
    for (size_t i = 0; i < owner.n_asked; i++) {
        call_deinit(&owner.asked[i].call);
    }
    bytes_deinit(&owner.message);
    arena_deinit(&owner.arena);
    return 0;
}
