#include "io/fetch_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/fetch.h"

/* The same for twenty years, whatever the version. Debian's other build of it (GnuTLS) has another
 * name and the same functions. */
static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#define X(returned, name, arguments)                                                               \
    _Static_assert(_Generic(&name, returned(*) arguments : 1, default : 0), #name);
FETCH_LIBRARY_FUNCTIONS(X)
#undef X

/* A function's address by way of its bytes: ISO C knows no conversion. */
static bool library_find(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);

    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* ---- what is in memory of it ---- */

static int library_count(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)object;
    (void)size;
    ++*(size_t *)context;
    return 0;
}

/* A read-only part: the system has it on disk. What was written to, or moved into place, is not
 * such. */
static void library_drop(const struct dl_phdr_info *object, const ElfW(Phdr) * part)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (object->dlpi_addr + part->p_vaddr) / page * page;
    uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_memsz) / page * page;

    if (end > start) {
        void *at;

        memcpy(&at, &start, sizeof(at));
        (void)madvise(at, end - start, MADV_DONTNEED);
    }
}

static int library_slim_one(struct dl_phdr_info *object, size_t size, void *context)
{
    size_t *n_left = context; /* older objects */

    (void)size;
    if (*n_left > 0) {
        --*n_left;
        return 0;
    }
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) == 0) {
            library_drop(object, part);
        }
    }
    return 0;
}

void fetch_library_slim(const FetchLibrary *library)
{
    size_t n_left = library->n_before;

    (void)dl_iterate_phdr(library_slim_one, &n_left);
}

/* ---- life ---- */

int fetch_library_open(FetchLibrary *ret, Diag *reterr_diag)
{
    FetchLibrary library = {.handle = NULL};
    bool ok = true;

    (void)dl_iterate_phdr(library_count, &library.n_before);
    /* What it brings registers things to run at the program's end, and must be there then. */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && library.handle == NULL; i++) {
        library.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    if (library.handle == NULL) {
        return diag_set(reterr_diag, IO_FETCH_E_LIBRARY,
                        "HTTP requests need libcurl (libcurl.so.4), which cannot be loaded: "
                        "install the package libcurl4");
    }
#define X(returned, name, arguments) ok = library_find(library.handle, #name, &library.name) && ok;
    FETCH_LIBRARY_FUNCTIONS(X)
#undef X
    if (!ok) {
        fetch_library_close(&library);
        return diag_set(reterr_diag, IO_FETCH_E_LIBRARY,
                        "the libcurl of this system is too old: 7.85 is needed");
    }
    *ret = library;
    return 0;
}

void fetch_library_close(FetchLibrary *library)
{
    if (library->handle != NULL) {
        (void)dlclose(library->handle);
    }
    library->handle = NULL;
}
