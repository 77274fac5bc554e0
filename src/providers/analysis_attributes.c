/* What besides two blobs decides how many lines git counts between them (analysis_impl.h): whether
 * it takes them for text. That is said by attributes, which lie in .gitattributes files of the work
 * tree (of the index where they are missing there, of HEAD in a bare repository), in the
 * repository's info/attributes, and by drivers in its settings. Attributes of the user and of the
 * system are left out of account (analysis_git.c, toolkit/churn/runs.c). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "providers/analysis_impl.h"

/* A list of a tree of a million files, and all attributes. What is longer is not remembered. */
#define ATTRIBUTES_LIST_BYTES ((size_t)256 * 1024 * 1024)
#define ATTRIBUTES_BYTES      ((size_t)64 * 1024 * 1024)

#define ATTRIBUTES_NAME ".gitattributes"

typedef struct Attributes {
    IoFolder *root; /* NULL: no work tree */
    Bytes all;      /* what is hashed: each piece with its length and its name */
    Bytes path;
} Attributes;

static int attributes_outcome(int r)
{
    return r > 0 ? err_raise(-EFBIG) : r;
}

/* The file there is, or none. */
static int attributes_add_file(Attributes *attributes, IoFolder *folder, Span path)
{
    size_t start = attributes->all.n;
    int r;

    bytes_clear(&attributes->path);
    r = bytes_append_span(&attributes->path, path);
    r = r != 0 ? r : bytes_append_byte(&attributes->path, '\0');
    r = r != 0 ? r : bytes_append_span(&attributes->all, bytes_span(&attributes->path));
    if (r != 0) {
        return attributes_outcome(r);
    }
    r = io_folder_read(folder, attributes->path.data, &attributes->all, NULL);
    if (r < 0 && r != -ENOMEM) {
        attributes->all.n = start;
        return 0;
    }
    r = r != 0 ? r
               : bytes_append_format(&attributes->all, "%c%zu%c", 0, attributes->all.n - start, 0);
    return attributes_outcome(r);
}

static int attributes_add_folder(Attributes *attributes, Span folder)
{
    Bytes path;
    int r;

    bytes_init(&path, folder.n + sizeof(ATTRIBUTES_NAME) + 1);
    r = bytes_append_span(&path, folder);
    if (r == 0 && folder.n > 0) {
        r = bytes_append_byte(&path, '/');
    }
    r = r != 0 ? r : bytes_append_span(&path, SPAN(ATTRIBUTES_NAME));
    r = r != 0 ? attributes_outcome(r)
               : attributes_add_file(attributes, attributes->root, bytes_span(&path));
    bytes_deinit(&path);
    return r;
}

static bool attributes_is_name(Span path)
{
    Span name = SPAN(ATTRIBUTES_NAME);

    return path.n >= name.n && memcmp(path.p + path.n - name.n, name.p, name.n) == 0 &&
           (path.n == name.n || path.p[path.n - name.n - 1] == '/');
}

/* MODE TYPE ID TAB PATH: of folders their file today, of the files their ids. */
static int attributes_take(Attributes *attributes, Span line)
{
    const char *tab = memchr(line.p, '\t', line.n);
    size_t n_head = tab == NULL ? line.n : (size_t)(tab - line.p);
    Span path = tab == NULL ? SPAN_NULL : span_make(tab + 1, line.n - n_head - 1);

    if (attributes->root != NULL && n_head > 11 && memcmp(line.p, "040000 tree", 11) == 0) {
        return attributes_add_folder(attributes, path);
    }
    if (attributes_is_name(path)) {
        int r = bytes_append_span(&attributes->all, line);

        return attributes_outcome(r != 0 ? r : bytes_append_byte(&attributes->all, '\0'));
    }
    return 0;
}

static int attributes_add_tree(Attributes *attributes, const AnalysisGit *git)
{
    static const char *const argv[] = {"git",         "ls-tree",          "-r",   "-t", "-z",
                                       "--full-tree", "--end-of-options", "HEAD", NULL};
    Bytes list;
    Span text;
    int r;

    bytes_init(&list, ATTRIBUTES_LIST_BYTES);
    r = analysis_git_read(git, argv, &list, NULL);
    text = bytes_span(&list);
    while (r == 0 && text.n > 0) {
        const char *end = memchr(text.p, '\0', text.n);
        size_t n = end == NULL ? text.n : (size_t)(end - text.p);

        r = attributes_take(attributes, span_make(text.p, n));
        text = span_make(text.p + n + (end != NULL), text.n - n - (end != NULL));
    }
    bytes_deinit(&list);
    return r;
}

/* What git prints, if it has something to say. */
static int attributes_add_words(Attributes *attributes, const AnalysisGit *git,
                                const char *const *argv)
{
    int r = analysis_git_read(git, argv, &attributes->all, NULL);

    return r == ANALYSIS_E_GIT ? 0 : r;
}

static int attributes_gather(Attributes *attributes, const AnalysisGit *git,
                             const AnalysisRepository *repository)
{
    static const char *const drivers[] = {
        "git", "config", "-z", "--get-regexp", "^diff\\..*\\.(binary|algorithm)$", NULL};
    static const char *const index[] = {
        "git", "-c", "core.fsmonitor=false",           "ls-files", "-s",
        "-z",  "--", ":(top,glob)**/" ATTRIBUTES_NAME, NULL};
    IoFolder *common = NULL;
    int r = attributes_add_words(attributes, git, drivers);

    if (r == 0 && repository->has_work_tree) {
        r = attributes_add_words(attributes, git, index);
        r = r != 0 ? r : io_folder_open(&attributes->root, repository->root);
        r = r != 0 ? r : attributes_add_folder(attributes, SPAN(""));
    }
    r = r != 0 ? r : io_folder_open(&common, repository->common);
    r = r != 0 ? r : attributes_add_file(attributes, common, SPAN("info/attributes"));
    common = io_folder_free(common);
    return r != 0 ? r : attributes_add_tree(attributes, git);
}

int analysis_attributes(const AnalysisGit *git, const AnalysisRepository *repository,
                        uint8_t ret[16])
{
    Attributes attributes = {.root = NULL};
    int r;

    bytes_init(&attributes.all, ATTRIBUTES_BYTES);
    bytes_init(&attributes.path, (size_t)1024 * 1024);
    r = attributes_gather(&attributes, git, repository);
    if (r == 0) {
        analysis_hash(bytes_span(&attributes.all), ret);
    }
    bytes_deinit(&attributes.all);
    bytes_deinit(&attributes.path);
    attributes.root = io_folder_free(attributes.root);
    return r;
}
