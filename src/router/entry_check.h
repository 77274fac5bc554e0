/* router/entry_check.h: are the fields of a description what MCP lets us send? Thread: any. */
#pragma once

#include "base/diag.h"
#include "router/router.h"
#include "json/json.h"

/* Checks the kinds of all members that the protocol knows, however often a name is given, down to
 * icons, annotations and prompt arguments; what it does not know may be anything. Needed members of
 * the description itself, schemas and URI templates are not looked at. 0, ROUTER_E_MALFORMED (the
 * Diag's field is a path, "icons/0/src"). */
int router_entry_check(RouterKind kind, JsonValue description, Diag *reterr_diag);
