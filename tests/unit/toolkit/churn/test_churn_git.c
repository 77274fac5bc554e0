/* Analyses of real repositories, by the git of this machine, beside what git itself says of them.
 */
#include "toolkit/churn/churn.h"

#include "rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGV 16

static char scratch[64] = "/tmp/toolwire-churn-XXXXXX";

/* ---- running git ---- */

typedef int (*OutputFn)(void *context, const char *p, size_t n);

static int input_file(Span input)
{
    char path[] = "/tmp/toolwire-churn-input-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, input.p == NULL ? "" : input.p, input.n), (ssize_t)input.n);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void in_child(const char *folder, const char *const *argv, int in, int out)
{
    const char *copy[80];
    size_t n = 0;

    for (; argv[n] != NULL && n < 79; n++) {
        copy[n] = argv[n];
    }
    copy[n] = NULL;
    if (chdir(folder) == 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1) {
        (void)close(out);
        (void)execvp("git", (char *const *)(void *)copy);
    }
    _exit(127);
}

/* Its exit status. */
static int run(const char *folder, const char *const *argv, Span input, OutputFn output,
               void *context)
{
    char piece[4093];
    int in = input_file(input);
    int pipes[2];
    int status = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(pipes[0]);
        in_child(folder, argv, in, pipes[1]);
    }
    (void)close(pipes[1]);
    (void)close(in);
    while ((n = read(pipes[0], piece, sizeof(piece))) > 0) {
        assert_int_equal(output(context, piece, (size_t)n), 0);
    }
    (void)close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int keep(void *context, const char *p, size_t n)
{
    return bytes_append(context, p, n);
}

/* Words with a blank between them. Gives what it printed, without newlines at the end; the caller
 * frees it. */
static char *git(const char *folder, const char *words)
{
    char copy[1024];
    const char *argv[MAX_ARGV + 1] = {"git"};
    size_t n = 1;
    char *text;
    Bytes out;

    (void)snprintf(copy, sizeof(copy), "%s", words);
    for (char *p = copy; p != NULL && n < MAX_ARGV;) {
        char *blank = strchr(p, ' ');

        if (blank != NULL) {
            *blank++ = '\0';
        }
        argv[n++] = p;
        p = blank;
    }
    bytes_init(&out, RIG_MAX);
    if (run(folder, argv, SPAN_NULL, keep, &out) != 0) {
        fail_msg("git %s", words);
    }
    while (out.n > 0 && out.data[out.n - 1] == '\n') {
        out.n--;
    }
    text = calloc(1, out.n + 1);
    assert_non_null(text);
    if (out.n > 0) {
        memcpy(text, out.data, out.n);
    }
    bytes_deinit(&out);
    return text;
}

static void do_git(const char *folder, const char *words)
{
    free(git(folder, words));
}

static unsigned long git_number(const char *folder, const char *words)
{
    char *text = git(folder, words);
    unsigned long value = strtoul(text, NULL, 10);

    free(text);
    return value;
}

/* scratch/name, in one of a few places. */
static const char *at(const char *name)
{
    static char paths[4][160];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, 160, "%s/%s", scratch, name);
    return path;
}

/* A repository from a stream of fast-import; with a work tree. */
static const char *import(const char *name, Span stream)
{
    const char *const argv[] = {"git", "fast-import", "--quiet", "--force", NULL};
    char words[200];
    Bytes out;

    (void)snprintf(words, sizeof(words), "init -q -b main %s", at(name));
    do_git(scratch, words);
    bytes_init(&out, RIG_MAX);
    assert_int_equal(run(at(name), argv, stream, keep, &out), 0);
    bytes_deinit(&out);
    do_git(at(name), "reset -q --hard main");
    return at(name);
}

/* ---- analysing ---- */

typedef struct Feed {
    Churn *churn;
    size_t n_runs;
} Feed;

static int feed(void *context, const char *p, size_t n)
{
    return churn_feed(((Feed *)context)->churn, p, n, NULL);
}

