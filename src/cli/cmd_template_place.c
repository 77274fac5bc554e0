#include "cli/cmd_template_place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "io/place.h"

/* How many bytes of path name what is there: the whole, or a folder around it; 0 is the working
 * folder. path is cut and mended on the way. */
static size_t existing_length(char *path)
{
    size_t n = strlen(path);

    while (n > 0) {
        char kept = path[n];
        size_t n_folder;
        bool is_there;

        path[n] = '\0';
        is_there = io_place_exists(path);
        n_folder = io_place_folder_length(path);
        /* "a/" is its own folder: the slash goes first. */
        while (n_folder > 1 && n_folder == n && io_place_is_slash(path[n_folder - 1])) {
            n_folder--;
        }
        path[n] = kept;
        if (is_there || n_folder >= n) {
            return n;
        }
        n = n_folder;
    }
    return 0;
}

/* The names behind what is there, with one '/' between them. */
static Span make_prefix(char *path)
{
    size_t n = 0;

    for (const char *p = path; *p != '\0'; p++) {
        if (!io_place_is_slash(*p)) {
            path[n++] = *p;
        } else if (n > 0 && path[n - 1] != '/') {
            path[n++] = '/';
        }
    }
    n -= n > 0 && path[n - 1] == '/';
    return span_make(path, n);
}

int template_place_split(Arena *arena, const char *folder, TemplatePlace *ret)
{
    Span copy = arena_copy(arena, span_from_str(folder));
    char *rest = arena_alloc(arena, copy.n + 1);
    size_t n;

    if (copy.p == NULL || rest == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(rest, copy.p, copy.n + 1);
    n = existing_length(rest);
    *ret = (TemplatePlace){.root = ".", .folder = copy};
    if (n > 0) {
        Span root = arena_copy(arena, span_make(copy.p, n));

        if (root.p == NULL) {
            return err_raise(-ENOMEM);
        }
        ret->root = root.p;
    }
    ret->prefix = make_prefix(rest + n);
    return 0;
}

int template_place_inside(Arena *arena, Span name, TemplatePlace *ret)
{
    Span copy = arena_copy(arena, name);

    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = (TemplatePlace){.root = ".", .prefix = copy, .folder = copy};
    return 0;
}

const char *template_place_path(Arena *arena, const TemplatePlace *place, Span path)
{
    size_t n_slash = place->prefix.n > 0 ? 1 : 0;
    char *text = arena_alloc(arena, place->prefix.n + n_slash + path.n + 1);

    if (text == NULL) {
        return NULL;
    }
    if (n_slash > 0) {
        memcpy(text, place->prefix.p, place->prefix.n);
        text[place->prefix.n] = '/';
    }
    memcpy(text + place->prefix.n + n_slash, path.p, path.n);
    text[place->prefix.n + n_slash + path.n] = '\0';
    return text;
}
