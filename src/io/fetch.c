#include "io/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "io/fetch_impl.h"

#define FETCH_CONNECT_MS 10000

/* The head of an answer: four times what servers accept of clients. */
#define FETCH_HEAD_BYTES ((size_t)64 * 1024)

/* What one read takes: a stream's events are small, and hundreds of streams wait at once. */
#define FETCH_BUFFER_BYTES 8192L

/* A field of a request: the longest are tokens. */
#define FETCH_FIELD_BYTES ((size_t)64 * 1024)

/* ---- the answer ---- */

/* The number in "HTTP/1.1 200 OK"; 0 if it is none. */
static unsigned status_of(Span line)
{
    const char *blank = memchr(line.p, ' ', line.n);
    uint64_t status = 0;

    if (blank == NULL || line.n - (size_t)(blank - line.p) < 4 ||
        text_parse_u64(span_make(blank + 1, 3), &status) != 0) {
        return 0;
    }
    return (unsigned)status;
}

static void fetch_tell_head(IoFetch *fetch)
{
    fetch->has_head = true;
    if (fetch->ops->head != NULL) {
        fetch->ops->head(fetch->context, fetch, fetch->status);
    }
}

/* A CURLOPT_HEADERFUNCTION: one line. What is not n stops the transfer. */
static size_t fetch_on_head(char *p, size_t size, size_t n, void *context)
{
    IoFetch *fetch = context;
    Span line = text_trim(span_make(p, size * n));
    int r;

    if (fetch->has_head) {
        return size * n; /* a trailer */
    }
    fetch->heard_ms = io_loop_now_ms(fetch->fetcher->loop);
    if (span_starts_with(line, SPAN("HTTP/"))) {
        bytes_clear(&fetch->head);
        fetch->status = status_of(line);
        return size * n;
    }
    if (line.n == 0) {
        if (fetch->status >= 200) {
            fetch_tell_head(fetch);
        }
        return fetch->is_gone ? 0 : size * n;
    }
    r = bytes_append_span(&fetch->head, line);
    if (r == 0) {
        r = bytes_append_byte(&fetch->head, '\n');
    }
    if (r != 0) {
        fetch->reason = r > 0 ? IO_FETCH_TOO_LARGE : IO_FETCH_NO_MEMORY;
        return 0;
    }
    return size * n;
}

/* A CURLOPT_WRITEFUNCTION. */
static size_t fetch_on_data(char *p, size_t size, size_t n, void *context)
{
    IoFetch *fetch = context;

    n *= size;
    if (fetch->is_gone || n == 0) {
        return fetch->is_gone ? CURL_WRITEFUNC_ERROR : 0;
    }
    if (fetch->is_paused) {
        return CURL_WRITEFUNC_PAUSE; /* all of it comes again */
    }
    fetch->heard_ms = io_loop_now_ms(fetch->fetcher->loop);
    if (fetch->max_body != 0 && n > fetch->max_body - fetch->n_body) {
        fetch->reason = IO_FETCH_TOO_LARGE;
        return CURL_WRITEFUNC_ERROR;
    }
    fetch->n_body += n;
    fetch->ops->data(fetch->context, fetch, span_make(p, n));
    return fetch->is_gone ? CURL_WRITEFUNC_ERROR : n;
}

/* How many fields have that name; *ret_value is the one of that number, or else the last. */
static size_t head_find(const IoFetch *fetch, Span name, size_t number, Span *ret_value)
{
    Span left = bytes_span(&fetch->head);
    size_t n_found = 0;

    while (left.n > 0) {
        const char *end = memchr(left.p, '\n', left.n);
        size_t n = (size_t)(end - left.p);
        const char *colon = memchr(left.p, ':', n);

        if (colon != NULL && n_found <= number &&
            text_equals_nocase(span_make(left.p, (size_t)(colon - left.p)), name)) {
            *ret_value = text_trim(span_make(colon + 1, n - (size_t)(colon - left.p) - 1));
            n_found++;
        }
        left = span_make(end + 1, left.n - n - 1);
    }
    return n_found;
}

