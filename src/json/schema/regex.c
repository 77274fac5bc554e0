#include "json/schema/regex.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* A match is tried with JIT first, which counts its steps but not what each of them costs: a step
 * may read the whole text. So the steps allowed shrink as the text grows, from REGEX_FIRST_STEPS to
 * a fourth of it beyond 2 KiB. Patterns of tools need between 1 and 10. */
#define REGEX_FIRST_STEPS 16

/* What the first try is charged, besides a step for 16 bytes: about 0.1 us. */
#define REGEX_FIRST_CHARGE 10

/* The next tries may take four times as much each, up to so many steps times bytes: 0.2 ms. */
#define REGEX_RETRY_FACTOR 4
#define REGEX_RETRY_WORK   ((size_t)1 << 18)

/* What is harder still is matched by the interpreter, which reports each item of the pattern that
 * it comes to and where: 45 ns for an item and 2 ns for a byte passed over, hence these charges. */
#define REGEX_ITEM_CHARGE    5
#define REGEX_BYTES_PER_STEP 4

/* Bytes that a back reference compares in the time of a step; where it failed is not reported. */
#define REGEX_COMPARED_PER_STEP 64

/* Kibibytes of backtracking frames for the interpreter, used only where JIT is not available. */
#define REGEX_HEAP_KIB 1024

static void *regex_alloc(size_t n, void *context)
{
    (void)context;
    return mem_alloc(n);
}

static void regex_free(void *p, void *context)
{
    (void)context;
    (void)mem_free(p);
}

pcre2_general_context *regex_memory_new(void)
{
    return pcre2_general_context_create(regex_alloc, regex_free, NULL);
}

/* Machine code that looks at a text 16 bytes at a time reads bytes that do not matter, which
 * valgrind cannot know; a build for it goes without. */
#ifdef TOOLWIRE_NO_JIT
#define REGEX_JIT false
#else
#define REGEX_JIT true
#endif

static int regex_add_jit(SchemaRegex *regex)
{
    int rc =
        REGEX_JIT ? pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) : PCRE2_ERROR_JIT_BADOPTION;

    if (rc == PCRE2_ERROR_NOMEMORY) {
        /* Either the heap is exhausted, or the system refuses executable memory; only the first is
         * an error, the second costs speed. */
        void *probe = mem_alloc(1);

        if (probe == NULL) {
            return err_raise(-ENOMEM);
        }
        (void)mem_free(probe);
    }
    regex->has_jit = rc == 0;
    return 0;
}

/* MATCH_UNSET_BACKREF, ALLOW_EMPTY_CLASS and ALT_BSUX are ECMA's rules; DOLLAR_ENDONLY keeps "$"
 * from matching before a final newline; without UCP, \d and \w are ASCII as ECMA wants. */
#define REGEX_OPTIONS                                                                              \
    (PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |                      \
     PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_NEVER_BACKSLASH_C)

/* NULL if there is no memory. */
static pcre2_compile_context *regex_context_new(pcre2_general_context *memory)
{
    pcre2_compile_context *context = pcre2_compile_context_create(memory);

    if (context != NULL) {
        /* ECMA's dot stops at CR and LF alike; its \u{1F600} needs the extra option. */
        (void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
        (void)pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    }
    return context;
}

static int regex_compile_pcre2(SchemaRegex *regex, pcre2_compile_context *context, char *message,
                               size_t message_size)
{
    uint32_t backreference = 0;
    int error;
    PCRE2_SIZE offset;

    regex->code = pcre2_compile((PCRE2_SPTR)regex->pattern.p, regex->pattern.n, REGEX_OPTIONS,
                                &error, &offset, context);
    if (regex->code == NULL) {
        if (error == PCRE2_ERROR_HEAP_FAILED) {
            return err_raise(-ENOMEM);
        }
        message[0] = '\0';
        (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)message, message_size);
        return REGEX_E_MALFORMED;
    }
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_BACKREFMAX, &backreference);
    regex->has_backreference = backreference > 0;
    return regex_add_jit(regex);
}