static Churn *analyse_in(const char *folder, const ChurnOptions *options, ChurnTable *table,
                         size_t *ret_runs)
{
    char *root = git(folder, "rev-parse --absolute-git-dir");
    char *prefix = git(folder, "rev-parse --show-prefix");
    char *shallow = git(folder, "rev-parse --is-shallow-repository");
    char *bare = git(folder, "rev-parse --is-bare-repository");
    char *head = git(folder, "rev-parse HEAD");
    ChurnRepository repository = {.root = span_from_str(root),
                                  .prefix = span_from_str(prefix),
                                  .is_bare = strcmp(bare, "true") == 0,
                                  .is_shallow = strcmp(shallow, "true") == 0,
                                  .head = span_from_str(head)};
    Feed context = {.n_runs = 0};
    Diag diag = DIAG_NULL;
    ChurnRun next;
    bool is_one = true;

    assert_int_equal(churn_new(&context.churn, options, &repository, table), 0);
    for (;;) {
        assert_int_equal(churn_next_run(context.churn, &next, &is_one), 0);
        if (!is_one) {
            break;
        }
        context.n_runs++;
        assert_int_equal(run(folder, next.argv, next.input, feed, &context), 0);
        if (churn_end_run(context.churn, &diag) != 0) {
            fail_msg("%s", diag.message);
        }
    }
    assert_int_equal(churn_finish(context.churn), 0);
    if (ret_runs != NULL) {
        *ret_runs = context.n_runs;
    }
    free(root);
    free(prefix);
    free(shallow);
    free(bare);
    free(head);
    return context.churn;
}

static Churn *analyse(const char *folder)
{
    ChurnOptions options = rig_options();

    return analyse_in(folder, &options, NULL, NULL);
}

/* ---- histories ---- */

static void add(Bytes *stream, const char *text)
{
    assert_int_equal(bytes_append(stream, text, strlen(text)), 0);
}

static void add_commit(Bytes *stream, const char *branch, const char *author, unsigned minute,
                       const char *parent)
{
    assert_int_equal(bytes_append_format(stream,
                                         "commit refs/heads/%s\nauthor %s <%.3s@x> %u +0530\n"
                                         "committer C <c@x> %u -0800\ndata 1\nx\n%s%s",
                                         branch, author, author, 1700000000 + 60 * minute,
                                         1700000500 + 60 * minute, parent == NULL ? "" : parent,
                                         parent == NULL ? "" : "\n"),
                     0);
}

static void add_bytes(Bytes *stream, const char *path, Span text)
{
    assert_int_equal(bytes_append_format(stream, "M 100644 inline %s\ndata %zu\n", path, text.n),
                     0);
    assert_int_equal(bytes_append_span(stream, text), 0);
    add(stream, "\n");
}

static void add_file(Bytes *stream, const char *path, const char *text)
{
    add_bytes(stream, path, span_from_str(text));
}

/* n lines, some of which depend on seed. */
static void add_lines(Bytes *stream, const char *path, unsigned n, unsigned seed)
{
    char text[8192];
    size_t used = 0;

    for (unsigned i = 0; i < n && used + 40 < sizeof(text); i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "line %u of %u\n", i,
                                 i % 7 == seed % 7 ? seed : 0);
    }
    add_file(stream, path, text);
}

