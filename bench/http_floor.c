/* The floor of HTTP benchmarks: what no server on llhttp and libuv can beat.
 *
 *     bench_http_floor          listens on a free port of 127.0.0.1, and writes that on a line
 *
 * Reads requests with llhttp, looks at nothing in them, and answers each with the same JSON, as an
 * echo tool would. Requests of one read are answered by one write.
 */
#include <llhttp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define READ_BYTES ((size_t)64 * 1024)
#define BACKLOG    1024
#define BODY                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"          \
    "\"hello\"}]}}"
#define BODY_LENGTH "78"

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             "Content-Length: " BODY_LENGTH "\r\n\r\n" BODY;

_Static_assert(sizeof(BODY) - 1 == 78, "the length is that of the body");

/* Requests that are answered by one write: as many as one read can hold. */
#define MAX_ANSWERS (READ_BYTES / 16)

typedef struct Client {
    uv_tcp_t tcp;
    llhttp_t parser;
    size_t n_complete; /* requests of this read */
} Client;

/* One read is under way at a time, and its answers are written before the next. */
static char input[READ_BYTES];
static char output[MAX_ANSWERS * (sizeof(answer) - 1)];
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

/* False if the socket does not take all of it: its client does not read. */
static bool send_answers(Client *client)
{
    size_t n = client->n_complete * (sizeof(answer) - 1);
    uv_buf_t buffer = uv_buf_init(output, (unsigned)n);

    client->n_complete = 0;
    return n <= sizeof(output) &&
           (n == 0 || uv_try_write((uv_stream_t *)&client->tcp, &buffer, 1) == (int)n);
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

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in address;
    int n_address = sizeof(address);
    uv_tcp_t server;

    for (size_t i = 0; i < MAX_ANSWERS; i++) {
        memcpy(output + i * (sizeof(answer) - 1), answer, sizeof(answer) - 1);
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
