/* Streams over what Windows has: named pipes, CreatePipe's pipes, files, NUL. */
#include "io/stream.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <uv.h>
#include <windows.h>

#include "io/descriptor_look.h"
#include "io/stdio.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/pump.h"
#include "windows/scratch.h"

#define BIG ((size_t)16 * 1024 * 1024)

typedef struct Fixture {
    IoLoop *loop;
    Pump pump;
    Pump other;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));

    (void)scratch_setup(state);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(f);
    assert_int_equal(io_loop_new(&f->loop), 0);
    pump_init(&f->pump, f->loop);
    pump_init(&f->other, f->loop);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    pump_deinit(&f->pump);
    pump_deinit(&f->other);
    f->loop = io_loop_free(f->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(f);
    return scratch_teardown(state);
}

/* Two ends of a pipe that goes both ways, as a listener and a client have them. */
static void make_pair(int fds[2])
{
    const char *name = scratch_pipe("pair");
    HANDLE server = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                                     PIPE_TYPE_BYTE | PIPE_WAIT, 1, 65536, 65536, 0, NULL);
    HANDLE client = CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
                                FILE_FLAG_OVERLAPPED, NULL);

    assert_true(server != INVALID_HANDLE_VALUE);
    assert_true(client != INVALID_HANDLE_VALUE);
    fds[0] = _open_osfhandle((intptr_t)server, _O_BINARY);
    fds[1] = _open_osfhandle((intptr_t)client, _O_BINARY);
    assert_true(fds[0] > 2 && fds[1] > 2);
}

/* A pipe as shells make it: [0] is read. */
static void make_blocking_pipe(int fds[2])
{
    assert_int_equal(_pipe(fds, 65536, _O_BINARY | _O_NOINHERIT), 0);
}

static void write_all(int fd, const char *text)
{
    assert_int_equal(_write(fd, text, (unsigned)strlen(text)), strlen(text));
}

static void assert_bytes(const Bytes *b, const char *text)
{
    assert_int_equal(b->n, strlen(text));
    assert_memory_equal(b->data, text, b->n);
}

static void fill(Bytes *b, size_t n)
{
    assert_int_equal(bytes_reserve(b, n), 0);
    for (size_t i = 0; i < n; i++) {
        b->data[b->n + i] = (char)((i * 2654435761u) >> 13);
    }
    b->n += n;
}

static void assert_filled(const Bytes *b, size_t n)
{
    assert_int_equal(b->n, n);
    for (size_t i = 0; i < n; i++) {
        if (b->data[i] != (char)((i * 2654435761u) >> 13)) {
            fail_msg("byte %u differs", (unsigned)i);
        }
    }
}

static void stop_loop(Pump *pump)
{
    io_loop_stop(pump->loop);
}

static void stop_when_big(Pump *pump)
{
    if (pump->in.n >= BIG) {
        io_loop_stop(pump->loop);
    }
}

/* ---- named pipes ---- */

static void a_message_goes_there_and_back(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->other.echo = true;
    f->pump.on_input = stop_loop;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    pump_put(&f->pump, "ping", 4);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "ping");
    assert_bytes(&f->other.in, "ping");
}

static void much_goes_there_and_back_whole(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->other.echo = true;
    f->pump.on_input = stop_when_big;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    fill(&f->pump.out, BIG);
    io_stream_flush(f->pump.stream);
    assert_true(io_stream_is_waiting(f->pump.stream));
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->pump.in, BIG);
    assert_true(f->pump.n_drained > 0);
    assert_int_equal(f->pump.n_failures + f->other.n_failures, 0);
}

static void the_end_of_the_peer_comes_after_its_words(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    pump_open(&f->other, fds[1], fds[1]);
    pump_put(&f->other, "last words", 10);
    pump_free_stream(&f->other);
    pump_open(&f->pump, fds[0], fds[0]);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "last words");
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->pump.n_failures, 0);
}

static void what_was_flushed_is_not_lost_by_free(void **state)
{
    Fixture *f = *state;
    int fds[2];
    size_t n_taken;

    make_pair(fds);
    pump_open(&f->other, fds[1], fds[1]);
    fill(&f->other.out, BIG);
    io_stream_flush(f->other.stream);
    n_taken = BIG - f->other.out.n;
    assert_true(n_taken > 0);
    pump_free_stream(&f->other);
    pump_open(&f->pump, fds[0], fds[0]);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    assert_filled(&f->pump.in, n_taken);
}

