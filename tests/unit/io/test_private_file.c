#include "io/private_file.h"

#include "support/cmocka.h"

#include <signal.h>
#include <sys/file.h>

#include "base/alloc.h"
#include "io/unix_socket.h"
#include "support/alloc_testing.h"
#include "support/files.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define N_RACERS 4
#define N_ROUNDS 30
#define N_CHURNS 150

/* What our files end in, here. */
#define SIGNATURE SPAN("~")

/* Larger than what one read or write of the reader test takes. */
#define BIG_SIZE ((size_t)300000)

static PrivateFile create_at(const char *path, const char *text)
{
    PrivateFile file;
    Diag diag = DIAG_NULL;
    int r = private_file_create(&file, path, span_from_str(text), SIGNATURE, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    return file;
}

static void assert_content(const char *path, const char *text)
{
    size_t n = 0;
    char *content = files_read(path, &n);

    assert_int_equal(n, strlen(text));
    assert_string_equal(content, text);
    free(content);
}

static void assert_says(const Diag *diag, const char *words)
{
    if (strstr(diag->message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", diag->message, words);
    }
}

/* Refused with that outcome and words; nothing is left behind. */
static void assert_refused(const char *path, int outcome, const char *words)
{
    PrivateFile file;
    Diag diag = DIAG_NULL;
    int n_before = scratch_count(false);
    int next_fd = scratch_next_fd();

    assert_int_equal(private_file_create(&file, path, SPAN("new~"), SIGNATURE, &diag), outcome);
    assert_int_equal(diag.code, outcome);
    assert_says(&diag, words);
    assert_null(file.path);
    assert_int_equal(file.fd, -1);
    assert_int_equal(scratch_count(false), n_before);
    assert_int_equal(scratch_next_fd(), next_fd);
    private_file_remove(&file);
}

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return scratch_setup(state);
}

static int teardown(void **state)
{
    assert_int_equal(alloc_testing()->n_live, 0);
    return scratch_teardown(state);
}

static void a_file_is_private_complete_and_held(void **state)
{
    static const mode_t masks[] = {0, 022, 077, 0777};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(masks); i++) {
        mode_t before = umask(masks[i]);
        PrivateFile file = create_at(scratch_path("a.json"), "content~");

        assert_int_equal(umask(before), masks[i]);
        assert_int_equal(scratch_mode(file.path), 0600);
        assert_content(file.path, "content~");
        assert_int_equal(scratch_count(false), 1);
        assert_true(private_file_is_held(file.path));
        assert_int_equal(fcntl(file.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        private_file_remove(&file);
        assert_int_equal(scratch_count(false), 0);
        private_file_remove(&file);
    }
}

static void what_a_dead_process_left_is_replaced(void **state)
{
    const char *path = scratch_path("a.json");
    PrivateFile file;

    (void)state;
    scratch_write(path, "a longer text of another process~", 0644);
    assert_false(private_file_is_held(path));
    file = create_at(path, "new~");
    assert_content(path, "new~");
    assert_int_equal(scratch_mode(path), 0600);
    assert_int_equal(scratch_count(false), 1);
    private_file_remove(&file);
}

static void what_does_not_end_in_the_signature_is_never_touched(void **state)
{
    static const char *const texts[] = {"", "~\n", "[{\"name\":\"mine\"}]\n"};
    const char *path = scratch_path("a.json");
    PrivateFile file;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        ino_t inode;

        scratch_write(path, texts[i], 0640);
        inode = scratch_inode(path);
        assert_refused(path, PRIVATE_FILE_E_PLACE,
                       "is there and was not left by a parent: remove it, or choose another path "
                       "(--schema)");
        assert_false(private_file_remove_left(path, SIGNATURE));
        assert_content(path, texts[i]);
        assert_int_equal(scratch_inode(path), inode);
        assert_int_equal(scratch_mode(path), 0640);
        assert_false(private_file_is_held(path)); /* the look is over */
    }
    /* The signature alone is enough, and one that is longer than the file is not there. */
    scratch_write(path, "~", 0600);
    assert_int_equal(private_file_create(&file, path, SPAN("x~~"), SPAN("~~"), NULL),
                     PRIVATE_FILE_E_PLACE);
    file = create_at(path, "mine~");
    private_file_remove(&file);
}

static void a_file_in_use_keeps_its_name(void **state)
{
    PrivateFile file = create_at(scratch_path("a.json"), "mine~");

    (void)state;
    assert_refused(file.path, PRIVATE_FILE_E_IN_USE, "another process uses");
    assert_content(file.path, "mine~");
    assert_false(private_file_remove_left(file.path, SIGNATURE));
    private_file_remove(&file);
}

static void a_file_is_free_when_its_process_has_died(void **state)
{
    const char *path = scratch_path("a.json");
    int ready[2];
    int stay[2];
    char letter;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready) | pipe(stay), 0);
    pid = fork();
    if (pid == 0) {
        PrivateFile file;

        if (private_file_create(&file, path, SPAN("child's~"), SIGNATURE, NULL) == 0) {
            (void)write(ready[1], "x", 1);
        }
        (void)close(stay[1]);
        (void)read(stay[0], &letter, 1); /* until it is killed, or the test has failed */
        _exit(0);
    }
    assert_int_equal(read(ready[0], &letter, 1), 1);
    assert_true(private_file_is_held(path));
    assert_refused(path, PRIVATE_FILE_E_IN_USE, "another process uses");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(private_file_is_held(path));
    assert_content(path, "child's~");
    assert_true(private_file_remove_left(path, SIGNATURE));
    assert_false(private_file_remove_left(path, SIGNATURE));
    assert_int_equal(scratch_count(false), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(stay[0]);
    (void)close(stay[1]);
}

