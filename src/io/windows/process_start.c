#include "io/windows/process_start.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/windows/command_line.h"

static const DWORD start_standard[3] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};

/* What CreateProcess is given, and what has to be released after it. */
typedef struct StartCall {
    wchar_t *program;
    wchar_t *line;
    wchar_t *block;
    wchar_t *folder;
    HANDLE handles[3]; /* which a child inherits */
    LPPROC_THREAD_ATTRIBUTE_LIST attributes;
    bool has_attributes;
} StartCall;

static void start_release(StartCall *call)
{
    if (call->has_attributes) {
        DeleteProcThreadAttributeList(call->attributes);
    }
    (void)mem_free(call->attributes);
    for (int i = 0; i < 3; i++) {
        win_close(&call->handles[i]);
    }
    (void)mem_free(call->program);
    (void)mem_free(call->line);
    (void)mem_free(call->block);
    (void)mem_free(call->folder);
}

/* Duplicates that can be inherited, for the time of the call; NUL for what we have not got. */
static int start_handles(StartCall *call, const HANDLE theirs[3])
{
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};

    for (int i = 0; i < 3; i++) {
        HANDLE from = theirs[i] != NULL ? theirs[i] : GetStdHandle(start_standard[i]);

        if (from != NULL && from != INVALID_HANDLE_VALUE &&
            DuplicateHandle(GetCurrentProcess(), from, GetCurrentProcess(), &call->handles[i], 0,
                            TRUE, DUPLICATE_SAME_ACCESS)) {
            continue;
        }
        call->handles[i] =
            CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                        &inherited, OPEN_EXISTING, 0, NULL);
        if (call->handles[i] == INVALID_HANDLE_VALUE) {
            return err_raise(win_error());
        }
    }
    return 0;
}

/* Only these three, whatever else in this process can be inherited. */
static int start_attributes(StartCall *call)
{
    SIZE_T n = 0;

    (void)InitializeProcThreadAttributeList(NULL, 1, 0, &n);
    call->attributes = mem_alloc(n);
    if (call->attributes == NULL) {
        return err_raise(-ENOMEM);
    }
    if (!InitializeProcThreadAttributeList(call->attributes, 1, 0, &n)) {
        return err_raise(win_error());
    }
    call->has_attributes = true;
    if (!UpdateProcThreadAttribute(call->attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                   call->handles, sizeof(call->handles), NULL, NULL)) {
        return err_raise(win_error());
    }
    return 0;
}

static int start_prepare(StartCall *call, const IoProcessSpec *spec, const HANDLE theirs[3])
{
    int r = win_program_find(&call->program, spec);

    if (r == 0) {
        r = win_command_line(&call->line, spec->argv);
    }
    if (r == 0) {
        r = win_environment_block(&call->block, spec->environment);
    }
    if (r == 0 && spec->folder != NULL) {
        r = win_wide(&call->folder, spec->folder);
    }
    if (r == 0) {
        r = start_handles(call, theirs);
    }
    return r == 0 ? start_attributes(call) : r;
}

/* Suspended, into the job, and off. */
static int start_run(StartCall *call, HANDLE job, WinChild *ret)
{
    STARTUPINFOEXW info = {
        .StartupInfo = {.cb = sizeof(info),
                        .dwFlags = STARTF_USESTDHANDLES,
                        .hStdInput = call->handles[0],
                        .hStdOutput = call->handles[1],
                        .hStdError = call->handles[2]},
        .lpAttributeList = call->attributes,
    };
    PROCESS_INFORMATION made;
    /* A child of a process without console would open a window. */
    bool has_console = GetConsoleCP() != 0;
    DWORD flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT |
                  CREATE_NEW_PROCESS_GROUP | (has_console ? 0 : CREATE_NO_WINDOW);

    if (!CreateProcessW(call->program, call->line, NULL, NULL, TRUE, flags, call->block,
                        call->folder, &info.StartupInfo, &made)) {
        return err_raise(win_error());
    }
    if (!AssignProcessToJobObject(job, made.hProcess) || ResumeThread(made.hThread) == (DWORD)-1) {
        int r = win_error();

        (void)TerminateProcess(made.hProcess, 1);
        win_close(&made.hThread);
        win_close(&made.hProcess);
        return err_raise(r);
    }
    win_close(&made.hThread);
    *ret = (WinChild){made.hProcess, made.dwProcessId, has_console};
    return 0;
}

/* What could not be started, and why. */
static int start_explain(const IoProcessSpec *spec, const StartCall *call, int r, Diag *reterr_diag)
{
    const char *name = spec->argv[0];

    if (r == -ENOMEM || r == -EMFILE) {
        return err_raise(r);
    }
    if (spec->folder != NULL && !io_place_exists(spec->folder)) {
        return diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START,
                        "cannot start %s: its folder %s cannot be entered", name, spec->folder);
    }
    if (call->program == NULL && r == -ENOENT && io_place_last_slash(name) == NULL) {
        return diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START,
                        "cannot start %s: no such program in PATH (batch files are started with "
                        "cmd.exe /c)",
                        name);
    }
    return diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START, "cannot start %s: %s", name,
                    io_error_text(-r));
}

int win_process_start(const IoProcessSpec *spec, HANDLE job, const HANDLE theirs[3], WinChild *ret,
                      Diag *reterr_diag)
{
    StartCall call = {.program = NULL};
    int r = start_prepare(&call, spec, theirs);

    if (r == 0 && win_program_is_batch(call.program)) {
        r = diag_set(reterr_diag, IO_PROCESS_E_CANNOT_START,
                     "cannot start %s: it is a batch file, start it with cmd.exe /c",
                     spec->argv[0]);
    } else {
        if (r == 0) {
            r = start_run(&call, job, ret);
        }
        if (r != 0) {
            r = start_explain(spec, &call, r, reterr_diag);
        }
    }
    start_release(&call);
    return r;
}
