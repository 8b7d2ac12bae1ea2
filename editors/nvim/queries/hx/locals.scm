; Scopes

[
  (source_file)
  (fn_item)
  (kernel_item)
  (test_item)
  (bench_item)
  (main_item)
  (block)
  (for_stmt)
  (warp_role)
  (closure_expr)
] @local.scope

; Definitions

(const_item name: (identifier) @local.definition.constant)
(fn_item name: (identifier) @local.definition.function
  (#set! definition.function.scope "parent"))
(kernel_item name: (identifier) @local.definition.function
  (#set! definition.function.scope "parent"))
(generic_param name: (identifier) @local.definition.parameter)
(param name: (identifier) @local.definition.parameter)
(closure_param_list (identifier) @local.definition.parameter)
(closure_param_list (tuple_pattern (identifier) @local.definition.parameter))
(let_stmt pattern: (identifier) @local.definition.var)
(let_stmt pattern: (tuple_pattern (identifier) @local.definition.var))
(let_stmt pattern: (array_pattern (identifier) @local.definition.var))
(for_stmt pattern: (identifier) @local.definition.var)
(for_stmt pattern: (tuple_pattern (identifier) @local.definition.var))
(for_stmt pattern: (array_pattern (identifier) @local.definition.var))
(case_clause pattern: (identifier) @local.definition.var)
(case_clause pattern: (tuple_pattern (identifier) @local.definition.var))
(forall_variable pattern: (identifier) @local.definition.var)
(forall_variable pattern: (tuple_pattern (identifier) @local.definition.var))
(role_binder name: (identifier) @local.definition.var)
(use_tree path: (identifier) @local.definition.import)
(use_tree path: (scoped_identifier name: (identifier) @local.definition.import))
(rename name: (identifier) @local.definition.import)

; References

(identifier) @local.reference
(type_identifier) @local.reference