/* What nobody reads keeps a freed stream for a second, and no longer. */
static void a_peer_that_does_not_read_does_not_keep_the_loop(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    pump_open(&f->other, fds[1], fds[1]);
    fill(&f->other.out, BIG);
    io_stream_flush(f->other.stream);
    pump_free_stream(&f->other);
    assert_int_equal(io_loop_run(f->loop), 0);
    io_fd_close(fds[0]);
}

static void a_paused_stream_reads_nothing_and_loses_nothing(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    io_stream_pause(f->pump.stream);
    io_stream_pause(f->other.stream);
    pump_put(&f->other, "later", 5);
    assert_int_equal(io_loop_run(f->loop), 0); /* nobody reads: nothing can happen */
    assert_int_equal(f->pump.in.n, 0);
    assert_false(io_stream_has_hung_up(f->pump.stream));
    pump_free_stream(&f->other);
    assert_true(io_stream_has_hung_up(f->pump.stream));
    assert_true(io_fd_has_gone(fds[0]));
    assert_true(io_fd_is_readable(fds[0]));
    io_stream_resume(f->pump.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "later");
    assert_int_equal(f->pump.n_ends, 1);
}

static void pause_self(Pump *pump)
{
    io_stream_pause(pump->stream);
}

static void a_pause_from_inside_input_holds(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->pump.on_input = pause_self;
    f->pump.max_read = 2;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    io_stream_pause(f->other.stream);
    pump_put(&f->other, "abcd", 4);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "ab");
    io_stream_resume(f->pump.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "abcd");
}

static void a_peer_that_has_gone_is_a_failure_after_its_words(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    pump_open(&f->other, fds[1], fds[1]);
    pump_put(&f->other, "bye", 3);
    pump_free_stream(&f->other);
    assert_int_equal(io_loop_run(f->loop), 0);
    pump_open(&f->pump, fds[0], fds[0]);
    pump_put(&f->pump, "anybody?", 8);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "bye");
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -EPIPE);
    assert_int_equal(f->pump.n_ends, 0);
}

static void room_that_cannot_be_had_fails_the_stream(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->pump.reserve_result = -ENOMEM;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    io_stream_pause(f->other.stream);
    pump_put(&f->other, "x", 1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -ENOMEM);
}

static void the_stream_may_be_freed_inside_any_op(void **state)
{
    Fixture *f = *state;

    for (int i = 0; i < 4; i++) {
        int fds[2];

        make_pair(fds);
        f->pump.on_input = i == 0 ? pump_free_stream : NULL;
        f->pump.on_end = i == 1 ? pump_free_stream : NULL;
        f->pump.on_failed = i == 2 ? pump_free_stream : NULL;
        f->pump.on_drained = i == 3 ? pump_free_stream : NULL;
        f->pump.reserve_result = i == 2 ? -ENOMEM : 0;
        pump_open(&f->pump, fds[0], fds[0]);
        pump_open(&f->other, fds[1], fds[1]);
        if (i == 3) {
            fill(&f->pump.out, 1024 * 1024);
            io_stream_flush(f->pump.stream);
            f->other.on_end = pump_free_stream;
        } else {
            pump_put(&f->other, "x", 1);
            if (i == 1) {
                pump_free_stream(&f->other);
            } else {
                io_stream_pause(f->other.stream);
            }
        }
        assert_int_equal(io_loop_run(f->loop), 0);
        assert_null(f->pump.stream);
        pump_free_stream(&f->other);
        bytes_drop_front(&f->pump.out, f->pump.out.n);
    }
}

static void lent_bytes_are_not_needed_after_a_flush(void **state)
{
    Fixture *f = *state;
    int fds[2];
    Span before;

    make_pair(fds);
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    io_stream_pause(f->pump.stream);
    f->other.on_input = stop_loop;
    assert_int_equal(bytes_append(&f->pump.out, "lent", 4), 0);
    before = span_make(f->pump.out.data, 4);
    io_stream_flush_now(f->pump.stream);
    assert_int_equal(f->pump.out.n, 0);
    memset(f->pump.out.data, '?', before.n); /* the lender takes his memory back */
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->other.in, "lent");
}

