/* cli/cmd_chat.h: `toolwire chat`, which talks with an agent. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_chat;
