if vim.g.loaded_hx then
  return
end
vim.g.loaded_hx = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("hx: Neovim 0.11 or newer is needed", vim.log.levels.WARN)
  return
end

require("hx.commands").define()

if vim.g.hx_lsp ~= false then
  vim.lsp.enable("hx")
end