bool io_fetch_field(const IoFetch *fetch, Span name, Span *ret_value)
{
    return head_find(fetch, name, SIZE_MAX, ret_value) > 0;
}

bool io_fetch_field_nth(const IoFetch *fetch, Span name, size_t number, Span *ret_value)
{
    Span value;

    if (head_find(fetch, name, number, &value) <= number) {
        return false;
    }
    *ret_value = value;
    return true;
}

/* ---- sent once ---- */

/* A CURLOPT_PREREQFUNCTION: a connection is there, and the request about to be sent on it. When a
 * connection that was used before ends without an answer, libcurl sends the request again on the
 * next one, as often as there are such; but the server may have carried it out. What never left may
 * go. */
static int fetch_on_connection(void *context, char *ip, char *local_ip, int port, int local_port)
{
    IoFetch *fetch = context;
    long n_sent = 0;

    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    (void)fetch->fetcher->library.curl_easy_getinfo(fetch->easy, CURLINFO_REQUEST_SIZE, &n_sent);
    if (n_sent > 0) {
        fetch->reason = IO_FETCH_CUT;
        return CURL_PREREQFUNC_ABORT;
    }
    return CURL_PREREQFUNC_OK;
}

/* False: no memory. */
static bool fetch_set_once(IoFetch *fetch)
{
    const FetchLibrary *library = &fetch->fetcher->library;

    if (library->curl_easy_setopt(fetch->easy, CURLOPT_PREREQFUNCTION, fetch_on_connection) ==
            CURLE_OK &&
        library->curl_easy_setopt(fetch->easy, CURLOPT_PREREQDATA, (void *)fetch) == CURLE_OK) {
        return true;
    }
    /* libcurl before 7.80 does not ask; it tries again only what went to a used connection. */
    return library->curl_easy_setopt(fetch->easy, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK;
}

/* ---- its end ---- */

void fetch_release(IoFetch *fetch)
{
    IoFetcher *fetcher = fetch->fetcher;
    const FetchLibrary *library = &fetcher->library;

    if (fetch->next != NULL) {
        fetch->next->prev = fetch->prev;
    }
    if (fetch->prev != NULL) {
        fetch->prev->next = fetch->next;
    } else if (fetcher->first == fetch) {
        fetcher->first = fetch->next;
    }
    if (fetch->easy != NULL) {
        /* Both may tell us of sockets, and nothing else: the answer is not ours any more. */
        fetcher->depth++;
        fetch->is_gone = true;
        if (fetch->is_added) {
            (void)library->curl_multi_remove_handle(fetcher->multi, fetch->easy);
        }
        library->curl_easy_cleanup(fetch->easy);
        fetcher->depth--;
    }
    library->curl_slist_free_all(fetch->fields);
    fetch->stall = io_timer_free(fetch->stall);
    bytes_deinit(&fetch->head);
    (void)mem_free(fetch);
}

void fetch_finish(IoFetch *fetch, IoFetchOutcome outcome, const char *message)
{
    static const char *const words[] = {
        [IO_FETCH_CUT] = "the connection ended before the answer did",
        [IO_FETCH_STALLED] = "the answer did not come in time",
        [IO_FETCH_TOO_LARGE] = "the answer is too large",
        [IO_FETCH_NO_MEMORY] = "out of memory",
    };
    IoFetchEnd end = {.outcome = outcome, .status = fetch->status, .message = message};

    if (outcome == IO_FETCH_DONE) {
        end.message = "";
    } else if (outcome < TW_ARRAY_SIZE(words) && words[outcome] != NULL) {
        end.message = words[outcome];
    }
    fetch->ops->done(fetch->context, fetch, &end);
    fetch_release(fetch);
}

static void fetch_on_stall(void *context)
{
    IoFetch *fetch = context;
    IoFetcher *fetcher = fetch->fetcher;
    int64_t now_ms = io_loop_now_ms(fetcher->loop);

    if (fetch->is_paused) {
        fetch->heard_ms = now_ms;
    }
    if (now_ms - fetch->heard_ms < fetch->stall_ms) {
        io_timer_start_at(fetch->stall, fetch->heard_ms + fetch->stall_ms);
        return;
    }
    fetch_finish(fetch, IO_FETCH_STALLED, NULL);
    fetcher_settle(fetcher);
}

IoFetch *io_fetch_free(IoFetch *fetch)
{
    if (fetch == NULL) {
        return NULL;
    }
    if (fetch->fetcher->depth > 0) {
        fetch->is_gone = true;
        fetch->fetcher->n_unsettled += fetch->is_added; /* else it is counted already */
        if (fetch->stall != NULL) {
            io_timer_stop(fetch->stall);
        }
    } else {
        fetch_release(fetch);
    }
    return NULL;
}

void io_fetch_pause(IoFetch *fetch)
{
    fetch->is_paused = true;
}

/* From inside a callback, too: libcurl allows that. It may hand us what waited before it returns.
 */
void io_fetch_resume(IoFetch *fetch)
{
    IoFetcher *fetcher = fetch->fetcher;

    if (!fetch->is_paused) {
        return;
    }
    fetch->is_paused = false;
    fetch->heard_ms = io_loop_now_ms(fetcher->loop);
    if (fetch->is_added) {
        fetcher->depth++;
        (void)fetcher->library.curl_easy_pause(fetch->easy, CURLPAUSE_CONT);
        fetcher->depth--;
        fetcher_settle(fetcher);
    }
}

/* ---- the request ---- */

static bool is_one_line(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == '\0') {
            return false;
        }
    }
    return true;
}

