#include "io/thread.h"

#include <uv.h>

#include "base/error.h"
#include "io/loop_internal.h"

_Static_assert(sizeof(uv_mutex_t) <= sizeof(IoThreadRoom), "a mutex has no room");
_Static_assert(sizeof(uv_cond_t) <= sizeof(IoThreadRoom), "a condition has no room");
_Static_assert(sizeof(uv_sem_t) <= sizeof(IoThreadRoom), "a semaphore has no room");
_Static_assert(sizeof(uv_thread_t) <= sizeof(IoThreadRoom), "a thread has no room");
_Static_assert(_Alignof(uv_mutex_t) <= _Alignof(IoThreadRoom), "a mutex is aligned otherwise");
_Static_assert(_Alignof(uv_cond_t) <= _Alignof(IoThreadRoom), "a condition is aligned otherwise");
_Static_assert(_Alignof(uv_sem_t) <= _Alignof(IoThreadRoom), "a semaphore is aligned otherwise");

static uv_mutex_t *mutex_of(IoMutex *mutex)
{
    return (uv_mutex_t *)(void *)&mutex->room;
}

static uv_cond_t *condition_of(IoCondition *condition)
{
    return (uv_cond_t *)(void *)&condition->room;
}

static uv_sem_t *semaphore_of(IoSemaphore *semaphore)
{
    return (uv_sem_t *)(void *)&semaphore->room;
}

int io_mutex_init(IoMutex *mutex)
{
    return err_pass(io_uv_result(uv_mutex_init(mutex_of(mutex))));
}

void io_mutex_deinit(IoMutex *mutex)
{
    uv_mutex_destroy(mutex_of(mutex));
}

void io_mutex_lock(IoMutex *mutex)
{
    uv_mutex_lock(mutex_of(mutex));
}

void io_mutex_unlock(IoMutex *mutex)
{
    uv_mutex_unlock(mutex_of(mutex));
}

int io_condition_init(IoCondition *condition)
{
    return err_pass(io_uv_result(uv_cond_init(condition_of(condition))));
}

void io_condition_deinit(IoCondition *condition)
{
    uv_cond_destroy(condition_of(condition));
}

void io_condition_signal(IoCondition *condition)
{
    uv_cond_signal(condition_of(condition));
}

void io_condition_broadcast(IoCondition *condition)
{
    uv_cond_broadcast(condition_of(condition));
}

void io_condition_wait(IoCondition *condition, IoMutex *mutex)
{
    uv_cond_wait(condition_of(condition), mutex_of(mutex));
}

bool io_condition_wait_for(IoCondition *condition, IoMutex *mutex, uint64_t timeout_ns)
{
    return uv_cond_timedwait(condition_of(condition), mutex_of(mutex), timeout_ns) == 0;
}

int io_semaphore_init(IoSemaphore *semaphore)
{
    return err_pass(io_uv_result(uv_sem_init(semaphore_of(semaphore), 0)));
}

void io_semaphore_deinit(IoSemaphore *semaphore)
{
    uv_sem_destroy(semaphore_of(semaphore));
}

void io_semaphore_post(IoSemaphore *semaphore)
{
    uv_sem_post(semaphore_of(semaphore));
}

void io_semaphore_wait(IoSemaphore *semaphore)
{
    uv_sem_wait(semaphore_of(semaphore));
}

int io_thread_start(IoThread *thread, void (*fn)(void *context), void *context)
{
    return err_pass(
        io_uv_result(uv_thread_create((uv_thread_t *)(void *)&thread->room, fn, context)));
}

void io_thread_join(IoThread *thread)
{
    (void)uv_thread_join((uv_thread_t *)(void *)&thread->room);
}

bool io_thread_is_self(const IoThread *thread)
{
    uv_thread_t self = uv_thread_self();

    return uv_thread_equal(&self, (const uv_thread_t *)(const void *)&thread->room) != 0;
}
