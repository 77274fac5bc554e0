/* failures.h: what a transaction has caused (check.h), told to the library, and what becomes of it.
 */
#pragma once

#include "tools.h"

/* Why a transaction cannot stay. */
#define FAILURES_WHY_SIZE 300

/* Tells every failure, and does what the verdict says; what goes by that is in planner->removed. 0:
 * it may be committed; 1: it may not, and why says the first reason; -1 with *fault. */
int failures_settle(Planner *planner, TwCall *call, char why[FAILURES_WHY_SIZE], Fault *fault);
