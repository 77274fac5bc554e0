#include "providers/upstream_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "io/environment.h"
#include "io/place.h"
#include "io/program.h"

/* Nobody gains by two entries that are taken for one: it is the same in every process. */
static const HashSeed chain_seed = {0x746f6f6c77697265, 0x77697468696e2121};

/* "", if we run within none. */
static const char *chain_read(void)
{
    Span name = SPAN(UPSTREAM_CHAIN_VARIABLE);

    for (const char *const *at = io_environment(); *at != NULL; at++) {
        if (io_environment_sets(*at, name)) {
            return *at + name.n + 1;
        }
    }
    return "";
}

/* With its end, so that two lists never look alike. */
static int chain_add(Bytes *out, const char *text)
{
    int r = text == NULL ? 0 : bytes_append_span(out, span_from_str(text));

    return r != 0 ? r : bytes_append_byte(out, '\0');
}

static int chain_hash(const UpstreamSpec *spec, uint64_t *ret)
{
    CLEANUP(mem_freep) char *folder = NULL;
    Bytes text;
    int r;

    bytes_init(&text, SIZE_MAX);
    if (io_place_absolute(&folder, spec->cwd != NULL ? spec->cwd : ".") != 0) {
        folder = NULL;
    }
    r = chain_add(&text, spec->command);
    for (size_t i = 0; r == 0 && spec->args != NULL && spec->args[i] != NULL; i++) {
        r = chain_add(&text, spec->args[i]);
    }
    r = r != 0 ? r : chain_add(&text, "\n");
    for (size_t i = 0; r == 0 && i < spec->n_env; i++) {
        r = chain_add(&text, spec->env[i].name);
        r = r != 0 ? r : chain_add(&text, spec->env[i].value);
    }
    r = r != 0 ? r : chain_add(&text, folder);
    *ret = hash_span(chain_seed, bytes_span(&text));
    bytes_deinit(&text);
    return r != 0 ? err_raise(-ENOMEM) : 0;
}

/* The first "PID:HASH" of the text, which is left behind it; false: there is none. */
static bool chain_next(const char **text, long *ret_pid, uint64_t *ret_hash)
{
    char *end;

    *ret_pid = strtol(*text, &end, 10);
    if (end == *text || *end != ':') {
        return false;
    }
    *text = end + 1;
    *ret_hash = strtoull(*text, &end, 16);
    *text = *end == ',' ? end + 1 : end;
    return true;
}

int upstream_chain_make(const char **ret, Arena *arena, const UpstreamSpec *spec)
{
    const char *around = chain_read();
    const char *at = around;
    size_t n = 0;
    uint64_t mine = 0;
    uint64_t hash;
    long pid;
    Bytes text;
    int r = chain_hash(spec, &mine);

    if (r != 0) {
        return err_pass(r);
    }
    while (chain_next(&at, &pid, &hash)) {
        if (hash == mine) {
            return UPSTREAM_CHAIN_E_SAME;
        }
        if (++n >= LIMIT_UPSTREAM_WITHIN) {
            return UPSTREAM_CHAIN_E_DEEP;
        }
    }
    bytes_init(&text, LIMIT_KEEP_BYTES);
    /* What is no list of ours is not passed on. */
    r = bytes_append_format(&text, "%.*s%s%ld:%" PRIx64, (int)(at - around), around,
                            at > around && at[-1] != ',' ? "," : "", io_program_pid(), mine);
    r = r != 0 ? r : bytes_append_byte(&text, '\0');
    *ret = r == 0 ? arena_copy(arena, bytes_span(&text)).p : NULL;
    bytes_deinit(&text);
    return *ret == NULL ? err_raise(-ENOMEM) : 0;
}

bool upstream_chain_has(long pid)
{
    const char *at = chain_read();
    uint64_t hash;
    long other;

    while (pid > 0 && chain_next(&at, &other, &hash)) {
        if (other == pid) {
            return true;
        }
    }
    return false;
}
