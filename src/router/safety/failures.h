/* router/safety/failures.h: what becomes of a failure. Thread: any. */
#pragma once

#include "router/safety/safety.h"
#include "router/safety/whitelist.h"

typedef struct FailureDecision {
    SafetyVerdict verdict;
    const char *action; /* how the answer calls it */
} FailureDecision;

/* rule: of the whitelist; NULL: it has none for this failure. */
FailureDecision failures_decide(SafetyMode mode, const SafetyRule *rule, SafetySeverity severity,
                                bool can_delete, bool can_resolve);
