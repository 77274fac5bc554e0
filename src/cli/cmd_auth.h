/* cli/cmd_auth.h: `toolwire auth` and its sub-commands. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_auth;
extern const CliCommand cmd_auth_login;
extern const CliCommand cmd_auth_logout;
extern const CliCommand cmd_auth_ls;
