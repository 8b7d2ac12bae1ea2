[
  (block)
  (warp_groups_stmt)
  (param_list)
  (generic_param_list)
  (arg_list)
  (array_expr)
  (tuple_expr)
  (use_tree_list)
  (block_comment)
  (doc_comment)+
  (file_doc_comment)+
  (use_item)+
] @fold
