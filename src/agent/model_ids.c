#include "agent/model_ids.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

/* A call, in the order of the conversation. */
typedef struct IdUse {
    Span id;   /* as it was given */
    Span wire; /* as it is sent */
    size_t message;
    size_t n_repeats; /* numbers that were tried behind wire */
    bool is_answered;
    struct IdUse *next; /* of the same slot */
} IdUse;

typedef struct Ids {
    Arena *arena;
    size_t max_bytes;
    IdUse *uses;
    size_t n_uses;
    IdUse **slots; /* by the hash of wire */
    size_t n_slots;
} Ids;

/* Room for "_" and a number. */
#define IDS_SUFFIX_BYTES 24

static IdUse **ids_slot(const Ids *ids, Span wire)
{
    static const HashSeed seed = {0};

    return &ids->slots[hash_span(seed, wire) % ids->n_slots];
}

static IdUse *ids_find(const Ids *ids, Span wire)
{
    IdUse *use = *ids_slot(ids, wire);

    while (use != NULL && !span_equals(use->wire, wire)) {
        use = use->next;
    }
    return use;
}

/* As the service takes it, whether it is there already or not. */
static int ids_clean(const Ids *ids, Span id, Span *ret)
{
    size_t n = ids->max_bytes > 0 && id.n > ids->max_bytes ? ids->max_bytes : id.n;
    char *wire;

    if (ids->max_bytes == 0 || n == 0) {
        *ret = ids->max_bytes == 0 ? id : SPAN("_");
        return 0;
    }
    wire = arena_alloc(ids->arena, n);
    if (wire == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        char c = id.p[i];
        bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-';

        wire[i] = is_allowed ? c : '_';
    }
    *ret = span_make(wire, n);
    return 0;
}

/* Puts a number behind *wire until nobody has it. */
static int ids_number(const Ids *ids, Span *wire)
{
    char suffix[IDS_SUFFIX_BYTES];
    IdUse *first = ids_find(ids, *wire);
    Span base = *wire;
    char *text;

    if (first == NULL) {
        return 0;
    }
    text = arena_alloc(ids->arena, base.n + sizeof(suffix));
    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    do {
        size_t n_suffix = (size_t)snprintf(suffix, sizeof(suffix), "_%zu", ++first->n_repeats + 1);
        size_t n = ids->max_bytes > 0 && base.n + n_suffix > ids->max_bytes
                       ? ids->max_bytes - n_suffix
                       : base.n;

        memcpy(text, base.p, n);
        memcpy(text + n, suffix, n_suffix);
        *wire = span_make(text, n + n_suffix);
    } while (ids_find(ids, *wire) != NULL);
    return 0;
}

static int ids_use(Ids *ids, AgentBlock *block, size_t message)
{
    IdUse *use = &ids->uses[ids->n_uses];
    IdUse **slot;
    int r;

    *use = (IdUse){.id = block->id, .message = message};
    r = ids_clean(ids, block->id, &use->wire);
    r = r != 0 ? r : ids_number(ids, &use->wire);
    if (r != 0) {
        return err_pass(r);
    }
    slot = ids_slot(ids, use->wire);
    use->next = *slot;
    *slot = use;
    ids->n_uses++;
    block->id = use->wire;
    return 0;
}

/* It belongs to the last message that has such a call, and there to the first without a result. */
static int ids_result(Ids *ids, AgentBlock *block)
{
    IdUse *found = NULL;

    for (size_t i = ids->n_uses; i > 0; i--) {
        IdUse *use = &ids->uses[i - 1];

        if (found != NULL && use->message != found->message) {
            break;
        }
        if (!use->is_answered && span_equals(use->id, block->id)) {
            found = use;
        }
    }
    if (found == NULL) {
        return err_pass(ids_clean(ids, block->id, &block->id));
    }
    found->is_answered = true;
    block->id = found->wire;
    return 0;
}

static int ids_message(Ids *ids, AgentMessage *message, size_t place)
{
    AgentBlock *blocks = arena_alloc_array(ids->arena, message->n_blocks, sizeof(*blocks));
    int r = 0;

    if (blocks == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; r == 0 && i < message->n_blocks; i++) {
        blocks[i] = message->blocks[i];
        if (blocks[i].kind == AGENT_BLOCK_TOOL_USE) {
            r = ids_use(ids, &blocks[i], place);
        } else if (blocks[i].kind == AGENT_BLOCK_TOOL_RESULT) {
            r = ids_result(ids, &blocks[i]);
        }
    }
    message->blocks = blocks;
    return r;
}

static size_t ids_count(const ModelRequest *request)
{
    size_t n = 0;

    for (size_t i = 0; i < request->n_messages; i++) {
        for (size_t j = 0; j < request->messages[i].n_blocks; j++) {
            n += request->messages[i].blocks[j].kind == AGENT_BLOCK_TOOL_USE;
        }
    }
    return n;
}

int model_ids_make(Arena *arena, const ModelRequest *request, size_t max_bytes, ModelRequest *ret)
{
    size_t n = ids_count(request);
    Ids ids = {.arena = arena, .max_bytes = max_bytes, .n_slots = n + 1};
    AgentMessage *messages = arena_alloc_array(arena, request->n_messages, sizeof(*messages));
    int r = 0;

    ids.uses = arena_alloc_array(arena, n, sizeof(*ids.uses));
    ids.slots = arena_alloc_array(arena, ids.n_slots, sizeof(*ids.slots));
    if (messages == NULL || ids.uses == NULL || ids.slots == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(ids.slots, 0, ids.n_slots * sizeof(*ids.slots));
    for (size_t i = 0; r == 0 && i < request->n_messages; i++) {
        messages[i] = request->messages[i];
        r = ids_message(&ids, &messages[i], i);
    }
    *ret = *request;
    ret->messages = messages;
    return r;
}