/* Hard names, a rename, a binary file, a submodule, a deletion, a merge. */
static void make_odd(Bytes *s)
{
    add_commit(s, "main", "Ann | Smith", 0, NULL);
    add_lines(s, "a.txt", 20, 1);
    add_file(s, "\"n\\nl\\t\\\"q\\\" => x.txt\"", "one\n");
    add_file(s, "\"bad\\377\"", "one\n");
    add_file(s, "src/io/x.c", "one\ntwo\n");
    add_file(s, "src/y.c", "one\n");
    add_bytes(s, "bin", SPAN("a\0b"));
    add_commit(s, "main", "B\x01ob\x02 1\x02 2", 1, NULL);
    add(s, "R a.txt \"{a => b}.txt\"\n");
    add_bytes(s, "bin", SPAN("a\0c"));
    add(s, "M 160000 1111111111111111111111111111111111111111 sub\n");
    add_commit(s, "side", "Ann | Smith", 2, "from refs/heads/main");
    add_file(s, "src/y.c", "one\ntwo\n");
    add_commit(s, "main", "J\xC3\xB6rg", 3, NULL);
    add_file(s, "src/io/x.c", "one\nthree\nfour\n");
    add(s, "D \"bad\\377\"\n");
    add_commit(s, "main", "Ann | Smith", 4, "merge refs/heads/side");
    add_file(s, "src/y.c", "one\ntwo\n");
    add_commit(s, "main", "Ann | Smith", 5, NULL);
    add_lines(s, "\"{a => b}.txt\"", 20, 2);
    add_commit(s, "main", "Nobody", 6, NULL);
    /* Three renames that git has to look for among each other. */
    add_commit(s, "main", "Cy", 7, NULL);
    add_file(s, "order", "A\nx\nx\nx\nx\n");
    for (unsigned i = 0; i < 3; i++) {
        char path[16];

        (void)snprintf(path, sizeof(path), "src/r%u", i);
        add_lines(s, path, 40 + 30 * i, 7 + i);
    }
    add_commit(s, "main", "Cy", 8, NULL);
    /* One line moved; patience says that it were the other four. */
    add_file(s, "order", "x\nx\nx\nx\nA\n");
    for (unsigned i = 0; i < 3; i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "src/s%u", i);
        add_lines(s, path, 40 + 30 * i, 9 + i);
        assert_int_equal(bytes_append_format(s, "D src/r%u\n", i), 0);
    }
}

static const char *odd_repository(const char *name)
{
    const char *folder;
    Bytes s;

    bytes_init(&s, RIG_MAX);
    make_odd(&s);
    folder = import(name, bytes_span(&s));
    bytes_deinit(&s);
    return folder;
}

/* Many commits on two branches that meet now and then, with renames to and fro. */
static const char *long_repository(const char *name, unsigned n)
{
    static const char *const authors[] = {"Ann", "Bob", "Cy", "Dee"};
    char paths[12][32];
    const char *folder;
    uint32_t random = 12345;
    Bytes s;

    bytes_init(&s, RIG_MAX);
    add_commit(&s, "main", "Ann", 0, NULL);
    for (unsigned i = 0; i < 12; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "d%u/f%u.c", i % 3, i);
        add_lines(&s, paths[i], 60, i);
    }
    for (unsigned i = 1; i < n; i++) {
        unsigned which;

        random = random * 1664525 + 1013904223;
        which = random >> 28;
        add_commit(&s, "main", authors[random >> 26 & 3], i, NULL);
        if (which >= 12) {
            char other[32];

            which -= 4;
            (void)snprintf(other, sizeof(other), "d%u/r%u.c", i % 3, i);
            assert_int_equal(bytes_append_format(&s, "R %s %s\n", paths[which], other), 0);
            memcpy(paths[which], other, sizeof(other));
        } else {
            add_lines(&s, paths[which], 60, i);
            add_lines(&s, paths[(which + 1) % 12], 60, i + 3);
        }
        if (i % 10 == 0) {
            add_commit(&s, "side", "Eve", i, i == 10 ? "from refs/heads/main" : NULL);
            add_lines(&s, "side.c", 40, i);
            add_commit(&s, "main", "Ann", i, "merge refs/heads/side");
            add_lines(&s, "side.c", 40, i);
        }
    }
    folder = import(name, bytes_span(&s));
    bytes_deinit(&s);
    return folder;
}

/* ---- tests ---- */

