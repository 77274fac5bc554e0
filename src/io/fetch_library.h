/* io/fetch_library.h: libcurl, loaded when it is needed.
 *
 * Linked into the program it would bring two dozen libraries to every start, whether used or not:
 * most programs never ask anybody anything over HTTP. Private to io/fetch*. */
#pragma once

/* Its checks of argument types are macros, which know nothing of a table of functions. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/diag.h"

/* X(what it returns, its name, its arguments): as libcurl's headers declare them, which
 * fetch_library.c has the compiler check. */
#define FETCH_LIBRARY_FUNCTIONS(X)                                                                 \
    X(void, curl_easy_cleanup, (CURL *))                                                           \
    X(CURLcode, curl_easy_getinfo, (CURL *, CURLINFO, ...))                                        \
    X(CURL *, curl_easy_init, (void))                                                              \
    X(CURLcode, curl_easy_pause, (CURL *, int))                                                    \
    X(CURLcode, curl_easy_setopt, (CURL *, CURLoption, ...))                                       \
    X(const char *, curl_easy_strerror, (CURLcode))                                                \
    X(void, curl_global_cleanup, (void))                                                           \
    X(CURLcode, curl_global_init, (long))                                                          \
    X(CURLMcode, curl_multi_add_handle, (CURLM *, CURL *))                                         \
    X(CURLMcode, curl_multi_assign, (CURLM *, curl_socket_t, void *))                              \
    X(CURLMcode, curl_multi_cleanup, (CURLM *))                                                    \
    X(CURLMsg *, curl_multi_info_read, (CURLM *, int *))                                           \
    X(CURLM *, curl_multi_init, (void))                                                            \
    X(CURLMcode, curl_multi_remove_handle, (CURLM *, CURL *))                                      \
    X(CURLMcode, curl_multi_setopt, (CURLM *, CURLMoption, ...))                                   \
    X(CURLMcode, curl_multi_socket_action, (CURLM *, curl_socket_t, int, int *))                   \
    X(struct curl_slist *, curl_slist_append, (struct curl_slist *, const char *))                 \
    X(void, curl_slist_free_all, (struct curl_slist *))

typedef struct FetchLibrary {
    void *handle;
    size_t n_before; /* objects in the process before it was loaded */
#define X(returned, name, arguments) returned(*name) arguments;
    FETCH_LIBRARY_FUNCTIONS(X)
#undef X
} FetchLibrary;

/* 0, IO_FETCH_E_LIBRARY. */
int fetch_library_open(FetchLibrary *ret, Diag *reterr_diag);
void fetch_library_close(FetchLibrary *library);

/* After it was set up: gives back what only that has touched of its 30 libraries, 6 of their 8 MiB;
 * what is needed again is mapped again. Once a process: does nothing if it was loaded before. */
void fetch_library_slim(const FetchLibrary *library);
