/* cli/cmd_validate.h: `toolwire validate`, which checks messages without sending them anywhere. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_validate;
