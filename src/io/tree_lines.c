/* The shortest difference is found as E. Myers does it ("An O(ND) Difference Algorithm and Its
 * Variations"): how far each diagonal gets with d changes, for d = 0, 1, 2… Only how many changes
 * there are is asked, so one row of numbers suffices. */
#include "io/tree_lines.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* More names than a path of TREE_PATH_MAX has. */
#define TREE_PATH_MAX 4096
#define TREE_NAME_MAX 255

typedef struct Lines {
    Span *lines; /* each with its newline: a last line without one is another line */
    size_t n;
} Lines;

static size_t lines_count(Span text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n + (text.n > 0 && text.p[text.n - 1] != '\n');
}

static int lines_cut(Lines *lines, Span text)
{
    size_t n = lines_count(text);

    *lines = (Lines){.lines = mem_alloc_array(n + 1, sizeof(*lines->lines))};
    if (lines->lines == NULL) {
        return err_raise(-ENOMEM);
    }
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n_line = end == NULL ? text.n : (size_t)(end - text.p) + 1;

        lines->lines[lines->n++] = span_make(text.p, n_line);
        text = span_make(text.p + n_line, text.n - n_line);
    }
    return 0;
}

/* What both have at their beginning and at their end counts no more. */
static void lines_trim(Lines *a, Lines *b)
{
    while (a->n > 0 && b->n > 0 && span_equals(a->lines[0], b->lines[0])) {
        a->lines++;
        b->lines++;
        a->n--;
        b->n--;
    }
    while (a->n > 0 && b->n > 0 && span_equals(a->lines[a->n - 1], b->lines[b->n - 1])) {
        a->n--;
        b->n--;
    }
}

/* Follows a diagonal as far as lines are equal. */
static size_t lines_slide(const Lines *a, const Lines *b, size_t x, ptrdiff_t diagonal)
{
    size_t y = (size_t)((ptrdiff_t)x - diagonal);

    while (x < a->n && y < b->n && span_equals(a->lines[x], b->lines[y])) {
        x++;
        y++;
    }
    return x;
}

/* far[k]: how far in a the diagonal k gets; far points at the middle of a row. One more change.
 * A way that leads past an end of a or b does no harm: one along the end is shorter. True if both
 * ends are reached. */
static bool lines_step(const Lines *a, const Lines *b, size_t *far, ptrdiff_t d)
{
    for (ptrdiff_t k = -d; k <= d; k += 2) {
        bool is_down = k == -d || (k != d && far[k - 1] < far[k + 1]);
        size_t x = d == 0 ? 0 : is_down ? far[k + 1] : far[k - 1] + 1;

        far[k] = lines_slide(a, b, x, k);
        if (far[k] >= a->n && (ptrdiff_t)far[k] - k >= (ptrdiff_t)b->n) {
            return true;
        }
    }
    return false;
}

/* The number of changes, or SIZE_MAX if there are too many. 0, -ENOMEM. */
static int lines_distance(const Lines *a, const Lines *b, size_t *ret)
{
    size_t total = a->n + b->n;
    ptrdiff_t most = (ptrdiff_t)(total < TREE_LINES_DISTANCE ? total : TREE_LINES_DISTANCE);
    CLEANUP(mem_freep) size_t *row = mem_alloc_array((size_t)most * 2 + 3, sizeof(*row));

    if (row == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = SIZE_MAX;
    for (ptrdiff_t d = 0; d <= most; d++) {
        if (lines_step(a, b, row + most + 1, d)) {
            *ret = (size_t)d;
            break;
        }
    }
    return 0;
}

static int lines_compare(Lines *before, Lines *after, IoTreeLook *ret)
{
    size_t distance = SIZE_MAX;
    int r;

    lines_trim(before, after);
    ret->n_added = after->n;
    ret->n_removed = before->n;
    if (before->n == 0 || after->n == 0) {
        return 0;
    }
    r = lines_distance(before, after, &distance);
    if (r == 0 && distance != SIZE_MAX) {
        /* distance = added + removed, and after - before = added - removed */
        ret->n_added = (distance + after->n - before->n) / 2;
        ret->n_removed = distance - ret->n_added;
    }
    return r;
}

int tree_compare(Span before, Span after, IoTreeLook *ret)
{
    CLEANUP(mem_freep) Span *kept_before = NULL;
    CLEANUP(mem_freep) Span *kept_after = NULL;
    Lines a;
    Lines b;
    int r;

    *ret = (IoTreeLook){.state = span_equals(before, after) ? IO_TREE_SAME : IO_TREE_DIFFERS};
    if (ret->state == IO_TREE_SAME) {
        return 0;
    }
    r = lines_cut(&a, before);
    kept_before = a.lines;
    if (r == 0) {
        r = lines_cut(&b, after);
        kept_after = b.lines;
    }
    return r == 0 ? lines_compare(&a, &b, ret) : r;
}

static bool tree_name_is_safe(const char *name, size_t n)
{
    return n > 0 && n <= TREE_NAME_MAX && !(n == 1 && name[0] == '.') &&
           !(n == 2 && name[0] == '.' && name[1] == '.') && memchr(name, '\\', n) == NULL &&
           memchr(name, ':', n) == NULL;
}

bool tree_path_is_safe(const char *path, const char **ret_why)
{
    const char *at = path;

    if (strlen(path) > TREE_PATH_MAX) {
        *ret_why = "the path is too long";
        return false;
    }
    for (;;) {
        size_t n = strcspn(at, "/");

        if (!tree_name_is_safe(at, n)) {
            *ret_why = "the path is not one beneath a folder";
            return false;
        }
        if (at[n] == '\0') {
            return true;
        }
        at += n + 1;
    }
}
