/* The front between a client and a hub that are sockets of the test. */
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/front.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "support/oom_sweep.h"

#define RIG_MAX ((size_t)64 * 1024 * 1024)

typedef struct Rig {
    IoLoop *loop;
    IoBeforeWait *hook;
    Front *front;
    int to_fd; /* the client's ends */
    int from_fd;
    int hub_fd; /* the hub's end */
    int n_closed;
    int r;
    Bytes got;   /* by the client */
    Bytes heard; /* by the hub */
    bool client_reads;
    bool hub_reads;
    const char *to_hub; /* what the client writes, as the system takes it */
    size_t n_to_hub;
    const char *to_client;
    size_t n_to_client;
    size_t n_left; /* of both, a turn ago, and since how many */
    int n_same;
    bool (*is_done)(struct Rig *rig);
} Rig;

static void rig_on_closed(void *context, int r)
{
    Rig *rig = context;

    rig->n_closed++;
    rig->r = r;
}

/* Moves what can be moved without waiting. False: nothing could. */
static bool move_in(int fd, Bytes *to)
{
    ssize_t n;

    assert_int_equal(bytes_reserve(to, 65536), 0);
    n = read(fd, to->data + to->n, 65536);
    if (n <= 0) {
        return false;
    }
    to->n += (size_t)n;
    return true;
}

static bool move_out(int fd, const char **p, size_t *n)
{
    ssize_t n_written = *n == 0 ? 0 : write(fd, *p, *n);

    if (n_written <= 0) {
        return false;
    }
    *p += n_written;
    *n -= (size_t)n_written;
    return true;
}

/* The other two, once a turn; the loop waits for the front's descriptors only, so the timer keeps
 * it turning. */
static void rig_on_turn(void *context)
{
    Rig *rig = context;

    while (rig->client_reads && move_in(rig->from_fd, &rig->got)) {
    }
    while (rig->hub_reads && rig->hub_fd >= 0 && move_in(rig->hub_fd, &rig->heard)) {
    }
    while (move_out(rig->to_fd, &rig->to_hub, &rig->n_to_hub)) {
    }
    while (rig->hub_fd >= 0 && move_out(rig->hub_fd, &rig->to_client, &rig->n_to_client)) {
    }
    if (rig->n_closed > 0 || (rig->is_done != NULL && rig->is_done(rig))) {
        io_loop_stop(rig->loop);
    }
}

static void set_nonblocking(int fd)
{
    assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

static int rig_init(Rig *rig)
{
    int to[2];
    int from[2];
    int hub[2];
    int r;

    *rig = (Rig){.client_reads = true, .hub_reads = true};
    bytes_init(&rig->got, RIG_MAX);
    bytes_init(&rig->heard, RIG_MAX);
    io_ignore_sigpipe();
    r = io_loop_new(&rig->loop);
    if (r != 0) {
        return r;
    }
    r = io_before_wait_new(&rig->hook, rig->loop, rig_on_turn, rig);
    if (r != 0) {
        return r;
    }
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, hub), 0);
    rig->to_fd = to[1];
    rig->from_fd = from[0];
    rig->hub_fd = hub[1];
    set_nonblocking(rig->to_fd);
    set_nonblocking(rig->from_fd);
    r = front_new(&rig->front, &(FrontConfig){.loop = rig->loop,
                                              .in_fd = to[0],
                                              .out_fd = from[1],
                                              .hub_fd = hub[0],
                                              .closed = rig_on_closed,
                                              .context = rig});
    if (r != 0) {
        (void)close(to[0]);
        (void)close(from[1]);
    }
    return r;
}

static void close_fd(int *fd)
{
    if (*fd > 0) {
        assert_int_equal(close(*fd), 0);
    }
    *fd = -1;
}

static void rig_deinit(Rig *rig)
{
    rig->front = front_free(rig->front);
    rig->hook = io_before_wait_free(rig->hook);
    rig->loop = io_loop_free(rig->loop);
    close_fd(&rig->to_fd);
    close_fd(&rig->from_fd);
    close_fd(&rig->hub_fd);
    bytes_deinit(&rig->got);
    bytes_deinit(&rig->heard);
}

