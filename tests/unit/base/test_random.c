#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/random.h"

typedef int (*FillFn)(void *p, size_t n);

static int fill_from_device(void *p, size_t n)
{
    return random_fill_from("/dev/urandom", p, n);
}

/* Fills exactly n bytes, each of which takes many values. The chance that an honest source fails
 * here is below 2^-60. */
static void check_source(FillFn fill)
{
    unsigned char ones[64] = {0};  /* bits that were set in some round */
    unsigned char zeros[64] = {0}; /* bits that were clear in some round */
    unsigned char block[66];

    for (int round = 0; round < 64; round++) {
        memset(block, 0, sizeof(block));
        assert_int_equal(fill(block + 1, 64), 0);
        assert_int_equal(block[0], 0);
        assert_int_equal(block[65], 0);
        for (size_t i = 0; i < 64; i++) {
            ones[i] |= block[i + 1];
            zeros[i] |= (unsigned char)~block[i + 1];
        }
    }
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(ones[i], 0xFF);
        assert_int_equal(zeros[i], 0xFF);
    }
}

static void kernel_fills_every_byte_and_no_other(void **state)
{
    (void)state;
    check_source(random_fill);
}

static void device_fills_every_byte_and_no_other(void **state)
{
    (void)state;
    check_source(fill_from_device);
}

/* Signals still to come. They end by themselves: on a machine (or under a valgrind) that is slower
 * than the timer, the program would else do nothing but handle them. */
static volatile sig_atomic_t n_signals_left;

static void count_signal(int signal_number)
{
    const struct itimerval never = {{0, 0}, {0, 0}};

    (void)signal_number;
    if (--n_signals_left <= 0) {
        (void)setitimer(ITIMER_REAL, &never, NULL);
    }
}

/* Signals make getrandom(2) and read(2) return early, with a part or with EINTR. */
static void interrupted_request_is_filled_to_the_end(void **state)
{
    static unsigned char block[16 << 20];
    static const unsigned char zeros[32];
    const struct sigaction action = {.sa_handler = count_signal};
    const struct itimerval often = {{0, 500}, {0, 500}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    const FillFn fills[] = {random_fill, fill_from_device};

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        memset(block, 0, sizeof(block));
        n_signals_left = 200;
        assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        assert_int_equal(fills[i](block, sizeof(block)), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        assert_memory_not_equal(block + sizeof(block) - 32, zeros, 32);
    }
}

static void nothing_is_filled_without_a_pointer(void **state)
{
    (void)state;
    assert_int_equal(random_fill(NULL, 0), 0);
}

static void missing_or_short_device_is_an_error(void **state)
{
    char block[16];

    (void)state;
    assert_int_equal(random_fill_from("/nonexistent/random", block, 16), -ENOENT);
    assert_int_equal(random_fill_from("/dev/null", block, 16), -EIO);
    assert_int_equal(random_fill_from("/", block, 16), -EISDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_fills_every_byte_and_no_other),
        cmocka_unit_test(device_fills_every_byte_and_no_other),
        cmocka_unit_test(interrupted_request_is_filled_to_the_end),
        cmocka_unit_test(nothing_is_filled_without_a_pointer),
        cmocka_unit_test(missing_or_short_device_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
