#define _GNU_SOURCE /* pipe2, F_GETPIPE_SZ */

#include "io/stream.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "support/turns.h"

#include "pump.h"

#define BIG ((size_t)3 * 1024 * 1024)

typedef struct Fixture {
    IoLoop *loop;
    Pump pump;
    Pump other;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));

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
    return 0;
}

static void make_pipe(int fds[2])
{
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
}

static void make_pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void write_all(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void assert_bytes(const Bytes *b, const char *text)
{
    assert_int_equal(b->n, strlen(text));
    assert_memory_equal(b->data, text, b->n);
}

/* Bytes that show if a piece is lost, doubled or out of place. */
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
            fail_msg("byte %zu differs", i);
        }
    }
}

static void stop_loop(Pump *pump)
{
    io_loop_stop(pump->loop);
}

static void data_before_the_end_is_read(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    write_all(fds[1], "last words");
    (void)close(fds[1]);
    pump_open(&f->pump, fds[0], -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "last words");
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->pump.n_failures, 0);
}

static void an_input_pipe_is_widened_on_demand_only(void **state)
{
    Fixture *f = *state;
    int fds[2];
    int before;

    make_pipe(fds);
    pump_open(&f->pump, fds[0], -1);
    before = fcntl(fds[1], F_GETPIPE_SZ);
    assert_true(before > 0 && before < 1024 * 1024);
    io_stream_widen_input(f->pump.stream);
    if (geteuid() == 0) { /* an ordinary user may be allowed less */
        assert_int_equal(fcntl(fds[1], F_GETPIPE_SZ), 1024 * 1024);
    }
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
}

static void a_peer_that_hung_up_is_noticed_while_paused(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    pump_open(&f->pump, fds[0], -1);
    io_stream_pause(f->pump.stream);
    write_all(fds[1], "unread");
    assert_false(io_stream_has_hung_up(f->pump.stream));
    assert_int_equal(close(fds[1]), 0);
    assert_true(io_stream_has_hung_up(f->pump.stream));
    io_stream_resume(f->pump.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    assert_bytes(&f->pump.in, "unread");
}

static void data_before_a_sockets_end_is_read(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    write_all(fds[1], "last words");
    (void)close(fds[1]);
    pump_open(&f->pump, fds[0], fds[0]);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "last words");
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->pump.n_failures, 0);
}

static void an_echo_answers_in_place(void **state)
{
    Fixture *f = *state;
    int to[2];
    int from[2];
    char answer[16] = {0};

    make_pipe(to);
    make_pipe(from);
    f->pump.echo = true;
    f->pump.on_input = stop_loop;
    pump_open(&f->pump, to[0], from[1]);
    write_all(to[1], "ping");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(read(from[0], answer, sizeof(answer)), 4);
    assert_string_equal(answer, "ping");
    assert_int_equal(f->pump.n_inputs, 1);
    (void)close(to[1]);
    (void)close(from[0]);
}

static void shut(Pump *pump)
{
    io_stream_shut_output(pump->stream);
}

static void shutting_output_waits_for_what_is_pending(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->pump.echo = true;
    f->pump.on_end = shut;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    fill(&f->other.out, BIG);
    io_stream_shut_output(f->other.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->other.in, BIG);
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->other.n_ends, 1);
}

