/* Which files of a folder are measured, and why the others are not (analysis_impl.h).
 *
 * A folder that is left out as a whole (ignored, excluded, vendored) is one line of the list, with
 * a slash at its end. Files of languages that are not asked for are no part of the question, and
 * are not listed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/error_text.h"
#include "providers/analysis_impl.h"
#include "toolkit/complexity/language.h"
#include "toolkit/glob.h"

/* Folders inside folders; the system's longest path has about half as many. */
#define FILES_MAX_DEPTH 4096

/* All paths together. */
#define FILES_ARENA_BYTES ((size_t)1024 * 1024 * 1024)

/* What is younger may change once more and have the same stamp. */
#define FILES_SETTLED_NS ((int64_t)2 * 1000 * 1000 * 1000)

/* A link's words that are shown. */
#define FILES_LINK_BYTES ((size_t)4096)

/* A folder that is being read. */
typedef struct WalkFrame {
    IoFolderList list;
    size_t next;
    size_t n_path; /* of its path with the slash, in Walk.path */
    bool has_rules;
} WalkFrame;

typedef struct Walk {
    AnalysisWalk *to;
    AnalysisIgnore ignore;
    Bytes path;
    WalkFrame *frames;
    size_t n;
    size_t cap;
} Walk;

void analysis_walk_init(AnalysisWalk *walk, const AnalysisFiles *files, const AnalysisPlace *place,
                        AnalysisWatch *watch, ComplexityReport *report)
{
    *walk = (AnalysisWalk){.files = files, .place = place, .watch = watch, .report = report};
    arena_init(&walk->arena, FILES_ARENA_BYTES);
}

void analysis_walk_deinit(AnalysisWalk *walk)
{
    walk->found = mem_free(walk->found);
    arena_deinit(&walk->arena);
}

/* ---- one file ---- */

static bool files_match(const Span *globs, size_t n, Span path)
{
    for (size_t i = 0; i < n; i++) {
        if (toolkit_glob_matches(globs[i], path)) {
            return true;
        }
    }
    return false;
}

ComplexitySkip analysis_skip_reason(ToolkitKind kind)
{
    switch (kind) {
    case TOOLKIT_KIND_VENDORED:
        return COMPLEXITY_SKIP_VENDORED;
    case TOOLKIT_KIND_MINIFIED:
        return COMPLEXITY_SKIP_MINIFIED;
    case TOOLKIT_KIND_BINARY:
        return COMPLEXITY_SKIP_BINARY;
    case TOOLKIT_KIND_SOURCE:
    case TOOLKIT_KIND_GENERATED:
    case TOOLKIT_KIND_LOCK:
        break;
    }
    return COMPLEXITY_SKIP_GENERATED;
}

static bool files_has_language(const AnalysisFiles *files, Span path)
{
    const ComplexityLanguage *language = complexity_language_of(path, SPAN_NULL);

    if (complexity_language_needs_head(path)) {
        return true; /* its content says */
    }
    return language != NULL &&
           complexity_toolchain_has(files->toolchain.n > 0 ? files->toolchain : SPAN("auto"),
                                    language);
}

static AnalysisVerdict files_refuse(ComplexitySkip reason, const char *detail)
{
    AnalysisVerdict verdict = {.reason = reason};

    (void)snprintf(verdict.detail, sizeof(verdict.detail), "%s", detail);
    return verdict;
}

AnalysisVerdict analysis_judge(const AnalysisFiles *files, Span path)
{
    ToolkitKindFound kind;

    if (!files_has_language(files, path) ||
        (files->n_include > 0 && !files_match(files->include, files->n_include, path))) {
        return (AnalysisVerdict){.is_silent = true};
    }
    if (files_match(files->exclude, files->n_exclude, path)) {
        return files_refuse(COMPLEXITY_SKIP_EXCLUDED, "");
    }
    kind = toolkit_kind_of_path(path);
    if (!files->all && kind.kind != TOOLKIT_KIND_SOURCE) {
        return files_refuse(analysis_skip_reason(kind.kind), kind.detail);
    }
    return (AnalysisVerdict){.is_wanted = true};
}

ComplexityStamp analysis_stamp(const IoFolderStamp *stamp, int64_t now_ms)
{
    int64_t settled_ns = now_ms * 1000 * 1000 - FILES_SETTLED_NS;

    if (stamp->mtime_ns > settled_ns || stamp->ctime_ns > settled_ns) {
        return (ComplexityStamp){.size = 0};
    }
    /* Two file systems may have the same number for different files. */
    return (ComplexityStamp){.size = stamp->size,
                             .mtime_ns = stamp->mtime_ns,
                             .ctime_ns = stamp->ctime_ns,
                             .inode = stamp->inode ^ (stamp->device * 0x9E3779B97F4A7C15U)};
}

