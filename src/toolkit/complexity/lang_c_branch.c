/* Branches of an #if that a tree cannot hold, as the braces in them are not closed there, or as an
 * `else` in them has its other half outside. */
#include "toolkit/complexity/lang_c_mend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/complexity/lang_c_scan.h"

/* An #if that is open. */
typedef struct MendBranch {
    uint32_t first;  /* #if */
    uint32_t second; /* what ended its first branch; 0: nothing yet */
    int32_t braces;  /* open when it began */
    int32_t change;  /* what the first branch made of that */
    bool splits; /* a pair of brackets, or `else` and its statement or its `if`, are in different
                    branches, or one of them outside */
} MendBranch;

typedef struct MendBranches {
    MendBranch *p;
    size_t n;
    size_t cap;
    int32_t braces;
} MendBranches;

static int branch_push(MendBranches *branches, MendBranch branch)
{
    if (branches->n == branches->cap) {
        size_t cap = branches->cap == 0 ? 16 : branches->cap * 2;
        MendBranch *p = mem_realloc(branches->p, cap * sizeof(*p));

        if (p == NULL) {
            return err_raise(-ENOMEM);
        }
        branches->p = p;
        branches->cap = cap;
    }
    branches->p[branches->n++] = branch;
    return 0;
}

/* A branch ends at that token. */
static void branch_end(const Mend *mend, MendBranches *branches, MendBranch *branch, uint32_t at)
{
    int32_t change = branches->braces - branch->braces;

    if (branch->second == 0) {
        branch->second = at;
        branch->change = change;
    }
    branch->splits |= change != 0 || mend->tokens[at - 1].word == MEND_ELSE;
    branches->braces = branch->braces;
}

/* Leaves the first branch alone, without the #if around it. */
static void branch_keep_first(Mend *mend, const MendBranch *branch, uint32_t end)
{
    const MendToken *tokens = mend->tokens;

    (void)complexity_c_blank(mend->p, tokens[branch->first].start, tokens[branch->first].end);
    (void)complexity_c_blank(mend->p, tokens[branch->second].start, tokens[end].end);
    mend->changed = true;
}

static int branch_meet(Mend *mend, MendBranches *branches, uint32_t i)
{
    const MendToken *token = &mend->tokens[i];
    Span word = complexity_c_directive_word(mend->text, token->start);
    MendBranch *branch = branches->n == 0 ? NULL : &branches->p[branches->n - 1];

    if (span_starts_with(word, SPAN("if"))) {
        /* There is a token behind: the semicolon at the end. */
        bool splits = token->in_parens || mend->tokens[i + 1].word == MEND_ELSE;

        return err_pass(branch_push(
            branches, (MendBranch){.first = i, .braces = branches->braces, .splits = splits}));
    }
    if (branch == NULL) {
        return 0;
    }
    if (span_starts_with(word, SPAN("el"))) {
        branch_end(mend, branches, branch, i);
    } else if (span_equals(word, SPAN("endif"))) {
        branch_end(mend, branches, branch, i);
        branches->braces += branch->change;
        if (branch->splits) {
            branch_keep_first(mend, branch, i);
        }
        branches->n--;
    }
    return 0;
}

int complexity_c_mend_branches(Mend *mend)
{
    MendBranches branches = {.p = NULL};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < mend->n && !stop_is_asked_at(mend->stop, i); i++) {
        char kind = mend->tokens[i].kind;

        if (kind == '#') {
            r = branch_meet(mend, &branches, i);
        } else {
            branches.braces += (kind == '{') - (kind == '}');
        }
    }
    (void)mem_free(branches.p);
    return err_pass(r);
}
