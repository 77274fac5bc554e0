/* A page in the person's browser: a program of the system is given the address, as an argument. */
#include "peer/auth_impl.h"

#include "io/descriptor_look.h"

/* The first one that starts. setsid: the browser is the person's, and must not end with us. */
static const char *const browser_programs[][4] = {
#ifdef _WIN32
    {"rundll32", "url.dll,FileProtocolHandler", NULL},
#else
    {"setsid", "-f", "xdg-open", NULL},
    {"xdg-open", NULL},
#endif
};

static void browser_exited(void *context, IoProcessExit exit)
{
    (void)context;
    (void)exit;
}

void auth_browser_drop(PeerAuth *auth)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(auth->browser_fds); i++) {
        if (auth->browser_fds[i] >= 0) {
            io_fd_close(auth->browser_fds[i]);
            auth->browser_fds[i] = -1;
        }
    }
    auth->browser = io_process_free(auth->browser);
}

void auth_browser_open(PeerAuth *auth, const char *url)
{
    auth_browser_drop(auth);
    for (size_t i = 0; i < TW_ARRAY_SIZE(browser_programs) && auth->browser == NULL; i++) {
        const char *argv[5] = {NULL};
        size_t n = 0;

        for (; browser_programs[i][n] != NULL; n++) {
            argv[n] = browser_programs[i][n];
        }
        argv[n] = url;
        if (io_process_spawn(&auth->browser, auth->loop, &(IoProcessSpec){.argv = argv},
                             browser_exited, auth, &auth->browser_fds[0], &auth->browser_fds[1],
                             &auth->browser_fds[2], NULL) != 0) {
            auth->browser = NULL;
        }
    }
}
