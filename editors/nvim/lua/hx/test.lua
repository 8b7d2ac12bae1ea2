--- Runs tests and shows how they ended: marks beside the test, diagnostics where it failed, and the quickfix list.

local hx = require("hx")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("hx.test")

---@class hx.TestResult
---@field name string
---@field result "passed"|"failed"|"skipped"
---@field reason string?
---@field seconds number
---@field diagnostics table[]

--- One line of `hx test --format json`; anything else is `nil`.
---@param line string
---@return table?
function M.parse(line)
  local ok, value = pcall(vim.json.decode, line, { luanil = { object = true } })
  return ok and type(value) == "table" and value.type and value or nil
end

--- The title of a test, without the path before it and the case behind it.
---@param name string
---@return string
function M.title(name)
  local title = name:gsub("^.-::", "")
  return (title:gsub("%b[]#?%d*$", ""))
end

--- The line (from 0) of the test or bench with that title in a buffer.
---@param buffer integer
---@param title string
---@return integer?
local function line_of(buffer, title)
  for at, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local found = text:match('^%s*test%s+"(.*)"') or text:match('^%s*bench%s+"(.*)"')
    if found and found:gsub("\\(.)", "%1") == title then
      return at - 1
    end
  end
end

--- Failures as items of the quickfix list.
---@param results hx.TestResult[]
---@param folder string what paths are relative to
---@return table[]
function M.failures(results, folder)
  local items = {}
  for _, result in ipairs(results) do
    for _, diagnostic in ipairs(result.diagnostics or {}) do
      local place = vim.iter(diagnostic.spans or {}):find(function(span)
        return span.primary
      end)
      if place then
        local notes = vim.tbl_map(function(child)
          return child.message
        end, diagnostic.children or {})
        table.insert(items, {
          filename = vim.fs.joinpath(folder, place.path),
          lnum = place.start.line,
          col = place.start.column,
          type = "E",
          text = M.title(result.name) .. ": " .. table.concat({ diagnostic.message, unpack(notes) }, "; "),
        })
      end
    end
  end
  return items
end

---@param buffer integer
---@param results hx.TestResult[]
local function show(buffer, results, folder)
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  local by_line = {}
  for _, result in ipairs(results) do
    local line = line_of(buffer, M.title(result.name))
    if line then
      local entry = by_line[line] or { passed = 0, failed = 0, skipped = 0, seconds = 0 }
      entry[result.result] = entry[result.result] + 1
      entry.seconds = entry.seconds + result.seconds
      by_line[line] = entry
    end
  end
  for line, entry in pairs(by_line) do
    local bad, group = entry.failed > 0, entry.skipped > 0 and "DiagnosticWarn" or "DiagnosticOk"
    local parts = {}
    for _, what in ipairs({ "passed", "failed", "skipped" }) do
      if entry[what] > 0 then
        table.insert(parts, ("%d %s"):format(entry[what], what))
      end
    end
    vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, line, 0, {
      sign_text = bad and "✗" or "✓",
      sign_hl_group = bad and "DiagnosticError" or group,
      virt_text = {
        { ("%s (%.0f ms)"):format(table.concat(parts, ", "), entry.seconds * 1000), bad and "DiagnosticError" or group },
      },
    })
  end
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buffer))
  local diagnostics = {}
  for _, item in ipairs(M.failures(results, folder)) do
    if vim.fs.normalize(item.filename) == name then
      table.insert(diagnostics, {
        lnum = item.lnum - 1,
        col = item.col - 1,
        severity = vim.diagnostic.severity.ERROR,
        source = "hx test",
        message = item.text,
      })
    end
  end
  vim.diagnostic.set(NAMESPACE, buffer, diagnostics)
end

--- Runs the tests of a file whose name contains the filter, all without one.
---@param options { path: string, filter: string?, done: fun(results: hx.TestResult[])? }
function M.run(options)
  local folder = vim.fs.dirname(options.path)
  local command = { require("hx.server").path(), "test", options.path, "--format", "json" }
  if options.filter then
    table.insert(command, options.filter)
  end
  if vim.g.hx_device then
    vim.list_extend(command, { "--device", vim.g.hx_device })
  end
  local buffer = vim.fn.bufnr(options.path)
  if buffer ~= -1 and vim.bo[buffer].modified then
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd("silent update")
    end)
  end
  hx.say("running " .. (options.filter or vim.fs.basename(options.path)))
  vim.system(command, { text = true, cwd = folder }, function(ran)
    vim.schedule(function()
      local results, summary = {}, nil
      for line in vim.gsplit(ran.stdout or "", "\n", { trimempty = true }) do
        local value = M.parse(line)
        if value and value.type == "test" then
          table.insert(results, value)
        elseif value and value.type == "summary" then
          summary = value
        end
      end
      M.report(results, summary, ran, options)
    end)
  end)
end

function M.report(results, summary, ran, options)
  local folder = vim.fs.dirname(options.path)
  local buffer = vim.fn.bufnr(options.path)
  if buffer ~= -1 then
    show(buffer, results, folder)
  end
  if not summary then
    local why = vim.trim(ran.stderr or "")
    hx.say(("`hx test` ended with %d: %s"):format(ran.code, why), vim.log.levels.ERROR)
  else
    local failures = M.failures(results, folder)
    vim.fn.setqflist({}, " ", { title = "hx test", items = failures })
    local text = ("%d passed, %d failed, %d skipped"):format(summary.passed, summary.failed, summary.skipped)
    hx.say(text, summary.failed > 0 and vim.log.levels.ERROR or vim.log.levels.INFO)
  end
  if options.done then
    options.done(results)
  end
end

--- Forgets what earlier runs showed.
function M.clear()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
  vim.diagnostic.reset(NAMESPACE)
end

--- The title of the test around the cursor.
---@return string?
function M.nearest()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local lines = vim.api.nvim_buf_get_lines(0, 0, row, false)
  for at = row, 1, -1 do
    local title = lines[at]:match('^%s*test%s+"(.*)"')
    if title then
      return (title:gsub("\\(.)", "%1"))
    end
    -- Another item begins above the cursor: there is no test around it.
    if at < row and lines[at]:match("^}") then
      return nil
    end
  end
end

return M