static void what_is_no_file_of_ours_is_never_removed(void **state)
{
    const char *path = scratch_path("a.json");
    const char *target = scratch_path("target");
    int fd;

    (void)state;
    scratch_write(target, "precious", 0600);
    assert_int_equal(symlink(target, path), 0);
    assert_refused(path, PRIVATE_FILE_E_PLACE, "is no regular file");
    assert_false(private_file_remove_left(path, SIGNATURE));
    assert_true(private_file_is_held(path)); /* not known */
    assert_content(target, "precious");
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, PRIVATE_FILE_E_PLACE, "is no regular file");
    assert_false(private_file_remove_left(path, SIGNATURE));
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(path, PRIVATE_FILE_E_PLACE, "is no regular file");
    assert_int_equal(rmdir(path), 0);

    fd = scratch_bind(path, SOCK_STREAM);
    assert_refused(path, PRIVATE_FILE_E_PLACE, "is no regular file");
    assert_true(scratch_exists(path));
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);

    if (geteuid() == 0) {
        scratch_write(path, "theirs~", 0600);
        assert_int_equal(chown(path, SCRATCH_STRANGER, SCRATCH_STRANGER), 0);
        assert_refused(path, PRIVATE_FILE_E_PLACE, "belongs to another user");
        assert_false(private_file_remove_left(path, SIGNATURE));
        assert_content(path, "theirs~");
    }
}

static void a_path_that_cannot_be_is_refused_with_words(void **state)
{
    char path[400];

    (void)state;
    assert_refused(scratch_path("none/a.json"), PRIVATE_FILE_E_PLACE, "there is no such folder");
    assert_refused("", PRIVATE_FILE_E_PLACE, "add a file name");
    assert_refused("/tmp/", PRIVATE_FILE_E_PLACE, "add a file name");
    (void)snprintf(path, sizeof(path), "%s/%0260d", scratch, 1);
    assert_refused(path, PRIVATE_FILE_E_PLACE, "cannot write");
    assert_false(private_file_is_held(scratch_path("none")));
}

static void replacing_keeps_name_mode_and_hold(void **state)
{
    PrivateFile file = create_at(scratch_path("a.json"), "first and long~");
    int next_fd = scratch_next_fd();

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(private_file_replace(&file, SPAN("second~"), NULL), 0);
        assert_content(file.path, "second~");
        assert_int_equal(scratch_mode(file.path), 0600);
        assert_true(private_file_is_held(file.path));
        assert_int_equal(scratch_count(false), 1);
    }
    assert_true(scratch_next_fd() <= next_fd + 1);
    private_file_remove(&file);
    assert_int_equal(scratch_count(false), 0);
}

