// What one token of look-ahead cannot decide, and what a regular expression cannot match.

#include "tree_sitter/parser.h"

#include <string.h>

enum Token {
  BLOCK_COMMENT,
  STRING_CONTENT,
  OPEN_ANGLE,
  LAST_COMMA,
  BEFORE_NAME,
  NEVER,
};

void *tree_sitter_hx_external_scanner_create(void) { return NULL; }

void tree_sitter_hx_external_scanner_destroy(void *payload) { (void)payload; }

unsigned tree_sitter_hx_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}

void tree_sitter_hx_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

static bool is_space(int32_t c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Characters that only some tools take for the end of a line, and those that turn the direction of the text.
static bool is_forbidden(int32_t c) {
  return c == 0x0b || c == 0x0c || c == 0x85 || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x61c;
}

static bool starts_name(int32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

// The rest of a block comment, after its `/*`. Comments nest.
static bool finish_block_comment(TSLexer *lexer) {
  unsigned depth = 1;
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    if (is_forbidden(c)) return false;
    advance(lexer);
    if (c == '\r' && lexer->lookahead != '\n') return false;
    if (c == '*' && lexer->lookahead == '/') {
      advance(lexer);
      if (--depth == 0) return true;
    } else if (c == '/' && lexer->lookahead == '*') {
      advance(lexer);
      depth++;
    }
  }
  return false;
}

// Whitespace and comments, while looking ahead.
static void pass_trivia(TSLexer *lexer) {
  for (;;) {
    while (is_space(lexer->lookahead)) advance(lexer);
    if (lexer->lookahead != '/') return;
    advance(lexer);
    if (lexer->lookahead == '/') {
      while (!lexer->eof(lexer) && lexer->lookahead != '\n') advance(lexer);
    } else if (lexer->lookahead == '*') {
      advance(lexer);
      if (!finish_block_comment(lexer)) return;
    } else {
      return;
    }
  }
}

enum { WORD_SIZE = 16 };

// Reads a word; one that does not fit is no keyword and is cut.
static void read_word(TSLexer *lexer, char word[WORD_SIZE]) {
  unsigned length = 0;
  while (starts_name(lexer->lookahead) || is_digit(lexer->lookahead)) {
    if (length < WORD_SIZE - 1) word[length++] = (char)lexer->lookahead;
    advance(lexer);
  }
  word[length] = '\0';
}

static bool is_reserved(const char *word) {
  static const char *const RESERVED[] = {
      "_",  "as",  "bench", "const", "else", "false", "fn",   "for", "if",          "in",    "inf",
      "kernel", "let", "main",  "mut",   "new",  "test",  "true", "use", "warp_groups", "where", "while",
  };
  for (unsigned i = 0; i < sizeof RESERVED / sizeof *RESERVED; i++) {
    if (strcmp(word, RESERVED[i]) == 0) return true;
  }
  return false;
}

static bool string_content(TSLexer *lexer) {
  bool has_content = false;
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    if (c == '"' || c == '\\' || c == '\n' || c == '\r' || is_forbidden(c)) break;
    advance(lexer);
    has_content = true;
  }
  lexer->result_symbol = STRING_CONTENT;
  return has_content;
}

// `<` opens generic arguments where a name and a `=` (or the `:` that was meant as one) stand behind it.
static bool open_angle(TSLexer *lexer) {
  advance(lexer);
  if (lexer->lookahead == '=') return false;
  lexer->mark_end(lexer);
  pass_trivia(lexer);
  if (!starts_name(lexer->lookahead)) return false;
  char word[WORD_SIZE];
  read_word(lexer, word);
  if (is_reserved(word)) return false;
  pass_trivia(lexer);
  int32_t mark = lexer->lookahead;
  if (mark != '=' && mark != ':') return false;
  advance(lexer);
  lexer->result_symbol = OPEN_ANGLE;
  return lexer->lookahead != mark;
}

// A comma ends a `where` clause where the body or another clause follows. `grid % 2` is about a dimension of that name.
static bool last_comma(TSLexer *lexer) {
  advance(lexer);
  lexer->mark_end(lexer);
  lexer->result_symbol = LAST_COMMA;
  pass_trivia(lexer);
  if (lexer->lookahead == '{') return true;
  if (!starts_name(lexer->lookahead)) return false;
  char word[WORD_SIZE];
  read_word(lexer, word);
  pass_trivia(lexer);
  int32_t next = lexer->lookahead;
  if (strcmp(word, "where") == 0) return next != '(';
  if (strcmp(word, "grid") != 0 && strcmp(word, "threads") != 0 && strcmp(word, "cluster") != 0 &&
      strcmp(word, "tune") != 0 && strcmp(word, "blocks_per_sm") != 0) {
    return false;
  }
  if (next == '[' || next == '(' || is_digit(next)) return true;
  if (!starts_name(next)) return false;
  read_word(lexer, word);
  return !is_reserved(word);
}

static bool before_name(TSLexer *lexer) {
  lexer->mark_end(lexer);
  char word[WORD_SIZE];
  read_word(lexer, word);
  lexer->result_symbol = BEFORE_NAME;
  return !is_reserved(word);
}

bool tree_sitter_hx_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols) {
  (void)payload;
  // While the parser recovers from an error it takes anything; these two are never wanted at once otherwise.
  bool is_recovering = valid_symbols[STRING_CONTENT] && valid_symbols[OPEN_ANGLE];
  if (valid_symbols[STRING_CONTENT] && !is_recovering) return string_content(lexer);

  while (is_space(lexer->lookahead)) lexer->advance(lexer, true);
  if (lexer->lookahead == '/' && valid_symbols[BLOCK_COMMENT]) {
    advance(lexer);
    if (lexer->lookahead != '*') return false;
    advance(lexer);
    lexer->result_symbol = BLOCK_COMMENT;
    return finish_block_comment(lexer);
  }
  if (is_recovering) return false;
  if (lexer->lookahead == '<' && valid_symbols[OPEN_ANGLE]) return open_angle(lexer);
  if (lexer->lookahead == ',' && valid_symbols[LAST_COMMA]) return last_comma(lexer);
  if (valid_symbols[BEFORE_NAME] && starts_name(lexer->lookahead)) return before_name(lexer);
  return false;
}
