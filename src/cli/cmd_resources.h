/* cli/cmd_resources.h: `toolwire resources`, which lists and reads what a server lets read. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_resources;
