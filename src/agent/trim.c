#include "agent/trim.h"

#include "base/limits.h"

/* A token is about four bytes of English and of code; other languages have more tokens, which the
 * models count by themselves and which a budget below their limit leaves room for. */
#define TRIM_BYTES_PER_TOKEN 4

/* Quotes, names and numbers around a block, and around a message. */
#define TRIM_BLOCK_TOKENS   8
#define TRIM_MESSAGE_TOKENS 4

/* Calls of one message whose ids are compared with those of the results, each with each. Of more,
 * the counts must do: nobody makes so many. */
#define TRIM_MAX_USES 512

/* Messages that are kept or left out together: from `begin` up to `end`. */
typedef struct TrimGroup {
    size_t begin;
    size_t end;
    bool is_whole; /* every call has its result, and every result its call */
} TrimGroup;

size_t agent_trim_text_tokens(size_t n_bytes)
{
    return n_bytes / TRIM_BYTES_PER_TOKEN + (n_bytes % TRIM_BYTES_PER_TOKEN != 0);
}

size_t agent_trim_message_tokens(const AgentMessage *message)
{
    size_t n = TRIM_MESSAGE_TOKENS;

    for (size_t i = 0; i < message->n_blocks; i++) {
        const AgentBlock *block = &message->blocks[i];

        n += TRIM_BLOCK_TOKENS;
        if (block->kind == AGENT_BLOCK_IMAGE) {
            n += LIMIT_AGENT_IMAGE_TOKENS;
        } else {
            n += agent_trim_text_tokens(block->text.n + block->name.n + block->input.n +
                                        block->id.n);
        }
    }
    return n;
}

static size_t trim_count(const AgentMessage *message, AgentBlockKind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < message->n_blocks; i++) {
        n += message->blocks[i].kind == kind;
    }
    return n;
}