static void names_of_all_kinds_come_out_right(void **state)
{
    const char *folder = odd_repository("odd");
    const ChurnFile *file;
    Churn *churn;

    (void)state;
    churn = analyse(folder);
    assert_int_equal(churn_n_commits(churn),
                     git_number(folder, "rev-list --count --no-merges HEAD"));
    assert_int_equal(churn_n_files(churn), 10);
    for (unsigned i = 0; i < 3; i++) {
        char path[16];

        (void)snprintf(path, sizeof(path), "src/s%u", i);
        assert_int_equal(rig_file(churn, path)->n_old_names, 1);
    }
    file = rig_file(churn, "{a => b}.txt");
    assert_int_equal(file->commits, 3);
    assert_int_equal(file->n_old_names, 1);
    assert_true(span_equals(file->old_names[0], SPAN("a.txt")));
    assert_int_equal(file->n_authors, 2);
    assert_true(span_equals(file->authors[0].name, SPAN("Ann | Smith")));
    assert_true(span_equals(file->authors[1].name, SPAN("B\x01ob\x02 1\x02 2")));
    assert_int_equal(file->first_seen_s, 1700000000);
    assert_int_equal(file->last_modified_s, 1700000300);
    assert_int_equal(rig_file(churn, "n\nl\t\"q\" => x.txt")->additions, 1);
    assert_true(rig_file(churn, "bad\xFF")->is_deleted);
    assert_int_equal(rig_file(churn, "bin")->binary_commits, 2);
    assert_int_equal(rig_file(churn, "bin")->additions, 0);
    assert_int_equal(rig_file(churn, "src/io/x.c")->additions, 4);
    assert_int_equal(rig_file(churn, "src/io/x.c")->deletions, 1);
    assert_int_equal(rig_file(churn, "src/y.c")->commits, 2);
    (void)churn_free(churn);
}

static void sub_folders_worktrees_and_bare_clones_are_read(void **state)
{
    const char *folder = odd_repository("places");
    Churn *churn;

    (void)state;
    churn = analyse(at("places/src"));
    assert_int_equal(churn_n_files(churn), 5);
    assert_int_equal(churn_n_commits(churn), 5);
    assert_int_equal(rig_file(churn, "src/io/x.c")->commits, 2);
    churn = churn_free(churn);
    do_git(folder, "worktree add -q ../tree side");
    churn = analyse(at("tree"));
    assert_int_equal(churn_n_commits(churn), 3);
    churn = churn_free(churn);
    do_git(scratch, "clone -q --bare places bare");
    churn = analyse(at("bare"));
    assert_int_equal(churn_n_files(churn), 10);
    (void)churn_free(churn);
}

static void a_shallow_clone_counts_what_it_knows(void **state)
{
    char words[300];
    Churn *churn;
    Bytes json;

    (void)state;
    (void)long_repository("deep", 40);
    (void)snprintf(words, sizeof(words), "clone -q --depth 5 file://%s shallow", at("deep"));
    do_git(scratch, words);
    /* A branch whose name looks like the mark of the cut. */
    do_git(at("shallow"), "branch grafted HEAD");
    churn = analyse(at("shallow"));
    json = rig_write(churn, CHURN_JSON);
    rig_expect(&json, "\"shallow\": true");
    rig_expect(&json, "at the cut");
    assert_int_equal(churn_n_commits(churn),
                     git_number(at("shallow"), "rev-list --count --no-merges HEAD") -
                         git_number(at("shallow"), "rev-list --count --max-parents=0 HEAD"));
    for (size_t i = 0; i < churn_n_files(churn); i++) {
        assert_true(churn_file_at(churn, i)->additions < 60);
    }
    bytes_deinit(&json);
    (void)churn_free(churn);
}