static void replacing_copes_with_what_others_did_to_the_name(void **state)
{
    PrivateFile file = create_at(scratch_path("a.json"), "first~");
    PrivateFile other;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(unlink(file.path), 0);
    assert_int_equal(private_file_replace(&file, SPAN("anew~"), NULL), 0);
    assert_content(file.path, "anew~");
    assert_true(private_file_is_held(file.path));

    assert_int_equal(unlink(file.path), 0);
    scratch_write(file.path, "a dead one's~", 0644);
    assert_int_equal(private_file_replace(&file, SPAN("ours~"), NULL), 0);
    assert_content(file.path, "ours~");

    assert_int_equal(unlink(file.path), 0);
    scratch_write(file.path, "a person's", 0644);
    assert_int_equal(private_file_replace(&file, SPAN("lost~"), &diag), PRIVATE_FILE_E_PLACE);
    assert_says(&diag, "was not left by a parent");
    assert_content(file.path, "a person's");
    assert_int_equal(scratch_count(false), 1);

    assert_int_equal(unlink(file.path), 0);
    other = create_at(file.path, "other~");
    assert_int_equal(private_file_replace(&file, SPAN("lost~"), &diag), PRIVATE_FILE_E_IN_USE);
    assert_says(&diag, "another process uses");
    assert_content(file.path, "other~");
    assert_int_equal(scratch_count(false), 1);
    private_file_remove(&file); /* the name is another's */
    assert_content(other.path, "other~");
    private_file_remove(&other);
    assert_int_equal(scratch_count(false), 0);
}

/* Reads until told to stop; every reading must be one text, whole. */
static int read_whole_texts(const char *path, int stop)
{
    char letter;
    int n = 0;

    assert_int_equal(fcntl(stop, F_SETFL, O_NONBLOCK), 0);
    while (read(stop, &letter, 1) < 0 || n == 0) {
        Bytes out;

        bytes_init(&out, 2 * BIG_SIZE);
        if (private_file_read(&out, path, NULL) != 0 || out.n != BIG_SIZE) {
            return 2;
        }
        for (size_t i = 1; i < out.n; i++) {
            if (out.data[i] != out.data[0]) {
                return 3;
            }
        }
        bytes_deinit(&out);
        n++;
    }
    return 0;
}

static void readers_see_the_old_or_the_new_content(void **state)
{
    static char texts[2][BIG_SIZE];
    PrivateFile file;
    int stop[2];
    pid_t pid;

    (void)state;
    memset(texts[0], 'a', BIG_SIZE);
    memset(texts[1], 'b', BIG_SIZE);
    assert_int_equal(private_file_create(&file, scratch_path("a.json"),
                                         span_make(texts[0], BIG_SIZE), SPAN(""), NULL),
                     0);
    assert_int_equal(pipe(stop), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(stop[1]);
        _exit(read_whole_texts(file.path, stop[0]));
    }
    for (int i = 0; i < 200; i++) {
        assert_int_equal(private_file_replace(&file, span_make(texts[(i + 1) % 2], BIG_SIZE), NULL),
                         0);
    }
    (void)close(stop[1]);
    (void)close(stop[0]);
    scratch_reap(pid);
    private_file_remove(&file);
}

static int read_at(const char *path, Diag *reterr_diag)
{
    Bytes out;
    int r;

    bytes_init(&out, 100);
    assert_int_equal(bytes_append(&out, "head", 4), 0);
    r = private_file_read(&out, path, reterr_diag);
    if (r == 0) {
        assert_int_equal(out.n, 8);
        assert_memory_equal(out.data, "headtext", 8);
    } else {
        assert_int_equal(out.n, 4);
    }
    bytes_deinit(&out);
    return r;
}

static void a_private_file_is_read(void **state)
{
    static const mode_t modes[] = {0600, 0400, 0700};
    const char *path = scratch_path("a.json");

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(modes); i++) {
        scratch_write(path, "text", modes[i]);
        assert_int_equal(read_at(path, NULL), 0);
        assert_int_equal(unlink(path), 0);
    }
    scratch_write(path, "text", 0600);
    assert_int_equal(symlink("a.json", scratch_path("link")), 0);
    assert_int_equal(read_at(scratch_path("link"), NULL), 0);
}

