/* fault.h: why something could not be done: a code for programs, a sentence for people. */
#pragma once

/* The codes of the application that this one stands in for. */
#define FAULT_API         "REVIT_API_ERROR"          /* what was asked for cannot be done */
#define FAULT_TRANSACTION "REVIT_TRANSACTION_FAILED" /* the document refused it; rolled back */
#define FAULT_STALE       "PRECONDITION_FAILED"      /* the caller knows another document */

typedef struct Fault {
    const char *code;
    char text[640];
} Fault;

/* Always -1, so that `return fault_set(…)` is how a function fails. */
__attribute__((format(printf, 3, 4))) int fault_set(Fault *fault, const char *code,
                                                    const char *format, ...);
int fault_memory(Fault *fault);