static void a_closed_output_number_may_be_used_again(void **state)
{
    Fixture *f = *state;
    int first[2];
    int second[2];
    int number;

    make_pipe(first);
    number = fcntl(first[1], F_DUPFD_CLOEXEC, 100);
    (void)close(first[1]);
    assert_int_equal(fcntl(number, F_SETFL, O_NONBLOCK), 0);
    pump_open(&f->pump, -1, number);
    fill(&f->pump.out, BIG);
    io_stream_flush(f->pump.stream);
    assert_true(io_stream_is_waiting(f->pump.stream));
    f->pump.out.n = 0;
    f->pump.on_drained = stop_loop;
    {
        static char sink[BIG];

        assert_true(read(first[0], sink, sizeof(sink)) > 0);
    }
    assert_int_equal(io_loop_run(f->loop), 0);
    io_stream_shut_output(f->pump.stream); /* closes the number */
    make_pipe(second);
    assert_int_equal(dup3(second[0], number, O_CLOEXEC), number);
    (void)close(second[0]);
    assert_int_equal(fcntl(number, F_SETFL, O_NONBLOCK), 0);
    pump_open(&f->other, number, -1);
    f->other.on_input = stop_loop;
    write_all(second[1], "a");
    assert_int_equal(io_loop_run(f->loop), 0);
    pump_free_stream(&f->pump); /* must not take the new owner's number off the loop */
    write_all(second[1], "b");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->other.in, "ab");
    (void)close(first[0]);
    (void)close(second[1]);
}

static void a_reader_that_stops_loses_nothing(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    fill(&f->pump.out, BIG);
    io_stream_flush(f->pump.stream);
    assert_true(io_stream_is_waiting(f->pump.stream));
    assert_int_equal(f->pump.n_drained, 0);
    f->other.max_read = 1000;
    f->pump.on_drained = shut;
    pump_open(&f->other, fds[0], -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->other.in, BIG);
    assert_int_equal(f->pump.n_drained, 1);
    assert_int_equal(f->other.n_ends, 1);
    assert_false(io_stream_is_waiting(f->pump.stream));
}

static void what_is_taken_at_once_is_not_reported_as_drained(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    pump_put(&f->pump, "small", 5);
    assert_int_equal(f->pump.out.n, 0);
    assert_false(io_stream_is_waiting(f->pump.stream));
    assert_int_equal(io_loop_run(f->loop), 0); /* nothing to wait for */
    assert_int_equal(f->pump.n_drained, 0);
    (void)close(fds[0]);
}

static void a_peer_that_has_gone_is_a_failure_from_the_loop(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    (void)close(fds[0]);
    pump_open(&f->pump, -1, fds[1]);
    pump_put(&f->pump, "hello", 5);
    assert_int_equal(f->pump.n_failures, 0); /* not inside the owner's call */
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -EPIPE);
    pump_put(&f->pump, "more", 4);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
}

static void a_socket_peer_that_has_gone_is_a_failure(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    pump_open(&f->pump, -1, fds[0]);
    (void)close(fds[1]);
    pump_put(&f->pump, "hello", 5);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.failure, -EPIPE);
}

static void a_reader_that_leaves_while_we_wait_is_a_failure(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    fill(&f->pump.out, BIG);
    io_stream_flush(f->pump.stream);
    (void)close(fds[0]);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -EPIPE);
}

static void what_the_peer_sent_before_it_went_is_read_before_the_failure(void **state)
{
    Fixture *f = *state;
    int to[2];
    int from[2];

    make_pipe(to);
    make_pipe(from);
    write_all(from[1], "why I go");
    (void)close(from[1]);
    (void)close(to[0]);
    f->pump.max_read = 3;
    pump_open(&f->pump, from[0], to[1]);
    pump_put(&f->pump, "hello", 5);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "why I go");
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.n_ends, 0);
}

static void a_reset_is_a_failure(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    write_all(fds[0], "never read"); /* closing with unread data resets the other side */
    pump_open(&f->pump, fds[0], fds[0]);
    (void)close(fds[1]);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -ECONNRESET);
    assert_int_equal(f->pump.n_ends, 0);
}

static void room_that_cannot_be_had_fails_the_stream(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    write_all(fds[1], "x");
    f->pump.reserve_result = -ENOMEM;
    pump_open(&f->pump, fds[0], -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -ENOMEM);
    (void)close(fds[1]);
}

static FILE *temp_file(void)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    return file;
}

