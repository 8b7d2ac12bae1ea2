[
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

(param name: (identifier) @local.definition.variable.parameter)
(closure_param_list (identifier) @local.definition.variable.parameter)
(closure_param_list (tuple_pattern (identifier) @local.definition.variable.parameter))

(identifier) @local.reference
