/* app/tool_list.h: what a router offers, written as a list for another program. Thread: loop. */
#pragma once

#include "router/router.h"
#include "json/writer.h"

/* Writes an array of the tools in the form of a tools file (providers/tools_file.h): name,
 * description (always), title, input_schema, output_schema, annotations, icons, timeout_ms, _meta.
 * 0, -ENOMEM; what the writer failed with, it says itself at its end. */
int tool_list_write(Router *router, JsonWriter *writer);

/* The same of the resources, each as the router describes it. */
int tool_list_write_resources(Router *router, JsonWriter *writer);
