#include "json/schema/regex.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* What a match may cost before it counts as hard: 40 us. Patterns of tools need a few dozen steps.
 */
#define REGEX_EASY_STEPS 2000

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

static int regex_add_jit(SchemaRegex *regex)
{
    int rc = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);

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

static int regex_compile_pcre2(SchemaRegex *regex, pcre2_compile_context *context, Span pattern,
                               char *message, size_t message_size)
{
    /* MATCH_UNSET_BACKREF, ALLOW_EMPTY_CLASS and ALT_BSUX are ECMA's rules; DOLLAR_ENDONLY keeps
     * "$" from matching before a final newline; without UCP, \d and \w are ASCII as ECMA wants. */
    uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                       PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |
                       PCRE2_NEVER_BACKSLASH_C;
    int error;
    PCRE2_SIZE offset;

    regex->code =
        pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &error, &offset, context);
    if (regex->code == NULL) {
        if (error == PCRE2_ERROR_HEAP_FAILED) {
            return err_raise(-ENOMEM);
        }
        message[0] = '\0';
        (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)message, message_size);
        return REGEX_E_MALFORMED;
    }
    return regex_add_jit(regex);
}

int regex_compile(SchemaRegex *ret, Arena *arena, pcre2_general_context *memory, Span source,
                  char *message, size_t message_size)
{
    SchemaRegex regex = {.source = source};
    pcre2_compile_context *context;
    Span pattern;
    int r = regex_translate(arena, source, &pattern);

    if (r != 0) {
        return err_pass(r);
    }
    context = pcre2_compile_context_create(memory);
    if (context == NULL) {
        return err_raise(-ENOMEM);
    }
    /* ECMA's dot stops at CR and LF alike; its \u{1F600} needs the extra option. */
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    (void)pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    r = regex_compile_pcre2(&regex, context, pattern, message, message_size);
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
    (void)pcre2_set_match_limit(scratch->limits, REGEX_EASY_STEPS);
    regex_scratch_begin(scratch);
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

/* One try within the limits as they are set; PCRE2's answer. */
static int regex_try(const SchemaRegex *regex, RegexScratch *scratch, Span text)
{
    PCRE2_SPTR p = (PCRE2_SPTR)(text.n == 0 ? "" : text.p);
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;

    if (regex->has_jit) {
        rc = pcre2_jit_match(regex->code, p, text.n, 0, PCRE2_NO_UTF_CHECK, scratch->data,
                             scratch->limits);
    }
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        rc = pcre2_match(regex->code, p, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         scratch->data, scratch->limits);
    }
    return rc;
}

int regex_match(const SchemaRegex *regex, RegexScratch *scratch, Span text)
{
    int rc = regex_try(regex, scratch, text);

    /* PCRE2 does not tell what a match has cost. So every match begins with a small allowance, and
     * the few that need more are counted: else a value of many members could spend nearly the whole
     * allowance on each of them. */
    if (rc == PCRE2_ERROR_MATCHLIMIT && scratch->n_hard_left > 0) {
        scratch->n_hard_left--;
        (void)pcre2_set_match_limit(scratch->limits, LIMIT_REGEX_STEPS);
        rc = regex_try(regex, scratch, text);
        (void)pcre2_set_match_limit(scratch->limits, REGEX_EASY_STEPS);
    }
    if (rc >= 0) {
        return 0;
    }
    if (rc == PCRE2_ERROR_NOMATCH) {
        return REGEX_E_NO_MATCH;
    }
    return rc == PCRE2_ERROR_NOMEMORY ? err_raise(-ENOMEM) : REGEX_E_LIMIT;
}
