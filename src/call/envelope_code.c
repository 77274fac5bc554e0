/* The codes of an envelope: their names, what they say to people, and what follows from them. */
#include "call/envelope.h"

#include "base/compiler.h"

typedef struct CodeRow {
    Span name;
    const char *text;
    bool is_retryable;
} CodeRow;

static const CodeRow code_rows[ENVELOPE_N_CODES] = {
    [ENVELOPE_OK] = {SPAN_INIT("OK"), "OK", false},
    [ENVELOPE_UNKNOWN_COMMAND] = {SPAN_INIT("UNKNOWN_COMMAND"), "There is no such command", false},
    [ENVELOPE_INVALID_PARAMS] = {SPAN_INIT("INVALID_PARAMS"), "The parameters are not right",
                                 false},
    [ENVELOPE_PRECONDITION_FAILED] = {SPAN_INIT("PRECONDITION_FAILED"),
                                      "The document is not as the caller expects it", false},
    [ENVELOPE_CONFIRMATION_REQUIRED] = {SPAN_INIT("CONFIRMATION_REQUIRED"),
                                        "The command must be confirmed first", false},
    [ENVELOPE_CONFIRMATION_INVALID] = {SPAN_INIT("CONFIRMATION_INVALID"),
                                       "The confirm token is not for this command", false},
    [ENVELOPE_FAILURE_HANDLING] = {SPAN_INIT("FAILURE_HANDLING_CONFIRMATION_REQUIRED"),
                                   "Say what is to become of failures first", false},
    [ENVELOPE_TX_NOT_COMMITTED] = {SPAN_INIT("TX_NOT_COMMITTED"),
                                   "The transaction was not committed", false},
    [ENVELOPE_INVALID_OPERATION] = {SPAN_INIT("INVALID_OPERATION"), "The command cannot be run now",
                                    false},
    [ENVELOPE_UNHANDLED_EXCEPTION] = {SPAN_INIT("UNHANDLED_EXCEPTION"),
                                      "The command ended in an exception", false},
    [ENVELOPE_SERIALIZE_ERROR] = {SPAN_INIT("SERIALIZE_ERROR"),
                                  "The command's result cannot be passed on", false},
    [ENVELOPE_NO_DOC] = {SPAN_INIT("NO_DOC"), "No document is open", false},
    [ENVELOPE_TIMEOUT] = {SPAN_INIT("TIMEOUT"), "The deadline passed", true},
    [ENVELOPE_CANCELLED] = {SPAN_INIT("CANCELLED"), "The command was cancelled", false},
    [ENVELOPE_UNAVAILABLE] = {SPAN_INIT("UNAVAILABLE"), "The application is not there", true},
    [ENVELOPE_BUSY] = {SPAN_INIT("BUSY"), "Too many commands are running", true},
    [ENVELOPE_RATE_LIMITED] = {SPAN_INIT("RATE_LIMITED"), "Too many commands in a short time",
                               true},
    [ENVELOPE_TOO_LARGE] = {SPAN_INIT("TOO_LARGE"), "The result is too large to be sent", false},
    [ENVELOPE_INVALID_RESULT] = {SPAN_INIT("INVALID_RESULT"),
                                 "The answer's member ok is neither true nor false", false},
    [ENVELOPE_RESULT_DROPPED] =
        {SPAN_INIT("RESULT_DROPPED"),
         "The command has ended; its result was dropped to keep all results "
         "within keep_bytes",
         false},
    [ENVELOPE_INTERRUPTED] = {SPAN_INIT("INTERRUPTED"),
                              "Whoever ran the command went away meanwhile: it may have run",
                              false},
    [ENVELOPE_QUARANTINED] = {SPAN_INIT("QUARANTINED"),
                              "The hub died while the command ran, three times in a row", false},
    [ENVELOPE_INPUT_REQUIRED] = {SPAN_INIT("INPUT_REQUIRED"),
                                 "The command needs input that this caller cannot give", false},
    [ENVELOPE_INTERNAL] = {SPAN_INIT("INTERNAL"), "Internal error", false},
    [ENVELOPE_ERROR] = {SPAN_INIT("ERROR"), "Failed", false},
};

static const EnvelopeCode error_codes[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = ENVELOPE_OK,
    [CALL_ERROR_UNKNOWN_TOOL] = ENVELOPE_UNKNOWN_COMMAND,
    [CALL_ERROR_UNKNOWN_PROMPT] = ENVELOPE_ERROR,
    [CALL_ERROR_UNKNOWN_RESOURCE] = ENVELOPE_ERROR,
    [CALL_ERROR_INVALID_ARGUMENTS] = ENVELOPE_INVALID_PARAMS,
    [CALL_ERROR_INVALID_CURSOR] = ENVELOPE_INVALID_PARAMS,
    [CALL_ERROR_RATE] = ENVELOPE_RATE_LIMITED,
    [CALL_ERROR_BUSY] = ENVELOPE_BUSY,
    [CALL_ERROR_TIMEOUT] = ENVELOPE_TIMEOUT,
    [CALL_ERROR_CANCELLED] = ENVELOPE_CANCELLED,
    [CALL_ERROR_UNAVAILABLE] = ENVELOPE_UNAVAILABLE,
    [CALL_ERROR_BAD_RESULT] = ENVELOPE_SERIALIZE_ERROR,
    [CALL_ERROR_TOO_LARGE] = ENVELOPE_TOO_LARGE,
    [CALL_ERROR_CANNOT_ASK] = ENVELOPE_INPUT_REQUIRED,
    [CALL_ERROR_NEEDS_LATER] = ENVELOPE_INVALID_OPERATION,
    [CALL_ERROR_NEVER_LATER] = ENVELOPE_INVALID_OPERATION,
    [CALL_ERROR_UNKNOWN_TASK] = ENVELOPE_ERROR,
    [CALL_ERROR_TASK_OVER] = ENVELOPE_INVALID_OPERATION,
    [CALL_ERROR_DROPPED] = ENVELOPE_RESULT_DROPPED,
    [CALL_ERROR_INTERNAL] = ENVELOPE_INTERNAL,
    [CALL_ERROR_RAISED] = ENVELOPE_UNHANDLED_EXCEPTION,
    [CALL_ERROR_OWN] = ENVELOPE_ERROR,
};

static EnvelopeCode code_known(EnvelopeCode code)
{
    return (size_t)code < ENVELOPE_N_CODES ? code : ENVELOPE_ERROR;
}

const char *envelope_code_name(EnvelopeCode code)
{
    return code_rows[code_known(code)].name.p;
}

const char *envelope_code_text(EnvelopeCode code)
{
    return code_rows[code_known(code)].text;
}

bool envelope_code_parse(Span name, EnvelopeCode *ret)
{
    for (size_t i = 0; i < ENVELOPE_N_CODES; i++) {
        if (span_equals(code_rows[i].name, name)) {
            *ret = (EnvelopeCode)i;
            return true;
        }
    }
    return false;
}

EnvelopeCode envelope_code_of(CallError error)
{
    return (size_t)error < CALL_N_ERRORS ? error_codes[error] : ENVELOPE_INTERNAL;
}

bool envelope_code_is_retryable(EnvelopeCode code)
{
    return code_rows[code_known(code)].is_retryable;
}
