--- What happens when the server meets a buffer, and how it is asked.

local M = {}

--- The server of a buffer.
---@param buffer integer?
---@return vim.lsp.Client?
function M.client(buffer)
  return vim.lsp.get_clients({ bufnr = buffer or 0, name = "hx" })[1]
end

---@param message string
---@param level integer?
function M.say(message, level)
  vim.notify("hx: " .. message, level or vim.log.levels.INFO)
end

--- Sends a request. `done` gets the answer; errors are shown.
---@param method string
---@param params table?
---@param done fun(result: any)
---@param buffer integer?
function M.ask(method, params, done, buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local client = M.client(buffer)
  if not client then
    return M.say("no server is attached to this buffer (:checkhealth hx)", vim.log.levels.ERROR)
  end
  client:request(method, params, function(failure, result)
    if failure then
      -- The text changed meanwhile: whoever asks again gets a fresh answer.
      if failure.code ~= -32801 then
        M.say(failure.message or vim.inspect(failure), vim.log.levels.ERROR)
      end
    else
      done(result ~= vim.NIL and result or nil)
    end
  end, buffer)
end

--- The document and position of the cursor, as the server counts.
---@return table
function M.here()
  local client = M.client()
  return vim.lsp.util.make_position_params(0, client and client.offset_encoding or "utf-16")
end

---@param client vim.lsp.Client
---@param buffer integer
function M.attach(client, buffer)
  if vim.g.hx_inlay_hints ~= false and client:supports_method("textDocument/inlayHint", buffer) then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
  if vim.g.hx_code_lens ~= false and client:supports_method("textDocument/codeLens", buffer) then
    require("hx.lens").attach(buffer)
  end
end

return M
