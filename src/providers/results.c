#include "providers/results.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/utf8.h"
#include "call/answer.h"

/* Hexadecimal digits of an ID: 128 bits. */
#define RESULTS_ID 32

/* Links of one result besides that to its text: what is left is sent as it is. */
#define RESULTS_LINKS 32

typedef struct Kept {
    char id[RESULTS_ID + 1];
    char *owner; /* NULL: everybody's */
    size_t n_owner;
    char *text;
    size_t n;
    char mime[64];
    bool is_blob;
    int64_t born_ms;
} Kept;

struct Results {
    ResultsConfig config;
    RouterShorten shorten;
    Kept kept[LIMIT_RESULTS_COUNT]; /* oldest first */
    size_t n_kept;
    size_t n_bytes;
    size_t n_added; /* entries of the router */
    Arena scratch;
    Bytes rest; /* text that does not fit */
    Bytes words;
    CallAnswer answer; /* of what is shortened */
    CallAnswer reply;  /* of who reads on */
    bool is_reading;
    CallResult shortened;
};

/* ---- what is kept ---- */

static void kept_drop(Results *results, size_t i)
{
    Kept *kept = &results->kept[i];

    results->n_bytes -= kept->n;
    mem_free(kept->owner);
    mem_free(kept->text);
    results->n_kept--;
    memmove(kept, kept + 1, (results->n_kept - i) * sizeof(*kept));
}

static Span kept_owner(const Kept *kept)
{
    return span_make(kept->owner, kept->n_owner);
}

static void kept_expire(Results *results)
{
    int64_t now_ms = results->config.now_ms(results->config.context);

    while (results->n_kept > 0 && now_ms - results->kept[0].born_ms > LIMIT_RESULTS_MS) {
        kept_drop(results, 0);
    }
}

/* Bytes of all that one owner has. */
static size_t kept_sum(const Results *results, Span owner)
{
    size_t n = 0;

    for (size_t i = 0; i < results->n_kept; i++) {
        n += span_equals(kept_owner(&results->kept[i]), owner) ? results->kept[i].n + 1 : 0;
    }
    return n;
}

/* The oldest of the one who has most: nobody pushes out what others have. */
static void kept_evict(Results *results)
{
    size_t victim = 0;
    size_t most = 0;

    for (size_t i = 0; i < results->n_kept; i++) {
        size_t sum = kept_sum(results, kept_owner(&results->kept[i]));

        if (sum > most) {
            most = sum;
            victim = i;
        }
    }
    kept_drop(results, victim);
}

/* A task's result is fetched again and again: the same text of the same owner is kept once. */
static Kept *kept_find_text(Results *results, Span owner, Span text)
{
    for (size_t i = 0; i < results->n_kept; i++) {
        Kept *kept = &results->kept[i];

        if (kept->n == text.n && span_equals(kept_owner(kept), owner) &&
            memcmp(kept->text, text.p, text.n) == 0) {
            return kept;
        }
    }
    return NULL;
}

static char *copy_text(Span text)
{
    char *copy = mem_alloc(text.n + 1);

    if (copy != NULL && text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    return copy;
}

static int kept_name(Results *results, Kept *kept)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t random[RESULTS_ID / 2];
    int r = results->config.random(random, sizeof(random));

    for (size_t i = 0; i < sizeof(random); i++) {
        kept->id[2 * i] = digits[random[i] >> 4];
        kept->id[2 * i + 1] = digits[random[i] & 15];
    }
    kept->id[RESULTS_ID] = '\0';
    return err_pass(r);
}

