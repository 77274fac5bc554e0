#include "dialect/mcp/request.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Storage that a request in the pool keeps in each of its buffers: ids and tokens are short, and
 * there may be hundreds of requests. */
#define REQUEST_KEEP_BYTES ((size_t)1024)

/* Table of the largest session; above it chains grow, which costs time and not memory. */
#define REQUESTS_MAX_BUCKETS ((size_t)1 << 16)

void mcp_link_init(McpLink *link)
{
    link->prev = link;
    link->next = link;
}

bool mcp_link_is_alone(const McpLink *link)
{
    return link->next == link;
}

void mcp_link_append(McpLink *head, McpLink *link)
{
    assert(mcp_link_is_alone(link));
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

void mcp_link_remove(McpLink *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    mcp_link_init(link);
}

static McpRequest *request_free(McpRequest *request)
{
    call_deinit(&request->call);
    bytes_deinit(&request->words);
    bytes_deinit(&request->question_words);
    bytes_deinit(&request->answers);
    bytes_deinit(&request->asked_state);
    arena_deinit(&request->answers_arena);
    request->questions = mem_free(request->questions);
    request->uris = mem_free(request->uris);
    return mem_free(request);
}

static McpRequest *request_new(void)
{
    McpRequest *request = mem_alloc_array(1, sizeof(*request));

    if (request == NULL) {
        return NULL;
    }
    call_init(&request->call);
    mcp_link_init(&request->link);
    mcp_link_init(&request->turn);
    /* Bounded by the message that they came in. */
    bytes_init(&request->words, SIZE_MAX);
    /* Keys, schemas and state are our own providers'. */
    bytes_init(&request->question_words, LIMIT_MCP_STATE_BYTES);
    bytes_init(&request->asked_state, LIMIT_MCP_STATE_BYTES);
    bytes_init(&request->answers, LIMIT_MCP_STATE_BYTES);
    arena_init(&request->answers_arena, 32 * LIMIT_MCP_STATE_BYTES);
    return request;
}

int mcp_requests_init(McpRequests *requests, HashSeed seed, size_t max_open)
{
    size_t n = 16;

    *requests = (McpRequests){.seed = seed};
    mcp_link_init(&requests->open);
    mcp_link_init(&requests->free);
    while (n < max_open && n < REQUESTS_MAX_BUCKETS) {
        n *= 2;
    }
    requests->buckets = mem_alloc_array(n, sizeof(*requests->buckets));
    if (requests->buckets == NULL) {
        return err_raise(-ENOMEM);
    }
    requests->n_buckets = n;
    return 0;
}

void mcp_requests_deinit(McpRequests *requests)
{
    while (requests->young != NULL) {
        mcp_requests_close(requests, requests->young);
    }
    for (size_t i = 0; i < requests->n_buckets; i++) {
        while (requests->buckets[i] != NULL) {
            mcp_requests_close(requests, requests->buckets[i]);
        }
    }
    while (requests->free.next != NULL && !mcp_link_is_alone(&requests->free)) {
        McpRequest *request = MCP_LINK_OWNER(requests->free.next, McpRequest, link);

        mcp_link_remove(&request->link);
        (void)request_free(request);
    }
    requests->buckets = mem_free(requests->buckets);
    requests->n_buckets = 0;
}

static McpRequest **bucket_of(const McpRequests *requests, uint64_t hash)
{
    return &requests->buckets[(size_t)hash & (requests->n_buckets - 1)];
}

/* Somebody looks for a request: those that outlived their message belong into the table. */
static void requests_index(McpRequests *requests)
{
    while (requests->young != NULL) {
        McpRequest *request = requests->young;
        McpRequest **bucket;

        requests->young = request->next_in_bucket;
        request->hash = hash_span(requests->seed, request->key);
        request->is_indexed = true;
        bucket = bucket_of(requests, request->hash);
        request->next_in_bucket = *bucket;
        *bucket = request;
    }
}

McpRequest *mcp_requests_find(McpRequests *requests, Span key)
{
    uint64_t hash;
    McpRequest *request;

    if (requests->n_used == 0) {
        return NULL;
    }
    requests_index(requests);
    hash = hash_span(requests->seed, key);
    request = *bucket_of(requests, hash);
    while (request != NULL && (request->hash != hash || !span_equals(request->key, key))) {
        request = request->next_in_bucket;
    }
    return request;
}

static Span add_word(Bytes *words, Span word)
{
    Span added = span_make(words->data + words->n, word.n);

    (void)bytes_append_span(words, word);
    return added;
}

static int request_set_words(McpRequest *request, Span id, Span key, Span token)
{
    Bytes *words = &request->words;
    int r = bytes_reserve(words, id.n + key.n + token.n + 1);

    if (r != 0) {
        return err_fold(r);
    }
    /* There is room for all of it: nothing moves any more. */
    request->id = add_word(words, id);
    /* Most ids are written in the one way that they are known by. */
    request->key = key.p == id.p && key.n == id.n ? request->id : add_word(words, key);
    request->token = add_word(words, token);
    return 0;
}

int mcp_requests_open(McpRequests *requests, Span id, Span key, Span token, bool is_call,
                      McpRequest **ret)
{
    McpRequest *request;
    int r;

    if (mcp_link_is_alone(&requests->free)) {
        request = request_new();
        if (request == NULL) {
            return err_raise(-ENOMEM);
        }
    } else {
        request = MCP_LINK_OWNER(requests->free.prev, McpRequest, link);
        mcp_link_remove(&request->link);
    }
    r = request_set_words(request, id, key, token);
    if (r != 0) {
        mcp_link_append(&requests->free, &request->link);
        return err_pass(r);
    }
    request->is_indexed = false;
    request->next_in_bucket = requests->young;
    requests->young = request;
    requests->n_used++;
    if (is_call) {
        request->state = MCP_REQUEST_QUEUED;
        mcp_link_append(&requests->open, &request->link);
        requests->n_open++;
    } else {
        request->state = MCP_REQUEST_LISTENING;
    }
    *ret = request;
    return 0;
}

static void request_reset(McpRequest *request)
{
    call_reset(&request->call);
    bytes_clear_keep(&request->words, REQUEST_KEEP_BYTES);
    bytes_clear_keep(&request->question_words, REQUEST_KEEP_BYTES);
    bytes_clear_keep(&request->answers, REQUEST_KEEP_BYTES);
    bytes_clear_keep(&request->asked_state, REQUEST_KEEP_BYTES);
    arena_reset(&request->answers_arena, REQUEST_KEEP_BYTES);
    request->uris = mem_free(request->uris);
    request->n_uris = 0;
    request->n_tasks = 0;
    request->owner = SPAN_NULL;
    request->n_questions = 0;
    request->n_unanswered = 0;
    request->n_rounds = 0;
    request->batch = NULL;
    request->stream = NULL;
    request->is_bare = false;
    request->state = MCP_REQUEST_FREE;
}

void mcp_requests_close(McpRequests *requests, McpRequest *request)
{
    McpRequest **place =
        request->is_indexed ? bucket_of(requests, request->hash) : &requests->young;

    assert(request->state != MCP_REQUEST_FREE);
    while (*place != request) {
        place = &(*place)->next_in_bucket;
    }
    *place = request->next_in_bucket;
    requests->n_used--;
    if (request->state != MCP_REQUEST_LISTENING) {
        requests->n_open--;
    }
    mcp_link_remove(&request->link);
    mcp_link_remove(&request->turn);
    request_reset(request);
    mcp_link_append(&requests->free, &request->link);
}
