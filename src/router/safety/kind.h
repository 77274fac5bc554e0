/* router/safety/kind.h: does a command write, and can what it does be lost for ever? By what its
 * description says; by its name where that says nothing. Thread: any. */
#pragma once

#include "router/safety/safety.h"

#include <stdbool.h>

/* The last part of a method's name: "get_context" of "help.get_context". Trimmed. */
Span safety_leaf(Span method);

bool safety_is_write(const SafetyCommand *command);
bool safety_is_risky(const SafetyCommand *command);

/* Tells the context itself, and so needs none. */
bool safety_is_get_context(Span method);