/* mime: static, or else copied into the entry. NULL: it cannot be kept. */
static const Kept *kept_add(Results *results, Span owner, Span text, Span mime, bool is_blob)
{
    Kept *there = kept_find_text(results, owner, text);
    Kept kept = {.n = text.n,
                 .n_owner = owner.n,
                 .is_blob = is_blob,
                 .born_ms = results->config.now_ms(results->config.context)};
    size_t n_mime = mime.n < sizeof(kept.mime) - 1 ? mime.n : sizeof(kept.mime) - 1;

    if (there != NULL) {
        return there;
    }
    kept_expire(results);
    if (text.n > LIMIT_RESULTS_BYTES) {
        return NULL;
    }
    while (results->n_kept == LIMIT_RESULTS_COUNT ||
           results->n_bytes + text.n > LIMIT_RESULTS_BYTES) {
        kept_evict(results);
    }
    memcpy(kept.mime, mime.p, n_mime);
    kept.owner = copy_text(owner);
    kept.text = copy_text(text);
    if (kept.owner == NULL || kept.text == NULL || kept_name(results, &kept) != 0) {
        mem_free(kept.owner);
        mem_free(kept.text);
        return NULL;
    }
    results->kept[results->n_kept] = kept;
    results->n_bytes += text.n;
    return &results->kept[results->n_kept++];
}

static const Kept *kept_find(Results *results, Span owner, Span id)
{
    kept_expire(results);
    for (size_t i = 0; i < results->n_kept; i++) {
        const Kept *kept = &results->kept[i];

        if (span_equals(span_from_str(kept->id), id) && span_equals(kept_owner(kept), owner)) {
            return kept;
        }
    }
    return NULL;
}

/* ---- shortening ---- */

/* The most bytes of text that are no more than n and end with a character. */
static size_t whole_characters(Span text, size_t n)
{
    if (n >= text.n) {
        return text.n;
    }
    while (n > 0 && (utf8_byte(text.p + n) & 0xC0) == 0x80) {
        n--;
    }
    return n;
}

static int results_parse(Results *results, const CallResult *result, JsonValue *ret)
{
    JsonDoc doc;
    int r = bytes_append_byte(&results->words, '[');

    for (size_t i = 0; r == 0 && i < result->n_pieces; i++) {
        r = bytes_append_span(&results->words, result->pieces[i]);
    }
    r = r != 0 ? r : bytes_append_byte(&results->words, ']');
    r = r != 0 ? r
               : json_parse(&doc, &results->scratch, results->words.data, results->words.n, NULL,
                            NULL);
    if (r == 0) {
        *ret = json_root(&doc);
    }
    return r;
}

static bool block_is(JsonValue block, Span type)
{
    JsonValue value;

    return json_get(block, SPAN("type"), &value) && json_string_equals(value, type);
}

static bool member_text(Results *results, JsonValue object, Span key, Span *ret)
{
    JsonValue value;

    return json_get(object, key, &value) && json_kind(value) == JSON_STRING &&
           json_string(value, &results->scratch, ret) == 0;
}

static void say_link(Results *results, const Kept *kept, Span name)
{
    char uri[sizeof(RESULTS_URI) + RESULTS_ID];

    (void)snprintf(uri, sizeof(uri), RESULTS_URI "%s", kept->id);
    call_answer_link(&results->answer, SPAN_NULL, span_from_str(uri), name,
                     span_from_str(kept->mime));
}

/* A picture, a sound, an embedded resource. False: it stays as it is. */
static bool shorten_block(Results *results, Span owner, JsonValue block)
{
    JsonValue holder = block;
    Span mime = SPAN("application/octet-stream");
    Span data;
    bool is_blob = true;
    const Kept *kept;
    Bytes bytes;

    if (block_is(block, SPAN("resource")) && !json_get(block, SPAN("resource"), &holder)) {
        return false;
    }
    (void)member_text(results, holder, SPAN("mimeType"), &mime);
    if (!member_text(results, holder, SPAN("data"), &data) &&
        !member_text(results, holder, SPAN("blob"), &data)) {
        is_blob = false;
        if (!member_text(results, holder, SPAN("text"), &data)) {
            return false;
        }
    }
    if (is_blob) {
        bytes_init(&bytes, LIMIT_RESULTS_BYTES);
        kept = base64_decode(&bytes, BASE64_STANDARD, data) == 0
                   ? kept_add(results, owner, bytes_span(&bytes), mime, true)
                   : NULL;
        bytes_deinit(&bytes);
    } else {
        kept = kept_add(results, owner, data, mime, false);
    }
    if (kept == NULL) {
        return false;
    }
    say_link(results, kept, SPAN("part of the result"));
    return true;
}

