/* Runs git for a job, and finds out what it knows about a folder (analysis_impl.h). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "io/child.h"
#include "io/environment.h"
#include "io/place.h"
#include "providers/analysis_impl.h"

/* What git says when something is wrong; a sentence is wanted, and it may repeat itself. */
#define GIT_WORDS_BYTES ((size_t)4096)

/* Answers of rev-parse: a few lines with paths. */
#define GIT_ANSWER_BYTES ((size_t)64 * 1024)

#define GIT_REV_SIZE 512

/* What would lead git to another repository than that of the folder: a server may have been started
 * by a hook. */
static const char *const git_unset[] = {"GIT_DIR",
                                        "GIT_WORK_TREE",
                                        "GIT_INDEX_FILE",
                                        "GIT_PREFIX",
                                        "GIT_COMMON_DIR",
                                        "GIT_NAMESPACE",
                                        "GIT_OBJECT_DIRECTORY",
                                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                        "GIT_LITERAL_PATHSPECS",
                                        "GIT_GLOB_PATHSPECS",
                                        "GIT_NOGLOB_PATHSPECS",
                                        "GIT_ICASE_PATHSPECS",
                                        "GIT_TRACE",
                                        "GIT_EXTERNAL_DIFF",
                                        "GIT_ATTR_NOSYSTEM",
                                        "GIT_ATTR_SOURCE",
                                        "GIT_ALLOW_PROTOCOL",
                                        "GIT_NO_LAZY_FETCH",
                                        "GIT_OPTIONAL_LOCKS",
                                        "GIT_TERMINAL_PROMPT",
                                        "LC_ALL"};

/* Words that we know how to read; no lock taken from somebody who works there; what the machine
 * takes for text is no matter of the repository.
 *
 * What a partial clone left out is not fetched: a repository names the programs that would do it,
 * and whoever reads a history has not asked for the network. Git before 2.39.4 does not know the
 * second name; the list of protocols then refuses each of them, whatever the settings say (no
 * protocol is called "none"). */
static const char *const git_set[] = {"LC_ALL=C",
                                      "GIT_ATTR_NOSYSTEM=1",
                                      "GIT_NO_LAZY_FETCH=1",
                                      "GIT_ALLOW_PROTOCOL=none",
                                      "GIT_OPTIONAL_LOCKS=0",
                                      "GIT_TERMINAL_PROMPT=0"};

/* Where git stops on its way up: above the root, which it still looks into. */
#define GIT_CEILING "GIT_CEILING_DIRECTORIES"

static bool git_keeps(const char *entry, bool has_root)
{
    if (has_root && io_environment_sets(entry, SPAN(GIT_CEILING))) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(git_unset); i++) {
        if (io_environment_sets(entry, span_from_str(git_unset[i]))) {
            return false;
        }
    }
    return true;
}

/* Git takes the folder for the end of its way, so it is the one above the root; a name with a
 * colon would be two, and then what was found is looked at (repository_check). 0, -ENOMEM. */
