#include "cli/cmd_template_tree.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cli/table.h"

/* By name, level for level: a folder's files stand together, since its slash sorts before any
 * character of a name. */
static int compare_lines(const void *a, const void *b)
{
    Span x = ((const TemplateTreeLine *)a)->path;
    Span y = ((const TemplateTreeLine *)b)->path;

    for (size_t i = 0; i < x.n && i < y.n; i++) {
        if (x.p[i] != y.p[i]) {
            if (x.p[i] == '/' || y.p[i] == '/') {
                return x.p[i] == '/' ? -1 : 1;
            }
            return (unsigned char)x.p[i] < (unsigned char)y.p[i] ? -1 : 1;
        }
    }
    return x.n < y.n ? -1 : x.n > y.n;
}

/* Bytes of the first `level` names of a path, with the slash behind each; the whole path if it has
 * no more names. */
static size_t prefix_length(Span path, size_t level)
{
    size_t n = 0;

    while (level > 0 && n < path.n) {
        const char *slash = memchr(path.p + n, '/', path.n - n);

        n = slash != NULL ? (size_t)(slash - path.p) + 1 : path.n;
        level--;
    }
    return n;
}

/* Whether two paths are the same up to that level. */
static bool is_shared(Span a, Span b, size_t level)
{
    size_t n = prefix_length(a, level);

    return n == prefix_length(b, level) && span_equals(span_make(a.p, n), span_make(b.p, n));
}

/* Does nothing else follow in the folder that the name at this level stands in? */
static bool is_last(const TemplateTreeLine *lines, size_t n, size_t at, size_t level)
{
    for (size_t i = at + 1; i < n && is_shared(lines[at].path, lines[i].path, level); i++) {
        if (!is_shared(lines[at].path, lines[i].path, level + 1)) {
            return false;
        }
    }
    return true;
}

static void print_name(FILE *out, const TemplateTreeLine *lines, size_t n, size_t at, size_t level)
{
    Span path = lines[at].path;
    size_t start = prefix_length(path, level);
    size_t end = prefix_length(path, level + 1);

    for (size_t i = 0; i < level; i++) {
        fputs(is_last(lines, n, at, i) ? "    " : "\u2502   ", out);
    }
    fputs(is_last(lines, n, at, level) ? "\u2514\u2500\u2500 " : "\u251c\u2500\u2500 ", out);
    table_print_safe(out, span_make(path.p + start, end - start), false);
    if (end == path.n && lines[at].note[0] != '\0') {
        fprintf(out, "  %s", lines[at].note);
    }
    (void)putc('\n', out);
}

void template_tree_print(FILE *out, Span folder, TemplateTreeLine *lines, size_t n)
{
    if (n > 0) {
        qsort(lines, n, sizeof(*lines), compare_lines);
    }
    table_print_safe(out, folder, false);
    fputs(folder.n > 0 && folder.p[folder.n - 1] == '/' ? "\n" : "/\n", out);
    for (size_t i = 0; i < n; i++) {
        size_t level = 0;

        /* Folders that the line before has, too, are there already. */
        while (i > 0 && prefix_length(lines[i].path, level + 1) < lines[i].path.n &&
               is_shared(lines[i - 1].path, lines[i].path, level + 1)) {
            level++;
        }
        for (; prefix_length(lines[i].path, level) < lines[i].path.n; level++) {
            print_name(out, lines, n, i, level);
        }
    }
}