/* ---- pipes that can only be waited in ---- */

static void a_blocking_pipe_is_read_to_its_end(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_blocking_pipe(fds);
    write_all(fds[1], "last words");
    io_fd_close(fds[1]);
    pump_open(&f->pump, fds[0], -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "last words");
    assert_int_equal(f->pump.n_ends, 1);
}

static void a_blocking_pipe_is_written(void **state)
{
    Fixture *f = *state;
    int fds[2];
    char text[8] = {0};

    make_blocking_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    pump_put(&f->pump, "hello", 5);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_drained, 1);
    assert_int_equal(_read(fds[0], text, sizeof(text)), 5);
    assert_string_equal(text, "hello");
    io_stream_shut_output(f->pump.stream);
    assert_int_equal(_read(fds[0], text, sizeof(text)), 0);
    io_fd_close(fds[0]);
}

static void a_reader_nobody_writes_to_can_be_freed(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_blocking_pipe(fds);
    pump_open(&f->pump, fds[0], -1);
    assert_false(io_stream_has_hung_up(f->pump.stream));
    pump_free_stream(&f->pump);
    assert_int_equal(io_loop_run(f->loop), 0);
    io_fd_close(fds[1]);
}

static void a_writer_nobody_reads_can_be_freed(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_blocking_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    fill(&f->pump.out, 1024 * 1024);
    io_stream_flush(f->pump.stream);
    pump_free_stream(&f->pump);
    assert_int_equal(io_loop_run(f->loop), 0);
    io_fd_close(fds[0]);
}

static void much_goes_through_a_blocking_pipe(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_blocking_pipe(fds);
    pump_open(&f->pump, fds[0], -1);
    pump_open(&f->other, -1, fds[1]);
    fill(&f->other.out, BIG);
    io_stream_shut_output(f->other.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->pump.in, BIG);
    assert_int_equal(f->pump.n_ends, 1);
}

static void a_closed_reader_fails_a_blocking_writer(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_blocking_pipe(fds);
    io_fd_close(fds[0]);
    pump_open(&f->pump, -1, fds[1]);
    pump_put(&f->pump, "x", 1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.failure, -EPIPE);
}

/* ---- files and devices ---- */

static void a_file_is_read_and_written(void **state)
{
    Fixture *f = *state;
    int in_fd;
    int out_fd;
    char text[32];

    scratch_write(scratch_path("in"), "line\r\nline\n");
    in_fd = _open(scratch_path("in"), _O_RDONLY | _O_BINARY);
    out_fd = _open(scratch_path("out"), _O_WRONLY | _O_CREAT | _O_BINARY, 0600);
    f->pump.echo = true;
    f->pump.max_read = 3;
    pump_open(&f->pump, in_fd, out_fd);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    pump_free_stream(&f->pump);
    assert_int_equal(io_loop_run(f->loop), 0);
    scratch_read(scratch_path("out"), text, sizeof(text));
    assert_string_equal(text, "line\r\nline\n");
}

static void the_null_device_ends_at_once(void **state)
{
    Fixture *f = *state;
    int fd = _open("NUL", _O_RDWR | _O_BINARY);

    pump_open(&f->pump, fd, fd);
    pump_put(&f->pump, "nobody reads this", 17);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->pump.n_failures, 0);
}

static void bad_descriptors_stay_the_callers(void **state)
{
    Fixture *f = *state;
    IoStream *stream = NULL;
    int fds[2];

    make_pair(fds);
    assert_int_equal(io_stream_new(&stream, f->loop, fds[0], 1000, &pump_ops, &f->pump), -EBADF);
    assert_null(stream);
    assert_false(io_fd_has_gone(fds[0]));
    io_fd_close(fds[0]);
    assert_true(io_fd_has_gone(fds[1]));
    io_fd_close(fds[1]);
}