static void regular_files_are_read_and_written(void **state)
{
    Fixture *f = *state;
    FILE *from = temp_file();
    FILE *to = temp_file();
    Bytes content = BYTES_NULL;
    struct stat info;

    bytes_init(&content, BIG);
    fill(&content, BIG);
    assert_int_equal(fwrite(content.data, 1, content.n, from), content.n);
    bytes_deinit(&content);
    rewind(from);
    f->pump.echo = true;
    pump_open(&f->pump, dup(fileno(from)), dup(fileno(to)));
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->pump.in, BIG);
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(fstat(fileno(to), &info), 0);
    assert_int_equal(info.st_size, BIG);
    (void)fclose(from);
    (void)fclose(to);
}

static void dev_null_ends_at_once(void **state)
{
    Fixture *f = *state;
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    pump_open(&f->pump, fd, fd);
    pump_put(&f->pump, "gone", 4);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    assert_int_equal(f->pump.out.n, 0);
}

/* Whoever comes second has seen the other at work. */
static void note_file_size(Pump *pump)
{
    Pump *file = pump + 1;

    pump->n_reserved = file->in.n;
}

static void a_large_file_does_not_starve_others(void **state)
{
    Fixture *f = *state;
    FILE *from = temp_file();
    int fds[2];
    Bytes content = BYTES_NULL;

    bytes_init(&content, BIG);
    fill(&content, BIG);
    assert_int_equal(fwrite(content.data, 1, content.n, from), content.n);
    bytes_deinit(&content);
    rewind(from);
    make_pipe(fds);
    write_all(fds[1], "me too");
    (void)close(fds[1]);
    f->pump.on_input = note_file_size;
    pump_open(&f->other, dup(fileno(from)), -1);
    pump_open(&f->pump, fds[0], -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->other.in.n, BIG);
    assert_true(f->pump.n_reserved < BIG / 2);
    (void)fclose(from);
}

static void a_paused_stream_reads_nothing(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pipe(fds);
    write_all(fds[1], "later");
    (void)close(fds[1]);
    pump_open(&f->pump, fds[0], -1);
    io_stream_pause(f->pump.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.in.n, 0);
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
    FILE *from = temp_file();

    assert_int_equal(fwrite("abcdef", 1, 6, from), 6);
    rewind(from);
    f->pump.max_read = 2;
    f->pump.on_input = pause_self;
    pump_open(&f->pump, dup(fileno(from)), -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "ab");
    io_stream_resume(f->pump.stream);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "abcd");
    (void)fclose(from);
}

static void a_terminal_is_a_stream_too(void **state)
{
    Fixture *f = *state;
    struct termios raw = {0};
    int master;
    int slave;

    cfmakeraw(&raw);
    assert_int_equal(openpty(&master, &slave, NULL, &raw, NULL), 0);
    f->pump.echo = true;
    f->other.on_input = stop_loop;
    pump_open(&f->pump, slave, slave);
    pump_open(&f->other, master, master);
    pump_put(&f->other, "typed", 5);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_bytes(&f->pump.in, "typed");
    assert_bytes(&f->other.in, "typed");
    /* The last slave closes: the master reads EIO, which is an end. */
    f->other.on_input = NULL;
    pump_free_stream(&f->pump);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->other.n_ends, 1);
    assert_int_equal(f->other.n_failures, 0);
}

