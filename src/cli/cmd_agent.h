/* cli/cmd_agent.h: `toolwire agent`, the agent runtime. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_agent;
