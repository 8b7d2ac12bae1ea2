--- Windows that show an answer: a float at the cursor, or a split that is used again.

local hx = require("hx")

local M = {}

--- Shows lines at the cursor; a second call with the same topic enters the window.
---@param lines string[]
---@param topic string
function M.float(lines, topic)
  return vim.lsp.util.open_floating_preview(lines, "", {
    border = "rounded",
    focus_id = "hx." .. topic,
    title = " " .. topic .. " ",
    max_width = math.max(40, vim.o.columns - 8),
    max_height = math.max(10, vim.o.lines - 6),
    wrap = false,
  })
end

--- Shows lines in a scratch buffer of that name, in a split beside the current window.
---@param name string
---@param lines string[]
---@param filetype string
---@return integer buffer
function M.split(name, lines, filetype)
  local buffer = vim.fn.bufnr("^" .. vim.fn.escape(name, "[]*?{}\\^$.") .. "$")
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].bufhidden = "wipe"
    vim.bo[buffer].buftype = "nofile"
    vim.bo[buffer].swapfile = false
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  if vim.bo[buffer].filetype ~= filetype then
    vim.bo[buffer].filetype = filetype
  end
  if vim.fn.bufwinid(buffer) == -1 then
    vim.api.nvim_open_win(buffer, false, { split = "right" })
  end
  return buffer
end

--- The page about a code, or about that of the diagnostic at the cursor.
---@param code string?
function M.explain(code)
  if not code then
    local line, column = unpack(vim.api.nvim_win_get_cursor(0))
    local found = vim.tbl_filter(function(it)
      return it.code ~= nil
    end, vim.diagnostic.get(0, { lnum = line - 1 }))
    -- The one under the cursor, or else the first of the line.
    local under = vim.tbl_filter(function(it)
      return it.col <= column and column < math.max(it.end_col or it.col, it.col + 1)
    end, found)
    local one = under[1] or found[1]
    if not one then
      return hx.say("no diagnostic is on this line: name a code, as in `:HxExplain HX0203`")
    end
    code = tostring(one.code)
  end
  hx.ask("hx/explainCode", { code = code }, function(page)
    M.split("hx://" .. page.code, vim.split(page.text, "\n"), "markdown")
  end)
end

--- The layouts of the tensor at the cursor, drawn.
function M.layout()
  hx.ask("hx/layout", hx.here(), function(answer)
    if not answer or #answer.tensors == 0 then
      return hx.say("the cursor is on no tensor with a layout")
    end
    local lines = {}
    for _, tensor in ipairs(answer.tensors) do
      if #lines > 0 then
        table.insert(lines, "")
      end
      vim.list_extend(lines, M.describe(tensor))
    end
    M.float(lines, "layout")
  end)
end

--- Words in lines of at most `width` columns, each behind `indent`. Drawings are not wrapped, so windows are not either.
---@param text string
---@param width integer
---@param indent string
---@return string[]
function M.wrap(text, width, indent)
  local lines, line = {}, nil
  for word in text:gmatch("%S+") do
    local longer = line and line .. " " .. word or indent .. word
    if line and vim.fn.strdisplaywidth(longer) > width then
      table.insert(lines, line)
      longer = indent .. word
    end
    line = longer
  end
  table.insert(lines, line)
  return lines
end

--- A tensor of `hx/layout` as lines.
---@param tensor table
---@return string[]
function M.describe(tensor)
  local shape = table.concat(vim.tbl_map(tostring, tensor.shape), ", ")
  local lines = {
    ("%s: %s %s[%s]  ⟨%s⟩"):format(tensor.name, tensor.space, tensor.dtype, shape, tensor.alias or "?"),
    "  = " .. tensor.layout,
  }
  if type(tensor.reason) == "string" then
    vim.list_extend(lines, M.wrap(tensor.reason, 78, "  "))
  end
  for _, drawing in ipairs(tensor.drawings or {}) do
    -- A drawing has its title in it.
    table.insert(lines, "")
    vim.list_extend(lines, vim.split(vim.trim(drawing.unicode or ""), "\n"))
  end
  return lines
end

--- Why the tensor at the cursor has its layout.
function M.why()
  hx.ask("hx/explainLayout", hx.here(), function(answer)
    if not answer then
      return hx.say("the cursor is on no tensor with a layout")
    end
    M.float(vim.split(vim.trim(answer.text), "\n"), "why")
    M.steps_to_quickfix(answer.steps or {})
  end)
end

--- The operations of a chain of reasons, as a list to walk with `:cnext`.
---@param steps table[]
function M.steps_to_quickfix(steps)
  local items = {}
  local function visit(step)
    if type(step.location) == "table" then
      local start = step.location.range.start
      local text = step.what .. (type(step.reason) == "string" and ": " .. step.reason or "")
      table.insert(items, {
        filename = vim.uri_to_fname(step.location.uri),
        lnum = start.line + 1,
        col = start.character + 1,
        text = text,
      })
    end
    vim.iter(step.from or {}):each(visit)
  end
  vim.iter(steps):each(visit)
  vim.fn.setqflist({}, " ", { title = "hx: why this layout", items = items })
end

--- What kernels need: threads, shared memory, registers, blocks per multiprocessor.
---@param options { kernel: string?, buffer: integer? }?
function M.costs(options)
  options = options or {}
  local buffer = options.buffer or vim.api.nvim_get_current_buf()
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, kernel = options.kernel }
  hx.ask("hx/costs", params, function(kernels)
    local lines = {}
    for _, kernel in ipairs(kernels or {}) do
      table.insert(lines, M.describe_costs(kernel))
    end
    if #lines == 0 then
      return hx.say("no kernel without errors is in this file")
    end
    M.float(lines, "costs")
  end, buffer)
end

--- One kernel of `hx/costs` as a line.
---@param kernel table
---@return string
function M.describe_costs(kernel)
  return ("%s (%s): %d threads · %s"):format(kernel.kernel, kernel.target, kernel.threads, kernel.summary)
end

--- The state of the server.
function M.status()
  hx.ask("hx/serverStatus", nil, function(status)
    local lines = {}
    for _, key in ipairs(vim.fn.sort(vim.tbl_keys(status))) do
      local value = status[key]
      local text = type(value) == "table" and table.concat(vim.tbl_map(tostring, value), ", ") or tostring(value)
      table.insert(lines, ("%s: %s"):format(key, text))
    end
    M.float(lines, "server")
  end)
end

--- The syntax tree of the buffer.
function M.syntax_tree()
  local params = { textDocument = { uri = vim.uri_from_bufnr(0) } }
  hx.ask("hx/syntaxTree", params, function(tree)
    M.split("hx://syntax-tree", vim.split(tree, "\n"), "")
  end)
end

return M
