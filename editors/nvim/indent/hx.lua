if vim.b.did_indent then
  return
end
vim.b.did_indent = true

vim.bo.indentexpr = "v:lua.require'hx.indent'.at(v:lnum)"
vim.bo.indentkeys = "0{,0},0),0],!^F,o,O,0=where,0=tune,0=grid,0=threads,0=cluster,0=blocks_per_sm"
vim.b.undo_indent = "setlocal indentexpr< indentkeys<"