/* The status of `sh -c command`. */
static int run_shell(const char *command)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void an_exposed_file_is_refused_with_the_cure(void **state)
{
    char before[4096];
    char path[SCRATCH_PATH_SIZE];
    Diag diag = DIAG_NULL;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scratch), 0);
    scratch_write("schema.json", "text", 0644);
    assert_int_equal(read_at("schema.json", &diag), PRIVATE_FILE_E_EXPOSED);
    assert_string_equal(diag.message,
                        "schema.json can be read by others (mode 0644): chmod 600 schema.json");
    assert_int_equal(chmod("schema.json", 0604), 0);
    assert_int_equal(read_at("schema.json", &diag), PRIVATE_FILE_E_EXPOSED);
    assert_says(&diag, "can be read by others (mode 0604)");
    assert_int_equal(chmod("schema.json", 0620), 0);
    assert_int_equal(read_at("schema.json", &diag), PRIVATE_FILE_E_EXPOSED);
    assert_says(&diag, "can be written by others (mode 0620)");
    assert_int_equal(chmod("schema.json", 0601), 0);
    assert_int_equal(read_at("schema.json", &diag), PRIVATE_FILE_E_EXPOSED);
    assert_says(&diag, "is open to others (mode 0601)");
    scratch_write("my schema.json", "text", 0640);
    assert_int_equal(read_at("my schema.json", &diag), PRIVATE_FILE_E_EXPOSED);
    assert_says(&diag, "chmod 600 'my schema.json'");
    assert_int_equal(chdir(before), 0);
    /* However long the path, the command is whole. */
    (void)snprintf(path, sizeof(path), "%s/%0120d", scratch, 1);
    scratch_write(path, "text", 0644);
    assert_int_equal(read_at(path, &diag), PRIVATE_FILE_E_EXPOSED);
    assert_string_equal(diag.message + strlen(diag.message) - strlen(path), path);
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(chown(path, SCRATCH_STRANGER, SCRATCH_STRANGER), 0);
        assert_int_equal(read_at(path, &diag), PRIVATE_FILE_E_EXPOSED);
        assert_says(&diag, "belongs to user 65534");
    }
}

/* The shell itself says what it makes of the words: for each name it must be that file's. */
static void the_cure_works_for_any_name(void **state)
{
    static const char *const names[] = {
        "plain-A_9.json", "a b", "it's", "'",   "''x''", "a\nb", "a~b",   "~",        "#a",
        "{a,b}",          "[a]", "a!b",  "a=b", "%a",    "-R",   "-it's", "\xc3\xa9", "$(exit 1)",
        "a\\b",           "a:b"};
    char before[4096];

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scratch), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        Diag diag = DIAG_NULL;
        const char *command;

        scratch_write(names[i], "text", 0644);
        assert_int_equal(read_at(names[i], &diag), PRIVATE_FILE_E_EXPOSED);
        command = strstr(diag.message, "chmod 600 ");
        assert_non_null(command);
        assert_int_equal(run_shell(command), 0);
        assert_int_equal(scratch_mode(names[i]), 0600);
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(chdir(before), 0);
}

static void a_command_that_does_not_fit_is_not_said(void **state)
{
    char path[2 * SCRATCH_PATH_SIZE];
    Diag diag = DIAG_NULL;
    char word[8];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/%0200d", scratch, 1);
    scratch_write(path, "text", 0644);
    assert_int_equal(read_at(path, &diag), PRIVATE_FILE_E_EXPOSED);
    assert_string_equal(diag.message, "the file can be read by others (mode 0644): give it mode "
                                      "0600 with chmod");
    assert_true(private_path_quote(word, sizeof(word), "1234567"));
    assert_string_equal(word, "1234567");
    assert_false(private_path_quote(word, sizeof(word), "12345678"));
    assert_string_equal(word, "");
    assert_true(private_path_quote(word, sizeof(word), "1 345"));
    assert_string_equal(word, "'1 345'");
    assert_false(private_path_quote(word, sizeof(word), "1 3456"));
    assert_true(private_path_quote(word, sizeof(word), "'1"));
    assert_string_equal(word, "''\\''1'");
    assert_false(private_path_quote(word, sizeof(word), "'12"));
    assert_true(private_path_quote(word, sizeof(word), ""));
    assert_string_equal(word, "''");
}

