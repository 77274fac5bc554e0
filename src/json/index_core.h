/* json/index_core.h: the one-pass validator and indexer, compiled once per engine.
 *
 * The including file defines
 *     CORE(name)          a name of its own for each function here
 *     CORE_TARGET         the instruction set, as a function attribute (may be empty)
 *     CORE(skip_plain)    p..end → the first byte that is `"`, `\`, a control or not ASCII, if any
 *     CORE(skip_text)     the same, but past two-byte escapes as well; may stop sooner
 *     CORE(skip_space)    p..end → the first byte that is no white space, else end
 *     CORE(number)        as json_index_number
 *     CORE(short_string)  p at the opening quote, a guess at the size → behind the closing quote,
 *                         if the string is plain and short; NULL if CORE(string) must find out
 *
 * How it stays fast without a padded input: a text whose last byte (white space aside) is `}` or
 * `]` cannot run out inside a number, between tokens or inside white space, because that last byte
 * belongs to none of them. So `checked` is false for such texts, and the end is only looked at
 * where a string or a container ends. Every other text (a lone scalar, a truncated message) takes
 * the same code with `checked` true, where a look past the end yields NUL, which no rule accepts.
 *
 * Open containers need no stack: while one is open, its node's `skip` holds the distance back to
 * its parent's node (0 for the root), and the parent's count so far waits in the parent's tag.
 *
 *     value ──▶ after ──▶ value | key | close        key ──▶ value        close ──▶ after | done
 */

/* The byte at p as a number, or 0 at the end of a text that may run out. */
#define CORE_PEEK(p) ((!checked || (p) < end) ? (unsigned char)*(p) : 0u)

/* Steps over white space if there is any; in compact JSON the test fails and costs one branch. */
#define CORE_SPACE(p)                                                                              \
    do {                                                                                           \
        if (TW_UNLIKELY(CORE_PEEK(p) <= ' ')) {                                                    \
            (p) = CORE(skip_space)((p), end);                                                      \
        }                                                                                          \
    } while (0)

/* A string that goes on after so many bytes is worth the longer steps. */
#define CORE_LONG_TEXT 64

#define CORE_FAIL(what, at)                                                                        \
    do {                                                                                           \
        (void)json_index_fault(run, (what), (at));                                                 \
        return JSON_E_SYNTAX;                                                                      \
    } while (0)

/* From the byte after the opening quote to the closing quote; NULL with the fault set. Adds
 * JSON_NODE_ESCAPED to *tag if it meets a backslash. */
CORE_TARGET TW_INLINE const char *CORE(string)(JsonIndexRun *run, const char *p, uint32_t *tag)
{
    const char *end = run->end;
    const char *start = p;

    for (;;) {
        p = CORE(skip_plain)(p, end);
        if (TW_UNLIKELY(p == end)) {
            return json_index_fault(run, JSON_FAULT_STRING_END, p);
        }
        if (TW_LIKELY(*p == '"')) {
            return p;
        }
        if (*p == '\\') {
            *tag |= JSON_NODE_ESCAPED;
            /* The two-byte escapes are decided here: long texts are full of \n. */
            if (end - p > 1 && json_simple_escape[(unsigned char)p[1]] != 0) {
                p = p + 2 - start < CORE_LONG_TEXT ? p + 2 : CORE(skip_text)(p + 2, end);
                continue;
            }
            p = json_index_escape(run, p);
        } else if ((unsigned char)*p >= 0x80) {
            return json_index_wide_string(run, p, tag);
        } else {
            return json_index_fault(run, JSON_FAULT_STRING_CONTROL, p);
        }
        if (TW_UNLIKELY(p == NULL)) {
            return NULL;
        }
    }
}

/* The end of `word` at p, or NULL with the fault set at the first byte that differs. */
CORE_TARGET TW_INLINE const char *CORE(literal)(JsonIndexRun *run, const char *p, const char *word,
                                                size_t n)
{
    size_t same = 0;

    if (TW_LIKELY((size_t)(run->end - p) >= n && memcmp(p, word, n) == 0)) {
        return p + n;
    }
    while (p + same < run->end && p[same] == word[same]) {
        same++;
    }
    return json_index_fault(run, JSON_FAULT_LITERAL, p + same);
}

