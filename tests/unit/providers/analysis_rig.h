/* A folder with a project in it, and git. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "io/child.h"
#include "io/tree.h"
#include "providers/analysis.h"
#include "support/alloc_testing.h"

#define RIG_BYTES ((size_t)64 * 1024 * 1024)

typedef struct Rig {
    char folder[64]; /* of this test; everything lies in it */
    char project[80];
    char state[80];
    AnalysisWatch watch;
    Diag diag;
    ComplexityReport report;
    ComplexityReport before;
    Churn *churn;
} Rig;

static int rig_remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

/* ---- git ---- */

static int rig_on_output(void *context, const char *p, size_t n)
{
    (void)context;
    (void)p;
    (void)n;
    return 0;
}

/* Words with a blank between them; its exit status. */
static int rig_try_git(const char *folder, const char *words)
{
    char copy[1024];
    const char *argv[32] = {"git"};
    IoProcessExit how = {.status = -1};
    Bytes errors;
    size_t n = 1;

    (void)snprintf(copy, sizeof(copy), "%s", words);
    for (char *p = copy; p != NULL && n < TW_ARRAY_SIZE(argv) - 1;) {
        char *blank = strchr(p, ' ');

        if (blank != NULL) {
            *blank++ = '\0';
        }
        argv[n++] = p;
        p = blank;
    }
    bytes_init(&errors, 4096);
    if (io_child_run(&(IoChildSpec){.argv = argv, .folder = folder, .output = rig_on_output},
                     &errors, &how, NULL) != 0) {
        how.status = -1;
    }
    if (how.status != 0) {
        print_message("git %s: %.*s\n", words, (int)errors.n, errors.data);
    }
    bytes_deinit(&errors);
    return how.status;
}

TW_UNUSED static void rig_git(const Rig *rig, const char *words)
{
    assert_int_equal(rig_try_git(rig->project, words), 0);
}

/* A repository whose commits say the same on every machine. */
TW_UNUSED static void rig_init_repository(const Rig *rig)
{
    rig_git(rig, "init -q -b main .");
    rig_git(rig, "config user.name Ada");
    rig_git(rig, "config user.email ada@example.org");
    rig_git(rig, "config commit.gpgsign false");
    rig_git(rig, "config core.autocrlf false");
}

TW_UNUSED static void rig_commit(const Rig *rig, const char *message)
{
    char words[256];

    rig_git(rig, "add -A .");
    (void)snprintf(words, sizeof(words), "commit -q --allow-empty -m %s", message);
    rig_git(rig, words);
}

/* ---- files ---- */

TW_UNUSED static void rig_put(const Rig *rig, const char *path, const char *content)
{
    assert_int_equal(io_tree_write(rig->project, path, span_from_str(content), false, true, NULL),
                     0);
}

static void rig_path(const Rig *rig, const char *path, char out[512])
{
    (void)snprintf(out, 512, "%s/%s", rig->project, path);
}

/* As if it had been written then: what is younger than two seconds is not trusted. */
TW_UNUSED static void rig_age(const Rig *rig, const char *path, time_t when)
{
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    char full[512];

    rig_path(rig, path, full);
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

/* Other bytes in the same file: neither another inode nor, if aged again, another stamp. */
TW_UNUSED static void rig_overwrite(const Rig *rig, const char *path, const char *content)
{
    char full[512];
    int fd;

    rig_path(rig, path, full);
    fd = open(full, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    assert_int_equal(close(fd), 0);
}

/* ---- programs that must not run ---- */

/* A program that leaves a trace, as hook and as everything that settings can name. */
TW_UNUSED static void rig_put_canary(const Rig *rig)
{
    char script[256];
    char path[512];

    (void)snprintf(script, sizeof(script), "#!/bin/sh\ntouch %s/ran\nexit 1\n", rig->folder);
    rig_put(rig, ".git/hooks/canary", script);
    rig_put(rig, ".git/hooks/post-index-change", script);
    rig_path(rig, ".git/hooks/canary", path);
    assert_int_equal(chmod(path, 0700), 0);
    rig_path(rig, ".git/hooks/post-index-change", path);
    assert_int_equal(chmod(path, 0700), 0);
}

TW_UNUSED static void rig_set_canary(const Rig *rig, const char *key)
{
    char words[512];

    (void)snprintf(words, sizeof(words), "config %s %s/.git/hooks/canary", key, rig->project);
    rig_git(rig, words);
}

TW_UNUSED static void rig_set_canaries(const Rig *rig)
{
    static const char *const keys[] = {
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "diff.x.command",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "gpg.program",
        "core.alternateRefsCommand",
        "credential.helper",
        "core.askPass",
    };

    rig_put_canary(rig);
    rig_git(rig, "config log.showSignature true");
    rig_git(rig, "config diff.autoRefreshIndex true");
    for (size_t i = 0; i < TW_ARRAY_SIZE(keys); i++) {
        rig_set_canary(rig, keys[i]);
    }
}

TW_UNUSED static bool rig_has_run(const Rig *rig)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/ran", rig->folder);
    return access(path, F_OK) == 0;
}

TW_UNUSED static void rig_read_index(const Rig *rig, Bytes *out)
{
    char path[512];
    char piece[4096];
    FILE *file;
    size_t n;

    rig_path(rig, ".git/index", path);
    file = fopen(path, "re");
    assert_non_null(file);
    bytes_init(out, RIG_BYTES);
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0) {
        assert_int_equal(bytes_append(out, piece, n), 0);
    }
    assert_int_equal(fclose(file), 0);
}

