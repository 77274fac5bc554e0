/* SQLite's log, read by its format alone: where the last commit ends, and other bytes in it.
 * https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
#include "crash.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue/queue.h"

#define HEADER 32
#define FRAME  24

typedef struct File {
    unsigned char *p;
    size_t n;
} File;

static bool file_read(const char *path, File *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    ssize_t n = -1;

    *ret = (File){NULL, 0};
    if (fd >= 0 && fstat(fd, &about) == 0) {
        ret->p = malloc((size_t)about.st_size + 1);
        n = ret->p != NULL ? read(fd, ret->p, (size_t)about.st_size) : -1;
        ret->n = n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return n >= 0;
}

static bool file_write(const char *path, const File *file)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, file->p, file->n) == (ssize_t)file->n;

    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

static uint32_t big(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void sum(bool is_big, uint32_t s[2], const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint32_t a = big(p + i);
        uint32_t b = big(p + i + 4);

        s[0] += (is_big ? a : __builtin_bswap32(a)) + s[1];
        s[1] += (is_big ? b : __builtin_bswap32(b)) + s[0];
    }
}

/* The ends of the last three commits, oldest first; 0: there is none. */
static void commits(const File *file, uint64_t ends[3])
{
    size_t n_page = file->n >= HEADER ? big(file->p + 8) : 0;
    bool is_big = file->n >= HEADER && (file->p[3] & 1) != 0;
    uint32_t s[2] = {0, 0};

    ends[0] = ends[1] = ends[2] = 0;
    if (n_page < 512 || n_page > 65536) {
        return;
    }
    sum(is_big, s, file->p, 24);
    for (size_t at = HEADER; at + FRAME + n_page <= file->n; at += FRAME + n_page) {
        const unsigned char *frame = file->p + at;

        sum(is_big, s, frame, 8);
        sum(is_big, s, frame + FRAME, n_page);
        if (memcmp(frame + 8, file->p + 16, 8) != 0 || big(frame + 16) != s[0] ||
            big(frame + 20) != s[1]) {
            return;
        }
        if (big(frame + 4) != 0) {
            ends[0] = ends[1];
            ends[1] = ends[2];
            ends[2] = at + FRAME + n_page;
        }
    }
}

uint64_t crash_log_committed(const CrashPlace *place, uint64_t *ret_third_last)
{
    uint64_t ends[3] = {0, 0, 0};
    File file;

    if (file_read(place->log, &file)) {
        commits(&file, ends);
    }
    free(file.p);
    *ret_third_last = ends[0];
    return ends[2];
}

bool crash_log_tear(const CrashPlace *place, uint64_t *random)
{
    uint64_t third;
    uint64_t end = crash_log_committed(place, &third);
    int fd = open(place->log, O_RDWR | O_CLOEXEC);
    uint64_t size = fd >= 0 ? (uint64_t)lseek(fd, 0, SEEK_END) : 0;
    uint64_t what = crash_random(random) % 3;
    bool ok = fd >= 0 && end > 0;

    if (ok && what == 0 && size > end) { /* cut somewhere behind */
        ok = ftruncate(fd, (off_t)(end + crash_random(random) % (size - end))) == 0;
    } else if (ok) {
        /* Garbage in what is not committed, or behind it all. */
        uint64_t at = what == 1 ? end : size;
        unsigned char noise[9000];

        for (size_t i = 0; i < sizeof(noise); i++) {
            noise[i] = (unsigned char)crash_random(random);
        }
        ok = pwrite(fd, noise, 1 + crash_random(random) % sizeof(noise), (off_t)at) > 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

int crash_log_garble(const CrashPlace *place, uint64_t *random)
{
    uint64_t third;
    uint64_t end = crash_log_committed(place, &third);
    char queue[96];
    char log[104];
    File files[2];
    int found = -1;

    (void)snprintf(queue, sizeof(queue), "%s.copy", place->queue);
    (void)snprintf(log, sizeof(log), "%s.copy-wal", place->queue);
    if (end == 0 || third == 0 || !file_read(place->queue, &files[0])) {
        return -1;
    }
    if (file_read(place->log, &files[1])) {
        QueueConfig config = {.path = queue};
        Diag diag = DIAG_NULL;
        Queue *opened = NULL;
        uint64_t at = HEADER + crash_random(random) % (third - HEADER);

        files[1].p[at] ^= (unsigned char)(1 + crash_random(random) % 255);
        if (file_write(queue, &files[0]) && file_write(log, &files[1])) {
            found = queue_open(&opened, &config, &diag) == QUEUE_E_DAMAGED;
        }
        (void)queue_close(opened);
        free(files[1].p);
    }
    free(files[0].p);
    (void)unlink(queue);
    (void)unlink(log);
    (void)snprintf(log, sizeof(log), "%s.copy-shm", place->queue);
    (void)unlink(log);
    return found;
}