/* Each file's numbers, and each author's, by git's own commands. */
static void numbers_are_those_of_git(void **state)
{
    const char *folder = long_repository("numbers", 120);
    ChurnOptions options = rig_options();
    uint64_t additions = 0;
    uint64_t deletions = 0;
    unsigned long total = 0;
    unsigned long total_deleted = 0;
    Churn *churn;
    Bytes json;
    char *text;

    (void)state;
    options.no_renames = true;
    options.since_s = 1700000500 + 60 * 30;
    options.until_s = 1700000500 + 60 * 100;
    churn = analyse_in(folder, &options, NULL, NULL);
    assert_int_equal(churn_n_commits(churn),
                     git_number(folder, "rev-list --count --no-merges --since=1700002300 "
                                        "--until=1700006500 HEAD"));
    for (size_t i = 0; i < churn_n_files(churn); i++) {
        const ChurnFile *file = churn_file_at(churn, i);
        char words[300];

        (void)snprintf(words, sizeof(words),
                       "rev-list --count --no-merges --full-history --since=1700002300 "
                       "--until=1700006500 HEAD -- %.*s",
                       (int)file->path.n, file->path.p);
        assert_int_equal(file->commits, git_number(folder, words));
        additions += file->additions;
        deletions += file->deletions;
    }
    text = git(folder, "log --no-merges --no-renames --since=1700002300 --until=1700006500 "
                       "--format= --numstat");
    for (char *p = text; *p != '\0';) {
        total += strtoul(p, &p, 10);
        total_deleted += strtoul(p, &p, 10);
        p = strchr(p, '\n');
        if (p == NULL) {
            break;
        }
        p++;
    }
    free(text);
    assert_int_equal(additions, total);
    assert_int_equal(deletions, total_deleted);
    json = rig_write(churn, CHURN_JSON);
    text = git(folder, "shortlog -sn --no-merges --since=1700002300 --until=1700006500 HEAD");
    for (char *p = text; *p != '\0';) {
        unsigned long commits = strtoul(p, &p, 10);
        char *end = strchr(p, '\n');
        char part[100];

        (void)snprintf(part, sizeof(part), "\"%.*s\": %lu",
                       (int)(end == NULL ? strlen(p + 1) : (size_t)(end - p - 1)), p + 1, commits);
        rig_expect(&json, part);
        p = end == NULL ? p + strlen(p) : end + 1;
    }
    free(text);
    bytes_deinit(&json);
    (void)churn_free(churn);
}

static Bytes json_of(const char *folder, const ChurnOptions *options, ChurnTable *table,
                     size_t *ret_runs)
{
    Churn *churn = analyse_in(folder, options, table, ret_runs);
    Bytes json = rig_write(churn, CHURN_JSON);

    (void)churn_free(churn);
    return json;
}

/* The same with a table as without, whatever the table has seen before: nothing, all, a part. */
static void a_table_changes_nothing_but_the_runs(void **state)
{
    const char *folder = long_repository("table", 150);
    ChurnOptions options = rig_options();
    ChurnOptions part = rig_options();
    ChurnTable *table = NULL;
    ChurnTable *again = NULL;
    size_t n_runs = 0;
    Bytes file;
    Bytes without;
    Bytes with;

    (void)state;
    options.directories = true;
    options.n_pairs = 20;
    part.since_s = 1700000500 + 60 * 120;
    assert_int_equal(churn_table_new(&table, 10000), 0);
    without = json_of(folder, &options, NULL, &n_runs);
    assert_int_equal(n_runs, 1);

    with = json_of(folder, &part, table, &n_runs);
    assert_int_equal(n_runs, 1);
    bytes_deinit(&with);
    with = json_of(folder, &options, table, &n_runs);
    assert_int_equal(n_runs, 2);
    assert_string_equal(with.data, without.data);
    bytes_deinit(&with);

    bytes_init(&file, RIG_MAX);
    assert_int_equal(churn_table_write(table, &file), 0);
    assert_int_equal(churn_table_new(&again, 10000), 0);
    assert_int_equal(churn_table_read(again, bytes_span(&file)), 0);
    with = json_of(folder, &options, again, &n_runs);
    assert_int_equal(n_runs, 1);
    assert_false(churn_table_changed(again));
    assert_string_equal(with.data, without.data);
    bytes_deinit(&with);

    bytes_deinit(&without);
    bytes_deinit(&file);
    (void)churn_table_free(table);
    (void)churn_table_free(again);
}