static int fetch_add_line(IoFetch *fetch, const char *line)
{
    struct curl_slist *fields = fetch->fetcher->library.curl_slist_append(fetch->fields, line);

    if (fields == NULL) {
        return err_raise(-ENOMEM);
    }
    fetch->fields = fields;
    return 0;
}

static int fetch_add_field(IoFetch *fetch, const IoFetchField *field, Diag *reterr_diag)
{
    Bytes line;
    int r;

    if (field->name.n == 0 || !is_one_line(field->name) || !is_one_line(field->value)) {
        return diag_set(reterr_diag, IO_FETCH_E_REQUEST, "a field '%.*s' cannot be sent",
                        (int)(field->name.n < 60 ? field->name.n : 60), field->name.p);
    }
    bytes_init(&line, FETCH_FIELD_BYTES);
    /* An empty one must end in ';', or libcurl takes it for one that is not to be sent. */
    r = bytes_append_format(&line, "%.*s%s%.*s", (int)field->name.n, field->name.p,
                            field->value.n > 0 ? ": " : ";", (int)field->value.n, field->value.p);
    if (r == 0) {
        r = bytes_append_byte(&line, '\0');
    }
    if (r == 0) {
        r = fetch_add_line(fetch, line.data);
    } else if (r > 0) {
        r = diag_set(reterr_diag, IO_FETCH_E_REQUEST, "a field is too long to be sent");
    }
    bytes_deinit(&line);
    return r;
}

static int fetch_set_fields(IoFetch *fetch, const IoFetchRequest *request, Diag *reterr_diag)
{
    int r = fetch_add_line(fetch, "Expect:"); /* a second lost with servers that do not know it */

    for (size_t i = 0; i < request->n_fields && r == 0; i++) {
        r = fetch_add_field(fetch, &request->fields[i], reterr_diag);
    }
    return r;
}

/* What is the same for all, and what cannot fail but for want of memory. */
static bool fetch_set_answer(IoFetch *fetch)
{
    const FetchLibrary *library = &fetch->fetcher->library;
    CURL *easy = fetch->easy;

    return library->curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)fetch) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, FETCH_BUFFER_BYTES) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, fetch_on_head) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_HEADERDATA, (void *)fetch) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, fetch_on_data) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_WRITEDATA, (void *)fetch) == CURLE_OK;
}

