#include "providers/addin_source.h"

#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"

static void source_refill(AddinSource *source)
{
    if (random_fill(source->random, sizeof(source->random)) == 0) {
        source->n_left = ADDIN_SOURCE_IDS;
        return;
    }
    /* Never seen after the start. An id need not be a secret, only another than those before. */
    source->n_failed++;
    memcpy(source->random[0], &source->n_failed, sizeof(source->n_failed));
    source->n_left = 1;
}

static void source_uuid(void *context, char ret[UUID_SIZE])
{
    AddinSource *source = context;

    if (source->n_left == 0) {
        source_refill(source);
    }
    source->n_left--;
    uuid_v4_from(source->random[source->n_left], ret);
}

static int64_t source_unix_ms(void *context)
{
    (void)context;
    return clock_now_ms();
}

static int64_t source_now_ms(void *context)
{
    const AddinSource *source = context;

    return io_loop_now_ms(source->loop);
}

void addin_source_init(AddinSource *source, IoLoop *loop)
{
    source->loop = loop;
    source->n_left = 0;
    source->n_failed = 0;
    source->source = (PipeSource){
        .uuid = source_uuid, .unix_ms = source_unix_ms, .now_ms = source_now_ms, .context = source};
}