static bool trim_has(const AgentMessage *message, AgentBlockKind kind, Span id)
{
    for (size_t i = 0; i < message->n_blocks; i++) {
        if (message->blocks[i].kind == kind && span_equals(message->blocks[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* Has each block of one kind in a one of the other kind and the same id in b? */
static bool trim_answers(const AgentMessage *a, AgentBlockKind kind, const AgentMessage *b,
                         AgentBlockKind other)
{
    for (size_t i = 0; i < a->n_blocks; i++) {
        if (a->blocks[i].kind == kind && !trim_has(b, other, a->blocks[i].id)) {
            return false;
        }
    }
    return true;
}

static bool trim_is_pair(const AgentMessage *uses, const AgentMessage *results)
{
    size_t n_uses = trim_count(uses, AGENT_BLOCK_TOOL_USE);
    size_t n_results = trim_count(results, AGENT_BLOCK_TOOL_RESULT);

    if (n_uses != n_results) {
        return false;
    }
    return n_uses > TRIM_MAX_USES ||
           (trim_answers(uses, AGENT_BLOCK_TOOL_USE, results, AGENT_BLOCK_TOOL_RESULT) &&
            trim_answers(results, AGENT_BLOCK_TOOL_RESULT, uses, AGENT_BLOCK_TOOL_USE));
}

/* The group that ends before `end`: calls and their results are in two messages, one behind the
 * other, as the models want them; every other message is alone. */
static TrimGroup trim_group_before(const AgentMessage *messages, size_t end)
{
    const AgentMessage *last = &messages[end - 1];
    bool has_results = trim_count(last, AGENT_BLOCK_TOOL_RESULT) > 0;
    bool has_uses = trim_count(last, AGENT_BLOCK_TOOL_USE) > 0;

    if (has_results && end >= 2 && trim_count(&messages[end - 2], AGENT_BLOCK_TOOL_USE) > 0) {
        return (TrimGroup){.begin = end - 2,
                           .end = end,
                           .is_whole = !has_uses && trim_is_pair(&messages[end - 2], last)};
    }
    return (TrimGroup){.begin = end - 1, .end = end, .is_whole = !has_results && !has_uses};
}

/* What a person said, not what a tool gave. */
static bool trim_is_words(const AgentMessage *message)
{
    return !message->is_assistant && trim_count(message, AGENT_BLOCK_TOOL_RESULT) == 0;
}

/* The first of the user's own words; n: there is none. */
static size_t trim_find_first(const AgentMessage *messages, size_t n)
{
    size_t i = 0;

    while (i < n && !trim_is_words(&messages[i])) {
        i++;
    }
    return i;
}

/* The newest, which is what the turn is about; n: there is none. */
static size_t trim_find_newest(const AgentMessage *messages, size_t n)
{
    size_t i = n;

    while (i > 0 && !trim_is_words(&messages[i - 1])) {
        i--;
    }
    return i > 0 ? i - 1 : n;
}

static void trim_keep(const AgentMessage *messages, bool *keep, size_t i, AgentTrimmed *sum)
{
    if (!keep[i]) {
        keep[i] = true;
        sum->n_kept++;
        sum->n_tokens += agent_trim_message_tokens(&messages[i]);
    }
}

static size_t trim_group_tokens(const AgentMessage *messages, const bool *keep,
                                const TrimGroup *group)
{
    size_t n = 0;

    for (size_t i = group->begin; i < group->end; i++) {
        n += keep[i] ? 0 : agent_trim_message_tokens(&messages[i]);
    }
    return n;
}

/* What must be sent whatever it takes: the newest words, and the last message with its call.
 * Returns where that begins. */
static size_t trim_keep_needed(const AgentMessage *messages, size_t n, bool *keep,
                               AgentTrimmed *sum)
{
    TrimGroup group = trim_group_before(messages, n);
    size_t newest = trim_find_newest(messages, n);

    if (newest < n) {
        trim_keep(messages, keep, newest, sum);
    }
    for (size_t i = group.begin; i < group.end; i++) {
        trim_keep(messages, keep, i, sum);
    }
    return group.begin;
}

/* The first words, unless they take more than half of everything: a long text that somebody once
 * began with would else push out all that was said since, for ever. */
static void trim_keep_first(const AgentMessage *messages, size_t n, size_t budget_tokens,
                            bool *keep, AgentTrimmed *sum)
{
    size_t first = trim_find_first(messages, n);
    size_t n_tokens = first < n ? agent_trim_message_tokens(&messages[first]) : 0;

    if (first < n && n_tokens <= budget_tokens / 2 && sum->n_tokens <= budget_tokens - n_tokens) {
        trim_keep(messages, keep, first, sum);
    }
}

/* Services want a conversation to begin with the user. */
static void trim_drop_answers_in_front(const AgentMessage *messages, size_t n, bool *keep,
                                       AgentTrimmed *sum)
{
    if (trim_find_newest(messages, n) == n) {
        return;
    }
    for (size_t i = 0; !keep[i] || !trim_is_words(&messages[i]); i++) {
        if (keep[i]) {
            keep[i] = false;
            sum->n_kept--;
            sum->n_tokens -= agent_trim_message_tokens(&messages[i]);
        }
    }
}

int agent_trim(const AgentMessage *messages, size_t n, size_t budget_tokens, bool *keep,
               AgentTrimmed *ret)
{
    AgentTrimmed sum = {0, 0};
    size_t end = 0;

    for (size_t i = 0; i < n; i++) {
        keep[i] = false;
    }
    if (n > 0) {
        end = trim_keep_needed(messages, n, keep, &sum);
        trim_keep_first(messages, n, budget_tokens, keep, &sum);
    }
    while (end > 0) {
        TrimGroup group = trim_group_before(messages, end);
        size_t n_tokens = trim_group_tokens(messages, keep, &group);

        /* A hole in the middle would be no conversation: the first that does not fit is the end. */
        if (group.is_whole && sum.n_tokens + n_tokens > budget_tokens) {
            break;
        }
        for (size_t i = group.begin; group.is_whole && i < group.end; i++) {
            trim_keep(messages, keep, i, &sum);
        }
        end = group.begin;
    }
    trim_drop_answers_in_front(messages, n, keep, &sum);
    *ret = sum;
    return sum.n_tokens > budget_tokens ? AGENT_TRIM_E_OVER : 0;
}

size_t agent_trim_apply(AgentMessage *messages, size_t n, const bool *keep)
{
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++) {
        if (keep[i]) {
            messages[n_left++] = messages[i];
        }
    }
    return n_left;
}
