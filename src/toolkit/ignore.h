/* toolkit/ignore.h: what .gitignore files leave out, by git's rules.
 *
 * Rules come in layers, from the weakest: core.excludesFile and .git/info/exclude, then the
 * .gitignore of each folder from the top of the work tree down to the file's. Within them the last
 * rule that fits decides, '!' takes back, and nothing beneath an ignored folder comes back. Owners
 * go down the tree: push what a folder holds when entering it, pop when leaving. Thread: any, one
 * at a time.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct IgnoreRules IgnoreRules;

/* 0, -ENOMEM. Gives *ret. */
int ignore_rules_new(IgnoreRules **ret, bool ignores_case);
IgnoreRules *ignore_rules_free(IgnoreRules *rules);

/* Adds the text of an exclude file that lies in folder (relative to the top, "" for the top itself
 * and for the files that are not in the tree). Copies. 0, -ENOMEM. */
int ignore_rules_push(IgnoreRules *rules, Span folder, Span text);

/* Takes back the last push. */
void ignore_rules_pop(IgnoreRules *rules);

/* Is it ignored by itself? Whoever asks has found that no folder above it is. path: relative to the
 * top. */
bool ignore_rules_match(const IgnoreRules *rules, Span path, bool is_folder);
