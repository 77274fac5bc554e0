/* tests/windows/scratch.h: a folder of its own for each test, names of pipes of its own, and this
 * very program as the child of a test.
 *
 * A child is told what to do by its first argument; main looks there first (child_main of the
 * test).
 */
#pragma once

#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "io/program.h"

#define SCRATCH_PATH_SIZE 400
#define SCRATCH_PATHS     8

static char scratch[MAX_PATH];

TW_UNUSED static int scratch_setup(void **state)
{
    static int n;
    char base[MAX_PATH - 40];

    (void)state;
    assert_true(GetTempPathA(sizeof(base), base) > 0);
    (void)snprintf(scratch, sizeof(scratch), "%stw-io-%lu-%d", base,
                   (unsigned long)GetCurrentProcessId(), n++);
    assert_true(CreateDirectoryA(scratch, NULL));
    return 0;
}

/* One of SCRATCH_PATHS buffers in turn. */
TW_UNUSED static const char *scratch_path(const char *name)
{
    static char paths[SCRATCH_PATHS][SCRATCH_PATH_SIZE];
    static int at;

    at = (at + 1) % SCRATCH_PATHS;
    (void)snprintf(paths[at], SCRATCH_PATH_SIZE, "%s\\%s", scratch, name);
    return paths[at];
}

/* Everything in it; remove: and away with it. */
TW_UNUSED static int scratch_count(bool remove_all)
{
    WIN32_FIND_DATAA found;
    HANDLE search = FindFirstFileA(scratch_path("*"), &found);
    int n = 0;

    assert_true(search != INVALID_HANDLE_VALUE);
    do {
        if (strcmp(found.cFileName, ".") != 0 && strcmp(found.cFileName, "..") != 0) {
            n++;
            if (remove_all) {
                const char *path = scratch_path(found.cFileName);

                assert_true(DeleteFileA(path) || RemoveDirectoryA(path));
            }
        }
    } while (FindNextFileA(search, &found));
    (void)FindClose(search);
    return n;
}

TW_UNUSED static int scratch_teardown(void **state)
{
    (void)state;
    (void)scratch_count(true);
    assert_true(RemoveDirectoryA(scratch));
    return 0;
}

TW_UNUSED static void scratch_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

TW_UNUSED static void scratch_read(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(out, 1, size - 1, file);
    out[n] = '\0';
    assert_int_equal(fclose(file), 0);
}

TW_UNUSED static bool scratch_exists(const char *path)
{
    return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

/* \\.\pipe\NAME that nobody else has. */
TW_UNUSED static const char *scratch_pipe(const char *name)
{
    static char pipe[SCRATCH_PATH_SIZE];
    static int n;

    (void)snprintf(pipe, sizeof(pipe), "\\\\.\\pipe\\tw-io-%lu-%d-%s",
                   (unsigned long)GetCurrentProcessId(), n++, name);
    return pipe;
}

/* A child of this program, which says "ready\n" when it is, and ends when its input ends. */
typedef struct ScratchChild {
    HANDLE process;
    HANDLE to;
    HANDLE from;
    DWORD pid;
} ScratchChild;

TW_UNUSED static char *scratch_child_line(ScratchChild *child)
{
    static char line[256];
    DWORD n = 0;
    size_t at = 0;

    while (at < sizeof(line) - 1 && ReadFile(child->from, line + at, 1, &n, NULL) && n == 1 &&
           line[at] != '\n') {
        at++;
    }
    at -= at > 0 && line[at - 1] == '\r' ? 1 : 0;
    line[at] = '\0';
    return line;
}

TW_UNUSED static ScratchChild scratch_child_start(const char *what, const char *argument)
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
    STARTUPINFOA info = {.cb = sizeof(info), .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION made;
    ScratchChild child = {.process = NULL};
    HANDLE theirs[2];
    char line[1024];
    char *program = NULL;

    assert_int_equal(io_program_path(&program), 0);
    (void)snprintf(line, sizeof(line), "\"%s\" %s \"%s\"", program, what, argument);
    assert_true(CreatePipe(&theirs[0], &child.to, &inherited, 0));
    assert_true(CreatePipe(&child.from, &theirs[1], &inherited, 0));
    (void)SetHandleInformation(child.to, HANDLE_FLAG_INHERIT, 0);
    (void)SetHandleInformation(child.from, HANDLE_FLAG_INHERIT, 0);
    info.hStdInput = theirs[0];
    info.hStdOutput = theirs[1];
    info.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    assert_true(CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &made));
    (void)mem_free(program);
    (void)CloseHandle(theirs[0]);
    (void)CloseHandle(theirs[1]);
    (void)CloseHandle(made.hThread);
    child.process = made.hProcess;
    child.pid = made.dwProcessId;
    return child;
}

/* Its exit status. */
TW_UNUSED static DWORD scratch_child_end(ScratchChild *child)
{
    DWORD status = 0;

    (void)CloseHandle(child->to);
    assert_int_equal(WaitForSingleObject(child->process, 60000), WAIT_OBJECT_0);
    assert_true(GetExitCodeProcess(child->process, &status));
    (void)CloseHandle(child->process);
    (void)CloseHandle(child->from);
    return status;
}

/* In the child: says that it is ready, and waits until its input ends. */
TW_UNUSED static void scratch_child_wait(void)
{
    char c;
    DWORD n = 0;

    (void)printf("ready\n");
    (void)fflush(stdout);
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), &c, 1, &n, NULL) && n == 1) {
    }
}
