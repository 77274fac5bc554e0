#include "agent/policy.h"

#include <stdint.h>
#include <string.h>

/* Where a star has matched as much as it had to, it is given one character more: linear in
 * pattern times name, whatever they are. */
static bool policy_matches(const char *pattern, Span name)
{
    const char *star = NULL;
    size_t star_at = 0;
    size_t at = 0;

    while (at < name.n) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
        } else if (*pattern == name.p[at]) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

TurnVerdict agent_policy(const AgentRule *rules, size_t n_rules, Span name, bool is_read_only)
{
    TurnVerdict verdict = is_read_only ? TURN_ALLOW : TURN_ASK;
    size_t n_best = 0;

    for (size_t i = 0; i < n_rules; i++) {
        size_t n = strlen(rules[i].name);
        /* The very name outdoes every pattern. */
        size_t rank = span_equals(span_make(rules[i].name, n), name) ? SIZE_MAX : n + 1;

        if (policy_matches(rules[i].name, name) && rank >= n_best) {
            verdict = rules[i].verdict;
            n_best = rank;
        }
    }
    return verdict;
}
