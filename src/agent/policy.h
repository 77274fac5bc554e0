/* agent/policy.h: which tools a model may use, and which only when a person says so. Pure. Thread:
 * any. */
#pragma once

#include "agent/turn.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* A rule of the settings. */
typedef struct AgentRule {
    char *name;          /* of a tool, with * for any characters */
    TurnVerdict verdict; /* ALLOW, ASK, DENY */
} AgentRule;

/* The rule that has that very name counts, else the longest pattern that fits it; of several such
 * rules the last, so that options outdo the settings. Without any: tools that say they only read
 * are allowed, the person is asked about the others. */
TurnVerdict agent_policy(const AgentRule *rules, size_t n_rules, Span name, bool is_read_only);