int regex_compile(SchemaRegex *ret, Arena *arena, pcre2_general_context *memory, Span source,
                  char *message, size_t message_size)
{
    SchemaRegex regex = {.source = source};
    pcre2_compile_context *context;
    int r = regex_translate(arena, source, &regex.pattern);

    if (r != 0) {
        return err_pass(r);
    }
    context = regex_context_new(memory);
    if (context == NULL) {
        return err_raise(-ENOMEM);
    }
    r = regex_compile_pcre2(&regex, context, message, message_size);
    pcre2_compile_context_free(context);
    if (r != 0) {
        regex_deinit(&regex);
        return r;
    }
    *ret = regex;
    return 0;
}

void regex_deinit(SchemaRegex *regex)
{
    pcre2_code_free(regex->code);
    regex->code = NULL;
}

int regex_scratch_init(RegexScratch *scratch)
{
    *scratch = (RegexScratch){.memory = regex_memory_new()};
    if (scratch->memory == NULL) {
        return err_raise(-ENOMEM);
    }
    scratch->limits = pcre2_match_context_create(scratch->memory);
    scratch->data = pcre2_match_data_create(1, scratch->memory);
    if (scratch->limits == NULL || scratch->data == NULL) {
        regex_scratch_deinit(scratch);
        return err_raise(-ENOMEM);
    }
    (void)pcre2_set_heap_limit(scratch->limits, REGEX_HEAP_KIB);
    return 0;
}

void regex_scratch_deinit(RegexScratch *scratch)
{
    pcre2_match_data_free(scratch->data);
    pcre2_match_context_free(scratch->limits);
    pcre2_general_context_free(scratch->memory);
    *scratch = (RegexScratch){NULL, NULL, NULL, 0};
}

TW_INLINE void regex_set_limit(RegexScratch *scratch, uint32_t limit)
{
    if (TW_UNLIKELY(scratch->limit != limit)) {
        (void)pcre2_set_match_limit(scratch->limits, limit);
        scratch->limit = limit;
    }
}

static int regex_interpret(const pcre2_code *code, RegexScratch *scratch, Span text, uint32_t limit)
{
    PCRE2_SPTR p = (PCRE2_SPTR)(text.n == 0 ? "" : text.p);

    regex_set_limit(scratch, limit);
    return pcre2_match(code, p, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scratch->data,
                       scratch->limits);
}

/* One try of so many steps; PCRE2's answer. */
static int regex_try(const SchemaRegex *regex, RegexScratch *scratch, Span text, uint32_t limit)
{
    PCRE2_SPTR p = (PCRE2_SPTR)(text.n == 0 ? "" : text.p);

    if (!regex->has_jit) {
        return regex_interpret(regex->code, scratch, text, limit);
    }
    regex_set_limit(scratch, limit);
    return pcre2_jit_match(regex->code, p, text.n, 0, PCRE2_NO_UTF_CHECK, scratch->data,
                           scratch->limits);
}

/* The work of a match as it goes on. */
typedef struct RegexWork {
    int64_t n_steps_left;
    size_t item_charge;
    size_t at;
} RegexWork;

/* Before each item of the pattern: charges for it and for the way from the last one. */
static int regex_on_item(pcre2_callout_block *block, void *context)
{
    RegexWork *work = context;
    size_t to = block->current_position;
    size_t n_passed = to > work->at ? to - work->at : work->at - to;

    work->at = to;
    work->n_steps_left -= (int64_t)(work->item_charge + n_passed / REGEX_BYTES_PER_STEP);
    return work->n_steps_left > 0 ? 0 : PCRE2_ERROR_CALLOUT;
}

/* For patterns that are too large to be compiled with reports: as many steps as can be paid for if
 * each reads the whole text. */