/* What of the text is in the answer, and where the rest is. */
static void say_rest(Results *results, const Kept *kept, size_t n_shown)
{
    char text[512];

    (void)snprintf(
        text, sizeof(text),
        "[The result is shortened: %zu of %zu bytes of its text are above. Read on with "
        "the tool read_result {\"id\":\"%s\",\"offset\":%zu} or the resource " RESULTS_URI
        "%s?offset=%zu&length=%zu]",
        n_shown, kept->n, kept->id, n_shown, kept->id, n_shown, results->config.max_bytes);
    call_answer_text(&results->answer, SPAN_NULL, span_from_str(text));
    say_link(results, kept, SPAN("the whole text of the result"));
}

/* All blocks; what of the text does not fit is in `rest` then. *n_shown: how much of it was shown.
 */
static int shorten_blocks(Results *results, Span owner, JsonValue blocks, size_t *n_shown)
{
    size_t budget = results->config.max_bytes;
    size_t n_links = 0;
    int r = 0;

    for (JsonIter it = json_iter(blocks); r == 0 && json_iter_next(&it);) {
        size_t n = json_span(it.value).n;
        Span text;

        if (n <= budget) {
            call_answer_block(&results->answer, SPAN_NULL, json_span(it.value));
            budget -= n;
        } else if (block_is(it.value, SPAN("text")) &&
                   member_text(results, it.value, SPAN("text"), &text)) {
            if (results->rest.n == 0) {
                *n_shown = whole_characters(text, budget);
                budget = 0;
                if (*n_shown > 0) {
                    call_answer_text(&results->answer, SPAN_NULL, span_make(text.p, *n_shown));
                }
            } else {
                r = bytes_append_byte(&results->rest, '\n');
            }
            r = r != 0 ? r : bytes_append_span(&results->rest, text);
        } else if (n_links < RESULTS_LINKS && shorten_block(results, owner, it.value)) {
            n_links++;
        } else {
            call_answer_block(&results->answer, SPAN_NULL, json_span(it.value));
        }
    }
    return r;
}

/* 0: results->shortened is what the asker gets. */
static int shorten_into(Results *results, Span owner, const CallResult *result, bool has_schema)
{
    JsonValue blocks;
    Span structured = result->structured;
    size_t n_shown = 0;
    const Kept *kept;
    int r = results_parse(results, result, &blocks);

    r = r != 0 ? r : shorten_blocks(results, owner, blocks, &n_shown);
    if (r == 0 && results->rest.n > 0) {
        kept = kept_add(results, owner, bytes_span(&results->rest), SPAN("text/plain"), false);
        if (kept == NULL) {
            return -ENOMEM;
        }
        say_rest(results, kept, n_shown);
    }
    if (r == 0 && !has_schema && structured.n > results->config.max_bytes) {
        kept = kept_add(results, owner, structured, SPAN("application/json"), false);
        if (kept == NULL) {
            return -ENOMEM;
        }
        say_link(results, kept, SPAN("the structured content of the result"));
        structured = SPAN_NULL;
    }
    if (r == 0) {
        const CallResult *built = call_answer_result(&results->answer);

        results->shortened = *result;
        results->shortened.pieces = built->pieces;
        results->shortened.n_pieces = built->n_pieces;
        results->shortened.elements = JSON_VALUE_NULL;
        results->shortened.content_kinds = built->content_kinds | CALL_CONTENT_UNKNOWN;
        results->shortened.structured = structured;
        r = built->kind == CALL_RESULT_TOOL ? 0 : -ENOMEM;
    }
    return r;
}

/* Whatever goes wrong, the result is there whole. */
static const CallResult *results_shorten(void *context, Span owner, const CallResult *result,
                                         bool has_schema)
{
    Results *results = context;
    size_t n = has_schema ? 0 : result->structured.n;
    int r;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    if (n <= results->config.max_bytes || results->is_reading) {
        return result;
    }
    bytes_clear_keep(&results->rest, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&results->words, LIMIT_KEEP_BYTES);
    arena_reset(&results->scratch, LIMIT_KEEP_BYTES);
    call_answer_reset(&results->answer, CALL_RESULT_TOOL);
    r = shorten_into(results, owner, result, has_schema);
    return r == 0 ? &results->shortened : result;
}

/* ---- reading ---- */

