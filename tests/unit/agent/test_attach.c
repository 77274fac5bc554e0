/* nftw */
#define _GNU_SOURCE

#include "agent/attach.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define PNG "\x89PNG\r\n\x1a\n"

static IoBeneath *roots[2];
static Arena arena;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static void write_bytes(const char *name, const char *p, size_t n, off_t size)
{
    int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, n), (ssize_t)n);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(close(fd), 0);
}

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    (void)scratch_setup(state);
    assert_int_equal(mkdir(scratch_path("one"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("two"), 0700), 0);
    scratch_write(scratch_path("one/a.txt"), "h\xc3\xa9llo\n", 0600);
    scratch_write(scratch_path("two/b.txt"), "", 0600);
    scratch_write(scratch_path("secret"), "out", 0600);
    write_bytes("two/p.txt", PNG "\0\0", 10, 10);
    assert_int_equal(io_beneath_open(&roots[0], scratch_path("one"), NULL), 0);
    assert_int_equal(io_beneath_open(&roots[1], scratch_path("two"), NULL), 0);
    arena_init(&arena, 1 << 26);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    roots[0] = io_beneath_free(roots[0]);
    roots[1] = io_beneath_free(roots[1]);
    arena_deinit(&arena);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static AgentBlock attach(const char *path)
{
    AgentBlock block;
    Diag diag = DIAG_NULL;
    int r = agent_attach_file(roots, 2, span_from_str(path), &arena, &block, &diag);

    if (r != 0) {
        print_message("%s: %s\n", path, diag.message);
    }
    assert_int_equal(r, 0);
    return block;
}

static void assert_refused(const char *path, int outcome, const char *sentence)
{
    AgentBlock block;
    Diag diag = DIAG_NULL;

    assert_int_equal(agent_attach_file(roots, 2, span_from_str(path), &arena, &block, &diag),
                     outcome);
    if (strstr(diag.message, sentence) == NULL) {
        print_message("%s: %s\n", path, diag.message);
    }
    assert_non_null(strstr(diag.message, sentence));
    assert_int_equal(diag.code, outcome);
}

static void assert_span(Span span, const char *expected)
{
    assert_int_equal(span.n, strlen(expected));
    assert_memory_equal(span.p, expected, span.n);
}

static void text_is_given_with_its_name(void **state)
{
    AgentBlock block = attach("a.txt");
    char absolute[256];
    char expected[300];

    (void)state;
    assert_int_equal(block.kind, AGENT_BLOCK_TEXT);
    assert_span(block.text, "[Attached file: a.txt]\nh\xc3\xa9llo\n");
    block = attach("b.txt"); /* of the second root, and empty */
    assert_span(block.text, "[Attached file: b.txt]\n");
    (void)snprintf(absolute, sizeof(absolute), "%s/two/b.txt", scratch);
    (void)snprintf(expected, sizeof(expected), "[Attached file: %s]\n", absolute);
    assert_span(attach(absolute).text, expected);
    write_bytes("one/bom", "\xef\xbb\xbfx", 4, 4);
    assert_span(attach("bom").text, "[Attached file: bom]\nx");
}

static void pictures_are_told_by_their_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *mime;
    } pictures[] = {
        {PNG "1234", 12, "image/png"},
        {"\xff\xd8\xff\xe0", 4, "image/jpeg"},
        {"GIF87a", 6, "image/gif"},
        {"GIF89a", 6, "image/gif"},
        {"RIFF\1\2\3\4WEBPVP8 ", 16, "image/webp"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(pictures); i++) {
        AgentBlock block;
        Bytes decoded;

        write_bytes("one/x.txt", pictures[i].bytes, pictures[i].n, (off_t)pictures[i].n);
        block = attach("x.txt");
        assert_int_equal(block.kind, AGENT_BLOCK_IMAGE);
        assert_span(block.mime, pictures[i].mime);
        bytes_init(&decoded, 100);
        assert_int_equal(base64_decode(&decoded, BASE64_STANDARD, block.text), 0);
        assert_int_equal(decoded.n, pictures[i].n);
        assert_memory_equal(decoded.data, pictures[i].bytes, decoded.n);
        bytes_deinit(&decoded);
    }
}

static void what_is_neither_is_refused(void **state)
{
    (void)state;
    write_bytes("one/latin", "caf\xe9", 4, 4);
    write_bytes("one/nul", "a\0b", 3, 3);
    write_bytes("one/riff.wav", "RIFF1234WAVE\0", 13, 13);
    write_bytes("one/png.cut", "\x89PN", 3, 3);
    assert_refused("latin", AGENT_ATTACH_E_KIND, "latin is neither UTF-8 text nor a PNG");
    assert_refused("nul", AGENT_ATTACH_E_KIND, "neither");
    assert_refused("riff.wav", AGENT_ATTACH_E_KIND, "neither");
    assert_refused("png.cut", AGENT_ATTACH_E_KIND, "neither");
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    write_bytes("one/large.txt", "x", 1, (off_t)50 * 1024 * 1024);
    assert_refused("large.txt", AGENT_ATTACH_E_TOO_LARGE, "File too large (max 10MB): large.txt");
    write_bytes("one/large.png", PNG, 8, (off_t)LIMIT_AGENT_IMAGE_BYTES + 1);
    assert_refused("large.png", AGENT_ATTACH_E_TOO_LARGE,
                   "Attachment too large (max 5MB): large.png has 5242881 bytes");
    write_bytes("one/large.png", PNG, 8, (off_t)LIMIT_AGENT_IMAGE_BYTES);
    assert_int_equal(attach("large.png").kind, AGENT_BLOCK_IMAGE);
}

