/* GITIGNORE, a NUL, PATH: what is ignored is so by each way of asking; and each line of the first,
 * as a pattern, is held against the path by both ways of matching. */
#include "fuzz.h"

#include <string.h>

#include "base/span.h"
#include "toolkit/glob.h"
#include "toolkit/ignore.h"
#include "toolkit/kind.h"

/* A rule of the whole, and the same from a folder above it, say the same of a path beneath. */
static void fuzz_rules(Span text, Span path)
{
    char deep[256] = "top/";
    bool is_fit = path.n > 0 && path.n < sizeof(deep) - 4 && path.p[0] != '/';

    for (int no_case = 0; no_case < 2; no_case++) {
        for (int is_folder = 0; is_folder < 2; is_folder++) {
            IgnoreRules *rules = NULL;
            bool is_ignored;

            FUZZ_REQUIRE(ignore_rules_new(&rules, no_case != 0) == 0);
            FUZZ_REQUIRE(ignore_rules_push(rules, SPAN(""), text) == 0);
            is_ignored = ignore_rules_match(rules, path, is_folder != 0);
            /* A layer without rules changes nothing, nor does one of another folder. */
            FUZZ_REQUIRE(ignore_rules_push(rules, SPAN(""), SPAN("# nothing\n\n")) == 0);
            FUZZ_REQUIRE(ignore_rules_match(rules, path, is_folder != 0) == is_ignored);
            ignore_rules_pop(rules);
            ignore_rules_pop(rules);
            FUZZ_REQUIRE(!ignore_rules_match(rules, path, is_folder != 0));
            if (is_fit) {
                memcpy(deep + 4, path.p, path.n);
                FUZZ_REQUIRE(ignore_rules_push(rules, SPAN("top"), text) == 0);
                FUZZ_REQUIRE(ignore_rules_match(rules, span_make(deep, path.n + 4),
                                                is_folder != 0) == is_ignored);
            }
            (void)ignore_rules_free(rules);
        }
    }
}

static bool fuzz_is_plain_path(Span path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '/' && (i == 0 || i + 1 == path.n || path.p[i + 1] == '/')) {
            return false;
        }
    }
    return path.n > 0;
}

static void fuzz_pattern(Span pattern, Span path)
{
    bool is_glob = toolkit_glob_matches(pattern, path);
    bool is_wild = toolkit_wildmatch(pattern, path);

    (void)toolkit_wildmatch_nocase(pattern, path);
    /* Where both speak of the path, without braces or escapes, the one means all that the other
     * does. */
    if (is_wild && fuzz_is_plain_path(path) && pattern.n > 0 && pattern.n <= TOOLKIT_GLOB_MAX &&
        pattern.p[0] != '/' && pattern.p[0] != '.' && pattern.p[pattern.n - 1] != '/' &&
        memchr(pattern.p, '/', pattern.n) != NULL && memchr(pattern.p, '{', pattern.n) == NULL &&
        memchr(pattern.p, '\\', pattern.n) == NULL) {
        FUZZ_REQUIRE(is_glob);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *nul = size == 0 ? NULL : memchr(text, '\0', size);
    size_t n = nul == NULL ? size : (size_t)(nul - text);
    Span rules = span_make(text, n);
    Span path = nul == NULL ? rules : span_make(nul + 1, size - n - 1);
    ToolkitKindFound found = toolkit_kind_of_text(path, rules);

    FUZZ_REQUIRE(memchr(found.detail, '\0', sizeof(found.detail)) != NULL);
    FUZZ_REQUIRE((found.kind == TOOLKIT_KIND_SOURCE) == (found.detail[0] == '\0'));
    fuzz_rules(rules, path);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t n_line = end == NULL ? n - at : (size_t)(end - text) - at;

        fuzz_pattern(span_make(text + at, n_line), path);
        at += n_line + 1;
    }
    return 0;
}
