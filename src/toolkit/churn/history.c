#include "toolkit/churn/history.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* All names of files and authors. The largest public repositories have some ten million of paths
 * over their whole history. */
#define HISTORY_TEXT_BYTES ((size_t)2 * 1024 * 1024 * 1024 - 1)

/* Pairs that are counted at once, 28 bytes each: a repository of 10,000 files has about so many. */
#define HISTORY_MAX_PAIRS ((size_t)1 << 20)

#define HISTORY_MAX_COMMIT_FILES 30

/* Five bytes for each change on average: some ten million of them. */
#define HISTORY_TRAIL_BYTES ((size_t)64 * 1024 * 1024)

void churn_history_init(ChurnHistory *history, const ChurnOptions *options)
{
    *history = (ChurnHistory){
        .has_folders = options->directories,
        .has_pairs = options->n_pairs > 0,
        .has_trail = options->directories && !options->no_renames,
        .max_commit_files =
            options->max_commit_files == 0 ? HISTORY_MAX_COMMIT_FILES : options->max_commit_files,
    };
    arena_init(&history->arena, HISTORY_TEXT_BYTES);
    bytes_init(&history->trail, HISTORY_TRAIL_BYTES);
    churn_texts_init(&history->names, options->seed);
    churn_texts_init(&history->authors, options->seed);
    churn_texts_init(&history->folders, options->seed);
    churn_pairs_init(&history->pairs, HISTORY_MAX_PAIRS);
}

void churn_history_deinit(ChurnHistory *history)
{
    churn_texts_deinit(&history->names);
    churn_texts_deinit(&history->authors);
    churn_texts_deinit(&history->folders);
    churn_shares_deinit(&history->shares);
    churn_shares_deinit(&history->folder_shares);
    churn_pairs_deinit(&history->pairs);
    (void)mem_free(history->name_states);
    (void)mem_free(history->files);
    (void)mem_free(history->old_names);
    (void)mem_free(history->author_states);
    (void)mem_free(history->folder_states);
    (void)mem_free(history->touched);
    bytes_deinit(&history->trail);
    arena_deinit(&history->arena);
    *history = (ChurnHistory){.n_files = 0};
}

int churn_history_name(ChurnHistory *history, Span path, uint32_t *ret)
{
    size_t n = history->names.n;
    int r =
        churn_grow(&history->name_states, &history->cap_names, n, sizeof(*history->name_states));

    if (r == 0) {
        r = churn_texts_add(&history->names, &history->arena, path, ret);
    }
    if (r == 0 && *ret == n) {
        history->name_states[n] = (ChurnNameState){CHURN_NONE, CHURN_NONE};
    }
    return err_pass(r);
}

/* With U+FFFD for what is not UTF-8: two authors who would be told by one name are one. */
static int history_mend_name(Arena *arena, Span name, size_t n_good, Span *ret)
{
    char *p = arena_alloc(arena, 3 * name.n);
    size_t n = 0;

    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < name.n;) {
        unsigned length = i < n_good ? 1 : utf8_sequence(name.p + i, name.p + name.n);

        memcpy(p + n, length == 0 ? "\xEF\xBF\xBD" : name.p + i, length == 0 ? 3 : length);
        n += length == 0 ? 3 : length;
        i += length == 0 ? 1 : length;
    }
    *ret = span_make(p, n);
    return 0;
}

int churn_history_author(ChurnHistory *history, Span name, uint32_t *ret)
{
    size_t n = history->authors.n;
    size_t n_good = 0;
    int r = churn_grow(&history->author_states, &history->cap_authors, n,
                       sizeof(*history->author_states));

    if (r == 0 && !utf8_valid(name.p, name.n, &n_good)) {
        Arena scratch;

        arena_init(&scratch, HISTORY_TEXT_BYTES);
        r = history_mend_name(&scratch, name, n_good, &name);
        if (r == 0) {
            r = churn_texts_add(&history->authors, &history->arena, name, ret);
        }
        arena_deinit(&scratch);
    } else if (r == 0) {
        r = churn_texts_add(&history->authors, &history->arena, name, ret);
    }
    if (r == 0 && *ret == n) {
        history->author_states[n] = (ChurnAuthorState){0, 0};
    }
    return err_pass(r);
}

/* The file that a name means now; a new one if it means none. */
static int history_file(ChurnHistory *history, uint32_t name, char status, uint32_t *ret)
{
    ChurnNameState *state = &history->name_states[name];
    ChurnFileState file = {
        .name = name,
        .folder = CHURN_NONE,
        .first_s = INT64_MAX,
        .last_s = INT64_MIN,
        .old_name = CHURN_NONE,
        .old_last = CHURN_NONE,
        .link = CHURN_NONE,
        .is_deleted = status == 'D',
    };
    int r;

    if (state->bound != CHURN_NONE) {
        *ret = state->bound;
        return 0;
    }
    if (history->has_folders) {
        r = churn_history_folder(history, history->names.items[name], &file.folder);
        if (r != 0) {
            return err_pass(r);
        }
    }
    r = churn_grow(&history->files, &history->cap_files, history->n_files, sizeof(*history->files));
    if (r != 0) {
        return err_pass(r);
    }
    *ret = (uint32_t)history->n_files;
    state->bound = *ret;
    state->own = *ret;
    history->files[history->n_files++] = file;
    return 0;
}

