/* The wire to an agent: its process, its three streams, and the lines that come. */
#include "app/agent_client_internal.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"

bool agent_client_counts_as_news(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* ---- input ---- */

static void client_take_line(AgentClient *client, Span line)
{
    AgentShellEvent event;
    int r;

    arena_reset(&client->arena, LIMIT_KEEP_BYTES);
    r = agent_shell_receive(&client->shell, &event, &client->arena, line,
                            io_loop_now_ms(client->config.loop));
    if (r != 0) {
        logsink_write(client->config.log, LOGSINK_LEVEL_ERROR, "agent",
                      "a line of the agent is lost: %s", io_error_text(-r));
        return;
    }
    agent_client_tell(client, &event, line);
}

/* The owner hears of it as of all that is no message; what it was about, nobody can know. */
static void client_skip_long(AgentClient *client)
{
    AgentShellEvent event = {.kind = AGENT_SHELL_NOISE,
                             .text = SPAN("(a line that is longer than 10 MiB)")};

    if (agent_client_counts_as_news(++client->n_long)) {
        logsink_write(client->config.log, LOGSINK_LEVEL_WARN, "agent",
                      "skipped a line of the agent that is longer than %d bytes (%" PRIu64
                      " so far)",
                      LIMIT_AGENT_LINE_BYTES, client->n_long);
    }
    if (client->state == CLIENT_OPEN) {
        client->config.event(client->config.context, &event, SPAN_NULL);
    }
}

static void client_on_input(void *context)
{
    AgentClient *client = context;
    Span line;
    int r;

    while (client->stream != NULL &&
           (r = ndjson_reader_next(&client->reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            client_take_line(client, line);
        } else {
            client_skip_long(client);
        }
    }
}

/* What has no newline at its end was not finished: a message that breaks off is none. */
static void client_on_end(void *context)
{
    AgentClient *client = context;

    client->has_output_ended = true;
    agent_client_look_at_end(client);
}

static void client_on_failed(void *context, int r)
{
    AgentClient *client = context;

    logsink_write(client->config.log, LOGSINK_LEVEL_DEBUG, "agent", "the wire to the agent: %s",
                  io_error_text(-r));
    client_on_end(client);
}

static int client_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    AgentClient *client = context;

    return err_fold(ndjson_reader_reserve(&client->reader, want, ret_p, ret_n));
}

static void client_commit(void *context, size_t n)
{
    AgentClient *client = context;

    ndjson_reader_commit(&client->reader, n);
}

static size_t client_pull(void *context, Span *slices, size_t max)
{
    AgentClient *client = context;

    return ndjson_writer_pull(&client->writer, slices, max);
}

static void client_consumed(void *context, size_t n)
{
    AgentClient *client = context;

    ndjson_writer_consumed(&client->writer, n);
}

static const IoStreamOps client_stream_ops = {
    .reserve = client_reserve,
    .commit = client_commit,
    .pull = client_pull,
    .consumed = client_consumed,
    .input = client_on_input,
    .end = client_on_end,
    .failed = client_on_failed,
};

/* ---- the beginning of an agent ---- */

static int client_open_streams(AgentClient *client, int in_fd, int out_fd, int stderr_fd)
{
    int r = io_stream_new(&client->stream, client->config.loop, in_fd, out_fd, &client_stream_ops,
                          client);

    if (r != 0) {
        io_fd_close(in_fd);
        io_fd_close(out_fd);
    }
    if (r == 0 && stderr_fd >= 0) {
        r = mcp_peer_stderr_open(&client->words, client->config.loop, stderr_fd);
    }
    if (r != 0 && stderr_fd >= 0) {
        io_fd_close(stderr_fd);
    }
    return err_pass(r);
}

int agent_client_connect(AgentClient *client, Diag *reterr_diag)
{
    IoProcessSpec spec = {.argv = client->config.argv,
                          .environment = client->config.environment,
                          .folder = client->config.folder,
                          .wire = IO_PROCESS_PIPES,
                          .inherit_stderr = client->config.inherit_stderr,
                          .dies_with_thread = client->config.dies_with_thread};
    int in_fd = -1;
    int out_fd = -1;
    int stderr_fd = -1;
    int r;

    ndjson_reader_init(&client->reader, LIMIT_AGENT_LINE_BYTES);
    client->has_output_ended = false;
    client->has_exited = false;
    client->can_interrupt = false;
    r = io_process_spawn(&client->process, client->config.loop, &spec, agent_client_on_exit, client,
                         &in_fd, &out_fd, &stderr_fd, reterr_diag);
    if (r != 0) {
        return r == IO_PROCESS_E_CANNOT_START ? AGENT_CLIENT_E_CANNOT_START : err_pass(r);
    }
    return client_open_streams(client, out_fd, in_fd, stderr_fd);
}

void agent_client_disconnect(AgentClient *client)
{
    client->stream = io_stream_free(client->stream);
    mcp_peer_stderr_close(&client->words);
    client->process = io_process_free(client->process);
    ndjson_reader_deinit(&client->reader);
    ndjson_writer_deinit(&client->writer);
    ndjson_writer_init(&client->writer, LIMIT_AGENT_LINE_BYTES, LIMIT_OUTPUT_BYTES);
    client->linger_end_ms = INT64_MAX;
}
