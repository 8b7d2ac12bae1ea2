" Highlighting where there is no tree-sitter parser.
if exists("b:current_syntax")
  finish
endif

syn keyword hxItem use as const fn kernel test bench main
syn keyword hxStatement let warp_groups
syn keyword hxConditional if else
syn keyword hxRepeat for while in
syn keyword hxModifier mut global shared register
syn keyword hxBoolean true false
syn keyword hxConstant inf
syn keyword hxNew new
syn match hxClause "\<\%(where\|tune\|step\|forall\|grid\|threads\|cluster\|blocks_per_sm\|registers\|producer\|consumer\|each\|measure\|flops\|bytes\|baseline\)\>\ze\_s*[^(,;.)\]=: ]"
syn keyword hxType bool i1 i2 i4 i8 i16 i32 i64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 tf32 f32 f64 f8e4m3 f8e5m2 f8e8m0 f4e2m1
syn match hxFunction "\<\h\w*\ze\s*("
syn match hxClause "\<pipelined\>\ze\s*("
syn match hxParameter "\<\u[A-Z0-9_]*\>"
syn match hxLabel "\<\h\w*\ze:[^:]" contained
syn match hxAttribute "#\[[^\]]*\]"
syn match hxOperator "[-+*/%@=<>!&|∘]\|\.\."
syn match hxNumber "\<\d[0-9_]*\>\|\<0[xX][0-9a-fA-F_]\+\>\|\<0[bB][01_]\+\>\|\<0[oO][0-7_]\+\>"
syn match hxFloat "\<\d[0-9_]*\.\d[0-9_]*\%([eE][-+]\?\d\+\)\?\|\<\d[0-9_]*[eE][-+]\?\d\+"
syn match hxEscape "\\\%([ntr0\\\"]\|u{\x\+}\)" contained
syn region hxString start=+"+ skip=+\\\\\|\\"+ end=+"\|$+ contains=hxEscape
syn keyword hxTodo TODO FIXME XXX contained
syn match hxComment "//.*$" contains=hxTodo,@Spell
syn match hxDocComment "///\%([^/].*\)\?$\|//!.*$" contains=hxTodo,@Spell
syn region hxBlockComment start="/\*" end="\*/" contains=hxBlockComment,hxTodo,@Spell

hi def link hxItem Keyword
hi def link hxStatement Keyword
hi def link hxConditional Conditional
hi def link hxRepeat Repeat
hi def link hxModifier StorageClass
hi def link hxBoolean Boolean
hi def link hxConstant Constant
hi def link hxNew Keyword
hi def link hxClause Keyword
hi def link hxType Type
hi def link hxFunction Function
hi def link hxParameter Constant
hi def link hxAttribute PreProc
hi def link hxOperator Operator
hi def link hxNumber Number
hi def link hxFloat Float
hi def link hxEscape SpecialChar
hi def link hxString String
hi def link hxTodo Todo
hi def link hxComment Comment
hi def link hxDocComment SpecialComment
hi def link hxBlockComment Comment

let b:current_syntax = "hx"
