/* cli/cmd_prompts.h: `toolwire prompts`, which lists and gets a server's prompts. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_prompts;
