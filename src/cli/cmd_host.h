/* cli/cmd_host.h: `toolwire host`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_host;
