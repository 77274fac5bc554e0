#include "base/stop.h"

static bool stop_flag_is_up(const void *context)
{
    const atomic_bool *flag = context;

    return atomic_load_explicit(flag, memory_order_relaxed);
}

Stop stop_at_flag(const atomic_bool *flag)
{
    return (Stop){.is_asked = stop_flag_is_up, .context = flag};
}