/* In a folder, with renames out of it; the second run has the same paths. */
static void a_table_changes_nothing_in_a_folder(void **state)
{
    ChurnOptions options = rig_options();
    ChurnOptions part = rig_options();
    ChurnTable *table = NULL;
    size_t n_runs = 0;
    Bytes without;
    Bytes with;

    (void)state;
    (void)long_repository("folder", 80);
    part.since_s = 1700000500 + 60 * 60;
    assert_int_equal(churn_table_new(&table, 10000), 0);
    without = json_of(at("folder/d1"), &options, NULL, &n_runs);
    with = json_of(at("folder/d1"), &part, table, &n_runs);
    bytes_deinit(&with);
    with = json_of(at("folder/d1"), &options, table, &n_runs);
    assert_int_equal(n_runs, 2);
    assert_string_equal(with.data, without.data);
    rig_expect_not(&with, "\"relative_path\": \"d0/");
    rig_expect(&with, "Renames are followed inside the paths that were asked about.");
    bytes_deinit(&with);
    bytes_deinit(&without);
    (void)churn_table_free(table);
}

static void a_file_keeps_its_history_over_renames(void **state)
{
    const char *folder = long_repository("renames", 150);
    char *names = git(folder, "ls-files");
    Churn *churn = analyse(folder);
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < churn_n_files(churn); i++) {
        const ChurnFile *file = churn_file_at(churn, i);
        char path[64];

        (void)snprintf(path, sizeof(path), "%.*s", (int)file->path.n, file->path.p);
        assert_non_null(strstr(names, path));
        n += file->n_old_names;
    }
    assert_int_equal(churn_n_files(churn), 13);
    assert_true(n > 10);
    (void)churn_free(churn);
    free(names);
}

static void revisions_and_pathspecs_are_taken_as_they_are(void **state)
{
    static const char *const paths[] = {"*.c", ":(exclude)src/io", NULL};
    const char *folder = odd_repository("revs");
    ChurnOptions options = rig_options();
    Churn *churn;

    (void)state;
    do_git(folder, "update-ref refs/heads/-dash side");
    options.rev = "-dash";
    options.paths = paths;
    churn = analyse_in(folder, &options, NULL, NULL);
    assert_int_equal(churn_n_files(churn), 1);
    assert_int_equal(rig_file(churn, "src/y.c")->commits, 2);
    churn = churn_free(churn);
    options.paths = NULL;
    options.rev = "main~3..main";
    churn = analyse_in(folder, &options, NULL, NULL);
    assert_int_equal(churn_n_commits(churn),
                     git_number(folder, "rev-list --count --no-merges main~3..main"));
    (void)churn_free(churn);
}

/* What a person's configuration may say, and must not change. */
static void configuration_does_not_change_the_numbers(void **state)
{
    static const char *const settings[] = {
        "log.showRoot false",      "diff.relative true",      "diff.renames copies",
        "log.follow true",         "log.showSignature true",  "format.pretty oneline",
        "color.ui always",         "diff.algorithm patience", "log.decorate full",
        "core.quotePath true",     "diff.noprefix true",      "log.date relative",
        "log.diffMerges separate", "diff.renameLimit 1",      "i18n.logOutputEncoding ISO-8859-1",
    };
    static const char *const one[] = {"src/s1", NULL};
    const char *folders[] = {"config", "config/src", "config"};
    const char *folder = odd_repository("config");
    ChurnOptions options = rig_options();
    Bytes before[3];
    Bytes after;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        options.paths = i == 2 ? one : NULL;
        before[i] = json_of(at(folders[i]), &options, NULL, NULL);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(settings); i++) {
        char words[200];

        (void)snprintf(words, sizeof(words), "config %s", settings[i]);
        do_git(folder, words);
    }
    for (size_t i = 0; i < 3; i++) {
        options.paths = i == 2 ? one : NULL;
        after = json_of(at(folders[i]), &options, NULL, NULL);
        assert_string_equal(after.data, before[i].data);
        bytes_deinit(&before[i]);
        bytes_deinit(&after);
    }
}

