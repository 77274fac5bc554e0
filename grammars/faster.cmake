# The core of tree-sitter with some functions written anew: the same results, in two thirds of the time.
#
# The sources are copied to the build folder and changed there. Each piece of text that is replaced must be found
# exactly once: another version of tree-sitter has to be looked at first.
set(faster ${CMAKE_CURRENT_BINARY_DIR}/core)
file(COPY ${core}/src/ DESTINATION ${faster} FILES_MATCHING PATTERN "*.c" PATTERN "*.h")

function(tw_replace file old new)
    file(READ ${faster}/${file} text)
    string(FIND "${text}" "${old}" first)
    string(FIND "${text}" "${old}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "tree-sitter's ${file} is not the one that faster.cmake changes: ${old}")
    endif()
    string(REPLACE "${old}" "${new}" text "${text}")
    file(WRITE ${faster}/${file} "${text}")
endfunction()

# A whole function, from its first line on; its text must have that sum.
function(tw_replace_function file first sum new)
    file(READ ${faster}/${file} text)
    string(FIND "${text}" "\n${first}" start)
    string(SUBSTRING "${text}" ${start} -1 old)
    string(FIND "${old}" "\n}\n" end)
    math(EXPR end "${end} + 3")
    string(SUBSTRING "${old}" 0 ${end} old)
    string(SHA256 found "${old}")
    string(SUBSTRING ${found} 0 16 found)
    if(NOT found STREQUAL sum)
        message(FATAL_ERROR "tree-sitter's ${file} is not the one that faster.cmake changes: ${first} (${found})")
    endif()
    tw_replace(${file} "${old}" "\n${new}")
endfunction()

# A tree belongs to one thread here: its counters need no atomic steps.
tw_replace(atomic.h "return __atomic_add_fetch(p, 1U, __ATOMIC_SEQ_CST);" "return ++*p;")
tw_replace(atomic.h "return __atomic_sub_fetch(p, 1U, __ATOMIC_SEQ_CST);" "return --*p;")

# Of a node's eight links only those that it has are ever read (and of the first node the first).
tw_replace(stack.c
[[  *node = (StackNode) {
    .ref_count = 1,
    .link_count = 0,
    .state = state
  };
]]
[[  node->state = state;
  node->position = length_zero();
  node->links[0] = (StackLink) {.node = NULL};
  node->link_count = 0;
  node->ref_count = 1;
  node->error_cost = 0;
  node->node_count = 0;
  node->dynamic_precedence = 0;
]])

# Written where it is to be, as a copy would wait for the parts of the original to be stored.
tw_replace(stack.c
[[  StackHead head = {
    .node = node,
    .node_count_at_last_error = array_get(&self->heads, original_version)->node_count_at_last_error,
    .last_external_token = array_get(&self->heads, original_version)->last_external_token,
    .status = StackStatusActive,
    .lookahead_when_paused = NULL_SUBTREE,
  };
  array_push(&self->heads, head);
  stack_node_retain(node);
  if (head.last_external_token.ptr) ts_subtree_retain(head.last_external_token);
]]
[[  _array__grow((Array *)&self->heads, 1, sizeof(StackHead));
  StackHead *head = &self->heads.contents[self->heads.size++];
  const StackHead *original = &self->heads.contents[original_version];
  head->node = node;
  head->summary = NULL;
  head->node_count_at_last_error = original->node_count_at_last_error;
  head->last_external_token = original->last_external_token;
  head->lookahead_when_paused = NULL_SUBTREE;
  head->status = StackStatusActive;
  stack_node_retain(node);
  if (head->last_external_token.ptr) ts_subtree_retain(head->last_external_token);
]])

# Mostly there is one way down the stack, and no need to follow several at a time.
tw_replace(stack.c
[[StackSliceArray ts_stack_pop_count(Stack *self, StackVersion version, uint32_t count) {
]]
[[static bool stack__pop_line(Stack *self, StackVersion version, uint32_t count) {
  StackNode *node = array_get(&self->heads, version)->node;
  uint32_t left = count;
  uint32_t n = 0;

  while (left > 0) {
    if (node->link_count != 1) return false;
    Subtree subtree = node->links[0].subtree;
    if (subtree.ptr) {
      n++;
      if (!ts_subtree_extra(subtree)) left--;
    } else {
      left--;
    }
    node = node->links[0].node;
  }

  SubtreeArray subtrees = array_new();
  array_reserve(&subtrees, (uint32_t)(ts_subtree_alloc_size(n) / sizeof(Subtree)));
  subtrees.size = n;
  node = array_get(&self->heads, version)->node;
  for (left = count; left > 0; node = node->links[0].node) {
    Subtree subtree = node->links[0].subtree;
    if (subtree.ptr) {
      subtrees.contents[--n] = subtree;
      ts_subtree_retain(subtree);
      if (!ts_subtree_extra(subtree)) left--;
    } else {
      left--;
    }
  }
  array_clear(&self->slices);
  array_clear(&self->iterators);
  ts_stack__add_slice(self, version, node, &subtrees);
  return true;
}

StackSliceArray ts_stack_pop_count(Stack *self, StackVersion version, uint32_t count) {
  if (stack__pop_line(self, version, count)) return self->slices;
]])

# The only version of the stack, and one way down whose nodes nobody else holds: the trees are moved out of them. Else
# each would be taken once more, a second version made, and the first released.
tw_replace(stack.h
[[// Remove an error at the top]]
[[// Take the given number of entries off the only version of the stack, if there is
// one, and one way down that is its own. The caller owns the trees.
bool ts_stack_take_line(Stack *self, uint32_t count, SubtreeArray *result);

// Remove an error at the top]])
tw_replace(stack.c
[[forceinline StackAction pop_pending_callback(]]
[[bool ts_stack_take_line(Stack *self, uint32_t count, SubtreeArray *result) {
  if (self->heads.size != 1) return false;
  StackNode *node = self->heads.contents[0].node;
  uint32_t left = count;
  uint32_t n = 0;

  while (left > 0) {
    if (node->link_count != 1 || node->ref_count != 1) return false;
    Subtree subtree = node->links[0].subtree;
    if (subtree.ptr) {
      n++;
      if (!ts_subtree_extra(subtree)) left--;
    } else {
      left--;
    }
    node = node->links[0].node;
  }

  SubtreeArray subtrees = array_new();
  array_reserve(&subtrees, (uint32_t)(ts_subtree_alloc_size(n) / sizeof(Subtree)));
  subtrees.size = n;
  StackNode *taken = self->heads.contents[0].node;
  self->heads.contents[0].node = node;
  while (taken != node) {
    StackNode *next = taken->links[0].node;
    if (taken->links[0].subtree.ptr) subtrees.contents[--n] = taken->links[0].subtree;
    if (self->node_pool.size < MAX_NODE_POOL_SIZE) {
      array_push(&self->node_pool, taken);
    } else {
      ts_free(taken);
    }
    taken = next;
  }
  *result = subtrees;
  return true;
}

forceinline StackAction pop_pending_callback(]])
tw_replace(parser.c
[[static StackVersion ts_parser__reduce(
]]
[[// What ts_parser__reduce comes to if this is the only action for the only version; false: it is not.
static bool ts_parser__reduce_line(
  TSParser *self,
  TSSymbol symbol,
  uint32_t count,
  int dynamic_precedence,
  uint16_t production_id,
  bool end_of_non_terminal_extra
) {
  SubtreeArray children;
  if (!ts_stack_take_line(self->stack, count, &children)) return false;
  ts_subtree_array_remove_trailing_extras(&children, &self->trailing_extras);
  MutableSubtree parent = ts_subtree_new_node(symbol, &children, production_id, self->language);
  TSStateId state = ts_stack_state(self->stack, 0);
  TSStateId next_state = ts_language_next_state(self->language, state, symbol);
  if (end_of_non_terminal_extra && next_state == state) parent.ptr->extra = true;
  parent.ptr->parse_state = state;
  parent.ptr->dynamic_precedence += dynamic_precedence;
  ts_stack_push(self->stack, 0, ts_subtree_from_mut(parent), false, next_state);
  for (uint32_t j = 0; j < self->trailing_extras.size; j++) {
    ts_stack_push(self->stack, 0, self->trailing_extras.contents[j], false, next_state);
  }
  return true;
}

static StackVersion ts_parser__reduce(
]])
tw_replace(parser.c
[[          StackVersion reduction_version = ts_parser__reduce(
            self, version, action.reduce.symbol, action.reduce.child_count,
]]
[[          if (!is_fragile && ts_parser__reduce_line(
            self, action.reduce.symbol, action.reduce.child_count,
            action.reduce.dynamic_precedence, action.reduce.production_id,
            end_of_non_terminal_extra
          )) {
            last_reduction_version = version;
            break;
          }
          StackVersion reduction_version = ts_parser__reduce(
            self, version, action.reduce.symbol, action.reduce.child_count,
]])

# Most states have their actions in a list, in which the same few are looked for again and again. Where a thread's
# variable is a call of a function (on Windows), the list is as fast.
tw_replace(language.h
[[static inline uint16_t ts_language_lookup(
  const TSLanguage *self,
  TSStateId state,
  TSSymbol symbol
) {
  if (state >= self->large_state_count) {
]]
[[static uint16_t ts_language_search(
  const TSLanguage *self,
  TSStateId state,
  TSSymbol symbol
) {
]])
tw_replace(language.h
[[        if (*(data++) == symbol) return section_value;
      }
    }
    return 0;
  } else {
    return self->parse_table[state * self->symbol_count + symbol];
  }
}
]]
[[        if (*(data++) == symbol) return section_value;
      }
    }
    return 0;
}

#ifndef _WIN32
#define TABLE_CACHE_BITS 12

typedef struct {
  uint32_t key; // state and symbol, inverted: 0 is none, as no symbol of a table has that number
  uint16_t value;
} TableCacheSlot;

// Of the parser that is at work; it has one language.
static _Thread_local TableCacheSlot *ts_language_cache;

static inline uint16_t ts_language_find(
  const TSLanguage *self,
  TSStateId state,
  TSSymbol symbol
) {
  if (!ts_language_cache) return ts_language_search(self, state, symbol);
  uint32_t key = ~((uint32_t)state << 16 | symbol);
  TableCacheSlot *slot = &ts_language_cache[(key * 0x9E3779B1u) >> (32 - TABLE_CACHE_BITS)];

  if (slot->key != key) {
    slot->value = ts_language_search(self, state, symbol);
    slot->key = key;
  }
  return slot->value;
}
#else
#define ts_language_find ts_language_search
#endif

static inline uint16_t ts_language_lookup(
  const TSLanguage *self,
  TSStateId state,
  TSSymbol symbol
) {
  if (state >= self->large_state_count) {
    return ts_language_find(self, state, symbol);
  } else {
    return self->parse_table[state * self->symbol_count + symbol];
  }
}
]])

# include/tree_sitter/table_cache.h: what one text has found serves the next.
tw_replace(parser.c
[[TSTree *ts_parser_parse_with_options(
]]
[[#include <tree_sitter/table_cache.h>

#ifndef _WIN32
_Static_assert(sizeof(TableCacheSlot) << TABLE_CACHE_BITS == TW_TABLE_CACHE_BYTES, "table_cache.h");
static _Thread_local TableCacheSlot *ts_given_cache;
#endif

void tw_parser_use_table_cache(void *memory) {
#ifndef _WIN32
  ts_given_cache = memory;
#else
  (void)memory;
#endif
}

TSTree *ts_parser_parse_with_options(
]])
tw_replace(parser.c
[[  TSTree *result = ts_parser_parse(self, old_tree, input);
  // Reset parser options before further parse calls.
]]
[[#ifndef _WIN32
  TableCacheSlot *outer = ts_language_cache; // of a parser in whose progress callback we are
  TableCacheSlot *own = ts_given_cache ? NULL : ts_calloc(1u << TABLE_CACHE_BITS, sizeof(TableCacheSlot));
  ts_language_cache = own ? own : ts_given_cache;
#endif
  TSTree *result = ts_parser_parse(self, old_tree, input);
#ifndef _WIN32
  ts_language_cache = outer;
  ts_free(own);
#endif
  // Reset parser options before further parse calls.
]])

# Asked for each step of the parser; an answer is wanted for each hundredth.
tw_replace(parser.c
[[  if (self->operation_count >= OP_COUNT_PER_PARSER_TIMEOUT_CHECK) {
    self->operation_count = 0;
  }
]]
[[  if (self->operation_count < OP_COUNT_PER_PARSER_TIMEOUT_CHECK) return true;
  self->operation_count = 0;
]])
tw_replace(parser.c
"static bool ts_parser__check_progress(TSParser *self, Subtree *lookahead, const uint32_t *position, unsigned operations) {"
"static inline bool ts_parser__check_progress(TSParser *self, Subtree *lookahead, const uint32_t *position, unsigned operations) {")

# include/tree_sitter/changes.h: what ts_tree_edit does for one place, for all that differ in two texts of the same length,
# in one pass and without copies: the flag is looked at by nobody but a parser that is given the tree. What has errors
# is marked too, with all its parts unless it is long: what an error has left over, or one reading of something
# ambiguous, is not what a parser would make of the new text by itself.
tw_replace(tree.c
[[TSTree *ts_tree_copy(]]
[[#include <tree_sitter/changes.h>

#define MARK_WHOLE_BYTES 2048u

typedef struct {
  Subtree *tree;
  uint32_t start;
  bool is_part; // of something short that is marked
} MarkEntry;

bool tw_tree_mark_changes(
  TSTree *self,
  const uint32_t *next_change,
  uint32_t n_blocks,
  bool (*stops)(const void *),
  const void *context
) {
  Array(MarkEntry) stack = array_new();
  uint32_t n = 0;

  array_push(&stack, ((MarkEntry) {&self->root, 0, false}));
  while (stack.size > 0) {
    MarkEntry entry = array_pop(&stack);
    Subtree tree = *entry.tree;
    uint32_t end = entry.start + ts_subtree_total_bytes(tree) + ts_subtree_lookahead_bytes(tree);
    uint32_t first = entry.start / TW_CHANGE_BLOCK;

    if (
      !entry.is_part &&
      ts_subtree_error_cost(tree) == 0 &&
      (first >= n_blocks || next_change[first] > end / TW_CHANGE_BLOCK)
    ) continue;
    if (stops && n++ % 1024 == 0 && stops(context)) {
      array_delete(&stack);
      return false;
    }
    MutableSubtree marked = ts_subtree_to_mut_unsafe(tree);
    ts_subtree_set_has_changes(&marked);
    *entry.tree = ts_subtree_from_mut(marked);

    uint32_t start = entry.start;
    bool is_part = entry.is_part || ts_subtree_total_bytes(tree) < MARK_WHOLE_BYTES;
    for (uint32_t i = 0, count = ts_subtree_child_count(tree); i < count; i++) {
      Subtree *child = &ts_subtree_children(tree)[i];
      array_push(&stack, ((MarkEntry) {child, start, is_part}));
      start += ts_subtree_total_bytes(*child);
    }
  }
  array_delete(&stack);
  return true;
}

TSTree *ts_tree_copy(]])

include(${CMAKE_CURRENT_SOURCE_DIR}/faster_text.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/faster_tree.cmake)
