# Part of faster.cmake: making a tree, and going through it.

# The sums in variables: what is written through a pointer must be written each time, as the children might be what it
# points to. And each child asked once whether it is one that needs no memory, not by each of the questions.
tw_replace_function(subtree.c [[void ts_subtree_summarize_children(]] eb31c1d4fcc5bb5b
[[typedef struct {
  Length padding;
  Length size;
  uint32_t lookahead_end_byte;
  uint32_t error_cost;
  uint32_t named_child_count;
  uint32_t visible_child_count;
  uint32_t visible_descendant_count;
  uint32_t structural_index;
  int32_t dynamic_precedence;
  bool has_external_tokens;
  bool has_external_scanner_state_change;
  bool depends_on_column;
  bool has_error;
} SubtreeSummary;

static inline __attribute__((always_inline)) void ts_subtree__add_child(
  SubtreeSummary *sum,
  Subtree child,
  bool is_first,
  bool is_error,
  const TSSymbol *alias_sequence,
  const TSLanguage *language
) {
  bool extra = ts_subtree_extra(child);
  uint32_t grandchild_count = ts_subtree_child_count(child);

  if (sum->size.extent.row == 0 && ts_subtree_depends_on_column(child)) sum->depends_on_column = true;
  if (ts_subtree_has_external_scanner_state_change(child)) sum->has_external_scanner_state_change = true;
  if (is_first) {
    sum->padding = ts_subtree_padding(child);
    sum->size = ts_subtree_size(child);
  } else {
    sum->size = length_add(sum->size, ts_subtree_total_size(child));
  }

  uint32_t end_byte = sum->padding.bytes + sum->size.bytes + ts_subtree_lookahead_bytes(child);
  if (end_byte > sum->lookahead_end_byte) sum->lookahead_end_byte = end_byte;

  if (ts_subtree_symbol(child) != ts_builtin_sym_error_repeat) {
    sum->error_cost += ts_subtree_error_cost(child);
  }
  if (is_error && !extra && !(ts_subtree_is_error(child) && grandchild_count == 0)) {
    if (ts_subtree_visible(child)) {
      sum->error_cost += ERROR_COST_PER_SKIPPED_TREE;
    } else if (grandchild_count > 0) {
      sum->error_cost += ERROR_COST_PER_SKIPPED_TREE * child.ptr->visible_child_count;
    }
  }

  sum->dynamic_precedence += ts_subtree_dynamic_precedence(child);
  sum->visible_descendant_count += ts_subtree_visible_descendant_count(child);
  if (
    alias_sequence &&
    !extra &&
    ts_subtree_symbol(child) != 0 &&
    alias_sequence[sum->structural_index] != 0
  ) {
    sum->visible_descendant_count++;
    sum->visible_child_count++;
    if (ts_language_symbol_metadata(language, alias_sequence[sum->structural_index]).named) {
      sum->named_child_count++;
    }
  } else if (ts_subtree_visible(child)) {
    sum->visible_descendant_count++;
    sum->visible_child_count++;
    if (ts_subtree_named(child)) sum->named_child_count++;
  } else if (grandchild_count > 0) {
    sum->visible_child_count += child.ptr->visible_child_count;
    sum->named_child_count += child.ptr->named_child_count;
  }

  if (ts_subtree_has_external_tokens(child)) sum->has_external_tokens = true;
  if (ts_subtree_is_error(child)) sum->has_error = true;
  if (!extra) sum->structural_index++;
}

void ts_subtree_summarize_children(
  MutableSubtree self,
  const TSLanguage *language
) {
  ts_assert(!self.data.is_inline);
  SubtreeHeapData *data = self.ptr;
  const Subtree *children = ts_subtree_children(self);
  const TSSymbol *alias_sequence = ts_language_alias_sequence(language, data->production_id);
  const uint32_t count = data->child_count;
  const bool is_error = data->symbol == ts_builtin_sym_error || data->symbol == ts_builtin_sym_error_repeat;
  SubtreeSummary sum = {.padding = data->padding, .size = data->size};

  for (uint32_t i = 0; i < count; i++) {
    Subtree child = children[i];
    if (child.data.is_inline) {
      ts_subtree__add_child(&sum, child, i == 0, is_error, alias_sequence, language);
    } else {
      ts_subtree__add_child(&sum, child, i == 0, is_error, alias_sequence, language);
    }
  }

  if (is_error) {
    sum.error_cost +=
      ERROR_COST_PER_RECOVERY +
      ERROR_COST_PER_SKIPPED_CHAR * sum.size.bytes +
      ERROR_COST_PER_SKIPPED_LINE * sum.size.extent.row;
  }
  data->padding = sum.padding;
  data->size = sum.size;
  data->lookahead_bytes = sum.lookahead_end_byte - sum.size.bytes - sum.padding.bytes;
  data->error_cost = sum.error_cost;
  data->named_child_count = sum.named_child_count;
  data->visible_child_count = sum.visible_child_count;
  data->visible_descendant_count = sum.visible_descendant_count;
  data->dynamic_precedence = sum.dynamic_precedence;
  data->has_external_tokens = sum.has_external_tokens;
  data->has_external_scanner_state_change = sum.has_external_scanner_state_change;
  data->depends_on_column = sum.depends_on_column;
  data->repeat_depth = 0;
  if (sum.has_error) {
    data->fragile_left = data->fragile_right = true;
    data->parse_state = TS_TREE_STATE_NONE;
  }
  if (count == 0) return;

  Subtree first_child = children[0];
  Subtree last_child = children[count - 1];
  data->first_leaf.symbol = ts_subtree_leaf_symbol(first_child);
  data->first_leaf.parse_state = ts_subtree_leaf_parse_state(first_child);
  if (ts_subtree_fragile_left(first_child)) data->fragile_left = true;
  if (ts_subtree_fragile_right(last_child)) data->fragile_right = true;
  if (
    count >= 2 &&
    !data->visible &&
    !data->named &&
    ts_subtree_symbol(first_child) == data->symbol
  ) {
    uint32_t first_depth = ts_subtree_repeat_depth(first_child);
    uint32_t last_depth = ts_subtree_repeat_depth(last_child);
    data->repeat_depth = (first_depth > last_depth ? first_depth : last_depth) + 1;
  }
}
]])

# A cursor goes on from the child where it is, and writes the next over it; the iterator would begin by stepping over
# that child once more. Nobody here asks for the number of a descendant, which costs a look at each child.
tw_replace_function(tree_cursor.c [[TreeCursorStep ts_tree_cursor_goto_first_child_internal(]] 9b2dd72b922b6ffe
[[static inline bool ts_tree_cursor__is_visible(Subtree tree, const TSSymbol *aliases, uint32_t structural_index) {
  return ts_subtree_visible(tree) || (aliases && !ts_subtree_extra(tree) && aliases[structural_index]);
}

TreeCursorStep ts_tree_cursor_goto_first_child_internal(TSTreeCursor *_self) {
  TreeCursor *self = (TreeCursor *)_self;
  const TreeCursorEntry *last_entry = array_back(&self->stack);
  Subtree parent = *last_entry->subtree;
  uint32_t count = ts_subtree_child_count(parent);
  if (count == 0) return TreeCursorStepNone;

  const TSSymbol *aliases = ts_language_alias_sequence(self->tree->language, parent.ptr->production_id);
  const Subtree *children = ts_subtree_children(parent);
  Length position = last_entry->position;
  uint32_t structural_index = 0;
  for (uint32_t i = 0; i < count; i++) {
    Subtree child = children[i];
    if (i > 0) position = length_add(position, ts_subtree_padding(child));
    bool visible = ts_tree_cursor__is_visible(child, aliases, structural_index);
    if (visible || ts_subtree_visible_child_count(child) > 0) {
      _array__grow((Array *)&self->stack, 1, sizeof(TreeCursorEntry));
      TreeCursorEntry *entry = &self->stack.contents[self->stack.size++];
      entry->subtree = &children[i];
      entry->position = position;
      entry->child_index = i;
      entry->structural_child_index = structural_index;
      entry->descendant_index = 0;
      return visible ? TreeCursorStepVisible : TreeCursorStepHidden;
    }
    position = length_add(position, ts_subtree_size(child));
    if (!ts_subtree_extra(child)) structural_index++;
  }
  return TreeCursorStepNone;
}
]])
tw_replace_function(tree_cursor.c [[TreeCursorStep ts_tree_cursor_goto_next_sibling_internal(]] 68c57f9fb2b97205
[[TreeCursorStep ts_tree_cursor_goto_next_sibling_internal(TSTreeCursor *_self) {
  TreeCursor *self = (TreeCursor *)_self;
  uint32_t initial_size = self->stack.size;

  for (uint32_t size = initial_size; size > 1; size--) {
    TreeCursorEntry *entry = &self->stack.contents[size - 1];
    Subtree parent = *entry[-1].subtree;
    Subtree child = *entry->subtree;
    const TSSymbol *aliases = ts_language_alias_sequence(self->tree->language, parent.ptr->production_id);
    uint32_t structural_index = entry->structural_child_index;

    // Above where it began, what is visible is the parent of that.
    if (size < initial_size && ts_tree_cursor__is_visible(child, aliases, structural_index)) break;

    const Subtree *children = ts_subtree_children(parent);
    uint32_t count = parent.ptr->child_count;
    Length position = entry->position;
    for (uint32_t i = entry->child_index + 1; i < count; i++) {
      if (!ts_subtree_extra(child)) structural_index++;
      position = length_add(position, ts_subtree_size(child));
      child = children[i];
      position = length_add(position, ts_subtree_padding(child));
      bool visible = ts_tree_cursor__is_visible(child, aliases, structural_index);
      if (visible || ts_subtree_visible_child_count(child) > 0) {
        entry->subtree = &children[i];
        entry->position = position;
        entry->child_index = i;
        entry->structural_child_index = structural_index;
        self->stack.size = size;
        return visible ? TreeCursorStepVisible : TreeCursorStepHidden;
      }
    }
  }
  return TreeCursorStepNone;
}
]])
