/* Messages to the manager of services, read from a socket of our own. */
#include "io/notify.h"

#include "support/cmocka.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/oom_sweep.h"

typedef struct Manager {
    int fd;
    char folder[32];
    char path[64];
} Manager;

static void manager_bind(Manager *manager, const char *name, size_t n_address)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, name, n_address);
    manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(manager->fd >= 0);
    assert_int_equal(bind(manager->fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n_address)),
                     0);
}

static int manager_setup(void **state)
{
    static Manager manager;

    (void)snprintf(manager.folder, sizeof(manager.folder), "/tmp/tw-notify-XXXXXX");
    assert_non_null(mkdtemp(manager.folder));
    (void)snprintf(manager.path, sizeof(manager.path), "%s/notify", manager.folder);
    manager_bind(&manager, manager.path, strlen(manager.path) + 1);
    *state = &manager;
    return 0;
}

static int manager_teardown(void **state)
{
    Manager *manager = *state;

    (void)close(manager->fd);
    (void)unlink(manager->path);
    return rmdir(manager->folder);
}

/* Datagrams of one machine are there when the sender returns. */
static void expect(const Manager *manager, const char *wanted)
{
    char text[2048];
    ssize_t n = recv(manager->fd, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, wanted);
}

static void expect_nothing(const Manager *manager)
{
    char text[16];

    assert_int_equal(recv(manager->fd, text, sizeof(text), 0), -1);
}

static void each_state_is_one_message(void **state)
{
    const Manager *manager = *state;
    IoNotify *notify = NULL;

    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    assert_int_equal(io_notify_new(&notify), 0);
    assert_true(io_notify_is_on(notify));
    expect_nothing(manager);
    io_notify_ready(notify, NULL);
    expect(manager, "READY=1");
    io_notify_ready(notify, "7 tools");
    expect(manager, "READY=1\nSTATUS=7 tools");
    io_notify_status(notify, "busy");
    expect(manager, "STATUS=busy");
    io_notify_stopping(notify);
    expect(manager, "STOPPING=1");
    expect_nothing(manager);
    notify = io_notify_free(notify);
    assert_null(io_notify_free(notify));
}

static void children_do_not_inherit_the_address(void **state)
{
    const Manager *manager = *state;
    IoNotify *notify = NULL;

    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    assert_int_equal(io_notify_new(&notify), 0);
    assert_null(getenv("NOTIFY_SOCKET"));
    notify = io_notify_free(notify);
}

static void a_reload_says_when(void **state)
{
    const Manager *manager = *state;
    unsigned long long first;
    unsigned long long second;
    IoNotify *notify = NULL;
    char text[256];
    ssize_t n;

    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    assert_int_equal(io_notify_new(&notify), 0);
    io_notify_reloading(notify);
    io_notify_reloading(notify);
    n = recv(manager->fd, text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%llu", &first), 1);
    n = recv(manager->fd, text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(sscanf(text, "RELOADING=1\nMONOTONIC_USEC=%llu", &second), 1);
    assert_true(first > 0 && second >= first);
    notify = io_notify_free(notify);
}

static void a_status_stays_one_line(void **state)
{
    const Manager *manager = *state;
    IoNotify *notify = NULL;
    char longer[3000];
    char wanted[600];

    assert_int_equal(setenv("NOTIFY_SOCKET", manager->path, 1), 0);
    assert_int_equal(io_notify_new(&notify), 0);
    io_notify_status(notify, "a\nMAINPID=1");
    expect(manager, "STATUS=a");
    io_notify_ready(notify, "b\r\nMAINPID=1");
    expect(manager, "READY=1\nSTATUS=b");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    io_notify_status(notify, longer);
    (void)snprintf(wanted, sizeof(wanted), "STATUS=%.512s", longer);
    expect(manager, wanted);
    notify = io_notify_free(notify);
}

static void an_abstract_name_is_reached(void **state)
{
    Manager abstract = {.fd = -1};
    IoNotify *notify = NULL;
    char name[64];

    (void)state;
    (void)snprintf(name, sizeof(name), "@tw-notify-%ld", (long)getpid());
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    name[0] = '\0';
    manager_bind(&abstract, name, 1 + strlen(name + 1));
    assert_int_equal(io_notify_new(&notify), 0);
    io_notify_ready(notify, NULL);
    expect(&abstract, "READY=1");
    notify = io_notify_free(notify);
    assert_int_equal(close(abstract.fd), 0);
}

static void without_a_manager_nothing_happens(void **state)
{
    static const char *const nowhere[] = {"", "/", "relative", "@", "/tmp/tw-notify-none/x"};
    char longer[300];
    IoNotify *notify = NULL;

    (void)state;
    (void)unsetenv("NOTIFY_SOCKET");
    assert_int_equal(io_notify_new(&notify), 0);
    assert_false(io_notify_is_on(notify));
    io_notify_ready(notify, "x");
    notify = io_notify_free(notify);
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        assert_int_equal(setenv("NOTIFY_SOCKET", nowhere[i], 1), 0);
        assert_int_equal(io_notify_new(&notify), 0);
        io_notify_ready(notify, "x");
        io_notify_reloading(notify);
        io_notify_stopping(notify);
        notify = io_notify_free(notify);
    }
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
    assert_int_equal(io_notify_new(&notify), 0);
    assert_false(io_notify_is_on(notify));
    notify = io_notify_free(notify);
    io_notify_ready(NULL, NULL);
}

static int make_once(void *context)
{
    IoNotify *notify = NULL;
    int r = io_notify_new(&notify);

    (void)context;
    notify = io_notify_free(notify);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(make_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_state_is_one_message, manager_setup, manager_teardown),
        cmocka_unit_test_setup_teardown(children_do_not_inherit_the_address, manager_setup,
                                        manager_teardown),
        cmocka_unit_test_setup_teardown(a_reload_says_when, manager_setup, manager_teardown),
        cmocka_unit_test_setup_teardown(a_status_stays_one_line, manager_setup, manager_teardown),
        cmocka_unit_test(an_abstract_name_is_reached),
        cmocka_unit_test(without_a_manager_nothing_happens),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
