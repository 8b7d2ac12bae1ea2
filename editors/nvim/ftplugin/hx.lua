if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

vim.bo.commentstring = "// %s"
vim.bo.comments = "s1:/*,mb:*,ex:*/,:///,://!,://"
vim.bo.suffixesadd = ".hx"
vim.bo.expandtab = true
vim.bo.shiftwidth = 4
vim.bo.softtabstop = 4
vim.bo.formatoptions = "croqlj"
vim.bo.textwidth = 110
vim.bo.matchpairs = "(:),[:],{:}"

local undo = {
  "setlocal commentstring< comments< suffixesadd< expandtab< shiftwidth< softtabstop< formatoptions< textwidth< matchpairs<",
}

-- With a parser, highlighting and folds come from tree-sitter, else from syntax/hx.vim.
if vim.treesitter.language.add("hx") and pcall(vim.treesitter.start) then
  vim.wo[0][0].foldexpr = "v:lua.vim.treesitter.foldexpr()"
  table.insert(undo, "setlocal foldexpr<")
  table.insert(undo, "lua pcall(vim.treesitter.stop)")
end

vim.b.undo_ftplugin = table.concat(undo, " | ")