static bool is_nonblocking(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

static void others_do_not_see_a_nonblocking_mode(void **state)
{
    Fixture *f = *state;
    struct termios raw = {0};
    int twins[4];
    int to[2];
    int pair[2];
    int master;
    int slave;

    cfmakeraw(&raw);
    make_pipe(to);
    make_pair(pair);
    assert_int_equal(openpty(&master, &slave, NULL, &raw, NULL), 0);
    twins[0] = dup(to[0]);
    twins[1] = dup(to[1]);
    twins[2] = dup(pair[0]);
    twins[3] = dup(slave);
    pump_open(&f->pump, to[0], slave);
    pump_open(&f->other, pair[0], pair[0]);
    for (int i = 0; i < 4; i++) {
        assert_false(is_nonblocking(twins[i]));
        (void)close(twins[i]);
    }
    (void)close(to[1]);
    (void)close(pair[1]);
    (void)close(master);
}

static void a_mode_that_had_to_be_set_is_set_back(void **state)
{
    Fixture *f = *state;
    int master;
    int slave;
    int twin;

    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    twin = dup(master); /* the master side cannot be opened anew */
    pump_open(&f->pump, master, -1);
    assert_true(is_nonblocking(twin));
    pump_free_stream(&f->pump);
    assert_false(is_nonblocking(twin));
    (void)close(twin);
    (void)close(slave);
}

static void a_named_pipe_whose_writer_has_left_ends(void **state)
{
    Fixture *f = *state;
    char folder[] = "/tmp/tw-fifo-XXXXXX";
    char path[64];
    int reader;
    int writer;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(fcntl(reader, F_SETFL, 0), 0);
    (void)close(writer);
    pump_open(&f->pump, reader, -1);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_ends, 1);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void the_stream_may_be_freed_inside_any_op(void **state)
{
    Fixture *f = *state;
    void (**slots[])(Pump *) = {&f->pump.on_input,   &f->pump.on_end,  &f->pump.on_failed,
                                &f->pump.on_drained, &f->pump.on_pull, &f->pump.on_consumed};

    for (size_t i = 0; i < TW_ARRAY_SIZE(slots); i++) {
        int to[2];
        int from[2];
        bool wants_failure = slots[i] == &f->pump.on_failed;
        bool wants_drained = slots[i] == &f->pump.on_drained;

        pump_init(&f->pump, f->loop);
        *slots[i] = pump_free_stream;
        f->pump.echo = true;
        make_pipe(to);
        make_pipe(from);
        pump_open(&f->pump, to[0], from[1]);
        write_all(to[1], "x");
        (void)close(to[1]);
        if (wants_failure) {
            (void)close(from[0]);
        } else if (wants_drained) {
            fill(&f->pump.out, BIG);
            io_stream_flush(f->pump.stream);
            pump_open(&f->other, from[0], -1);
        }
        assert_int_equal(io_loop_run(f->loop), 0);
        assert_null(f->pump.stream);
        if (wants_drained) {
            pump_free_stream(&f->other);
        } else if (!wants_failure) {
            (void)close(from[0]);
        }
        pump_deinit(&f->pump);
    }
}

static void free_inside_flush(Pump *pump)
{
    pump->on_consumed = NULL;
    pump_free_stream(pump);
}

static void the_stream_may_be_freed_inside_a_flush(void **state)
{
    Fixture *f = *state;
    IoStream *stream;
    int fds[2];

    make_pipe(fds);
    pump_open(&f->pump, -1, fds[1]);
    f->pump.on_consumed = free_inside_flush;
    assert_int_equal(bytes_append(&f->pump.out, "x", 1), 0);
    stream = f->pump.stream;
    io_stream_flush(stream);
    assert_null(f->pump.stream);
    (void)close(fds[0]);
}

static void bad_descriptors_stay_the_callers(void **state)
{
    Fixture *f = *state;
    int fds[2];
    int gone = 1000; /* beyond what the stream opens itself */

    make_pipe(fds);
    assert_int_equal(io_stream_new(&f->pump.stream, f->loop, fds[0], gone, &pump_ops, &f->pump),
                     -EBADF);
    assert_null(f->pump.stream);
    assert_int_not_equal(fcntl(fds[0], F_GETFD), -1);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static int make_stream(void *context)
{
    IoLoop *loop = NULL;
    Pump pump;
    int fds[2];
    int r = io_loop_new(&loop);

    (void)context;
    if (r != 0) {
        return r;
    }
    make_pair(fds);
    pump_init(&pump, loop);
    r = io_stream_new(&pump.stream, loop, fds[0], fds[0], &pump_ops, &pump);
    if (r != 0) {
        (void)close(fds[0]);
    }
    (void)close(fds[1]);
    pump_deinit(&pump);
    loop = io_loop_free(loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(make_stream, NULL);
}

/* What the peer at the other end of `other` can read now. */
static size_t n_readable(int fd)
{
    char text[64];
    ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT | MSG_PEEK);

    return n > 0 ? (size_t)n : 0;
}

static int flushed_fd; /* where the one below looks */

static void flush_inside(Pump *pump)
{
    pump_put(pump, "early", 5);
    assert_int_equal(n_readable(flushed_fd), 0);
    io_stream_flush_now(pump->stream);
    assert_int_equal(n_readable(flushed_fd), 5);
    io_stream_flush_now(pump->stream); /* nothing more to send */
    pump_put(pump, "late", 4);
    assert_int_equal(n_readable(flushed_fd), 5);
    io_loop_stop(pump->loop);
}

static void what_should_not_wait_leaves_from_inside_input(void **state)
{
    Fixture *f = *state;
    char text[16] = {0};
    int fds[2];

    make_pair(fds);
    flushed_fd = fds[1];
    f->pump.on_input = flush_inside;
    pump_open(&f->pump, fds[0], fds[0]);
    write_all(fds[1], "go");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(recv(fds[1], text, sizeof(text), MSG_DONTWAIT), 9);
    assert_string_equal(text, "earlylate");
    /* From outside it is a flush as any. */
    assert_int_equal(bytes_append(&f->pump.out, "out", 3), 0);
    io_stream_flush_now(f->pump.stream);
    assert_int_equal(n_readable(fds[1]), 3);
    (void)close(fds[1]);
}

static void flush_much_inside(Pump *pump)
{
    fill(&pump->out, BIG);
    io_stream_flush_now(pump->stream);
    assert_true(io_stream_is_waiting(pump->stream));
    assert_true(pump->out.n > 0 && pump->out.n < BIG);
    pump->on_input = NULL;
}

static void what_does_not_leave_from_inside_input_follows(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->pump.on_input = flush_much_inside;
    f->pump.on_drained = shut;
    f->other.on_end = stop_loop;
    pump_open(&f->pump, fds[0], fds[0]);
    pump_open(&f->other, fds[1], fds[1]);
    pump_put(&f->other, "go", 2);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_filled(&f->other.in, BIG);
    assert_int_equal(f->pump.n_drained, 1);
}

static void flush_to_nobody(Pump *pump)
{
    assert_int_equal(bytes_append(&pump->out, "x", 1), 0);
    io_stream_flush_now(pump->stream);
    assert_int_equal(pump->n_failures, 0);
}

static void a_failure_inside_input_is_told_from_the_loop(void **state)
{
    Fixture *f = *state;
    int to[2];
    int from[2];

    make_pipe(to);
    make_pipe(from);
    (void)close(from[0]);
    f->pump.on_input = flush_to_nobody;
    f->pump.on_failed = stop_loop;
    pump_open(&f->pump, to[0], from[1]);
    write_all(to[1], "go");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -EPIPE);
    (void)close(to[1]);
}

static void flush_and_be_freed(Pump *pump)
{
    pump->on_consumed = pump_free_stream;
    assert_int_equal(bytes_append(&pump->out, "x", 1), 0);
    io_stream_flush_now(pump->stream);
    assert_null(pump->stream);
    io_loop_stop(pump->loop);
}

static void the_stream_may_be_freed_inside_a_flush_inside_input(void **state)
{
    Fixture *f = *state;
    int fds[2];

    make_pair(fds);
    f->pump.on_input = flush_and_be_freed;
    pump_open(&f->pump, fds[0], fds[0]);
    write_all(fds[1], "go");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(n_readable(fds[1]), 1);
    (void)close(fds[1]);
}

/* ---- turns that take too long ---- */

#define TALKER "one who talks"

static void burn_until_overdue(Pump *pump)
{
    do {
        turns_burn();
    } while (!io_stream_is_overdue(pump->stream));
    assert_int_equal(pump->n_failures, 0); /* not inside the owner's call */
}

/* One long step, in which nobody asks the stream. */
static void burn_at_once(Pump *pump)
{
    while (!io_turn_is_over(pump->loop, io_turn_name(pump->loop, TALKER))) {
        turns_burn();
    }
}

static void burn_for_long(Pump *pump)
{
    (void)pump;
    for (int i = 0; i < 10 * TURNS_MS / TURNS_BURN_MS; i++) {
        turns_burn();
    }
}

static void stop_the_loop(Pump *pump)
{
    io_loop_stop(pump->loop);
}

/* What the peer sends meanwhile is not read any more. */
static void assert_ended_for_its_turn(Fixture *f, void (*on_input)(Pump *pump))
{
    static Turns turns;
    int fds[2];

    turns_watch(&turns, f->loop);
    make_pair(fds);
    pump_open(&f->pump, fds[0], fds[0]);
    io_stream_set_turn(f->pump.stream, io_turn_name(f->loop, TALKER));
    f->pump.max_read = 1;
    f->pump.on_input = on_input;
    f->pump.on_failed = stop_the_loop;
    assert_int_equal(write(fds[1], "many", 4), 4);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_inputs, 1);
    assert_int_equal(f->pump.n_failures, 1);
    assert_int_equal(f->pump.failure, -ETIMEDOUT);
    turns_assert_blamed(&turns, TALKER);
    assert_int_equal(close(fds[1]), 0);
}