static void turn(void *context)
{
    io_loop_stop(context);
}

/* Runs until is_done says so, or the front is over. */
static void rig_run(Rig *rig, bool (*is_done)(Rig *rig))
{
    IoTimer *timer = NULL;

    rig->is_done = is_done;
    rig->n_same = 0;
    assert_int_equal(io_timer_new(&timer, rig->loop, false, turn, rig->loop), 0);
    for (;;) {
        rig_on_turn(rig);
        if (rig->n_closed > 0 || (is_done != NULL && is_done(rig))) {
            break;
        }
        io_loop_update_now(rig->loop);
        io_timer_start_at(timer, io_loop_now_ms(rig->loop) + 5);
        assert_int_equal(io_loop_run(rig->loop), 0);
    }
    timer = io_timer_free(timer);
}

static void client_says(Rig *rig, const char *text, size_t n)
{
    rig->to_hub = text;
    rig->n_to_hub = n;
}

static void hub_says(Rig *rig, const char *text, size_t n)
{
    rig->to_client = text;
    rig->n_to_client = n;
}

static void assert_got(const Bytes *bytes, const char *text)
{
    assert_int_equal(bytes->n, strlen(text));
    assert_memory_equal(bytes->data, text, bytes->n);
}

static bool hub_heard_something(Rig *rig)
{
    return rig->heard.n > 0;
}

static bool client_got_something(Rig *rig)
{
    return rig->got.n > 0;
}

static bool hub_sees_end(Rig *rig)
{
    char byte;

    return recv(rig->hub_fd, &byte, 1, MSG_PEEK) == 0;
}

/* ---- tests ---- */

static void bytes_go_both_ways_as_they_are(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    client_says(&rig, "no JSON\0\xff\n{", 12);
    rig_run(&rig, hub_heard_something);
    assert_int_equal(rig.heard.n, 12);
    assert_memory_equal(rig.heard.data, "no JSON\0\xff\n{", 12);
    hub_says(&rig, "a\n\n\0b\n", 6);
    rig_run(&rig, client_got_something);
    assert_int_equal(rig.got.n, 6);
    assert_memory_equal(rig.got.data, "a\n\n\0b\n", 6);
    assert_int_equal(rig.n_closed, 0);
    rig_deinit(&rig);
}

static void end_of_input_ends_the_hubs_and_answers_still_come(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    client_says(&rig, "question", 8);
    rig_on_turn(&rig);
    close_fd(&rig.to_fd);
    rig_run(&rig, hub_sees_end);
    assert_got(&rig.heard, "question");
    assert_true(front_is_ending(rig.front));
    hub_says(&rig, "answer\n", 7);
    rig_run(&rig, client_got_something);
    assert_got(&rig.got, "answer\n");
    assert_int_equal(rig.n_closed, 0);
    close_fd(&rig.hub_fd);
    rig_run(&rig, NULL);
    assert_int_equal(rig.r, 0);
    rig_deinit(&rig);
}

static void being_told_to_end_is_as_the_end_of_input(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    assert_false(front_is_ending(rig.front));
    front_end(rig.front);
    front_end(rig.front);
    rig_run(&rig, hub_sees_end);
    hub_says(&rig, "last\n", 5);
    rig_on_turn(&rig);
    close_fd(&rig.hub_fd);
    rig_run(&rig, NULL);
    rig_on_turn(&rig);
    assert_got(&rig.got, "last\n");
    assert_int_equal(rig.r, 0);
    rig_deinit(&rig);
}

static void hub_that_goes_first_is_lost_but_not_what_it_said(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    hub_says(&rig, "whole\n", 6);
    rig_on_turn(&rig);
    close_fd(&rig.hub_fd);
    rig_run(&rig, NULL);
    rig_on_turn(&rig);
    assert_got(&rig.got, "whole\n");
    assert_int_equal(rig.n_closed, 1);
    assert_int_equal(rig.r, FRONT_E_LOST);
    rig_deinit(&rig);
}

