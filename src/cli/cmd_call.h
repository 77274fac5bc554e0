/* cli/cmd_call.h: `toolwire call`, which calls a tool. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_call;