static int git_make_ceiling(AnalysisGit *git)
{
    size_t n = io_place_folder_length(git->root);

    n -= n > 1;
    git->ceiling = mem_alloc(sizeof(GIT_CEILING "=") + n);
    if (git->ceiling == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(git->ceiling, GIT_CEILING "=", sizeof(GIT_CEILING "=") - 1);
    memcpy(git->ceiling + sizeof(GIT_CEILING "=") - 1, git->root, n);
    git->ceiling[sizeof(GIT_CEILING "=") - 1 + n] = '\0';
    return 0;
}

int analysis_git_init(AnalysisGit *git, const AnalysisPlace *place, const char *folder,
                      const atomic_bool *cancel)
{
    const char *const *ours = io_environment();
    size_t n = 0;
    size_t n_kept = 0;

    while (ours[n] != NULL) {
        n++;
    }
    *git = (AnalysisGit){.folder = folder, .root = place->root, .cancel = cancel};
    if (git->root != NULL && git_make_ceiling(git) != 0) {
        return -ENOMEM;
    }
    git->environment = mem_alloc_array(n + TW_ARRAY_SIZE(git_set) + 2, sizeof(*git->environment));
    if (git->environment == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        if (git_keeps(ours[i], git->root != NULL)) {
            git->environment[n_kept++] = ours[i];
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(git_set); i++) {
        git->environment[n_kept++] = git_set[i];
    }
    git->environment[n_kept] = git->ceiling; /* or the end */
    return 0;
}

void analysis_git_deinit(AnalysisGit *git)
{
    git->environment = mem_free(git->environment);
    git->ceiling = mem_free(git->ceiling);
}

/* ---- one run ---- */

/* The line that says why: the one that begins with "fatal: ", else the first. */
static Span git_reason(Span words)
{
    Span best = SPAN_NULL;
    Span fatal = SPAN("fatal: ");

    while (words.n > 0) {
        const char *end = memchr(words.p, '\n', words.n);
        size_t n = end == NULL ? words.n : (size_t)(end - words.p);
        Span line = text_trim(span_make(words.p, n));

        if (span_starts_with(line, fatal)) {
            return span_make(line.p + fatal.n, line.n - fatal.n);
        }
        if (best.n == 0) {
            best = line;
        }
        words = span_make(words.p + n + (end != NULL), words.n - n - (end != NULL));
    }
    return best;
}

static bool git_holds(Span text, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Names what the failure is about. */
static int git_fail_about(const char *field, int r, Diag *diag)
{
    if (diag != NULL) {
        diag_set_field(diag, "%s", field);
    }
    return r;
}

static int git_fail(const AnalysisGit *git, const IoProcessExit *how, Span words, Diag *reterr_diag)
{
    Span reason = git_reason(words);

    if (git_holds(words, "not a git repository")) {
        return git_fail_about("repository",
                              diag_set(reterr_diag, ANALYSIS_E_GIT,
                                       "Not found: No git repository found at %s", git->folder),
                              reterr_diag);
    }
    if (reason.n == 0) {
        return diag_set(reterr_diag, ANALYSIS_E_GIT, "git ended with %s %d",
                        how->signum != 0 ? "signal" : "status",
                        how->signum != 0 ? how->signum : how->status);
    }
    return diag_set(reterr_diag, ANALYSIS_E_GIT, "git says: %.*s", (int)reason.n, reason.p);
}

/* What output returned has to pass through io_child_run, which knows only that it was not 0. */
typedef struct GitOutput {
    const AnalysisGitRun *run;
    int r;
} GitOutput;

static int git_on_output(void *context, const char *p, size_t n)
{
    GitOutput *output = context;

    output->r = output->run->output(output->run->context, p, n);
    return output->r;
}

int analysis_git_run(const AnalysisGit *git, const AnalysisGitRun *run, Diag *reterr_diag)
{
    GitOutput output = {.run = run};
    IoProcessExit how = {.status = -1};
    Diag diag = DIAG_NULL;
    Bytes words;
    int r;

    bytes_init(&words, GIT_WORDS_BYTES);
    r = io_child_run(&(IoChildSpec){.argv = run->argv,
                                    .environment = git->environment,
                                    .folder = git->folder,
                                    .input = run->input,
                                    .output = git_on_output,
                                    .context = &output,
                                    .cancel = git->cancel},
                     &words, &how, &diag);
    if (r == IO_CHILD_E_CANNOT_START) {
        r = diag_set(reterr_diag, ANALYSIS_E_GIT, "git cannot be started: %s", diag.message);
    } else if (r == IO_CHILD_E_CANCELLED) {
        r = ANALYSIS_E_CANCELLED;
    } else if (r == IO_CHILD_E_STOPPED) {
        r = output.r;
    } else if (r == 0 && (how.status != 0 || how.signum != 0)) {
        r = git_fail(git, &how, bytes_span(&words), reterr_diag);
    }
    bytes_deinit(&words);
    return r;
}

static int git_on_text(void *context, const char *p, size_t n)
{
    int r = bytes_append(context, p, n);

    return r > 0 ? err_raise(-EFBIG) : r;
}

int analysis_git_read(const AnalysisGit *git, const char *const *argv, Bytes *out,
                      Diag *reterr_diag)
{
    return analysis_git_run(
        git, &(AnalysisGitRun){.argv = argv, .output = git_on_text, .context = out}, reterr_diag);
}

/* ---- a repository ---- */

static Span git_line(Span *text)
{
    const char *end = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
    size_t n = end == NULL ? text->n : (size_t)(end - text->p);
    Span line = span_make(text->p, n);

    *text = span_make(text->p + n + (end != NULL), text->n - n - (end != NULL));
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    return line;
}

static char *git_copy(Span s)
{
    char *copy = mem_alloc(s.n + 1);

    if (copy != NULL) {
        if (s.n > 0) {
            memcpy(copy, s.p, s.n);
        }
        copy[s.n] = '\0';
    }
    return copy;
}

/* The common folder is told as seen from ours. */
static int repository_common(AnalysisRepository *repository, const char *folder, Span line)
{
    CLEANUP(mem_freep) char *told = git_copy(line);
    CLEANUP(mem_freep) char *joined = NULL;
    int r = told == NULL ? err_raise(-ENOMEM) : 0;

    if (r == 0 && !io_place_is_absolute(told)) {
        r = analysis_join(&joined, folder, told);
    }
    return r != 0 ? r : io_place_real(&repository->common, joined != NULL ? joined : told);
}

/* The work tree's root is the folder without the prefix. */
static int repository_root(AnalysisRepository *repository, const char *folder)
{
    size_t n_prefix = strlen(repository->prefix);
    size_t n = strlen(folder);

    if (repository->is_bare || !repository->has_work_tree) {
        repository->root = git_copy(span_from_str(repository->common));
    } else {
        /* "src/io/" of "ROOT/src/io" */
        n = n_prefix > 0 && n > n_prefix ? n - n_prefix : n;
        repository->root = git_copy(span_make(folder, n));
    }
    return repository->root == NULL ? err_raise(-ENOMEM) : 0;
}

/* What is behind the last newline of an answer that is one path, whatever is in the path. */
static Span git_rest(Span text)
{
    if (text.n > 0 && text.p[text.n - 1] == '\n') {
        text.n--;
    }
    return text;
}

/* A path may hold newlines: it comes last, or alone. */
static int repository_read_flags(AnalysisRepository *repository, const AnalysisGit *git,
                                 Bytes *text, Diag *reterr_diag)
{
    static const char *const argv[] = {"git",
                                       "rev-parse",
                                       "--is-bare-repository",
                                       "--is-shallow-repository",
                                       "--is-inside-work-tree",
                                       "--show-prefix",
                                       NULL};
    Span rest;
    int r = analysis_git_read(git, argv, text, reterr_diag);

    if (r != 0) {
        return r;
    }
    rest = bytes_span(text);
    repository->is_bare = span_equals(git_line(&rest), SPAN("true"));
    repository->is_shallow = span_equals(git_line(&rest), SPAN("true"));
    repository->has_work_tree = span_equals(git_line(&rest), SPAN("true"));
    repository->prefix = git_copy(git_rest(rest));
    return repository->prefix == NULL ? err_raise(-ENOMEM) : 0;
}

/* A .git may be a file or a link that leads anywhere, and the settings in it may name another work
 * tree. */
static int repository_check(const AnalysisRepository *repository, const AnalysisGit *git,
                            Bytes *text, Diag *reterr_diag)
{
    static const char *const argv[] = {"git", "rev-parse", "--absolute-git-dir", NULL};
    CLEANUP(mem_freep) char *told = NULL;
    CLEANUP(mem_freep) char *own = NULL;
    int r;

    bytes_clear(text);
    r = analysis_git_read(git, argv, text, reterr_diag);
    if (r != 0) {
        return r;
    }
    told = git_copy(git_rest(bytes_span(text)));
    r = told == NULL ? err_raise(-ENOMEM) : io_place_real(&own, told);
    if (r == 0 && (!analysis_is_beneath(git->root, own) ||
                   !analysis_is_beneath(git->root, repository->common) ||
                   !analysis_is_beneath(git->root, repository->root))) {
        return diag_set(reterr_diag, ANALYSIS_E_PATH,
                        "Access denied: path outside allowed directory: the repository of %s",
                        git->folder);
    }
    return r;
}

static int repository_read(AnalysisRepository *repository, const AnalysisGit *git, Bytes *text,
                           Diag *reterr_diag)
{
    static const char *const common[] = {"git", "rev-parse", "--git-common-dir", NULL};
    static const char *const partial[] = {"git",
                                          "config",
                                          "--name-only",
                                          "--get-regexp",
                                          "^(extensions\\.partialclone|remote\\..*\\.promisor)$",
                                          NULL};
    int r = repository_read_flags(repository, git, text, reterr_diag);

    if (r == 0) {
        bytes_clear(text);
        r = analysis_git_read(git, common, text, reterr_diag);
    }
    r = r != 0 ? r : repository_common(repository, git->folder, git_rest(bytes_span(text)));
    if (r == 0) {
        bytes_clear(text);
        r = analysis_git_read(git, partial, text, NULL);
        repository->is_partial = r == 0;
        r = r == ANALYSIS_E_GIT ? 0 : r; /* no such setting */
    }
    r = r != 0 ? r : repository_root(repository, git->folder);
    return r != 0 || git->root == NULL ? r : repository_check(repository, git, text, reterr_diag);
}

/* Appends the id of what `spec` names. 0, ANALYSIS_E_GIT: nothing has that name, or it is damaged.
 */
static int git_resolve(const AnalysisGit *git, const char *spec, Bytes *text, Diag *reterr_diag)
{
    const char *argv[] = {"git", "rev-parse", "--verify", "--end-of-options", spec, NULL};

    bytes_clear(text);
    return analysis_git_read(git, argv, text, reterr_diag);
}

/* No commit yet, or a HEAD that leads to a damaged one? */
static int repository_unborn(const AnalysisGit *git, Bytes *text, const Diag *why,
                             Diag *reterr_diag)
{
    int r = git_resolve(git, "HEAD", text, NULL);

    if (r == ANALYSIS_E_GIT) {
        return 0;
    }
    if (r == 0) {
        return diag_set(reterr_diag, ANALYSIS_E_GIT, "the commit of HEAD cannot be read: %s",
                        why->message);
    }
    return r;
}

static int git_unknown_revision(Span rev, const char *why, Diag *reterr_diag)
{
    return git_fail_about("revision",
                          diag_set(reterr_diag, ANALYSIS_E_GIT, "unknown revision '%.*s'%s%s",
                                   (int)(rev.n < 100 ? rev.n : 100), rev.p,
                                   *why != '\0' ? ": " : "", why),
                          reterr_diag);
}

/* The id of the commit that rev names, which is not empty. */
static int repository_commit(const AnalysisGit *git, Span rev, Bytes *text,
                             char ret_id[ANALYSIS_ID_SIZE], Diag *reterr_diag)
{
    Bytes spec;
    Span id;
    int r;

    /* "^A" is what is left out, not a commit. */
    if (rev.n == 0 || rev.p[0] == '-' || rev.p[0] == '^' || rev.n > GIT_REV_SIZE) {
        return git_unknown_revision(rev, "", reterr_diag);
    }
    bytes_init(&spec, GIT_REV_SIZE + 32);
    r = bytes_append_format(&spec, "%.*s^{commit}%c", (int)rev.n, rev.p, 0);
    r = r != 0 ? err_fold(r) : git_resolve(git, spec.data, text, reterr_diag);
    bytes_deinit(&spec);
    if (r != 0) {
        return r;
    }
    id = bytes_span(text);
    id = git_line(&id);
    if (id.n >= ANALYSIS_ID_SIZE) {
        return diag_set(reterr_diag, ANALYSIS_E_GIT, "git names a commit that is none");
    }
    memcpy(ret_id, id.p, id.n);
    ret_id[id.n] = '\0';
    return 0;
}

/* A revision that somebody has named. */
static int repository_named(const AnalysisGit *git, Span rev, Bytes *text,
                            char ret_id[ANALYSIS_ID_SIZE], Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r = repository_commit(git, rev, text, ret_id, &diag);

    if (r == ANALYSIS_E_GIT && diag.field[0] == '\0') {
        bool is_plain = git_holds(span_from_str(diag.message), "Needed a single revision");

        return git_unknown_revision(rev, is_plain ? "" : diag.message, reterr_diag);
    }
    if (r > 0 && reterr_diag != NULL) {
        *reterr_diag = diag;
    }
    return r;
}

/* Where the dots of a range are: not in braces ("HEAD^{/a..b}"). rev.n: nowhere. */
static size_t git_find_range(Span rev)
{
    size_t depth = 0;

    for (size_t i = 0; i + 1 < rev.n; i++) {
        depth += rev.p[i] == '{';
        depth -= rev.p[i] == '}' && depth > 0;
        if (depth == 0 && rev.p[i] == '.' && rev.p[i + 1] == '.') {
            return i;
        }
    }
    return rev.n;
}

static int repository_head(AnalysisRepository *repository, const AnalysisGit *git, const char *rev,
                           Bytes *text, Diag *reterr_diag)
{
    Span whole = rev != NULL ? span_from_str(rev) : SPAN("HEAD");
    size_t at = git_find_range(whole);
    Diag diag = DIAG_NULL;
    int r;

    if (rev == NULL) {
        r = repository_commit(git, whole, text, repository->head, &diag);
        return r == ANALYSIS_E_GIT ? repository_unborn(git, text, &diag, reterr_diag) : r;
    }
    if (at < whole.n) {
        Span from = at > 0 ? span_make(whole.p, at) : SPAN("HEAD");

        if (at + 2 < whole.n && whole.p[at + 2] == '.') {
            return git_unknown_revision(whole, "a range is A..B", reterr_diag);
        }
        whole = at + 2 < whole.n ? span_make(whole.p + at + 2, whole.n - at - 2) : SPAN("HEAD");
        r = repository_named(git, from, text, repository->base, reterr_diag);
        if (r != 0) {
            return r;
        }
    }
    return repository_named(git, whole, text, repository->head, reterr_diag);
}

int analysis_repository_init(AnalysisRepository *repository, const AnalysisGit *git,
                             const char *rev, Diag *reterr_diag)
{
    Bytes text;
    int r;

    *repository = ANALYSIS_REPOSITORY_NULL;
    bytes_init(&text, GIT_ANSWER_BYTES);
    r = repository_read(repository, git, &text, reterr_diag);
    if (r == 0) {
        r = repository_head(repository, git, rev, &text, reterr_diag);
    }
    bytes_deinit(&text);
    if (r != 0) {
        analysis_repository_deinit(repository);
    }
    return r;
}

int analysis_repository_explain(const AnalysisRepository *repository, int r, Diag *diag)
{
    if (r == ANALYSIS_E_GIT && repository->is_partial && diag != NULL) {
        Diag said = *diag;

        (void)diag_set(diag, r, "the clone is partial, and what it lacks is not fetched: %s",
                       said.message);
    }
    return r;
}

void analysis_repository_deinit(AnalysisRepository *repository)
{
    repository->root = mem_free(repository->root);
    repository->prefix = mem_free(repository->prefix);
    repository->common = mem_free(repository->common);
}