static void authors_are_those_of_the_mailmap(void **state)
{
    const char *folder = odd_repository("mailmap");
    FILE *file = fopen(at("mailmap/.mailmap"), "w");
    Churn *churn;

    (void)state;
    assert_non_null(file);
    (void)fprintf(file, "Ann Jones <Ann@x>\n");
    (void)fclose(file);
    churn = analyse(folder);
    assert_true(span_equals(rig_file(churn, "src/y.c")->authors[0].name, SPAN("Ann Jones")));
    (void)churn_free(churn);
}

/* Merged work from before a rename: who changed the old name changed the file. */
static void work_of_a_branch_from_before_a_rename_is_found(void **state)
{
    const char *folder;
    size_t n_runs = 0;
    ChurnOptions options = rig_options();
    Churn *churn;
    Bytes s;

    (void)state;
    bytes_init(&s, RIG_MAX);
    add_commit(&s, "main", "Ann", 0, NULL);
    add_lines(&s, "old.c", 50, 1);
    add_commit(&s, "side", "Bob", 9, "from refs/heads/main");
    add_lines(&s, "old.c", 50, 2);
    add_commit(&s, "main", "Ann", 5, NULL);
    add(&s, "R old.c new.c\n");
    add_commit(&s, "main", "Ann", 10, "merge refs/heads/side");
    add(&s, "D old.c\n");
    add_lines(&s, "new.c", 50, 2);
    folder = import("branches", bytes_span(&s));
    churn = analyse_in(folder, &options, NULL, &n_runs);
    assert_int_equal(n_runs, 2);
    assert_int_equal(churn_n_files(churn), 1);
    assert_int_equal(rig_file(churn, "new.c")->commits, 3);
    assert_int_equal(rig_file(churn, "new.c")->n_authors, 2);
    (void)churn_free(churn);
    bytes_deinit(&s);
}

/* ---- before and after ---- */

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(scratch) == NULL) {
        return -1;
    }
    (void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    (void)setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
    (void)setenv("GIT_CEILING_DIRECTORIES", "/tmp", 1);
    return 0;
}

static int tear_down(void **state)
{
    char command[] = "-rf";
    char program[] = "rm";
    char *const argv[] = {program, command, scratch, NULL};
    int status = 0;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        (void)execvp("rm", argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static bool has_git(void)
{
    const char *const argv[] = {"git", "--version", NULL};
    Bytes out;
    int status;

    bytes_init(&out, 1000);
    status = run("/", argv, SPAN_NULL, keep, &out);
    bytes_deinit(&out);
    return status == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_all_kinds_come_out_right),
        cmocka_unit_test(sub_folders_worktrees_and_bare_clones_are_read),
        cmocka_unit_test(a_shallow_clone_counts_what_it_knows),
        cmocka_unit_test(numbers_are_those_of_git),
        cmocka_unit_test(a_table_changes_nothing_but_the_runs),
        cmocka_unit_test(a_table_changes_nothing_in_a_folder),
        cmocka_unit_test(a_file_keeps_its_history_over_renames),
        cmocka_unit_test(revisions_and_pathspecs_are_taken_as_they_are),
        cmocka_unit_test(configuration_does_not_change_the_numbers),
        cmocka_unit_test(authors_are_those_of_the_mailmap),
        cmocka_unit_test(work_of_a_branch_from_before_a_rename_is_found),
    };

    if (!has_git()) {
        (void)fprintf(stderr, "skipped: there is no git\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
