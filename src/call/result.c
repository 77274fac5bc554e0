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
    [CALL_ERROR_INTERNAL] = "internal error",
    [CALL_ERROR_RAISED] = "the tool failed",
    [CALL_ERROR_OWN] = "the call failed",
};

const char *call_error_text(CallError error)
{
    size_t i = (size_t)error;

    return i < TW_ARRAY_SIZE(error_texts) ? error_texts[i] : error_texts[CALL_ERROR_INTERNAL];
}
