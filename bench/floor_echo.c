/* The floors of bench_stdio: what no server on the same two pipes can beat.
 *
 *     bench_floor_echo          writes what it reads, 64 KiB at most at a time, not looking at it
 *     bench_floor_echo --mcp    waits for a whole line, finds id and message by searching for their
 *                               names, and answers as an echo tool would; nothing is validated
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 * 1024)
#define LINE_BYTES ((size_t)2 * 1024 * 1024)

static char buffer[LINE_BYTES + READ_BYTES];
static char output[LINE_BYTES + READ_BYTES + 1024];
static size_t n_output;

static bool write_all(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDOUT_FILENO, p, n);

        if (done <= 0) {
            return false;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static int echo(void)
{
    for (;;) {
        ssize_t n = read(STDIN_FILENO, buffer, READ_BYTES);

        if (n <= 0) {
            return n < 0;
        }
        if (!write_all(buffer, (size_t)n)) {
            return 1;
        }
    }
}

/* The text between `name` and the next `end`; empty where it is not. The driver's messages hold no
 * quote, so the first one ends a string. */
static size_t between(const char *line, size_t n, const char *name, char end, const char **ret_text)
{
    const char *p = memmem(line, n, name, strlen(name));
    const char *stop = NULL;

    if (p != NULL) {
        p += strlen(name);
        stop = memchr(p, end, (size_t)(line + n - p));
    }
    *ret_text = stop == NULL ? line : p;
    return stop == NULL ? 0 : (size_t)(stop - p);
}

static void put(const char *text, size_t n)
{
    memcpy(output + n_output, text, n);
    n_output += n;
}

static bool flush(void)
{
    bool ok = write_all(output, n_output);

    n_output = 0;
    return ok;
}

static bool answer(const char *line, size_t n)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    static const char middle[] = ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"";
    static const char tail[] = "\"}]}}\n";
    const char *id;
    const char *text;
    size_t n_id = between(line, n, "\"id\":", ',', &id);
    size_t n_text = between(line, n, "\"message\":\"", '"', &text);
    /* A long text is written from where it lies: a copy of it costs more than a system call. */
    size_t n_all = sizeof(head) + sizeof(middle) + sizeof(tail) + n_id + n_text;

    if (n_output + n_all > sizeof(output) && !flush()) {
        return false;
    }
    put(head, sizeof(head) - 1);
    put(id, n_id);
    put(middle, sizeof(middle) - 1);
    if (n_text > READ_BYTES) {
        if (!flush() || !write_all(text, n_text)) {
            return false;
        }
    } else {
        put(text, n_text);
    }
    put(tail, sizeof(tail) - 1);
    return true;
}

/* Answers of one read are written together. */
static int serve(void)
{
    size_t held = 0;

    for (;;) {
        ssize_t got = held > LINE_BYTES ? -1 : read(STDIN_FILENO, buffer + held, READ_BYTES);
        const char *line = buffer;
        const char *end;

        if (got <= 0) {
            return got < 0;
        }
        /* What came before holds no newline. */
        end = memchr(buffer + held, '\n', (size_t)got);
        held += (size_t)got;
        for (; end != NULL; end = memchr(line, '\n', held)) {
            if (!answer(line, (size_t)(end - line))) {
                return 1;
            }
            held -= (size_t)(end + 1 - line);
            line = end + 1;
        }
        memmove(buffer, line, held);
        if (!flush()) {
            return 1;
        }
    }
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "--mcp") == 0 ? serve() : echo();
}
