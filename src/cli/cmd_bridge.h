/* cli/cmd_bridge.h: `toolwire bridge`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_bridge;