static void nothing_outside_the_roots_is_read(void **state)
{
    char path[256];

    (void)state;
    assert_int_equal(symlink("../secret", scratch_path("one/link")), 0);
    assert_refused("../secret", AGENT_ATTACH_E_OUTSIDE,
                   "Access denied: path outside allowed directory: ../secret");
    assert_refused("/etc/passwd", AGENT_ATTACH_E_OUTSIDE, "Access denied");
    (void)snprintf(path, sizeof(path), "%s/secret", scratch);
    assert_refused(path, AGENT_ATTACH_E_OUTSIDE, "Access denied");
    assert_refused("none", AGENT_ATTACH_E_UNREADABLE, "File not found: none");
    assert_refused("", AGENT_ATTACH_E_UNREADABLE, "path is empty");
    assert_refused(".", AGENT_ATTACH_E_UNREADABLE, "Not a file, but a folder");
    assert_int_equal(agent_attach_file(roots, 2, SPAN("a.txt\0"), &arena, &(AgentBlock){0}, NULL),
                     AGENT_ATTACH_E_UNREADABLE);
    assert_int_equal(agent_attach_file(NULL, 0, SPAN("a.txt"), &arena, &(AgentBlock){0}, NULL),
                     AGENT_ATTACH_E_OUTSIDE);
    /* In the first root it is a link out; the second has none of that name. */
    assert_refused("link", AGENT_ATTACH_E_UNREADABLE, "File not found: link");
}

static void assert_inline(const char *data, int outcome, const char *mime, const char *text)
{
    AgentBlock block;
    Diag diag = DIAG_NULL;

    assert_int_equal(agent_attach_image(span_from_str(data), SPAN("pic"), &arena, &block, &diag),
                     outcome);
    if (outcome == 0) {
        assert_int_equal(block.kind, AGENT_BLOCK_IMAGE);
        assert_span(block.mime, mime);
        assert_span(block.text, text);
    } else {
        assert_non_null(strstr(diag.message, text));
    }
}

static void pictures_in_the_message_are_checked(void **state)
{
    (void)state;
    assert_inline("iVBORw0KGgoA", 0, "image/png", "iVBORw0KGgoA");
    assert_inline("data:image/jpeg;base64,iVBORw0KGgoA", 0, "image/png", "iVBORw0KGgoA");
    assert_inline("iVBORw0K\r\nGgoA\n", 0, "image/png", "iVBORw0KGgoA");
    assert_inline("/9j/4A==", 0, "image/jpeg", "/9j/4A==");
    assert_inline("UklGRgECAwRXRUJQVlA4IAAAAAAAAAAAAAAAAAAA", 0, "image/webp",
                  "UklGRgECAwRXRUJQVlA4IAAAAAAAAAAAAAAAAAAA");
    assert_inline("", AGENT_ATTACH_E_KIND, "", "pic is not base64");
    assert_inline("iVBORw0KGgo", AGENT_ATTACH_E_KIND, "", "is not base64");
    assert_inline("iVBORw0KGgoA*AAA", AGENT_ATTACH_E_KIND, "", "is not base64");
    assert_inline("iVBO=w0KGgoA", AGENT_ATTACH_E_KIND, "", "is not base64");
    assert_inline("====", AGENT_ATTACH_E_KIND, "", "is not base64");
    assert_inline("data:image/png", AGENT_ATTACH_E_KIND, "", "is not base64");
    assert_inline("AAAAAAAA", AGENT_ATTACH_E_KIND, "", "is no PNG, JPEG, GIF or WebP");
}

static void pictures_in_the_message_are_bounded(void **state)
{
    size_t n = (LIMIT_AGENT_IMAGE_BYTES + 2) / 3 * 4;
    char *data = malloc(n + 4);
    AgentBlock block;

    (void)state;
    assert_non_null(data);
    memset(data, 'A', n + 4);
    memcpy(data, "iVBORw0KGgoA", 12);
    data[n - 1] = '=';
    assert_int_equal(agent_attach_image(span_make(data, n), SPAN("p"), &arena, &block, NULL), 0);
    data[n - 1] = 'A';
    assert_int_equal(agent_attach_image(span_make(data, n + 4), SPAN("p"), &arena, &block, NULL),
                     AGENT_ATTACH_E_TOO_LARGE);
    free(data);
}

static int sweep(void *context)
{
    AgentBlock block;
    Arena own;
    int r;

    (void)context;
    arena_init(&own, 1 << 20);
    r = agent_attach_file(roots, 2, SPAN("a.txt"), &own, &block, NULL);
    r = r != 0 ? r : agent_attach_file(roots, 2, SPAN("p.txt"), &own, &block, NULL);
    r = r != 0 ? r : agent_attach_image(SPAN("iVBORw0K\nGgoA"), SPAN("p"), &own, &block, NULL);
    arena_deinit(&own);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_given_with_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(pictures_are_told_by_their_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_neither_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_the_roots_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(pictures_in_the_message_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(pictures_in_the_message_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