static void what_cannot_be_read_is_refused_with_words(void **state)
{
    const char *path = scratch_path("a.json");
    Diag diag = DIAG_NULL;
    Bytes out;

    (void)state;
    assert_int_equal(read_at(path, &diag), -ENOENT);
    assert_says(&diag, "No such file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_at(path, &diag), -EINVAL); /* and is not waited for */
    assert_says(&diag, "is no regular file");
    assert_int_equal(read_at(scratch, &diag), -EISDIR);
    assert_int_equal(read_at("/dev/null", &diag), -EINVAL);
    assert_int_equal(unlink(path), 0);
    scratch_write(path, "0123456789", 0600);
    bytes_init(&out, 10);
    assert_int_equal(private_file_read(&out, path, &diag), 0);
    bytes_deinit(&out);
    bytes_init(&out, 9);
    assert_int_equal(private_file_read(&out, path, &diag), BYTES_E_FULL);
    assert_says(&diag, "9 bytes at most");
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

/* Waits for the start, tries, reports and stays until the end. */
static void racer(const char *path, int go, int stop, int report)
{
    PrivateFile file;
    char letter;
    int r;

    (void)read(go, &letter, 1);
    r = private_file_create(&file, path, SPAN("mine~"), SIGNATURE, NULL);
    letter = r == 0 ? 'w' : r == PRIVATE_FILE_E_IN_USE ? 'l' : 'x';
    (void)write(report, &letter, 1);
    (void)read(stop, &letter, 1);
    _exit(0);
}

static void race_once(const char *path)
{
    pid_t pids[N_RACERS];
    int go[2];
    int stop[2];
    int report[2];
    int n_winners = 0;

    assert_int_equal(pipe(go) | pipe(stop) | pipe(report), 0);
    for (int i = 0; i < N_RACERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            (void)close(go[1]);
            (void)close(stop[1]);
            racer(path, go[0], stop[0], report[1]);
        }
    }
    (void)close(go[0]);
    (void)close(go[1]);
    for (int i = 0; i < N_RACERS; i++) {
        char letter = '?';

        assert_int_equal(read(report[0], &letter, 1), 1);
        assert_true(letter == 'w' || letter == 'l');
        n_winners += letter == 'w';
    }
    assert_int_equal(n_winners, 1);
    assert_true(private_file_is_held(path));
    (void)close(stop[0]);
    (void)close(stop[1]);
    for (int i = 0; i < N_RACERS; i++) {
        scratch_reap(pids[i]);
    }
    (void)close(report[0]);
    (void)close(report[1]);
}

static void of_many_that_start_at_once_one_gets_the_name(void **state)
{
    const char *path = scratch_path("a.json");

    (void)state;
    scratch_write(path, "left~", 0600);
    for (int i = 0; i < N_ROUNDS; i++) {
        race_once(path);
        assert_int_equal(scratch_count(false), 1);
    }
}

/* Takes the name again and again; while it has it, the name must lead here. 0 if all went well. */
static int churn(const char *path, int seed)
{
    int n_taken = 0;

    for (int i = 0; n_taken < N_CHURNS; i++) {
        PrivateFile file;
        struct stat mine;
        struct stat named;
        int r = private_file_create(&file, path, SPAN("mine~"), SIGNATURE, NULL);

        if (r == PRIVATE_FILE_E_IN_USE) {
            continue;
        }
        if (r != 0 || fstat(file.fd, &mine) != 0) {
            return 2;
        }
        n_taken++;
        for (int k = 0; k < 20; k++) {
            if (lstat(path, &named) != 0 || named.st_ino != mine.st_ino) {
                return 3;
            }
        }
        if ((i + seed) % 3 == 0) {
            (void)unlink(path); /* what follows then finds no name of its own */
        } else if ((i + seed) % 3 == 1) {
            (void)close(file.fd); /* dead, with its name left behind */
            file.fd = -1;
        }
        private_file_remove(&file);
    }
    return 0;
}

static void nobody_loses_a_name_to_those_who_clean_up(void **state)
{
    const char *path = scratch_path("a.json");
    pid_t pids[N_RACERS];
    pid_t tester = getpid();
    pid_t cleaner;

    (void)state;
    for (int i = 0; i < N_RACERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(churn(path, i));
        }
    }
    cleaner = fork();
    if (cleaner == 0) {
        while (getppid() == tester) {
            (void)private_file_remove_left(path, SIGNATURE);
            (void)private_file_is_held(path);
        }
        _exit(0);
    }
    for (int i = 0; i < N_RACERS; i++) {
        scratch_reap(pids[i]);
    }
    assert_int_equal(kill(cleaner, SIGKILL), 0);
    assert_int_equal(waitpid(cleaner, NULL, 0), cleaner);
    assert_true(scratch_count(false) <= 1);
}

