/* The arguments of git (churn_impl.h).
 *
 * Git runs in the folder that is asked about. Options that a person's configuration can change are
 * said in full, and a person's own attributes are not read: the same work tree gives the same
 * numbers to everybody. What is left are the repository's attributes and the drivers that they
 * name, which say what is text: who keeps a table must ask for them, and begin another one when
 * they have changed. */
#include "toolkit/churn/churn_impl.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

/* More than all but the paths. */
#define RUNS_MAX_ARGUMENTS 40

/* "--since=@-9223372036854775808 +0000" */
#define RUNS_TIME_SIZE 48

/* Before and behind the word log. */
static const char *const runs_log[] = {
    "git",
    "-c",
    "core.quotePath=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "diff.renames=false",
    "-c",
    "core.attributesFile=",
    "-c",
    "core.bigFileThreshold=512m",
    "log",
    "-z",
    "--no-merges",
    "--root",
    "--no-follow",
    "--no-relative",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=default",
    "-l1000",
    "--encoding=UTF-8",
    "--raw",
    "--no-abbrev",
};

static const char *const runs_tree[] = {
    "git", "ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options",
};

typedef struct Runs {
    Churn *churn;
    size_t n;
    size_t cap;
} Runs;

static void runs_add(Runs *runs, const char *argument)
{
    if (runs->n + 1 < runs->cap) {
        runs->churn->argv[runs->n++] = argument;
    }
}

static void runs_add_all(Runs *runs, const char *const *arguments, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        runs_add(runs, arguments[i]);
    }
}

/* Git reads a bare number as seconds only above 10^8; with the sign and the zone it reads any. */
static int runs_add_time(Runs *runs, const char *option, int64_t unix_s)
{
    char *text = arena_alloc(&runs->churn->arena, RUNS_TIME_SIZE);

    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(text, RUNS_TIME_SIZE, "%s=@%lld +0000", option, (long long)unix_s);
    runs_add(runs, text);
    return 0;
}

static int runs_add_window(Runs *runs)
{
    const ChurnOptions *options = &runs->churn->options;
    int r = 0;

    if (options->since_s > 0) {
        r = runs_add_time(runs, "--since", options->since_s);
    }
    if (r == 0 && options->until_s < INT64_MAX) {
        r = runs_add_time(runs, "--until", options->until_s);
    }
    return err_pass(r);
}

/* The newer end of what is read. The id was copied with a NUL behind it. */
static const char *runs_tip(const Churn *churn)
{
    if (churn->repository.base.n > 0) {
        return churn->repository.head.p;
    }
    return churn->options.rev == NULL ? "HEAD" : churn->options.rev;
}

/* With paths, history is not simplified: git would leave out commits of branches whose work was
 * undone, and a file would have fewer commits in its folder's analysis than in that of the whole.
 */
static void runs_add_paths(Runs *runs)
{
    const char *const *paths = runs->churn->options.paths;

    runs_add(runs, "--");
    if (paths == NULL && runs->churn->repository.prefix.n > 0) {
        runs_add(runs, ".");
    }
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        runs_add(runs, paths[i]);
    }
}

/* What is read: of a range by the ids of its ends, so that nothing in a name is taken for something
 * else. */
static int runs_add_revisions(Runs *runs)
{
    Churn *churn = runs->churn;
    Span base = churn->repository.base;
    char *but;

    runs_add(runs, "--end-of-options");
    runs_add(runs, runs_tip(churn));
    if (base.n == 0) {
        return 0;
    }
    but = arena_alloc(&churn->arena, base.n + 2);
    if (but == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(but, base.n + 2, "^%.*s", (int)base.n, base.p);
    runs_add(runs, but);
    return 0;
}

static int runs_make_log(Runs *runs)
{
    const Churn *churn = runs->churn;
    const ChurnOptions *options = &churn->options;
    bool is_second = churn->phase == CHURN_PHASE_LINES;
    int r = 0;

    runs_add_all(runs, runs_log, TW_ARRAY_SIZE(runs_log));
    if (churn->has_lines || is_second) {
        runs_add(runs, "--numstat");
    }
    runs_add(runs, options->no_renames      ? "--no-renames"
                   : options->without_blobs ? "-M100%"
                                            : "-M50%");
    /* The name comes last, so that nothing it holds is taken for something else. In a shallow clone
     * the decoration tells where it was cut; with all refs left out, no branch looks like it. */
    if (churn->repository.is_shallow) {
        runs_add(runs, "--decorate-refs-exclude=*");
        runs_add(runs, "--format=%x01%H%x02%at%x02%ct%x02%D%x02%aN");
    } else {
        runs_add(runs, "--format=%x01%H%x02%at%x02%ct%x02%aN");
    }
    if (options->paths != NULL || churn->repository.prefix.n > 0) {
        runs_add(runs, "--full-history");
    }
    if (is_second) {
        runs_add(runs, "--no-walk=unsorted");
        runs_add(runs, "--stdin");
    } else {
        r = runs_add_window(runs);
        r = r != 0 ? r : runs_add_revisions(runs);
    }
    runs_add_paths(runs);
    return err_pass(r);
}

int churn_make_argv(Churn *churn)
{
    Runs runs = {.churn = churn, .cap = RUNS_MAX_ARGUMENTS};
    int r = 0;

    for (size_t i = 0; churn->options.paths != NULL && churn->options.paths[i] != NULL; i++) {
        runs.cap++;
    }
    churn->argv = mem_free(churn->argv);
    churn->argv = mem_alloc_array(runs.cap, sizeof(*churn->argv));
    if (churn->argv == NULL) {
        return err_raise(-ENOMEM);
    }
    if (churn->phase == CHURN_PHASE_TREE) {
        runs_add_all(&runs, runs_tree, TW_ARRAY_SIZE(runs_tree));
        runs_add(&runs, runs_tip(churn));
    } else {
        r = runs_make_log(&runs);
    }
    churn->argv[runs.n] = NULL;
    return err_pass(r);
}
