#include "providers/addin_words.h"

#include "base/bytes.h"
#include "dialect/pipe/message.h"
#include "json/json.h"

/* What is put together here is bounded by what the router says: 32 faults of a few hundred bytes.
 */
#define WORDS_BYTES ((size_t)256 * 1024)

/* Text that is being put together; the first failure sticks. */
typedef struct Words {
    Bytes text;
    int r;
} Words;

static void words_add(Words *words, Span text)
{
    if (words->r == 0) {
        words->r = bytes_append_span(&words->text, text);
    }
}

/* A copy in the arena; p NULL if anything failed. */
static Span words_keep(Words *words, Arena *arena)
{
    Span copy = words->r == 0 ? arena_copy(arena, bytes_span(&words->text)) : SPAN_NULL;

    bytes_deinit(&words->text);
    return copy;
}

static Words words_begin(void)
{
    Words words = {.r = 0};

    bytes_init(&words.text, WORDS_BYTES);
    return words;
}

static bool words_for_timeout(CallResult *ret, Arena *arena, const CallResult *error)
{
    Words words = words_begin();
    Span message;

    words_add(&words, SPAN("the add-in did not respond in time: "));
    words_add(&words, error->message);
    words_add(&words, SPAN("; it may still do the work"));
    message = words_keep(&words, arena);
    return message.p != NULL && pipe_result_fail(ret, arena, PIPE_CODE_TIMEOUT, message) == 0;
}

/* The text of a member; empty if there is none. */
static Span words_member(Words *words, Arena *arena, JsonValue object, Span name)
{
    JsonValue value;
    Span text = SPAN_NULL;

    if (json_get(object, name, &value) && json_kind(value) == JSON_STRING) {
        int r = json_string(value, arena, &text);

        words->r = words->r == 0 ? r : words->r;
    }
    return text;
}

/* Faults that a schema found, as one says them. */
typedef struct WordsFaults {
    Span code;
    Span head;
    Span tail;
} WordsFaults;

/* "Argument validation failed: /a: expected number; /b: required", as the real system writes it. */
static Span words_of_faults(Arena *arena, const WordsFaults *how, const CallResult *error,
                            JsonValue list)
{
    Words words = words_begin();
    bool is_first = true;

    words_add(&words, how->head);
    if (list.node == NULL || json_count(list) == 0) {
        words_add(&words, error->message);
        words_add(&words, how->tail);
        return words_keep(&words, arena);
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        Span path = words_member(&words, arena, it.value, SPAN("path"));

        words_add(&words, is_first ? SPAN_NULL : SPAN("; "));
        words_add(&words, path);
        words_add(&words, path.n > 0 ? SPAN(": ") : SPAN_NULL);
        words_add(&words, words_member(&words, arena, it.value, SPAN("message")));
        is_first = false;
    }
    words_add(&words, how->tail);
    return words_keep(&words, arena);
}

/* {"data":[{"path","message"}…]}: what the error says besides its code and message. False if there
 * is no memory. */
static bool words_wrap(Arena *arena, Span data, JsonValue *ret_error, JsonValue *ret_list)
{
    Words words = words_begin();
    JsonDoc doc;
    Span text;

    *ret_error = JSON_VALUE_NULL;
    *ret_list = JSON_VALUE_NULL;
    if (data.n == 0) {
        bytes_deinit(&words.text);
        return true;
    }
    words_add(&words, SPAN("{\"data\":"));
    words_add(&words, data);
    words_add(&words, SPAN("}"));
    text = words_keep(&words, arena);
    if (text.p == NULL || json_parse(&doc, arena, text.p, text.n, NULL, NULL) != 0) {
        return false;
    }
    *ret_error = json_root(&doc);
    return json_get(*ret_error, SPAN("data"), ret_list);
}

static bool words_for_faults(CallResult *ret, Arena *arena, const WordsFaults *how,
                             const CallResult *error)
{
    PipeMessage failure = {.type = PIPE_TOOL_RESULT, .code = how->code, .duration_ms = -1};
    JsonValue list;

    if (!words_wrap(arena, error->data, &failure.error, &list)) {
        return false;
    }
    failure.message = words_of_faults(arena, how, error, list);
    if (failure.message.p == NULL || pipe_result_read(ret, arena, &failure, 0) != 0) {
        return false;
    }
    ret->meta = SPAN_NULL; /* the time that it took is not known here */
    return true;
}

bool addin_words_for(CallResult *ret, Arena *arena, const CallResult *error)
{
    static const WordsFaults arguments = {SPAN_INIT(PIPE_CODE_INVALID),
                                          SPAN_INIT("Argument validation failed: "), SPAN_INIT("")};
    static const WordsFaults result = {
        SPAN_INIT(PIPE_CODE_PROTOCOL),
        SPAN_INIT("the add-in's result breaks the tool's output schema: "),
        SPAN_INIT("; the call has run")};

    switch (error->error) {
    case CALL_ERROR_TIMEOUT:
        return words_for_timeout(ret, arena, error);
    case CALL_ERROR_INVALID_ARGUMENTS:
        return words_for_faults(ret, arena, &arguments, error);
    case CALL_ERROR_BAD_RESULT:
        return words_for_faults(ret, arena, &result, error);
    default:
        return false;
    }
}
