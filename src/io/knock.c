#include "io/knock.h"

#include <errno.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

struct IoKnock {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_timer_t timer;
    int n_handles; /* that are open */
    void (*answer)(void *context, bool is_there);
    void *context;
    bool is_over;
};

static void knock_on_closed(uv_handle_t *handle)
{
    IoKnock *knock = handle->data;

    if (--knock->n_handles == 0) {
        (void)mem_free(knock);
    }
}

IoKnock *io_knock_free(IoKnock *knock)
{
    if (knock != NULL && !knock->is_over) {
        knock->is_over = true;
        uv_close((uv_handle_t *)&knock->tcp, knock_on_closed);
        uv_close((uv_handle_t *)&knock->timer, knock_on_closed);
    }
    return NULL;
}

static void knock_end(IoKnock *knock, bool is_there)
{
    if (!knock->is_over) {
        (void)io_knock_free(knock); /* its memory stays until the loop has let go */
        knock->answer(knock->context, is_there);
    }
}

static void knock_on_connect(uv_connect_t *request, int status)
{
    knock_end(request->data, status == 0);
}

static void knock_on_timer(uv_timer_t *timer)
{
    knock_end(timer->data, false);
}

static int knock_address(struct sockaddr_storage *ret, const char *host, unsigned port)
{
    if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)ret) == 0 ||
        uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret) == 0) {
        return 0;
    }
    return -EINVAL;
}

int io_knock_new(IoKnock **ret, IoLoop *loop, const char *host, unsigned port, int64_t limit_ms,
                 void (*answer)(void *context, bool is_there), void *context)
{
    struct sockaddr_storage address = {0};
    IoKnock *knock;
    int r = port > 0 && port < 65536 ? knock_address(&address, host, port) : -EINVAL;

    if (r != 0) {
        return err_raise(r);
    }
    knock = mem_alloc_array(1, sizeof(*knock));
    if (knock == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)uv_tcp_init(&loop->uv, &knock->tcp);
    (void)uv_timer_init(&loop->uv, &knock->timer);
    knock->tcp.data = knock;
    knock->timer.data = knock;
    knock->connect.data = knock;
    knock->n_handles = 2;
    knock->answer = answer;
    knock->context = context;
    r = io_uv_result(uv_tcp_connect(&knock->connect, &knock->tcp, (struct sockaddr *)&address,
                                    knock_on_connect));
    if (r != 0) {
        (void)io_knock_free(knock);
        return err_raise(r);
    }
    (void)uv_timer_start(&knock->timer, knock_on_timer, (uint64_t)limit_ms, 0);
    *ret = knock;
    return 0;
}
