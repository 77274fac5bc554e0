/* cli/cmd_up.h: `toolwire up`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_up;
