; Where several patterns match, the last wins.

; Names

(identifier) @variable
(field_identifier) @variable.other.member
(type_identifier) @type

((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]*$"))

((identifier) @type.builtin
  (#match? @type.builtin "^(bool|[iu](1|2|4|8|16|32|64)|b?f16|tf32|f32|f64|f8e4m3|f8e5m2|f8e8m0|f4e2m1)$"))
((type_identifier) @type.builtin
  (#match? @type.builtin "^(bool|[iu](1|2|4|8|16|32|64)|b?f16|tf32|f32|f64|f8e4m3|f8e5m2|f8e8m0|f4e2m1|int|type|layout)$"))

(scoped_identifier path: (identifier) @namespace)
(scoped_identifier path: (scoped_identifier name: (identifier) @namespace))
(use_tree path: (identifier) @namespace (use_tree_list))
(use_tree path: (scoped_identifier name: (identifier) @namespace) (use_tree_list))

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
(generic_name name: (identifier) @function)
(call_expr callee: (identifier) @function)
(call_expr callee: (scoped_identifier name: (identifier) @function))
(call_expr callee: (generic_name name: (identifier) @function))
(call_expr callee: (generic_name name: (scoped_identifier name: (identifier) @function)))
(method_call_expr method: (field_identifier) @function.method)
(attribute name: (identifier) @attribute)

; Keywords

[ "let" "main" "test" "bench" "warp_groups" "measure" "baseline" "flops" "bytes" ] @keyword
[ "grid" "threads" "cluster" "blocks_per_sm" "where" "tune" "step" "forall" "registers" "pipelined" "producer" "consumer" "each" ] @keyword
[ "fn" "kernel" ] @keyword.function
[ "const" "mut" ] @keyword.storage.modifier
(memory_space) @keyword.storage.modifier
[ "use" "as" ] @keyword.control.import
[ "if" "else" ] @keyword.control.conditional
[ "for" "while" "in" ] @keyword.control.repeat
(new_axis) @keyword
(call_expr callee: (identifier) @function
  (#eq? @function "where"))

; Literals

(int_literal) @constant.numeric.integer
(float_literal) @constant.numeric.float
(inf) @constant.builtin
(boolean) @constant.builtin.boolean
(string) @string
(escape_sequence) @constant.character.escape
(wildcard) @variable.builtin

; Operators and punctuation

[
  "+" "-" "*" "/" "%" "@" "∘"
  "==" "!=" "<" "<=" ">" ">="
  "&&" "||" "!"
  "&" "|" "^" "<<" ">>" "~"
  "=" "+=" "-=" "*=" "/=" "%=" "&=" "|=" "^=" "<<=" ">>="
  ".." "->"
] @operator

[ "(" ")" "[" "]" "{" "}" ] @punctuation.bracket
(generic_param_list [ "<" ">" ] @punctuation.bracket)
(generic_arg_list [ "<" ">" ] @punctuation.bracket)
(closure_param_list "|" @punctuation.bracket)
[ "," ";" ":" "::" "." ] @punctuation.delimiter
(layout_expr ":" @operator)
(attribute "#" @punctuation.special)

; Comments

(line_comment) @comment.line
(block_comment) @comment.block
(doc_comment) @comment.line.documentation
(file_doc_comment) @comment.line.documentation