/* "…ID", "…ID?offset=1&length=2" */
static bool uri_read(Span uri, Span *id, uint64_t *offset, uint64_t *length)
{
    size_t at;

    if (span_starts_with(uri, SPAN(RESULTS_URI))) {
        uri = span_make(uri.p + sizeof(RESULTS_URI) - 1, uri.n - sizeof(RESULTS_URI) + 1);
    }
    for (at = 0; at < uri.n && uri.p[at] != '?'; at++) {
    }
    *id = span_make(uri.p, at);
    while (at < uri.n) {
        size_t start = ++at;
        Span word;

        while (at < uri.n && uri.p[at] != '&') {
            at++;
        }
        word = span_make(uri.p + start, at - start);
        if (span_starts_with(word, SPAN("offset="))) {
            if (text_parse_u64(span_make(word.p + 7, word.n - 7), offset) != 0) {
                return false;
            }
        } else if (span_starts_with(word, SPAN("length="))) {
            if (text_parse_u64(span_make(word.p + 7, word.n - 7), length) != 0) {
                return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

/* That stretch, from the beginning of a character to the end of one. */
static Span kept_stretch(const Kept *kept, uint64_t offset, uint64_t length)
{
    Span text = span_make(kept->text, kept->n);
    size_t start = whole_characters(text, offset < text.n ? (size_t)offset : text.n);
    Span rest = span_make(text.p + start, text.n - start);
    size_t n = whole_characters(rest, length < rest.n ? (size_t)length : rest.n);

    /* A length that is less than a character must still lead further. */
    while (length > 0 && n == 0 && rest.n > 0) {
        n = whole_characters(rest, (size_t)++length);
    }
    return span_make(rest.p, n);
}

/* Not to be shortened again. */
static void reply_finish(Results *results, Call *call)
{
    results->is_reading = true;
    call_answer_finish(&results->reply, call);
    results->is_reading = false;
}

static void read_start(void *context, Call *call)
{
    Results *results = context;
    uint64_t offset = 0;
    uint64_t length = UINT64_MAX;
    const Kept *kept;
    Span id;

    if (!uri_read(call->target, &id, &offset, &length)) {
        call_fail(call, CALL_ERROR_INVALID_ARGUMENTS,
                  SPAN("a result is read with ?offset=BYTES&length=BYTES, or without"));
        return;
    }
    kept = kept_find(results, call->owner, id);
    if (kept == NULL) {
        call_fail(call, CALL_ERROR_UNKNOWN_RESOURCE,
                  SPAN("there is no such result, or it is not kept any more"));
        return;
    }
    call_answer_reset(&results->reply, CALL_RESULT_RESOURCE);
    results->reply.result.is_private = true;
    if (kept->is_blob) {
        call_answer_contents_blob(&results->reply, call->target, span_from_str(kept->mime),
                                  span_make(kept->text, kept->n));
    } else {
        call_answer_contents_text(&results->reply, call->target, span_from_str(kept->mime),
                                  kept_stretch(kept, offset, length));
    }
    reply_finish(results, call);
}

static uint64_t argument_number(const Call *call, Span name, uint64_t otherwise)
{
    JsonValue value;
    double number;

    return json_get(call->arguments, name, &value) && json_double(value, &number) == 0
               ? (uint64_t)number
               : otherwise;
}

static void tool_start(void *context, Call *call)
{
    Results *results = context;
    uint64_t offset = argument_number(call, SPAN("offset"), 0);
    uint64_t length = argument_number(call, SPAN("length"), results->config.max_bytes);
    uint64_t unused = 0;
    const Kept *kept = NULL;
    JsonValue value;
    Span id = SPAN_NULL;
    Span part;
    char more[128];

    arena_reset(&results->scratch, LIMIT_KEEP_BYTES);
    if (json_get(call->arguments, SPAN("id"), &value) &&
        json_string(value, &results->scratch, &id) == 0 && uri_read(id, &id, &unused, &unused)) {
        kept = kept_find(results, call->owner, id);
    }
    call_answer_reset(&results->reply, CALL_RESULT_TOOL);
    if (kept == NULL || kept->is_blob) {
        call_answer_text(&results->reply, SPAN_NULL,
                         kept != NULL ? SPAN("It is no text: read the resource.")
                                      : SPAN("There is no such result, or it is not kept any "
                                             "more: call the tool again."));
        results->reply.result.is_error = true;
        reply_finish(results, call);
        return;
    }
    /* More would be shortened again. */
    part = kept_stretch(kept, offset,
                        length < results->config.max_bytes ? length : results->config.max_bytes);
    call_answer_text(&results->reply, SPAN_NULL, part);
    (void)snprintf(more, sizeof(more), "[bytes %zu to %zu of %zu]", (size_t)(part.p - kept->text),
                   (size_t)(part.p - kept->text) + part.n, kept->n);
    call_answer_text(&results->reply, SPAN_NULL, span_from_str(more));
    reply_finish(results, call);
}

/* ---- life ---- */

static const CallProvider read_provider = {.name = "results", .start = read_start};
static const CallProvider tool_provider = {.name = "results", .start = tool_start};

static const struct {
    RouterKind kind;
    Span key;
    Span json;
    const CallProvider *provider;
} results_entries[] = {
    {ROUTER_TOOL, SPAN_INIT("read_result"),
     SPAN_INIT(
         "{\"name\":\"read_result\",\"title\":\"Read result\",\"description\":\"Gives more of "
         "a result that was shortened.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
         "{\"id\":{\"type\":\"string\"},\"offset\":{\"type\":\"integer\",\"minimum\":0,"
         "\"description\":\"in bytes\"},\"length\":{\"type\":\"integer\",\"minimum\":1}},"
         "\"required\":[\"id\"],\"additionalProperties\":false},\"annotations\":{"
         "\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}}"),
     &tool_provider},
    {ROUTER_TEMPLATE, SPAN_INIT(RESULTS_URI "{id}"),
     SPAN_INIT("{\"uriTemplate\":\"" RESULTS_URI "{id}\",\"name\":\"result\",\"title\":\"Shortened "
               "result\",\"description\":\"The whole of a result; ?offset=BYTES&length=BYTES "
               "reads a part.\"}"),
     &read_provider},
};

int results_new(Results **ret, const ResultsConfig *config, Diag *reterr_diag)
{
    Results *results = mem_alloc_array(1, sizeof(*results));
    int r = 0;

    if (results == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(results, 0, sizeof(*results));
    results->config = *config;
    results->shorten = (RouterShorten){.shorten = results_shorten, .context = results};
    arena_init(&results->scratch, SIZE_MAX);
    bytes_init(&results->rest, LIMIT_RESULTS_BYTES);
    bytes_init(&results->words, 2 * LIMIT_RESULTS_BYTES);
    call_answer_init(&results->answer, 2 * LIMIT_RESULTS_BYTES);
    call_answer_init(&results->reply, 2 * LIMIT_RESULTS_BYTES);
    while (r == 0 && results->n_added < TW_ARRAY_SIZE(results_entries)) {
        size_t i = results->n_added;

        r = router_add(config->router,
                       &(RouterSpec){.kind = results_entries[i].kind,
                                     .json = results_entries[i].json,
                                     .provider = results_entries[i].provider,
                                     .prefix = results_entries[i].kind == ROUTER_TEMPLATE
                                                   ? SPAN(RESULTS_URI)
                                                   : SPAN_NULL,
                                     .context = results},
                       reterr_diag);
        results->n_added += r == 0;
    }
    if (r != 0) {
        (void)results_free(results);
        return r == ROUTER_E_EXISTS ? RESULTS_E_EXISTS : err_fold(r);
    }
    router_set_shorten(config->router, &results->shorten);
    *ret = results;
    return 0;
}

Results *results_free(Results *results)
{
    if (results == NULL) {
        return NULL;
    }
    router_set_shorten(results->config.router, NULL);
    for (size_t i = 0; i < results->n_added; i++) {
        (void)router_remove(results->config.router, results_entries[i].kind,
                            results_entries[i].key);
    }
    while (results->n_kept > 0) {
        kept_drop(results, results->n_kept - 1);
    }
    arena_deinit(&results->scratch);
    bytes_deinit(&results->rest);
    bytes_deinit(&results->words);
    call_answer_deinit(&results->answer);
    call_answer_deinit(&results->reply);
    return mem_free(results);
}
