; Where several patterns match, the last wins.

; Names

(identifier) @variable
(field_identifier) @variable.member
(type_identifier) @type

; Compile-time parameters and constants are written in capitals.
((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]*$"))

; Element types, also as arguments.
((identifier) @type.builtin
  (#match? @type.builtin "^(bool|[iu](1|2|4|8|16|32|64)|b?f16|tf32|f32|f64|f8e4m3|f8e5m2|f8e8m0|f4e2m1)$"))
((type_identifier) @type.builtin
  (#match? @type.builtin "^(bool|[iu](1|2|4|8|16|32|64)|b?f16|tf32|f32|f64|f8e4m3|f8e5m2|f8e8m0|f4e2m1|int|type|layout|pipeline|turns|barrier|counter)$"))

(scoped_identifier path: (identifier) @module)
(scoped_identifier path: (scoped_identifier name: (identifier) @module))
(use_tree path: (identifier) @module (use_tree_list))
(use_tree path: (scoped_identifier name: (identifier) @module) (use_tree_list))

(const_item name: (identifier) @constant)
(generic_param name: (identifier) @constant)
(generic_arg name: (identifier) @constant)
(param name: (identifier) @variable.parameter)
(closure_param_list (identifier) @variable.parameter)
(arg label: (identifier) @variable.parameter)
(tuple_field label: (identifier) @variable.parameter)

; Functions

(fn_item name: (identifier) @function)
(kernel_item name: (identifier) @function)
(call_expr callee: (identifier) @function.call)
(call_expr callee: (scoped_identifier name: (identifier) @function.call))
(call_expr callee: (generic_name name: (identifier) @function.call))
(call_expr callee: (generic_name name: (scoped_identifier name: (identifier) @function.call)))
(generic_name name: (identifier) @function.call)
(method_call_expr method: (field_identifier) @function.method.call)
(attribute name: (identifier) @attribute)

; Keywords

[ "let" "main" "in" "test" "bench" "warp_groups" "measure" "baseline" "flops" "bytes" ] @keyword
[ "grid" "threads" "cluster" "blocks_per_sm" "where" "tune" "step" "forall" "registers" "pipelined" "producer" "consumer" "each" ] @keyword
[ "fn" "kernel" ] @keyword.function
[ "const" "mut" ] @keyword.modifier
(memory_space) @keyword.modifier
[ "use" "as" ] @keyword.import
[ "if" "else" ] @keyword.conditional
[ "for" "while" ] @keyword.repeat
(case_clause "for" @keyword)
(new_axis) @keyword
; The select is a call.
(call_expr callee: (identifier) @function.call
  (#eq? @function.call "where"))

; Literals

(int_literal) @number
(float_literal) @number.float
(inf) @constant.builtin
(boolean) @boolean
(string) @string
(escape_sequence) @string.escape
(wildcard) @character.special

; Operators and punctuation

[
  "+" "-" "*" "/" "%" "@" "∘"
  "==" "!=" "<" "<=" ">" ">="
  "&&" "||" "!"
  "&" "|" "^" "<<" ">>" "~"
  "=" "+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>="
  ".." "->"
] @operator
(layout_expr ":" @operator)

[ "(" ")" "[" "]" "{" "}" ] @punctuation.bracket
(generic_param_list [ "<" ">" ] @punctuation.bracket)
(generic_arg_list [ "<" ">" ] @punctuation.bracket)
(closure_param_list "|" @punctuation.bracket)
[ "," ";" ":" "::" "." ] @punctuation.delimiter
(layout_expr ":" @operator)
(attribute "#" @punctuation.special)

; Comments

(line_comment) @comment @spell
(block_comment) @comment @spell
(doc_comment) @comment.documentation @spell
(file_doc_comment) @comment.documentation @spell