int churn_history_lines(ChurnHistory *history, uint32_t file, uint32_t author, ChurnLines lines)
{
    ChurnFileState *state = &history->files[file];

    state->additions += lines.added;
    state->deletions += lines.deleted;
    state->binary_commits += lines.is_binary;
    return err_pass(
        churn_shares_add(&history->shares, file, author, 0, lines.added + lines.deleted));
}

/* The commit touched the file; counted once, also if two of its changes are of one file. */
static int history_touch(ChurnHistory *history, uint32_t file, uint32_t author, int64_t author_s,
                         size_t *n_touched)
{
    ChurnFileState *state = &history->files[file];
    int r;

    if (state->last_commit == history->n_commits) {
        return 0;
    }
    state->last_commit = history->n_commits;
    state->commits++;
    state->first_s = author_s < state->first_s ? author_s : state->first_s;
    state->last_s = author_s > state->last_s ? author_s : state->last_s;
    r = churn_grow(&history->touched, &history->cap_touched, *n_touched, sizeof(*history->touched));
    if (r != 0) {
        return err_pass(r);
    }
    history->touched[(*n_touched)++] = file;
    r = churn_shares_add(&history->shares, file, author, 1, 0);
    if (r == 0 && state->folder != CHURN_NONE) {
        r = churn_history_touch_folder(history, state->folder, author, history->n_commits);
    }
    return err_pass(r);
}

static int history_change(ChurnHistory *history, uint32_t author, int64_t author_s,
                          ChurnChange *change, size_t *n_touched)
{
    int r = history_file(history, change->name, change->status, &change->file);

    if (r == 0) {
        r = history_touch(history, change->file, author, author_s, n_touched);
    }
    if (r == 0 && change->is_known) {
        r = churn_history_lines(history, change->file, author, change->lines);
    }
    return err_pass(r);
}

static int history_add_old_name(ChurnHistory *history, ChurnFileState *file, uint32_t name)
{
    int r;

    for (uint32_t i = file->old_name; i != CHURN_NONE; i = history->old_names[i].next) {
        if (history->old_names[i].name == name) {
            return 0;
        }
    }
    if (file->name == name) {
        return 0;
    }
    r = churn_grow(&history->old_names, &history->cap_old_names, history->n_old_names,
                   sizeof(*history->old_names));
    if (r != 0) {
        return err_pass(r);
    }
    history->old_names[history->n_old_names] = (ChurnOldName){name, CHURN_NONE};
    if (file->old_last == CHURN_NONE) {
        file->old_name = (uint32_t)history->n_old_names;
    } else {
        history->old_names[file->old_last].next = (uint32_t)history->n_old_names;
    }
    file->old_last = (uint32_t)history->n_old_names++;
    return 0;
}

uint32_t churn_history_root(const ChurnHistory *history, uint32_t file)
{
    while (history->files[file].link != CHURN_NONE) {
        file = history->files[file].link;
    }
    return file;
}

/* From here on, in older commits, the old name means this file. */
static int history_rename(ChurnHistory *history, const ChurnChange *change)
{
    ChurnNameState *old = &history->name_states[change->old];
    int r = history_add_old_name(history, &history->files[change->file], change->old);

    if (r != 0) {
        return err_pass(r);
    }
    /* Newer changes of the old name, and nothing that made a new file of it: most probably they are
     * of this file, by somebody who did not have the rename yet. */
    if (old->own != CHURN_NONE && old->bound == old->own && !history->files[old->own].is_created &&
        history->files[old->own].link == CHURN_NONE &&
        churn_history_root(history, change->file) != old->own) {
        history->files[old->own].link = change->file;
        history->n_links++;
    }
    old->bound = change->file;
    return 0;
}

int churn_history_commit(ChurnHistory *history, uint32_t author, int64_t author_s,
                         ChurnChange *changes, size_t n)
{
    size_t n_touched = 0;
    int r = 0;

    history->n_commits++;
    history->author_states[author].commits++;
    for (size_t i = 0; i < n && r == 0; i++) {
        if (!changes[i].is_submodule) {
            r = history_change(history, author, author_s, &changes[i], &n_touched);
        }
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        if (!changes[i].is_submodule && strchr("ACR", changes[i].status) != NULL) {
            history->files[changes[i].file].is_created = true;
        }
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        if (!changes[i].is_submodule && changes[i].status == 'R') {
            r = history_rename(history, &changes[i]);
        }
    }
    if (r == 0 && history->has_trail && n_touched > 0) {
        r = churn_history_leave_trail(history, author, history->touched, n_touched);
    }
    if (r == 0 && history->has_pairs && n_touched > 1) {
        if (n_touched <= history->max_commit_files) {
            r = churn_pairs_add(&history->pairs, history->touched, n_touched);
        } else {
            history->n_large++;
        }
    }
    return err_pass(r);
}

void churn_history_is_there(ChurnHistory *history, Span path)
{
    uint32_t name = churn_texts_find(&history->names, path);
    uint32_t file = name == CHURN_NONE ? CHURN_NONE : history->name_states[name].own;

    if (file != CHURN_NONE && history->files[file].link != CHURN_NONE) {
        history->files[file].link = CHURN_NONE;
        history->n_links--;
    }
}
