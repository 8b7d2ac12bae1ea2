(fn_item body: (block) @function.inside) @function.around
(kernel_item body: (block) @function.inside) @function.around
(test_item body: (block) @test.inside) @test.around
(bench_item body: (block) @test.inside) @test.around
(param_list ((_) @parameter.inside . ","? @parameter.around) @parameter.around)
(arg_list ((_) @parameter.inside . ","? @parameter.around) @parameter.around)
[ (line_comment) (block_comment) (doc_comment) (file_doc_comment) ] @comment.inside
[ (line_comment)+ (doc_comment)+ (file_doc_comment)+ (block_comment) ] @comment.around