int analysis_walk_add(AnalysisWalk *walk, Span path, const IoFolderStamp *stamp)
{
    AnalysisFound *found;

    if (walk->n == walk->cap) {
        size_t cap = walk->cap > 0 ? walk->cap * 2 : 256;

        found = mem_realloc(walk->found, cap * sizeof(*found));
        if (found == NULL) {
            return err_raise(-ENOMEM);
        }
        walk->found = found;
        walk->cap = cap;
    }
    found = &walk->found[walk->n];
    *found = (AnalysisFound){.path = arena_copy(&walk->arena, path), .size = stamp->size};
    if (found->path.p == NULL) {
        return err_raise(-ENOMEM);
    }
    found->stamp =
        analysis_stamp(stamp, walk->files->now_ms > 0 ? walk->files->now_ms : clock_now_ms());
    walk->n++;
    return 0;
}

/* ---- what lies in a folder ---- */

static int walk_skip(Walk *walk, ComplexitySkip reason, const char *detail)
{
    return complexity_report_skip(walk->to->report, bytes_span(&walk->path), reason,
                                  span_from_str(detail));
}

static int walk_file(Walk *walk, const IoFolderEntry *entry)
{
    Span path = bytes_span(&walk->path);
    AnalysisVerdict verdict = analysis_judge(walk->to->files, path);
    bool is_ignored;
    int r;

    if (verdict.is_silent) {
        return 0;
    }
    r = analysis_ignore_match(&walk->ignore, path, false, &is_ignored);
    if (r != 0) {
        return r;
    }
    if (is_ignored) {
        return walk_skip(walk, COMPLEXITY_SKIP_IGNORED, "");
    }
    if (!verdict.is_wanted) {
        return walk_skip(walk, verdict.reason, verdict.detail);
    }
    return analysis_walk_add(walk->to, path, &entry->stamp);
}

/* Links are not followed: what is behind them is in the project under its own name, or not in it.
 * Told are those that could be a file of ours, and those that lead to a folder. */
static int walk_link(Walk *walk, const IoFolderEntry *entry)
{
    Span path = bytes_span(&walk->path);
    bool is_ignored;
    Bytes words;
    int r;

    if (!entry->leads_to_folder && complexity_language_of(path, SPAN_NULL) == NULL &&
        strchr(entry->name, '.') != NULL) {
        return 0;
    }
    r = analysis_ignore_match(&walk->ignore, path, false, &is_ignored);
    if (r != 0 || is_ignored) {
        return r;
    }
    bytes_init(&words, FILES_LINK_BYTES);
    r = bytes_append_byte(&walk->path, '\0');
    walk->path.n -= r == 0;
    if (r == 0 && io_folder_read_link(walk->to->place->folder, walk->path.data, &words) != 0) {
        bytes_clear(&words);
    }
    r = r != 0 ? err_fold(r)
               : complexity_report_skip(walk->to->report, path, COMPLEXITY_SKIP_LINK,
                                        bytes_span(&words));
    bytes_deinit(&words);
    return r;
}

/* A pipe, a socket, a device: opening one can do things, whatever its name says. */
static int walk_special(Walk *walk)
{
    bool is_ignored;
    int r = analysis_ignore_match(&walk->ignore, bytes_span(&walk->path), false, &is_ignored);

    return r != 0 || is_ignored ? r : walk_skip(walk, COMPLEXITY_SKIP_SPECIAL, "");
}

/* Is the folder left out as a whole? Its path ends with a slash. *ret_is_out; 0, -ENOMEM. */
static int walk_judge_folder(Walk *walk, const char *name, bool *ret_is_out)
{
    static const char *const kept_by_others[] = {".git", ".hg", ".svn", ".jj"};
    const AnalysisFiles *files = walk->to->files;
    Span path = bytes_span(&walk->path);
    Span bare = span_make(path.p, path.n - 1);
    ToolkitKindFound kind;
    int r;

    *ret_is_out = true;
    for (size_t i = 0; i < TW_ARRAY_SIZE(kept_by_others); i++) {
        if (strcmp(name, kept_by_others[i]) == 0) {
            return 0;
        }
    }
    r = analysis_ignore_match(&walk->ignore, bare, true, ret_is_out);
    if (r != 0 || *ret_is_out) {
        return r != 0 ? r : walk_skip(walk, COMPLEXITY_SKIP_IGNORED, "");
    }
    *ret_is_out = true;
    if (files_match(files->exclude, files->n_exclude, bare)) {
        return walk_skip(walk, COMPLEXITY_SKIP_EXCLUDED, "");
    }
    kind = toolkit_kind_of_path(path);
    if (!files->all && kind.kind != TOOLKIT_KIND_SOURCE) {
        return walk_skip(walk, analysis_skip_reason(kind.kind), kind.detail);
    }
    *ret_is_out = false;
    return 0;
}

/* ---- down and up ---- */

static bool walk_has_rules(const IoFolderList *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->entries[i].name, ".gitignore") == 0) {
            return list->entries[i].kind == IO_FOLDER_FILE;
        }
    }
    return false;
}

