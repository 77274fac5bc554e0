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

/* Faults that a schema found, as the real system says them. */
typedef struct WordsFaults {
    Span code;
    Span head;
    Span tail;
} WordsFaults;

/* {"data":[{"path","message"}…]}: what the error says besides its code and message. False if there
 * is no memory. */
static bool words_wrap(Arena *arena, Span data, JsonValue *ret_error)
{
    Words words = words_begin();
    JsonDoc doc;
    Span text;

    *ret_error = JSON_VALUE_NULL;
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
    return true;
}

static bool words_for_faults(CallResult *ret, Arena *arena, const WordsFaults *how,
                             const CallResult *error)
{
    PipeMessage failure = {.type = PIPE_TOOL_RESULT, .code = how->code, .duration_ms = -1};
    Words words = words_begin();

    words_add(&words, how->head);
    words_add(&words, error->message);
    words_add(&words, how->tail);
    failure.message = words_keep(&words, arena);
    if (!words_wrap(arena, error->data, &failure.error)) {
        return false;
    }
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
