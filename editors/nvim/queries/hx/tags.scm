(fn_item name: (identifier) @name) @definition.function
(kernel_item name: (identifier) @name) @definition.function
(const_item name: (identifier) @name) @definition.constant
(test_item name: (string (string_content) @name)) @definition.test
(bench_item name: (string (string_content) @name)) @definition.test
(call_expr callee: (identifier) @name) @reference.call
(call_expr callee: (scoped_identifier name: (identifier) @name)) @reference.call
(call_expr callee: (generic_name name: (identifier) @name)) @reference.call
