/* toolwire/error.h: how functions of the library report failure.
 *
 * A function that returns `int` gives 0 for done and one of these, all negative, otherwise; it has
 * then changed nothing unless its comment says so. Words for people are beside the object
 * concerned: tw_server_message, tw_client_message, TwQueueError. Thread: any.
 */
#pragma once

#include <toolwire/api.h>

TW_BEGIN_C

typedef enum TwError {
    TW_OK = 0,
    TW_ERROR_MEMORY = -1,     /* there is no memory */
    TW_ERROR_ARGUMENT = -2,   /* a parameter is missing, or not what it must be */
    TW_ERROR_JSON = -3,       /* a text is not JSON, or not the JSON that it must be */
    TW_ERROR_EXISTS = -4,     /* that name or URI is taken */
    TW_ERROR_MISSING = -5,    /* there is nothing of that name */
    TW_ERROR_FULL = -6,       /* a limit is reached */
    TW_ERROR_BUSY = -7,       /* the object is in use: the server serves already */
    TW_ERROR_OVER = -8,       /* the call has been answered, was cancelled, or timed out */
    TW_ERROR_SYSTEM = -9,     /* the system refused something; the message says what */
    TW_ERROR_START = -10,     /* the program could not be started, the socket not be reached */
    TW_ERROR_CLOSED = -11,    /* there is no session, or it has ended */
    TW_ERROR_TIMEOUT = -12,   /* no answer came in time */
    TW_ERROR_CANCELLED = -13, /* tw_client_cancel was called */
    TW_ERROR_REMOTE = -14,    /* the server answered with an error: tw_client_error_code */
    TW_ERROR_INTERNAL = -15,  /* a fault of the library itself */
    TW_ERROR_LEASE = -16      /* the job is another worker's by now, or nobody's: queue.h */
} TwError;

/* A few words for an error ("no memory"); never NULL, also for numbers that are none of them. */
TW_API const char *tw_error_text(int error);

TW_END_C
