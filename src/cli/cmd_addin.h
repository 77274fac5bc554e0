/* cli/cmd_addin.h: `toolwire addin`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_addin;