static void a_peer_whose_turn_takes_too_long_fails(void **state)
{
    assert_ended_for_its_turn(*state, burn_until_overdue);
}

static void a_turn_of_one_long_step_fails_too(void **state)
{
    assert_ended_for_its_turn(*state, burn_at_once);
}

static void a_stream_without_a_name_has_no_turns(void **state)
{
    static Turns turns;
    Fixture *f = *state;
    int fds[2];

    turns_watch(&turns, f->loop);
    make_pair(fds);
    pump_open(&f->pump, fds[0], fds[0]);
    f->pump.on_input = burn_for_long;
    f->pump.on_end = stop_the_loop;
    assert_int_equal(write(fds[1], "many", 4), 4);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(f->pump.n_failures, 0);
    assert_string_equal(turns.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(data_before_the_end_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(an_input_pipe_is_widened_on_demand_only, setup, teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_hung_up_is_noticed_while_paused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(data_before_a_sockets_end_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(an_echo_answers_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(shutting_output_waits_for_what_is_pending, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_output_number_may_be_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_stops_loses_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_taken_at_once_is_not_reported_as_drained, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_peer_that_has_gone_is_a_failure_from_the_loop, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_socket_peer_that_has_gone_is_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_that_leaves_while_we_wait_is_a_failure, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            what_the_peer_sent_before_it_went_is_read_before_the_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_is_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(room_that_cannot_be_had_fails_the_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(regular_files_are_read_and_written, setup, teardown),
        cmocka_unit_test_setup_teardown(dev_null_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_large_file_does_not_starve_others, setup, teardown),
        cmocka_unit_test_setup_teardown(a_paused_stream_reads_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pause_from_inside_input_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_terminal_is_a_stream_too, setup, teardown),
        cmocka_unit_test_setup_teardown(others_do_not_see_a_nonblocking_mode, setup, teardown),
        cmocka_unit_test_setup_teardown(a_mode_that_had_to_be_set_is_set_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_named_pipe_whose_writer_has_left_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stream_may_be_freed_inside_any_op, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stream_may_be_freed_inside_a_flush, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_descriptors_stay_the_callers, setup, teardown),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test_setup_teardown(what_should_not_wait_leaves_from_inside_input, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_does_not_leave_from_inside_input_follows, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failure_inside_input_is_told_from_the_loop, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_stream_may_be_freed_inside_a_flush_inside_input, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_peer_whose_turn_takes_too_long_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(a_turn_of_one_long_step_fails_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stream_without_a_name_has_no_turns, setup, teardown),
    };

    io_ignore_sigpipe();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
