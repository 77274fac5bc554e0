#include "io/database_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/file.h"
#include "io/keep.h"

/* The format: https://www.sqlite.org/fileformat2.html. Numbers are big-endian. */
#define FILE_MAGIC          "SQLite format 3"
#define FILE_HEADER_BYTES   100
#define FILE_PAGE_BYTES     4096
#define FILE_VERSION_AT     60
#define FILE_APPLICATION_AT 68
#define FILE_TABLE_LEAF     13 /* the kind of a first page that lists all tables by itself */

#define LOG_MAGIC        0x377f0682u /* the last bit says how its checksums are made */
#define LOG_HEADER_BYTES 32
#define LOG_FRAME_BYTES  24
#define LOG_PAGE_MAX     65536

static uint32_t file_u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void file_put_u32(uint8_t *p, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(number >> (24 - 8 * i));
    }
}

/* ---- the log ---- */

/* Gives *ret (mem_free). */
static int log_path(char **ret, const char *path)
{
    size_t size = strlen(path) + sizeof("-wal");
    char *log = mem_alloc(size);

    if (log == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(log, size, "%s-wal", path);
    *ret = log;
    return 0;
}

/* 0 if there is none. Nobody holds a lock on a log, so that it may be opened and closed. */
static int log_open(const char *path, int *ret_fd)
{
    CLEANUP(mem_freep) char *log = NULL;
    int r = log_path(&log, path);

    *ret_fd = -1;
    if (r == 0) {
        r = io_file_open(log, ret_fd);
    }
    return r == -ENOENT ? 0 : err_pass(r);
}

/* False: there are not so many, or they cannot be read. */
static bool log_read(int fd, uint8_t *p, size_t n)
{
    while (n > 0) {
        int64_t got = io_file_read_some(fd, (char *)p, n);

        if (got <= 0) {
            return false;
        }
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* The last of its frames with page 1 into head, and true; whether it was committed is not asked,
 * since whoever was about to write there is whose it is. */
static bool log_walk(int fd, uint8_t *bytes, uint8_t *head)
{
    uint8_t header[LOG_HEADER_BYTES];
    bool has_page = false;
    uint32_t n_page;

    if (!log_read(fd, header, sizeof(header)) || (file_u32(header) & ~1u) != LOG_MAGIC) {
        return false;
    }
    n_page = file_u32(header + 8);
    if (n_page < 512 || n_page > LOG_PAGE_MAX) {
        return false;
    }
    while (log_read(fd, bytes, LOG_FRAME_BYTES + n_page)) {
        /* Behind the end of the log lies what an earlier one has left, by another salt. */
        if (memcmp(bytes + 8, header + 16, 8) != 0) {
            break;
        }
        if (file_u32(bytes) == 1) {
            memcpy(head, bytes + LOG_FRAME_BYTES, DATABASE_FILE_HEAD_BYTES);
            has_page = true;
        }
    }
    return has_page;
}

static int log_head(const char *path, uint8_t *head, bool *ret_has)
{
    uint8_t *bytes;
    int fd = -1;
    int r = log_open(path, &fd);

    *ret_has = false;
    if (r != 0 || fd < 0) {
        return r;
    }
    bytes = mem_alloc(LOG_FRAME_BYTES + LOG_PAGE_MAX);
    if (bytes == NULL) {
        r = err_raise(-ENOMEM);
    } else {
        *ret_has = log_walk(fd, bytes, head);
    }
    (void)mem_free(bytes);
    io_fd_close(fd);
    return r;
}

bool database_file_has_log(const char *path)
{
    uint8_t byte;
    int fd = -1;
    bool has = log_open(path, &fd) == 0 && fd >= 0 && log_read(fd, &byte, 1);

    if (fd >= 0) {
        io_fd_close(fd);
    }
    return has;
}

/* ---- the file ---- */

static bool head_is_ours(const uint8_t *head, uint32_t application)
{
    return file_u32(head + FILE_APPLICATION_AT) == application;
}

static bool head_is_blank(const uint8_t *head)
{
    const uint8_t *page = head + FILE_HEADER_BYTES;

    return file_u32(head + FILE_APPLICATION_AT) == 0 && file_u32(head + FILE_VERSION_AT) == 0 &&
           page[0] == FILE_TABLE_LEAF && page[3] == 0 && page[4] == 0;
}

int database_file_judge(const char *path, const uint8_t *head, size_t n, uint32_t application,
                        DatabaseFileKind *ret)
{
    uint8_t newer[DATABASE_FILE_HEAD_BYTES];
    bool has_newer = false;
    int r;

    if (n < DATABASE_FILE_HEAD_BYTES || memcmp(head, FILE_MAGIC, sizeof(FILE_MAGIC)) != 0) {
        *ret = n == 0 ? DATABASE_FILE_EMPTY : DATABASE_FILE_OTHER;
        return 0;
    }
    if (head_is_ours(head, application)) {
        *ret = DATABASE_FILE_OURS;
        return 0;
    }
    r = log_head(path, newer, &has_newer);
    if (r != 0) {
        return err_pass(r);
    }
    head = has_newer ? newer : head;
    if (head_is_ours(head, application)) {
        *ret = DATABASE_FILE_OURS;
    } else {
        *ret = head_is_blank(head) ? DATABASE_FILE_BLANK : DATABASE_FILE_FOREIGN;
    }
    return 0;
}

int database_file_make(const char *path, uint32_t application)
{
    uint8_t *page = mem_alloc_array(FILE_PAGE_BYTES, 1);
    int r;

    if (page == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(page, FILE_MAGIC, sizeof(FILE_MAGIC));
    page[16] = FILE_PAGE_BYTES >> 8;
    page[18] = 2; /* written and read by way of a log */
    page[19] = 2;
    page[21] = 64; /* what follows is the same in every file */
    page[22] = 32;
    page[23] = 32;
    file_put_u32(page + 24, 1); /* changes, */
    file_put_u32(page + 28, 1); /* and pages, */
    file_put_u32(page + 92, 1); /* as of that change */
    file_put_u32(page + 44, 4); /* the newest form of a schema, */
    file_put_u32(page + 56, 1); /* in UTF-8 */
    file_put_u32(page + FILE_APPLICATION_AT, application);
    file_put_u32(page + 96, 3040000); /* who wrote it: any version that knows this form */
    page[FILE_HEADER_BYTES] = FILE_TABLE_LEAF;
    page[FILE_HEADER_BYTES + 5] = FILE_PAGE_BYTES >> 8; /* its rows begin behind its end */
    r = io_keep_make(path, span_make((const char *)page, FILE_PAGE_BYTES));
    (void)mem_free(page);
    return err_pass(r);
}