static int scenario_streams(void *context)
{
    IoLoop *loop = NULL;
    IoStream *stream = NULL;
    Pump pump;
    int fds[2];
    int pipe_fds[2];
    int r = io_loop_new(&loop);

    (void)context;
    if (r != 0) {
        return r;
    }
    pump_init(&pump, loop);
    make_pair(fds);
    make_blocking_pipe(pipe_fds);
    r = io_stream_new(&stream, loop, fds[0], fds[0], &pump_ops, &pump);
    if (r == 0) {
        stream = io_stream_free(stream);
        r = io_stream_new(&stream, loop, pipe_fds[0], pipe_fds[1], &pump_ops, &pump);
        if (r == 0) {
            stream = io_stream_free(stream);
        } else {
            io_fd_close(pipe_fds[0]);
            io_fd_close(pipe_fds[1]);
        }
    } else {
        io_fd_close(fds[0]);
        io_fd_close(pipe_fds[0]);
        io_fd_close(pipe_fds[1]);
    }
    io_fd_close(fds[1]);
    pump_deinit(&pump);
    loop = io_loop_free(loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(scenario_streams, NULL);
}

/* ---- standard input and output: in a child, which has no others ---- */

static void claimed_input_is_echoed_and_printing_goes_to_stderr(void **state)
{
    ScratchChild child = scratch_child_start("echo", "x");
    DWORD n = 0;

    (void)state;
    assert_true(WriteFile(child.to, "hello\n", 6, &n, NULL));
    assert_string_equal(scratch_child_line(&child), "hello");
    assert_int_equal(scratch_child_end(&child), 0);
}

static void what_is_closed_cannot_be_claimed(void **state)
{
    ScratchChild child = scratch_child_start("closed", "x");

    (void)state;
    assert_int_equal(scratch_child_end(&child), 0);
}

static int child_closed(void)
{
    IoLoop *loop = NULL;
    int in_fd = -1;
    int out_fd = -1;

    (void)_close(0);
    if (io_stdio_claim(&in_fd, &out_fd) != -EBADF || in_fd != -1) {
        return 1;
    }
    /* The loop puts NUL there, and then it can be. */
    if (io_loop_new(&loop) != 0 || _get_osfhandle(0) == -1 ||
        io_stdio_claim(&in_fd, &out_fd) != 0) {
        return 2;
    }
    loop = io_loop_free(loop);
    return 0;
}

static int child_echo(void)
{
    IoLoop *loop = NULL;
    Pump pump;
    int in_fd = -1;
    int out_fd = -1;

    if (io_stdio_claim(&in_fd, &out_fd) != 0 || io_loop_new(&loop) != 0) {
        return 1;
    }
    (void)fputs("not for the wire\n", stdout);
    (void)fflush(stdout);
    pump_init(&pump, loop);
    pump.echo = true;
    if (io_stream_new(&pump.stream, loop, in_fd, out_fd, &pump_ops, &pump) != 0) {
        return 2;
    }
    (void)io_loop_run(loop);
    pump_deinit(&pump);
    loop = io_loop_free(loop);
    return pump.n_ends == 1 ? 0 : 3;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_goes_there_and_back),
        TEST(much_goes_there_and_back_whole),
        TEST(the_end_of_the_peer_comes_after_its_words),
        TEST(what_was_flushed_is_not_lost_by_free),
        TEST(a_peer_that_does_not_read_does_not_keep_the_loop),
        TEST(a_paused_stream_reads_nothing_and_loses_nothing),
        TEST(a_pause_from_inside_input_holds),
        TEST(a_peer_that_has_gone_is_a_failure_after_its_words),
        TEST(room_that_cannot_be_had_fails_the_stream),
        TEST(the_stream_may_be_freed_inside_any_op),
        TEST(lent_bytes_are_not_needed_after_a_flush),
        TEST(a_blocking_pipe_is_read_to_its_end),
        TEST(a_blocking_pipe_is_written),
        TEST(a_reader_nobody_writes_to_can_be_freed),
        TEST(a_writer_nobody_reads_can_be_freed),
        TEST(much_goes_through_a_blocking_pipe),
        TEST(a_closed_reader_fails_a_blocking_writer),
        TEST(a_file_is_read_and_written),
        TEST(the_null_device_ends_at_once),
        TEST(bad_descriptors_stay_the_callers),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(claimed_input_is_echoed_and_printing_goes_to_stderr),
        cmocka_unit_test(what_is_closed_cannot_be_claimed),
    };

    if (argc > 1 && strcmp(argv[1], "echo") == 0) {
        return child_echo();
    }
    if (argc > 1 && strcmp(argv[1], "closed") == 0) {
        return child_closed();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