static void line_of_a_dying_hub_is_never_cut(void **state)
{
    static const char *const sent[] = {"{\"a\":1", "whole\n{\"a\"", "one\ntwo\nx", "\n{"};
    static const char *const wanted[] = {"", "whole\n", "one\ntwo\n", "\n"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(sent); i++) {
        for (int is_ending = 0; is_ending < 2; is_ending++) {
            Rig rig;

            assert_int_equal(rig_init(&rig), 0);
            if (is_ending != 0) {
                front_end(rig.front);
            }
            hub_says(&rig, sent[i], strlen(sent[i]));
            rig_on_turn(&rig);
            close_fd(&rig.hub_fd);
            rig_run(&rig, NULL);
            rig_on_turn(&rig);
            assert_got(&rig.got, wanted[i]);
            assert_int_equal(rig.r, FRONT_E_LOST);
            rig_deinit(&rig);
        }
    }
}

/* Is everything that was written in the front, or further on? */
static bool front_has_read(Rig *rig)
{
    int n = 0;

    return ioctl(rig->hub_fd, TIOCOUTQ, &n) == 0 && n == 0;
}

static void line_in_pieces_comes_whole(void **state)
{
    static const char text[] = "first\n{\"second\":2}\n\nlast\n";
    Rig rig;
    size_t n_whole = 0;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        hub_says(&rig, text + i, 1);
        rig_run(&rig, front_has_read);
        rig_on_turn(&rig);
        n_whole = text[i] == '\n' ? i + 1 : n_whole;
        assert_int_equal(rig.got.n, n_whole);
        assert_memory_equal(rig.got.data, text, n_whole);
    }
    rig_deinit(&rig);
}

static bool client_got_all(Rig *rig)
{
    return rig->n_to_client == 0 && rig->got.n == RIG_MAX / 4;
}

static bool hub_heard_all(Rig *rig)
{
    return rig->n_to_hub == 0 && rig->heard.n == RIG_MAX / 4;
}

/* Nothing moves any more: the side that writes is full. */
static bool is_stuck(Rig *rig)
{
    size_t n = rig->n_to_hub + rig->n_to_client;

    rig->n_same = n == rig->n_left ? rig->n_same + 1 : 0;
    rig->n_left = n;
    return rig->n_same >= 20;
}

static char *big_text(size_t n, size_t n_line)
{
    char *text = mem_alloc(n);

    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = (i + 1) % n_line == 0 ? '\n' : (char)('a' + i % 23);
    }
    text[n - 1] = '\n';
    return text;
}

static void client_that_does_not_read_is_not_read_for(void **state)
{
    CLEANUP(mem_freep) char *text = big_text(RIG_MAX / 4, 100);
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    rig.client_reads = false;
    hub_says(&rig, text, RIG_MAX / 4);
    rig_run(&rig, is_stuck);
    /* Sockets and pipes hold some, and the front a read: less than 4 MiB together. */
    assert_true(rig.n_to_client > RIG_MAX / 4 - ((size_t)4 << 20));
    rig.client_reads = true;
    rig_run(&rig, client_got_all);
    assert_int_equal(rig.n_closed, 0);
    assert_memory_equal(rig.got.data, text, rig.got.n);
    rig_deinit(&rig);
}

static void hub_that_does_not_read_stops_the_client(void **state)
{
    CLEANUP(mem_freep) char *text = big_text(RIG_MAX / 4, 1000000);
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    rig.hub_reads = false;
    client_says(&rig, text, RIG_MAX / 4);
    rig_run(&rig, is_stuck);
    assert_true(rig.n_to_hub > RIG_MAX / 4 - ((size_t)4 << 20));
    rig.hub_reads = true;
    rig_run(&rig, hub_heard_all);
    assert_int_equal(rig.n_closed, 0);
    assert_memory_equal(rig.heard.data, text, rig.heard.n);
    rig_deinit(&rig);
}

