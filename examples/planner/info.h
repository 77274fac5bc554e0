/* info.h: what is to be said about one element. */
#pragma once

#include "tools.h"

/* The work of revit.get_element_info. */
int work_get_element_info(Planner *planner, TwCall *call, TwJson *out, Fault *fault);
