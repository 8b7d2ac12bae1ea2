--- A stage of a kernel beside its source: the lines of one follow the cursor in the other.

local hx = require("hx")
local view = require("hx.view")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("hx.code")
local FILETYPES = { ["cuda-cpp"] = "cuda", ptx = "ptx", sass = "sass", hx = "text" }

---@type table<integer, table> for each window's buffer of code: its source buffer and the pairs of lines
local shown = {}

--- Opens a stage of the kernel of that name, or of the one around the cursor.
---@param options { stage: string, kernel: string?, args: table<string, string>?, buffer: integer? }
function M.open(options)
  local source = options.buffer or vim.api.nvim_get_current_buf()
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(source) },
    stage = options.stage,
    kernel = options.kernel,
    args = options.args and next(options.args) and options.args or nil,
    position = not options.kernel and hx.here().position or nil,
  }
  hx.ask("hx/emit", params, function(answer)
    local name = ("hx://%s/%s"):format(answer.stage, answer.kernel)
    local lines = vim.split(answer.text, "\n")
    local buffer = view.split(name, lines, FILETYPES[answer.language] or "text")
    shown[buffer] = { source = source, lines = answer.lines or {}, options = options }
    for _, warning in ipairs(answer.warnings or {}) do
      hx.say(warning, vim.log.levels.WARN)
    end
    M.follow(source, buffer)
  end, source)
end

--- The lines (from 0) of one side that belong to a line of the other.
---@param pairs_of_lines { emitted: integer, source: integer }[]
---@param from "emitted"|"source"
---@param line integer
---@return integer[]
function M.partners(pairs_of_lines, from, line)
  local to = from == "source" and "emitted" or "source"
  local found = {}
  for _, pair in ipairs(pairs_of_lines) do
    if pair[from] == line then
      table.insert(found, pair[to])
    end
  end
  return found
end

local function mark(buffer, lines)
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  for _, line in ipairs(lines) do
    pcall(vim.api.nvim_buf_set_extmark, buffer, NAMESPACE, line, 0, { line_hl_group = "Visual" })
  end
  local window = vim.fn.bufwinid(buffer)
  if lines[1] and window ~= -1 then
    local last = vim.api.nvim_buf_line_count(buffer)
    vim.api.nvim_win_call(window, function()
      vim.api.nvim_win_set_cursor(window, { math.min(lines[1] + 1, last), 0 })
      vim.cmd("normal! zv")
    end)
  end
end

--- Marks the partners of the cursor's line whenever it moves, in both directions.
---@param source integer
---@param buffer integer
function M.follow(source, buffer)
  local group = vim.api.nvim_create_augroup("hx.code." .. buffer, { clear = true })
  local function on_move(from, at, to)
    vim.api.nvim_create_autocmd("CursorMoved", {
      group = group,
      buffer = at,
      callback = function()
        local entry = shown[buffer]
        if not entry or not vim.api.nvim_buf_is_valid(to) then
          return
        end
        local line = vim.api.nvim_win_get_cursor(0)[1] - 1
        vim.api.nvim_buf_clear_namespace(at, NAMESPACE, 0, -1)
        mark(to, M.partners(entry.lines, from, line))
      end,
    })
  end
  on_move("source", source, buffer)
  on_move("emitted", buffer, source)
  -- What was shown is stale once the source is saved.
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    buffer = source,
    callback = function()
      local entry = shown[buffer]
      if entry and vim.fn.bufwinid(buffer) ~= -1 then
        M.open(vim.tbl_extend("force", entry.options, { buffer = source }))
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = buffer,
    callback = function()
      shown[buffer] = nil
      vim.api.nvim_buf_clear_namespace(source, NAMESPACE, 0, -1)
      vim.api.nvim_del_augroup_by_id(group)
    end,
  })
end

return M
