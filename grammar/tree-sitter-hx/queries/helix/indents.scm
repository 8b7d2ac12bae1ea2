[
  (block)
  (warp_groups_stmt)
  (param_list)
  (generic_param_list)
  (generic_arg_list)
  (arg_list)
  (array_expr)
  (index_list)
  (tuple_expr)
  (paren_expr)
  (tuple_pattern)
  (array_pattern)
  (shape)
  (use_tree_list)
] @indent

[ ")" "]" "}" ] @outdent