CORE_TARGET TW_INLINE int CORE(run)(JsonIndexRun *run, const bool checked)
{
    const char *const text = run->text;
    const char *const end = run->end;
    const char *p = text;
    const char *q;
    JsonNode *node = run->nodes;
    /* Room for two is made at each value: for itself and for the key that may follow it. */
    JsonNode *full = run->nodes + run->cap - 2;
    JsonNode *open = NULL;
    bool in_object = false;
    uint32_t depth = 0;
    uint32_t count = 0;
    uint32_t tag;
    unsigned c;
    /* How many nodes back the same place of a sibling is likely to be: objects in an array tend to
     * be alike. Only a guess at a key's length depends on it, never a result. */
    ptrdiff_t like = 1;
    JsonNode *closed = run->nodes;

    CORE_SPACE(p);

value:
    if (TW_UNLIKELY(node >= full)) {
        size_t at = (size_t)(node - run->nodes);
        size_t open_at = open == NULL ? 0 : (size_t)(open - run->nodes);
        int r = json_index_grow(run);

        if (r != 0) {
            return r;
        }
        node = run->nodes + at;
        open = open == NULL ? NULL : run->nodes + open_at;
        closed = run->nodes;
        full = run->nodes + run->cap - 2;
    }
    c = CORE_PEEK(p);
    node->start = (uint32_t)(p - text);
    if (c == '"') {
        tag = JSON_STRING;
        q = CORE(string)(run, p + 1, &tag);
        if (TW_UNLIKELY(q == NULL)) {
            return JSON_E_SYNTAX;
        }
        q++;
        goto scalar;
    }
    if (c - '0' <= 9 || c == '-') {
        q = CORE(number)(run, p, &tag);
        if (TW_UNLIKELY(q == NULL)) {
            return JSON_E_SYNTAX;
        }
        goto scalar;
    }
    switch (c) {
    case '{':
        tag = JSON_OBJECT;
        break;
    case '[':
        tag = JSON_ARRAY;
        break;
    case 't':
        tag = JSON_TRUE;
        q = CORE(literal)(run, p, "true", 4);
        goto literal;
    case 'f':
        tag = JSON_FALSE;
        q = CORE(literal)(run, p, "false", 5);
        goto literal;
    case 'n':
        tag = JSON_NULL;
        q = CORE(literal)(run, p, "null", 4);
        goto literal;
    default:
        CORE_FAIL(JSON_FAULT_VALUE, p);
    }

    /* A container opens. */
    if (TW_UNLIKELY(depth == run->max_depth)) {
        CORE_FAIL(JSON_FAULT_DEPTH, p);
    }
    depth++;
    node->tag = tag;
    node->size = 0; /* until it closes, a guess at a key's length may read it */
    node->skip = 0;
    if (TW_LIKELY(open != NULL)) {
        open->tag = (open->tag & JSON_NODE_KIND_MASK) | count << JSON_NODE_KIND_BITS;
        node->skip = (uint32_t)(node - open);
    }
    if (!in_object) {
        like = node > closed ? node - closed : 1;
    }
    open = node;
    node++;
    count = 0;
    in_object = tag == JSON_OBJECT;
    p++;
    if (TW_UNLIKELY(checked && p == end)) {
        CORE_FAIL(in_object ? JSON_FAULT_KEY : JSON_FAULT_VALUE, p);
    }
    CORE_SPACE(p);
    if (CORE_PEEK(p) == (in_object ? '}' : ']')) {
        goto close;
    }
    if (!in_object) {
        goto value;
    }

key:
    if (TW_UNLIKELY(CORE_PEEK(p) != '"')) {
        CORE_FAIL(JSON_FAULT_KEY, p);
    }
    tag = JSON_STRING;
    q = CORE(short_string)(p, end, node[-like].size);
    if (TW_UNLIKELY(q == NULL)) {
        q = CORE(string)(run, p + 1, &tag);
        if (TW_UNLIKELY(q == NULL)) {
            return JSON_E_SYNTAX;
        }
        q++;
    }
    node->start = (uint32_t)(p - text);
    node->size = (uint32_t)(q - p);
    node->skip = 1;
    node->tag = tag;
    node++;
    p = q;
    CORE_SPACE(p);
    if (TW_UNLIKELY(CORE_PEEK(p) != ':')) {
        CORE_FAIL(JSON_FAULT_COLON, p);
    }
    p++;
    CORE_SPACE(p);
    goto value;

literal:
    if (TW_UNLIKELY(q == NULL)) {
        return JSON_E_SYNTAX;
    }
scalar:
    node->size = (uint32_t)(q - p);
    node->skip = 1;
    node->tag = tag;
    node++;
    p = q;
    if (TW_UNLIKELY(open == NULL)) {
        goto done;
    }

after:
    count++;
    CORE_SPACE(p);
    c = CORE_PEEK(p);
    if (TW_LIKELY(c == ',')) {
        p++;
        CORE_SPACE(p);
        if (in_object) {
            goto key;
        }
        goto value;
    }
    if (TW_UNLIKELY(c != (in_object ? '}' : ']'))) {
        CORE_FAIL(in_object ? JSON_FAULT_OBJECT_NEXT : JSON_FAULT_ARRAY_NEXT, p);
    }

close:
    p++;
    depth--;
    {
        uint32_t to_parent = open->skip;

        open->size = (uint32_t)(p - (text + open->start));
        open->skip = (uint32_t)(node - open);
        open->tag |= count << JSON_NODE_KIND_BITS;
        if (to_parent == 0) {
            goto done;
        }
        closed = open;
        open -= to_parent;
    }
    count = open->tag >> JSON_NODE_KIND_BITS;
    open->tag &= JSON_NODE_KIND_MASK;
    in_object = open->tag == JSON_OBJECT;
    if (TW_UNLIKELY(!checked && p == end)) {
        /* The text ended with a bracket, but not with the last one that was open. */
        CORE_FAIL(in_object ? JSON_FAULT_OBJECT_NEXT : JSON_FAULT_ARRAY_NEXT, p);
    }
    goto after;

done:
    p = CORE(skip_space)(p, end);
    if (TW_UNLIKELY(p != end)) {
        CORE_FAIL(JSON_FAULT_TRAILING, p);
    }
    run->n_nodes = (uint32_t)(node - run->nodes);
    return 0;
}

/* Can the text run out between tokens? See above; run->end has been moved before trailing white
 * space. */
CORE_TARGET static int CORE(run_either)(JsonIndexRun *run)
{
    char last = run->end > run->text ? run->end[-1] : '\0';

    if (last == '}' || last == ']') {
        return CORE(run)(run, false);
    }
    return CORE(run)(run, true);
}
