/* The floor of HTTP benchmarks: what no server on llhttp and libuv can beat.
 *
 *     bench_http_floor FILE     listens on a free port of 127.0.0.1, and writes that on a line
 *
 * Reads requests with llhttp, looks at nothing in them, and answers each with the bytes of the
 * file, head and body: those that the server beside it answers with. Requests of one read are
 * answered by one write.
 */
#include <llhttp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define READ_BYTES ((size_t)64 * 1024)
#define BACKLOG    4096

/* Requests that are answered by one write: as many as one read can hold. */
#define MAX_ANSWERS (READ_BYTES / 16)

typedef struct Client {
    uv_tcp_t tcp;
    llhttp_t parser;
    size_t n_complete; /* requests of this read */
} Client;

/* What of the answers the socket has not taken at once. */
typedef struct Rest {
    uv_write_t write;
    uv_buf_t buffers[];
} Rest;

/* One read is under way at a time, and its answers are written before the next. */
static char input[READ_BYTES];
static uv_buf_t answers[MAX_ANSWERS]; /* all of them the same bytes */
static llhttp_settings_t settings;

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int on_complete(llhttp_t *parser)
{
    Client *client = parser->data;

    client->n_complete++;
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t want, uv_buf_t *buffer)
{
    (void)handle;
    (void)want;
    *buffer = uv_buf_init(input, sizeof(input));
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; /* a client that has gone shows at the next read */
    free(write->data);
}

static bool send_rest(Client *client, size_t n_taken, size_t n_answers)
{
    size_t first = n_taken / answers[0].len;
    size_t n = n_answers - first;
    Rest *rest = malloc(sizeof(*rest) + n * sizeof(rest->buffers[0]));

    if (rest == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        rest->buffers[i] = answers[0];
    }
    rest->buffers[0].base += n_taken % answers[0].len;
    rest->buffers[0].len -= n_taken % answers[0].len;
    rest->write.data = rest;
    return uv_write(&rest->write, (uv_stream_t *)&client->tcp, rest->buffers, (unsigned)n,
                    on_written) == 0;
}

static bool send_answers(Client *client)
{
    size_t n = client->n_complete;
    int n_taken;

    client->n_complete = 0;
    if (n == 0) {
        return true;
    }
    if (n > MAX_ANSWERS) {
        return false;
    }
    n_taken = uv_try_write((uv_stream_t *)&client->tcp, answers, (unsigned)n);
    if (n_taken < 0 && n_taken != UV_EAGAIN) {
        return false;
    }
    n_taken = n_taken < 0 ? 0 : n_taken;
    return (size_t)n_taken == n * answers[0].len || send_rest(client, (size_t)n_taken, n);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    Client *client = stream->data;

    if (n == 0) {
        return;
    }
    if (n < 0 || llhttp_execute(&client->parser, buffer->base, (size_t)n) != HPE_OK ||
        !send_answers(client)) {
        uv_close((uv_handle_t *)&client->tcp, on_closed);
    }
}

static void on_connection(uv_stream_t *server, int status)
{
    Client *client = status == 0 ? calloc(1, sizeof(*client)) : NULL;

    if (client == NULL) {
        return;
    }
    (void)uv_tcp_init(server->loop, &client->tcp);
    client->tcp.data = client;
    llhttp_init(&client->parser, HTTP_REQUEST, &settings);
    client->parser.data = client;
    if (uv_accept(server, (uv_stream_t *)&client->tcp) != 0) {
        uv_close((uv_handle_t *)&client->tcp, on_closed);
        return;
    }
    (void)uv_tcp_nodelay(&client->tcp, 1);
    (void)uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

/* The answer, for good. */
static bool load_answer(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n = -1;

    if (f != NULL && fseek(f, 0, SEEK_END) == 0) {
        n = ftell(f);
        rewind(f);
    }
    if (n > 0) {
        text = malloc((size_t)n);
    }
    if (text != NULL && fread(text, 1, (size_t)n, f) != (size_t)n) {
        free(text);
        text = NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    for (size_t i = 0; text != NULL && i < MAX_ANSWERS; i++) {
        answers[i] = uv_buf_init(text, (unsigned)n);
    }
    return text != NULL;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in address;
    int n_address = sizeof(address);
    uv_tcp_t server;

    if (argc != 2 || !load_answer(argv[1])) {
        (void)fprintf(stderr, "usage: bench_http_floor FILE\n");
        return 2;
    }
    llhttp_settings_init(&settings);
    settings.on_message_complete = on_complete;
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_init(loop, &server) != 0 ||
        uv_tcp_bind(&server, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server, BACKLOG, on_connection) != 0 ||
        uv_tcp_getsockname(&server, (struct sockaddr *)&address, &n_address) != 0) {
        (void)fprintf(stderr, "bench_http_floor: cannot listen\n");
        return 1;
    }
    (void)printf("127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT);
}
