#include "call/result.h"

#include "base/compiler.h"

static const char *const error_texts[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = "no error",
    [CALL_ERROR_UNKNOWN_TOOL] = "unknown tool",
    [CALL_ERROR_UNKNOWN_PROMPT] = "unknown prompt",
    [CALL_ERROR_UNKNOWN_RESOURCE] = "unknown resource",
    [CALL_ERROR_INVALID_ARGUMENTS] = "invalid arguments",
    [CALL_ERROR_INVALID_CURSOR] = "invalid cursor",
    [CALL_ERROR_RATE] = "rate limit exceeded",
    [CALL_ERROR_BUSY] = "too many calls in flight",
    [CALL_ERROR_TIMEOUT] = "deadline passed",
    [CALL_ERROR_CANCELLED] = "cancelled",
    [CALL_ERROR_UNAVAILABLE] = "the provider is not available",
    [CALL_ERROR_BAD_RESULT] = "the result does not match the output schema",
    [CALL_ERROR_TOO_LARGE] = "the result is too large",
    [CALL_ERROR_CANNOT_ASK] = "input is needed that this client cannot give",
    [CALL_ERROR_NEEDS_LATER] = "the tool runs only as a task",
    [CALL_ERROR_NEVER_LATER] = "the tool does not run as a task",
    [CALL_ERROR_UNKNOWN_TASK] = "unknown task",
    [CALL_ERROR_TASK_OVER] = "the task has ended",
    [CALL_ERROR_DROPPED] = "the result was dropped to keep all results within keep_bytes",
    [CALL_ERROR_INTERNAL] = "internal error",
    [CALL_ERROR_RAISED] = "the tool failed",
    [CALL_ERROR_OWN] = "the call failed",
};

const char *const call_error_names[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = "none",
    [CALL_ERROR_UNKNOWN_TOOL] = "unknown_tool",
    [CALL_ERROR_UNKNOWN_PROMPT] = "unknown_prompt",
    [CALL_ERROR_UNKNOWN_RESOURCE] = "unknown_resource",
    [CALL_ERROR_INVALID_ARGUMENTS] = "invalid_arguments",
    [CALL_ERROR_INVALID_CURSOR] = "invalid_cursor",
    [CALL_ERROR_RATE] = "rate",
    [CALL_ERROR_BUSY] = "busy",
    [CALL_ERROR_TIMEOUT] = "timeout",
    [CALL_ERROR_CANCELLED] = "cancelled",
    [CALL_ERROR_UNAVAILABLE] = "unavailable",
    [CALL_ERROR_BAD_RESULT] = "bad_result",
    [CALL_ERROR_TOO_LARGE] = "too_large",
    [CALL_ERROR_CANNOT_ASK] = "cannot_ask",
    [CALL_ERROR_NEEDS_LATER] = "needs_later",
    [CALL_ERROR_NEVER_LATER] = "never_later",
    [CALL_ERROR_UNKNOWN_TASK] = "unknown_task",
    [CALL_ERROR_TASK_OVER] = "task_over",
    [CALL_ERROR_DROPPED] = "dropped",
    [CALL_ERROR_INTERNAL] = "internal",
    [CALL_ERROR_RAISED] = "raised",
    [CALL_ERROR_OWN] = "own",
};

bool call_result_has_code(const CallResult *result)
{
    return result->wire_code != 0 || (result->error == CALL_ERROR_OWN && result->is_relayed);
}

const char *call_error_text(CallError error)
{
    size_t i = (size_t)error;

    return i < TW_ARRAY_SIZE(error_texts) ? error_texts[i] : error_texts[CALL_ERROR_INTERNAL];
}