static bool fetch_set_body(IoFetch *fetch, const IoFetchRequest *request)
{
    const FetchLibrary *library = &fetch->fetcher->library;
    CURL *easy = fetch->easy;

    if (request->body.p != NULL &&
        (library->curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                   (curl_off_t)request->body.n) != CURLE_OK ||
         library->curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.p) != CURLE_OK ||
         !fetch_set_once(fetch))) {
        return false;
    }
    return library->curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

static bool fetch_set_request(IoFetch *fetch, const IoFetchRequest *request)
{
    const FetchLibrary *library = &fetch->fetcher->library;
    CURL *easy = fetch->easy;
    long connect_ms = (long)(request->connect_ms > 0 ? request->connect_ms : FETCH_CONNECT_MS);

    return library->curl_easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->fields) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_ms) == CURLE_OK &&
           library->curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_ms) ==
               CURLE_OK &&
           (request->unix_socket == NULL ||
            library->curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket) ==
                CURLE_OK) &&
           (!io_fetch_is_loopback(request->url) ||
            library->curl_easy_setopt(easy, CURLOPT_NOPROXY, "*") == CURLE_OK) &&
           fetch_set_body(fetch, request);
}

static int fetch_open(IoFetch *fetch, const IoFetchRequest *request, Diag *reterr_diag)
{
    int r = fetch_set_fields(fetch, request, reterr_diag);

    if (r != 0) {
        return r;
    }
    fetch->easy = fetch->fetcher->library.curl_easy_init();
    if (fetch->easy == NULL || !fetch_set_answer(fetch) || !fetch_set_request(fetch, request)) {
        return err_raise(-ENOMEM);
    }
    if (request->stall_ms <= 0) {
        return 0;
    }
    r = io_timer_new(&fetch->stall, fetch->fetcher->loop, true, fetch_on_stall, fetch);
    if (r == 0) {
        io_timer_start_at(fetch->stall, fetch->heard_ms + fetch->stall_ms);
    }
    return r;
}

int io_fetch_start(IoFetch **ret, IoFetcher *fetcher, const IoFetchRequest *request,
                   Diag *reterr_diag)
{
    IoFetch *fetch;
    int r;

    if (!span_starts_with(span_from_str(request->url), SPAN("http://")) &&
        !span_starts_with(span_from_str(request->url), SPAN("https://"))) {
        /* It is not shown: passwords and keys may stand in it. */
        return diag_set(reterr_diag, IO_FETCH_E_REQUEST,
                        "the address begins neither with http:// nor with https://");
    }
    fetch = mem_alloc_array(1, sizeof(*fetch));
    if (fetch == NULL) {
        return err_raise(-ENOMEM);
    }
    *fetch = (IoFetch){.fetcher = fetcher,
                       .next = fetcher->first,
                       .ops = request->ops,
                       .context = request->context,
                       .stall_ms = request->stall_ms,
                       .heard_ms = io_loop_now_ms(fetcher->loop),
                       .max_body = request->max_body_bytes};
    bytes_init(&fetch->head, FETCH_HEAD_BYTES);
    if (fetch->next != NULL) {
        fetch->next->prev = fetch;
    }
    fetcher->first = fetch;
    r = fetch_open(fetch, request, reterr_diag);
    if (r == 0 && fetcher->depth == 0) {
        fetcher->depth++;
        fetch->is_added =
            fetcher->library.curl_multi_add_handle(fetcher->multi, fetch->easy) == CURLM_OK;
        fetcher->depth--;
        r = fetch->is_added ? 0 : err_raise(-ENOMEM);
    }
    if (r != 0) {
        fetch_release(fetch);
        return r;
    }
    fetcher->n_unsettled += !fetch->is_added;
    *ret = fetch;
    return 0;
}
