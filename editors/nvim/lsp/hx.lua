-- The configuration of the language server, for `vim.lsp.enable("hx")`. Yours is merged over it: `vim.lsp.config("hx", { … })`.

---@type vim.lsp.Config
return {
  cmd = function(dispatchers, config)
    local path = require("hx.server").path()
    local cwd = type(config) == "table" and config.root_dir or nil
    return vim.lsp.rpc.start({ path, "lsp" }, dispatchers, { cwd = cwd })
  end,
  filetypes = { "hx" },
  root_markers = { "hx.toml", ".git" },
  init_options = { drawings = "unicode" },
  commands = require("hx.lens").commands,
  on_attach = function(client, buffer)
    require("hx").attach(client, buffer)
  end,
}
