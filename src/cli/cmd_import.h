/* cli/cmd_import.h: `toolwire import`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_import;
