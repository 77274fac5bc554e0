# Part of faster.cmake: reading the text.

# Where the generated lexers may step by themselves (faster_state.h). Ranges of a text, and what is logged, are for those
# who ask for them.
tw_replace(lexer.h
[[  ColumnData column_data;

]]
[[  ColumnData column_data;
  uint32_t plain_end;

]])
tw_replace(lexer.c
[[#define LOG(message, character) ]]
[[#include <stddef.h>

#include "faster_state.h"

#define SAME_PLACE(member) \
  _Static_assert(offsetof(Lexer, member) == offsetof(TwLexer, member), "faster_state.h")
SAME_PLACE(data);
SAME_PLACE(current_position);
SAME_PLACE(token_start_position);
SAME_PLACE(token_end_position);
SAME_PLACE(chunk);
SAME_PLACE(current_included_range_index);
SAME_PLACE(chunk_start);
SAME_PLACE(lookahead_size);
SAME_PLACE(column_data);
SAME_PLACE(column_data.valid);
SAME_PLACE(plain_end);
_Static_assert(sizeof(Length) == sizeof(TwPlace), "faster_state.h");

#define LOG(message, character) ]])
tw_replace(lexer.c
[[  self->chunk_size = 0;
  self->chunk_start = 0;
}
]]
[[  self->chunk_size = 0;
  self->chunk_start = 0;
  self->plain_end = 0;
}
]])
tw_replace(lexer.c
[[  if (!self->chunk_size) {
    self->current_included_range_index = self->included_range_count;
    self->chunk = NULL;
  }
}
]]
[[  self->plain_end = 0;
  if (!self->chunk_size) {
    self->current_included_range_index = self->included_range_count;
    self->chunk = NULL;
  } else if (
    self->input.encoding == TSInputEncodingUTF8 &&
    self->included_range_count == 1 &&
    self->included_ranges[0].start_byte == 0 &&
    self->included_ranges[0].end_byte == UINT32_MAX &&
    !self->logger.log
  ) {
    self->plain_end = self->chunk_start + self->chunk_size;
  }
}
]])
tw_replace(lexer.c
[[  if (!self->chunk) return;

  if (skip) {
]]
[[  if (!self->chunk || tw_lexer_step(_self, skip)) return;

  if (skip) {
]])
tw_replace(lexer.c
[[  const uint8_t *chunk = (const uint8_t *)self->chunk + position_in_chunk;
  DecodeFunction decode =]]
[[  const uint8_t *chunk = (const uint8_t *)self->chunk + position_in_chunk;
  if (*chunk < 0x80 && self->input.encoding == TSInputEncodingUTF8) {
    self->lookahead_size = 1;
    self->data.lookahead = *chunk;
    return;
  }
  DecodeFunction decode =]])
# Back to where a token begins, which was in this piece of the text.
tw_replace(lexer.c
[[  self->current_position = position;

  // Move to the first valid]]
[[  self->current_position = position;
  if (position.bytes >= self->chunk_start && position.bytes < self->plain_end) {
    self->current_included_range_index = 0;
    self->lookahead_size = 0;
    self->data.lookahead = '\0';
    return;
  }

  // Move to the first valid]])
# Ranges that others set begin with a new piece.
tw_replace(lexer.c
[[  self->included_range_count = count;
  ts_lexer_goto(]]
[[  self->included_range_count = count;
  self->plain_end = 0;
  ts_lexer_goto(]])

# Python's scanner is asked before almost every token, and then says mostly that it has none: its state is read each
# time, which needs no new memory, and it steps through blanks and strings as the lexers do.
set(python ${CMAKE_CURRENT_BINARY_DIR}/python)
file(COPY ${modules}/tree-sitter-python/src/scanner.c DESTINATION ${python})
set(python_scanner ${python}/scanner.c)
tw_replace(../python/scanner.c
[[enum TokenType {]]
[[#include "faster_state.h"

enum TokenType {]])
tw_replace(../python/scanner.c "{ lexer->advance(lexer, false); }" "{ tw_lexer_advance(lexer, false); }")
tw_replace(../python/scanner.c "{ lexer->advance(lexer, true); }" "{ tw_lexer_advance(lexer, true); }")
tw_replace(../python/scanner.c
[[    array_delete(&scanner->delimiters);
    array_delete(&scanner->indents);
    array_push(&scanner->indents, 0);
]]
[[    array_clear(&scanner->delimiters);
    array_clear(&scanner->indents);
    array_push(&scanner->indents, 0);
]])
