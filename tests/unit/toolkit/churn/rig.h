/* What git would print, made by hand, and an analysis of it. */
#pragma once

#include "support/cmocka.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "toolkit/churn/churn.h"

#define RIG_MAX ((size_t)64 * 1024 * 1024)

/* 2025-01-15T10:30:00Z */
#define RIG_NOW 1736937000

typedef struct Rig {
    Bytes text;     /* what the first run prints */
    bool has_lines; /* with --numstat */
    bool is_first;  /* no record of the commit yet */
    Bytes lines;    /* of the commit, which come behind its changes */
    unsigned n_commits;
} Rig;

TW_UNUSED static void rig_init(Rig *rig, bool has_lines)
{
    *rig = (Rig){.has_lines = has_lines};
    bytes_init(&rig->text, RIG_MAX);
    bytes_init(&rig->lines, RIG_MAX);
}

TW_UNUSED static void rig_deinit(Rig *rig)
{
    bytes_deinit(&rig->text);
    bytes_deinit(&rig->lines);
}

TW_UNUSED static void rig_end(Rig *rig)
{
    if (rig->has_lines) {
        assert_int_equal(bytes_append_span(&rig->text, bytes_span(&rig->lines)), 0);
    }
    bytes_clear(&rig->lines);
}

/* A commit, one minute older than the last one. */
TW_UNUSED static void rig_commit(Rig *rig, const char *author)
{
    int64_t at = RIG_NOW - 60 * (int64_t)rig->n_commits;

    rig_end(rig);
    rig->n_commits++;
    rig->is_first = true;
    assert_int_equal(bytes_append_format(&rig->text, "\x01%040x\x02%lld\x02%lld\x02%s",
                                         rig->n_commits, (long long)at, (long long)at, author),
                     0);
    assert_int_equal(bytes_append_byte(&rig->text, '\0'), 0);
}

static void rig_record(Rig *rig, Bytes *to, const char *text)
{
    (void)rig;
    assert_int_equal(bytes_append(to, text, strlen(text) + 1), 0);
}

/* status "M", "R087"…; old NULL but for renames; added < 0: binary. The blobs depend on the commit
 * and the path. */
TW_UNUSED static void rig_change_mode(Rig *rig, const char *mode, const char *status,
                                      const char *old, const char *path, int added, int deleted)
{
    char head[160];

    (void)snprintf(head, sizeof(head), "%s:%s %s %040x %039x0 %s", rig->is_first ? "\n" : "", mode,
                   mode, rig->n_commits, rig->n_commits, status);
    rig->is_first = false;
    rig_record(rig, &rig->text, head);
    if (old != NULL) {
        rig_record(rig, &rig->text, old);
    }
    rig_record(rig, &rig->text, path);
    if (added < 0) {
        (void)snprintf(head, sizeof(head), "-\t-\t");
    } else {
        (void)snprintf(head, sizeof(head), "%d\t%d\t", added, deleted);
    }
    assert_int_equal(bytes_append(&rig->lines, head, strlen(head)), 0);
    if (old != NULL) {
        rig_record(rig, &rig->lines, "");
        rig_record(rig, &rig->lines, old);
    }
    rig_record(rig, &rig->lines, path);
}

TW_UNUSED static void rig_change(Rig *rig, const char *status, const char *path, int added,
                                 int deleted)
{
    rig_change_mode(rig, "100644", status, NULL, path, added, deleted);
}

TW_UNUSED static void rig_rename(Rig *rig, const char *old, const char *path, int added,
                                 int deleted)
{
    rig_change_mode(rig, "100644", "R087", old, path, added, deleted);
}

/* ---- the analysis ---- */

TW_UNUSED static ChurnOptions rig_options(void)
{
    return (ChurnOptions){
        .since_s = INT64_MIN, .until_s = INT64_MAX, .now_s = RIG_NOW, .seed = {1, 2}};
}

TW_UNUSED static ChurnRepository rig_repository(void)
{
    return (ChurnRepository){.root = SPAN("/repo"),
                             .prefix = SPAN(""),
                             .head = SPAN("0123456789012345678901234567890123456789")};
}

/* Runs that are answered with texts[0], texts[1]…; as many must be asked for. */
TW_UNUSED static int rig_answer(Churn *churn, const Span *texts, size_t n)
{
    ChurnRun run;
    bool is_one = false;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        r = churn_next_run(churn, &run, &is_one);
        if (r != 0) {
            return r;
        }
        assert_true(is_one);
        assert_string_equal(run.argv[0], "git");
        r = churn_feed(churn, texts[i].p, texts[i].n, NULL);
        if (r == 0) {
            r = churn_end_run(churn, NULL);
        }
    }
    if (r == 0) {
        r = churn_next_run(churn, &run, &is_one);
        assert_true(r != 0 || !is_one);
    }
    return r == 0 ? churn_finish(churn) : r;
}

/* The analysis of what was put together, finished. */
TW_UNUSED static Churn *rig_analyse_with(Rig *rig, const ChurnOptions *options)
{
    ChurnRepository repository = rig_repository();
    Churn *churn = NULL;
    Span text;

    rig_end(rig);
    text = bytes_span(&rig->text);
    assert_int_equal(churn_new(&churn, options, &repository, NULL), 0);
    assert_int_equal(rig_answer(churn, &text, 1), 0);
    return churn;
}

TW_UNUSED static Churn *rig_analyse(Rig *rig)
{
    ChurnOptions options = rig_options();

    return rig_analyse_with(rig, &options);
}

TW_UNUSED static const ChurnFile *rig_file(const Churn *churn, const char *path)
{
    const ChurnFile *file = churn_file_find(churn, span_from_str(path));

    if (file == NULL) {
        fail_msg("no file %s", path);
    }
    return file;
}

/* As text, NUL-terminated; bytes_deinit. */
TW_UNUSED static Bytes rig_write(const Churn *churn, ChurnFormat format)
{
    Bytes out;

    bytes_init(&out, RIG_MAX);
    assert_int_equal(churn_write(churn, format, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    return out;
}

TW_UNUSED static void rig_expect(const Bytes *text, const char *part)
{
    if (strstr(text->data, part) == NULL) {
        fail_msg("not there: %s\nin:\n%s", part, text->data);
    }
}

TW_UNUSED static void rig_expect_not(const Bytes *text, const char *part)
{
    if (strstr(text->data, part) != NULL) {
        fail_msg("there: %s\nin:\n%s", part, text->data);
    }
}