static void line_of_16_mib_goes_both_ways(void **state)
{
    CLEANUP(mem_freep) char *text = big_text(RIG_MAX / 4, RIG_MAX);
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    client_says(&rig, text, RIG_MAX / 4);
    rig_run(&rig, hub_heard_all);
    assert_int_equal(rig.n_closed, 0);
    assert_memory_equal(rig.heard.data, text, rig.heard.n);
    hub_says(&rig, text, RIG_MAX / 4);
    rig_run(&rig, client_got_all);
    assert_int_equal(rig.n_closed, 0);
    assert_memory_equal(rig.got.data, text, rig.got.n);
    rig_deinit(&rig);
}

static void what_a_dead_hub_said_waits_for_a_slow_client(void **state)
{
    CLEANUP(mem_freep) char *text = big_text(300000, 1000);
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    rig.client_reads = false;
    hub_says(&rig, text, 300000);
    rig_run(&rig, is_stuck);
    assert_true(rig.n_to_client < 300000);
    rig.client_reads = true;
    /* All but what the hub could not send before it went. */
    close_fd(&rig.hub_fd);
    rig_run(&rig, NULL);
    rig_on_turn(&rig);
    assert_int_equal(rig.got.n % 1000, 0);
    assert_int_equal(rig.got.n, (300000 - rig.n_to_client) / 1000 * 1000);
    assert_memory_equal(rig.got.data, text, rig.got.n);
    assert_int_equal(rig.r, FRONT_E_LOST);
    rig_deinit(&rig);
}

static void line_is_not_cut_when_writing_tells_that_the_hub_is_gone(void **state)
{
    CLEANUP(mem_freep) char *text = big_text(300000, 1000);
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    rig.client_reads = false;
    hub_says(&rig, text, 300000);
    rig_run(&rig, is_stuck);
    close_fd(&rig.hub_fd);
    client_says(&rig, "anybody?\n", 9);
    rig_run(&rig, is_stuck);
    assert_int_equal(rig.n_closed, 0); /* half of a line may be in the pipe */
    rig.client_reads = true;
    rig_run(&rig, NULL);
    rig_on_turn(&rig);
    assert_true(rig.got.n > 0);
    assert_int_equal(rig.got.n % 1000, 0);
    assert_memory_equal(rig.got.data, text, rig.got.n);
    assert_int_equal(rig.r, FRONT_E_LOST);
    rig_deinit(&rig);
}

static void client_that_went_away_is_no_failure(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    rig.client_reads = false;
    close_fd(&rig.from_fd);
    hub_says(&rig, "for nobody\n", 11);
    rig_run(&rig, NULL);
    assert_int_equal(rig.r, 0);
    rig_deinit(&rig);
}

static void hub_that_is_gone_when_written_to_is_lost(void **state)
{
    Rig rig;

    (void)state;
    assert_int_equal(rig_init(&rig), 0);
    close_fd(&rig.hub_fd);
    client_says(&rig, "anybody?\n", 9);
    rig_run(&rig, NULL);
    assert_int_equal(rig.n_closed, 1);
    assert_int_equal(rig.r, FRONT_E_LOST);
    rig_deinit(&rig);
}

static int new_and_free(void *context)
{
    Rig rig;
    int r = rig_init(&rig);

    (void)context;
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(new_and_free, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways_as_they_are),
        cmocka_unit_test(end_of_input_ends_the_hubs_and_answers_still_come),
        cmocka_unit_test(being_told_to_end_is_as_the_end_of_input),
        cmocka_unit_test(hub_that_goes_first_is_lost_but_not_what_it_said),
        cmocka_unit_test(line_of_a_dying_hub_is_never_cut),
        cmocka_unit_test(line_in_pieces_comes_whole),
        cmocka_unit_test(client_that_does_not_read_is_not_read_for),
        cmocka_unit_test(hub_that_does_not_read_stops_the_client),
        cmocka_unit_test(line_of_16_mib_goes_both_ways),
        cmocka_unit_test(what_a_dead_hub_said_waits_for_a_slow_client),
        cmocka_unit_test(line_is_not_cut_when_writing_tells_that_the_hub_is_gone),
        cmocka_unit_test(client_that_went_away_is_no_failure),
        cmocka_unit_test(hub_that_is_gone_when_written_to_is_lost),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