/* A repository of two commits with every trap that settings can set, its index stale: whoever looks
 * at the work tree as git does reads a.c and same.c through the filter. */
TW_UNUSED static void rig_put_trap(const Rig *rig)
{
    rig_put(rig, "a.c", "int f(int a) { return a; }\n");
    rig_put(rig, "same.c", "int f(int a) { return a; }\n");
    rig_put(rig, ".gitattributes", "* filter=x diff=x\n");
    rig_commit(rig, "one");
    rig_put(rig, "a.c", "int f(int a) { if (a) { return 1; } return 2; }\n");
    rig_commit(rig, "two");
    rig_set_canaries(rig);
    rig_age(rig, "a.c", 1000000000);
    rig_age(rig, "same.c", 1000000000);
}

/* ---- the beginning and the end ---- */

TW_UNUSED static int rig_setup(void **state)
{
    Rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-analysis-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->project, sizeof(rig->project), "%s/project", rig->folder);
    (void)snprintf(rig->state, sizeof(rig->state), "%s/state", rig->folder);
    assert_int_equal(mkdir(rig->project, 0700), 0);
    /* Nobody's own settings. */
    assert_int_equal(setenv("HOME", rig->folder, 1), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", rig->folder, 1), 0);
    assert_int_equal(setenv("GIT_CONFIG_NOSYSTEM", "1", 1), 0);
    *state = rig;
    return 0;
}

TW_UNUSED static int rig_teardown(void **state)
{
    Rig *rig = *state;

    complexity_report_deinit(&rig->report);
    complexity_report_deinit(&rig->before);
    rig->churn = churn_free(rig->churn);
    assert_int_equal(nftw(rig->folder, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(rig);
    return 0;
}

/* ---- complexity ---- */

static const ComplexityReportOptions rig_options = {
    .thresholds = {10, 20, 15, 30}, .elapsed_us = -1, .list_ignored = true};

TW_UNUSED static int rig_complexity(Rig *rig, const AnalysisFiles *files)
{
    complexity_report_deinit(&rig->report);
    complexity_report_deinit(&rig->before);
    complexity_report_init(&rig->report, &rig_options);
    complexity_report_init(&rig->before, &rig_options);
    rig->diag = DIAG_NULL;
    atomic_store(&rig->watch.done, 0);
    atomic_store(&rig->watch.total, 0);
    return analysis_complexity(files, &rig->watch, &rig->report,
                               files->since != NULL ? &rig->before : NULL, &rig->diag);
}

/* The row of a file; NULL if it was not measured. */
TW_UNUSED static const ComplexityFileRow *rig_file(const Rig *rig, const char *path)
{
    for (size_t i = 0; i < rig->report.n_files; i++) {
        if (span_equals(rig->report.files[i].path, span_from_str(path))) {
            return &rig->report.files[i];
        }
    }
    return NULL;
}

/* Was it skipped, for that reason? */
TW_UNUSED static void rig_assert_skipped(const Rig *rig, const char *path, const char *reason)
{
    for (size_t i = 0; i < rig->report.n_skipped; i++) {
        const ComplexitySkipped *row = &rig->report.skipped[i];

        if (span_equals(row->path, span_from_str(path))) {
            assert_string_equal(complexity_skip_name(row->reason), reason);
            return;
        }
    }
    fail_msg("%s is not in the list of skipped files", path);
}