static int walk_push_frame(Walk *walk, IoFolderList *list)
{
    WalkFrame *frame;
    int r = 0;

    if (walk->n == walk->cap) {
        size_t cap = walk->cap > 0 ? walk->cap * 2 : 16;
        WalkFrame *frames = mem_realloc(walk->frames, cap * sizeof(*frames));

        if (frames == NULL) {
            return err_raise(-ENOMEM);
        }
        walk->frames = frames;
        walk->cap = cap;
    }
    frame = &walk->frames[walk->n];
    *frame = (WalkFrame){.list = *list, .n_path = walk->path.n};
    if (walk->ignore.rules != NULL && walk_has_rules(list)) {
        r = analysis_ignore_enter(&walk->ignore, walk->to->place->folder, bytes_span(&walk->path),
                                  &frame->has_rules);
    }
    walk->n++; /* the list is the frame's, whatever r is */
    *list = IO_FOLDER_LIST_NULL;
    return r;
}

/* Opens the folder that walk->path names ("" or with a slash at its end). */
static int walk_enter(Walk *walk)
{
    CLEANUP(io_folder_list_deinit) IoFolderList list = IO_FOLDER_LIST_NULL;
    size_t n = walk->path.n;
    int r = bytes_append_byte(&walk->path, '\0');

    if (r != 0) {
        return err_fold(r);
    }
    walk->path.n = n;
    if (walk->n >= FILES_MAX_DEPTH) {
        return walk_skip(walk, COMPLEXITY_SKIP_UNREADABLE, "nested too deep");
    }
    if (n > 0) {
        walk->path.data[n - 1] = '\0'; /* without its slash */
    }
    r = io_folder_list(walk->to->place->folder, walk->path.data, &list);
    if (n > 0) {
        walk->path.data[n - 1] = '/';
    }
    if (r == -ENOMEM || (r != 0 && n == 0)) {
        return r;
    }
    if (r != 0) {
        return walk_skip(walk, COMPLEXITY_SKIP_UNREADABLE, io_error_text(-r));
    }
    return walk_push_frame(walk, &list);
}

static void walk_leave(Walk *walk)
{
    WalkFrame *frame = &walk->frames[--walk->n];

    if (frame->has_rules) {
        ignore_rules_pop(walk->ignore.rules);
    }
    io_folder_list_deinit(&frame->list);
}

static int walk_folder(Walk *walk, const char *name)
{
    bool is_out;
    int r = bytes_append_byte(&walk->path, '/');

    r = r != 0 ? err_fold(r) : walk_judge_folder(walk, name, &is_out);
    return r != 0 || is_out ? r : walk_enter(walk);
}

static int walk_entry(Walk *walk, const IoFolderEntry *entry)
{
    int r = bytes_append_span(&walk->path, span_from_str(entry->name));

    if (r != 0) {
        return err_fold(r);
    }
    switch (entry->kind) {
    case IO_FOLDER_FILE:
        return walk_file(walk, entry);
    case IO_FOLDER_FOLDER:
        return walk_folder(walk, entry->name);
    case IO_FOLDER_LINK:
        return walk_link(walk, entry);
    case IO_FOLDER_OTHER:
        return walk_special(walk);
    }
    return 0;
}

static int walk_all(Walk *walk)
{
    int r = walk_enter(walk);

    while (r == 0 && walk->n > 0) {
        WalkFrame *frame = &walk->frames[walk->n - 1];

        if (frame->next == frame->list.n) {
            walk_leave(walk);
            continue;
        }
        walk->path.n = frame->n_path;
        r = analysis_is_cancelled(walk->to->watch)
                ? ANALYSIS_E_CANCELLED
                : walk_entry(walk, &frame->list.entries[frame->next++]);
    }
    while (walk->n > 0) {
        walk_leave(walk);
    }
    return r;
}

/* One file that a person has named: nothing speaks against it. */
static int walk_single(AnalysisWalk *walk)
{
    return analysis_walk_add(walk, span_from_str(walk->place->file), &(IoFolderStamp){.size = 0});
}

int analysis_walk_run(AnalysisWalk *to, Diag *reterr_diag)
{
    Walk walk = {.to = to};
    int r = 0;

    if (to->place->file != NULL) {
        return walk_single(to);
    }
    bytes_init(&walk.path, (size_t)1024 * 1024);
    if (!to->files->no_ignore) {
        r = analysis_ignore_init(&walk.ignore, to->place, &to->watch->cancel);
    }
    r = r != 0 ? r : walk_all(&walk);
    analysis_ignore_deinit(&walk.ignore);
    bytes_deinit(&walk.path);
    mem_free(walk.frames);
    if (r < 0 && r != -ENOMEM) {
        return diag_set(reterr_diag, ANALYSIS_E_PATH, "Not found: %s cannot be read: %s",
                        to->files->path, io_error_text(-r));
    }
    return r;
}