static int regex_match_blindly(const SchemaRegex *regex, RegexScratch *scratch, Span text,
                               int64_t *n_steps_left)
{
    int64_t limit = *n_steps_left / (int64_t)(REGEX_ITEM_CHARGE + text.n / 16);

    *n_steps_left -= limit * (int64_t)(REGEX_ITEM_CHARGE + text.n / 16);
    return regex_interpret(regex->code, scratch, text,
                           limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit);
}

/* The slow way, whose work is known at each moment. */
static int regex_match_counted(const SchemaRegex *regex, RegexScratch *scratch, Span text,
                               int64_t *n_steps_left)
{
    RegexWork work = {.n_steps_left = *n_steps_left, .item_charge = REGEX_ITEM_CHARGE};
    pcre2_compile_context *context = regex_context_new(scratch->memory);
    pcre2_code *code;
    PCRE2_SIZE offset;
    int rc;

    if (context == NULL) {
        return PCRE2_ERROR_NOMEMORY;
    }
    code = pcre2_compile((PCRE2_SPTR)regex->pattern.p, regex->pattern.n,
                         REGEX_OPTIONS | PCRE2_AUTO_CALLOUT, &rc, &offset, context);
    pcre2_compile_context_free(context);
    if (code == NULL) {
        return rc == PCRE2_ERROR_HEAP_FAILED
                   ? PCRE2_ERROR_NOMEMORY
                   : regex_match_blindly(regex, scratch, text, n_steps_left);
    }
    work.n_steps_left -= (int64_t)regex->pattern.n * REGEX_ITEM_CHARGE;
    if (regex->has_backreference) {
        work.item_charge += text.n / REGEX_COMPARED_PER_STEP;
    }
    (void)pcre2_set_callout(scratch->limits, regex_on_item, &work);
    rc = regex_interpret(code, scratch, text, UINT32_MAX);
    (void)pcre2_set_callout(scratch->limits, NULL, NULL);
    pcre2_code_free(code);
    *n_steps_left = work.n_steps_left;
    return rc;
}

/* The tries with JIT, each within a multiple of the steps of the one before. */
static int regex_match_quickly(const SchemaRegex *regex, RegexScratch *scratch, Span text,
                               int64_t *n_steps_left)
{
    size_t limit = text.n <= 512    ? REGEX_FIRST_STEPS
                   : text.n <= 1024 ? REGEX_FIRST_STEPS / 2
                                    : REGEX_FIRST_STEPS / 4;
    int rc = regex_try(regex, scratch, text, (uint32_t)limit);

    while (rc == PCRE2_ERROR_MATCHLIMIT && *n_steps_left > 0) {
        limit *= REGEX_RETRY_FACTOR;
        if (limit * (64 + text.n) > REGEX_RETRY_WORK) {
            break;
        }
        *n_steps_left -= (int64_t)(limit * 2 * (1 + text.n / 64));
        rc = regex_try(regex, scratch, text, (uint32_t)limit);
    }
    return rc;
}

int regex_match(const SchemaRegex *regex, RegexScratch *scratch, Span text, int64_t *n_steps_left)
{
    int rc = PCRE2_ERROR_MATCHLIMIT;

    *n_steps_left -= (int64_t)(REGEX_FIRST_CHARGE + text.n / 16);
    /* On the way to a back reference JIT does not count its steps at all. */
    if (!regex->has_backreference || text.n <= 64) {
        rc = regex_match_quickly(regex, scratch, text, n_steps_left);
    }
    if ((rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT) && *n_steps_left > 0) {
        rc = regex_match_counted(regex, scratch, text, n_steps_left);
    }
    if (rc >= 0) {
        return 0;
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
        return REGEX_E_NO_MATCH;
    }
    return rc == PCRE2_ERROR_NOMEMORY ? err_raise(-ENOMEM) : REGEX_E_LIMIT;
}
