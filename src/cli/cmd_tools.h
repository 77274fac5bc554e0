/* cli/cmd_tools.h: `toolwire tools`, which shows what tools a server has. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_tools;
