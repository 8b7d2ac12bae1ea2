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
] @indent.begin

; The clauses of a header.
(kernel_item [ (where_clause) (tune_clause) (grid_clause) (threads_clause) (cluster_clause) (residency_clause) ] @indent.begin)
(fn_item (where_clause) @indent.begin)

[ ")" "]" "}" ] @indent.branch @indent.end

[ (line_comment) (block_comment) (doc_comment) (file_doc_comment) (string) ] @indent.ignore
(ERROR) @indent.auto
