/* bench/templates_tools.h: the tools that list templates, with 10,000 of them. */
#pragma once

/* Prints a row for each call: the best of the calls within the time. Ends the program if one fails.
 */
void bench_templates_tools(int milliseconds);
