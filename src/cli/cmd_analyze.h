/* cli/cmd_analyze.h: `toolwire analyze`: the code analyser for people. */
#pragma once

#include "cli/cli.h"

extern const CliCommand cmd_analyze;

/* Its sub-commands, a file each. */
extern const CliCommand cmd_analyze_complexity;
extern const CliCommand cmd_analyze_churn;
extern const CliCommand cmd_analyze_hotspots;
