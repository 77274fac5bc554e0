#include "io/pipe_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/span.h"
#include "io/unix_socket.h"

/* How Windows spells a pipe of this machine; the letters are as good in capitals. */
#define PLACE_PIPES "\\\\.\\pipe\\"

#ifdef _WIN32
#define PLACE_PATH_MAX ((size_t)256) /* CreateNamedPipe's */
#else
#define PLACE_PATH_MAX UNIX_SOCKET_PATH_MAX

/* What .NET puts before the name. */
#define PLACE_PREFIX   "CoreFxPipe_"
#endif

static int place_refuse(Diag *reterr_diag, Span name, const char *why)
{
    return diag_set(reterr_diag, PIPE_PLACE_E_NAME, "\"%.*s\" is no name for a pipe: %s",
                    (int)(name.n < DIAG_MESSAGE_SIZE ? name.n : DIAG_MESSAGE_SIZE), name.p, why);
}

static bool place_is_dots(Span name)
{
    return span_equals(name, SPAN(".")) || span_equals(name, SPAN(".."));
}

/* What is a name on one system is one on the other, so that configurations can be shared. */
static int place_check_name(Span name, Diag *reterr_diag)
{
    if (name.n == 0) {
        return diag_set(reterr_diag, PIPE_PLACE_E_NAME, "a pipe needs a name");
    }
    if (place_is_dots(name)) {
        return place_refuse(reterr_diag, name, "it stands for a folder");
    }
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (c == '/' || c == '\\') {
            return place_refuse(reterr_diag, name, "it must not hold / or \\");
        }
        if (c < ' ' || c == 0x7f) {
            return diag_set(reterr_diag, PIPE_PLACE_E_NAME,
                            "a pipe's name must not hold control characters (byte %zu)", i + 1);
        }
    }
    if (name.n == strlen("anonymous") && strncasecmp(name.p, "anonymous", name.n) == 0) {
        return place_refuse(reterr_diag, name, ".NET has that for pipes without a name");
    }
    return 0;
}

/* The three parts in memory of their own, unless they are too long together. */
static int place_join(char **ret_path, Span folder, Span prefix, Span name, Diag *reterr_diag)
{
    size_t n = folder.n + prefix.n + name.n;
    char *path;

    if (n > PLACE_PATH_MAX) {
        return diag_set(
            reterr_diag, PIPE_PLACE_E_NAME,
            "the path of the pipe would be %zu bytes long, and %zu is the most: %.*s%.*s"
            "%.*s",
            n, PLACE_PATH_MAX, (int)(folder.n < PLACE_PATH_MAX ? folder.n : PLACE_PATH_MAX),
            folder.p, (int)prefix.n, prefix.p,
            (int)(name.n < PLACE_PATH_MAX ? name.n : PLACE_PATH_MAX), name.p);
    }
    path = mem_alloc(n + 1);
    if (path == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    (void)snprintf(path, n + 1, "%.*s%.*s%.*s", (int)folder.n, folder.p, (int)prefix.n, prefix.p,
                   (int)name.n, name.p);
    *ret_path = path;
    return 0;
}

#ifdef _WIN32

static int place_find(char **ret_path, Span name, Diag *reterr_diag)
{
    int r = place_check_name(name, reterr_diag);

    return r != 0 ? r : place_join(ret_path, SPAN(PLACE_PIPES), SPAN_NULL, name, reterr_diag);
}

#else

static int place_check_path(Span path, Diag *reterr_diag)
{
    Span last = path;

    for (size_t i = path.n; i > 0 && path.p[i - 1] != '/'; i--) {
        last = span_make(path.p + i - 1, path.n - i + 1);
    }
    if (span_ends_with(path, SPAN("/")) || place_is_dots(last)) {
        return place_refuse(reterr_diag, path, "it is the path of a folder");
    }
    return 0;
}

/* The folder as .NET chooses it, relative or not, without the slashes at its end. */
static Span place_folder(void)
{
    const char *variable = getenv("TMPDIR");
    Span folder = variable != NULL && variable[0] != '\0' ? span_from_str(variable) : SPAN("/tmp");

    while (span_ends_with(folder, SPAN("/"))) {
        folder.n--;
    }
    return folder;
}

static int place_find(char **ret_path, Span name, Diag *reterr_diag)
{
    bool is_path = span_starts_with(name, SPAN("/"));
    int r = is_path ? place_check_path(name, reterr_diag) : place_check_name(name, reterr_diag);

    if (r != 0) {
        return r;
    }
    if (is_path) {
        return place_join(ret_path, SPAN_NULL, SPAN_NULL, name, reterr_diag);
    }
    return place_join(ret_path, place_folder(), SPAN("/" PLACE_PREFIX), name, reterr_diag);
}

#endif

int io_pipe_place(char **ret_path, const char *name, Diag *reterr_diag)
{
    Span plain = span_from_str(name);
    Span pipes = SPAN(PLACE_PIPES);

    if (plain.n >= pipes.n && strncasecmp(plain.p, pipes.p, pipes.n) == 0) {
        /* Not a path behind it: what looks like one is a mistake. */
        plain = span_make(plain.p + pipes.n, plain.n - pipes.n);
        if (span_starts_with(plain, SPAN("/"))) {
            return place_check_name(plain, reterr_diag);
        }
    }
    return place_find(ret_path, plain, reterr_diag);
}