/* Looks at the file again and again, half of the time with its lock. */
static void look_until_done(const char *path, int done)
{
    char letter;

    (void)fcntl(done, F_SETFL, O_NONBLOCK);
    while (read(done, &letter, 1) < 0) {
        int fd = open(path, O_RDONLY);

        (void)flock(fd, LOCK_SH);
        for (int i = 0; i < 100; i++) {
            (void)scratch_exists(path);
        }
        (void)close(fd);
        (void)private_file_is_held(path);
    }
    _exit(0);
}

/* A look at a leftover takes its lock for a moment; that must not pass for a use. */
static void a_look_is_not_mistaken_for_a_use(void **state)
{
    const char *path = scratch_path("a.json");
    int done[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(done[1]);
        look_until_done(path, done[0]);
    }
    for (int i = 0; i < 60; i++) {
        PrivateFile file;

        scratch_write(path, "left~", 0600);
        for (int k = 0; k < 100; k++) {
            (void)scratch_exists(path); /* time for a look */
        }
        file = create_at(path, "mine~");
        private_file_remove(&file);
    }
    (void)close(done[0]);
    (void)close(done[1]);
    scratch_reap(pid);
}

static int create_and_replace_once(void *context)
{
    PrivateFile file;
    int r = private_file_create(&file, scratch_path("a.json"), SPAN("first~"), SIGNATURE, NULL);

    (void)context;
    if (r == 0) {
        r = private_file_replace(&file, SPAN("second~"), NULL);
        assert_content(file.path, r == 0 ? "second~" : "first~");
    }
    private_file_remove(&file);
    assert_int_equal(scratch_count(false), 0);
    return r;
}

static int read_once(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 1 << 20);
    r = private_file_read(&out, scratch_path("a.json"), NULL);
    bytes_deinit(&out);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(create_and_replace_once, NULL);
    scratch_write(scratch_path("a.json"), "text", 0600);
    test_oom_sweep(read_once, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_private_complete_and_held),
        TEST(what_a_dead_process_left_is_replaced),
        TEST(what_does_not_end_in_the_signature_is_never_touched),
        TEST(a_file_in_use_keeps_its_name),
        TEST(a_file_is_free_when_its_process_has_died),
        TEST(what_is_no_file_of_ours_is_never_removed),
        TEST(a_path_that_cannot_be_is_refused_with_words),
        TEST(replacing_keeps_name_mode_and_hold),
        TEST(replacing_copes_with_what_others_did_to_the_name),
        TEST(readers_see_the_old_or_the_new_content),
        TEST(a_private_file_is_read),
        TEST(an_exposed_file_is_refused_with_the_cure),
        TEST(the_cure_works_for_any_name),
        TEST(a_command_that_does_not_fit_is_not_said),
        TEST(what_cannot_be_read_is_refused_with_words),
        TEST(of_many_that_start_at_once_one_gets_the_name),
        TEST(nobody_loses_a_name_to_those_who_clean_up),
        TEST(a_look_is_not_mistaken_for_a_use),
        TEST(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
