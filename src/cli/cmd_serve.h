/* cli/cmd_serve.h: `toolwire serve`. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_serve;
