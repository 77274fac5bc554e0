/* app/auth_login.h: a login with an MCP server over HTTP, as `toolwire auth login` does it: asks
 * the server, does what it wants, and asks again until it is content. Thread: main.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "oauth/settings.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    AUTH_LOGIN_E_REFUSED = 1, /* the Diag says why */
    AUTH_LOGIN_E_OPEN,        /* the server asks for no authorization */
};

typedef struct AuthLogin {
    const char *server;
    const OauthSettings *settings;
    const char *store; /* the file of credentials */
    bool no_browser;
    int64_t person_ms; /* 0: the default */
    void (*page)(void *context, const char *url);
    void *context;
    const LogSink *log;
} AuthLogin;

/* Returns when it is over; what came of it lies in the store. 0, a negative errno, AUTH_LOGIN_E_*.
 */
int auth_login_run(const AuthLogin *login, Diag *reterr_diag);
