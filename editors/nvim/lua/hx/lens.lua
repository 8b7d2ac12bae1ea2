--- Lenses: shown above kernels and tests, run by `vim.lsp.codelens.run()`.

local M = {}

--- What the commands of lenses do here. Each gets the lens's command; its first argument says what it is about.
---@type table<string, fun(command: lsp.Command, context: table)>
M.commands = {}

local function argument(command)
  return (command.arguments or {})[1] or {}
end

local function file(command)
  return vim.uri_to_fname(argument(command).uri)
end

M.commands["hx.runTest"] = function(command)
  require("hx.test").run({ path = file(command), filter = argument(command).filter })
end

M.commands["hx.bench"] = function(command)
  require("hx.commands").terminal({ "bench", file(command), argument(command).filter })
end

M.commands["hx.run"] = function(command)
  require("hx.commands").terminal({ "run", file(command) })
end

for name, stage in pairs({ ["hx.showCuda"] = "cuda", ["hx.showPtx"] = "ptx", ["hx.showSass"] = "sass" }) do
  M.commands[name] = function(command, context)
    require("hx.code").open({ stage = stage, kernel = argument(command).kernel, buffer = context.bufnr })
  end
end

M.commands["hx.showCosts"] = function(command, context)
  require("hx.view").costs({ kernel = argument(command).kernel, buffer = context.bufnr })
end

M.commands["hx.showInstance"] = function(command, context)
  require("hx.commands").show_instance(argument(command), context.bufnr)
end

--- Keeps the lenses of a buffer fresh.
---@param buffer integer
function M.attach(buffer)
  if vim.lsp.codelens.enable then
    vim.lsp.codelens.enable(true, { bufnr = buffer })
    return
  end
  local group = vim.api.nvim_create_augroup("hx.lens." .. buffer, { clear = true })
  vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "BufWritePost", "TextChanged" }, {
    group = group,
    buffer = buffer,
    callback = function()
      vim.lsp.codelens.refresh({ bufnr = buffer })
    end,
  })
  vim.lsp.codelens.refresh({ bufnr = buffer })
end

return M
