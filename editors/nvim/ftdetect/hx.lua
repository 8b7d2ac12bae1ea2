-- Neovim itself takes `.hx` for Haxe.
vim.filetype.add({ extension = { hx = "hx" } })
