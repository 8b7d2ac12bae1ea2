-- A session with the server: a project is opened, hints come, a hover, a rename, formatting, a lens that runs a test, the views.

local folder = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
local session = dofile(folder .. "/session.lua")

local NEEDED = {
  "textDocument/hover",
  "textDocument/rename",
  "textDocument/formatting",
  "textDocument/codeAction",
  "textDocument/codeLens",
}

local function client()
  return vim.lsp.get_clients({ bufnr = 0, name = "hx" })[1]
end

--- Texts of the hints, by line.
local function hints()
  local found = {}
  for _, entry in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    local label = entry.inlay_hint.label
    if type(label) == "table" then
      label = vim.iter(label):map(function(part)
        return part.value
      end):join("")
    end
    found[entry.inlay_hint.position.line + 1] = label
  end
  return found
end

local function line_with(text)
  for at, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = line:find(text, 1, true)
    if column then
      return at, column - 1
    end
  end
  error("no line has " .. text)
end

local function cursor_on(text, within)
  local line, column = line_with(within or text)
  if within then
    column = vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1]:find(text, column + 1, true) - 1
  end
  vim.api.nvim_win_set_cursor(0, { line, column })
  return line
end

--- The text of the floating window, if there is one.
local function float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), "\n")
    end
  end
end

local function close_floats()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      vim.api.nvim_win_close(window, true)
    end
  end
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

session.run(function()
  session.eventually("the server is attached", client)
  session.equal("the folder of the project is the root", vim.fs.basename(client().root_dir), "project")

  local found = session.eventually("hints come", function()
    local found = hints()
    return found[line_with("let sc")] and found[line_with("gemm(")] and found
  end)
  session.check("a layout behind a tensor", (found or {})[line_with("let sc")]:find("swizzle", 1, true) ~= nil, vim.inspect(found))
  session.check("an instruction behind an operation", (found or {})[line_with("gemm(")]:find("mma", 1, true) ~= nil)

  cursor_on("rc", "let rc")
  --- The floating window is for reading.
  local function read_only(what)
    local writable = vim.iter(vim.api.nvim_list_wins()):any(function(window)
      local is_float = vim.api.nvim_win_get_config(window).relative ~= ""
      return is_float and vim.bo[vim.api.nvim_win_get_buf(window)].modifiable
    end)
    session.check(what .. " is for reading", not writable)
  end

  vim.cmd.HxLayout()
  session.check("the layout view", (session.eventually("the layout view comes", float) or ""):find("mma.C", 1, true) ~= nil)
  read_only("the layout view")
  close_floats()
  vim.cmd.HxWhy()
  session.check("the reasons", (session.eventually("the reasons come", float) or ""):find("because", 1, true) ~= nil)
  session.check("they are in the quickfix list", #vim.fn.getqflist() >= 2)
  read_only("the view of the reasons")
  close_floats()

  local source = vim.api.nvim_get_current_buf()
  vim.cmd.HxEmit("cuda")
  local code = session.eventually("CUDA comes", function()
    local buffer = vim.fn.bufnr("hx://cuda/matmul")
    return buffer ~= -1 and vim.api.nvim_buf_line_count(buffer) > 20 and buffer
  end)
  session.check("nobody can write into it", not vim.bo[code].modifiable and vim.bo[code].buftype == "nofile")
  session.equal("it asks nobody to be saved", vim.bo[code].modified, false)
  cursor_on("gemm")
  vim.cmd.doautocmd("CursorMoved")
  local marks = vim.api.nvim_buf_get_extmarks(code, vim.api.nvim_get_namespaces()["hx.code"], 0, -1, {})
  session.check("the lines of the gemm are marked", #marks > 0)
  local marked = vim.api.nvim_buf_get_lines(code, marks[1][2], marks[#marks][2] + 1, false)
  session.check("they multiply", table.concat(marked, "\n"):find("wgmma.mma_async", 1, true) ~= nil)
  vim.api.nvim_buf_delete(code, { force = true })
  vim.api.nvim_set_current_buf(source)

  -- What the server does not offer cannot be tried: it is named, and the run is no pass.
  local lacks = vim.iter(NEEDED):filter(function(method)
    return not client():supports_method(method, 0)
  end)
  for method in lacks do
    session.missing(method)
  end
  if session.is_partial() then
    return
  end

  cursor_on("rc", "let rc")
  vim.lsp.buf.hover()
  local hover = session.eventually("a hover comes", float)
  session.check("it has the layout", hover and hover:find("(128,1,16)", 1, true) ~= nil, hover)
  session.check("it has a drawing", hover and hover:find("T0V0", 1, true) ~= nil, hover)
  close_floats()

  cursor_on("rc", "let rc")
  vim.lsp.buf.rename("acc")
  session.eventually("the rename comes", function()
    return text():find("let acc", 1, true)
  end)
  session.equal("every use is renamed", select(2, text():gsub("%f[%w_]acc%f[^%w_]", "")), 4)
  session.check("nothing else is", text():find("let rc1", 1, true) ~= nil and not text():find("%f[%w_]rc%f[^%w_]"))

  local line = line_with("sync();")
  vim.api.nvim_buf_set_lines(0, line - 1, line, false, { "  sync( ) ;" })
  vim.lsp.buf.format({ timeout_ms = 10000 })
  session.equal("formatting", vim.api.nvim_buf_get_lines(0, line - 1, line, false)[1], "    sync();")

  vim.api.nvim_buf_set_lines(0, line - 1, line, false, {})
  local diagnostic = session.eventually("a race is found", function()
    return vim.iter(vim.diagnostic.get(0)):find(function(it)
      return it.code == "HX0401"
    end)
  end)
  session.check("it names both sides", diagnostic and #(diagnostic.user_data.lsp.relatedInformation or {}) > 0)
  vim.api.nvim_win_set_cursor(0, { diagnostic.lnum + 1, diagnostic.col })
  local window = vim.api.nvim_get_current_win()
  vim.cmd("HxExplain")
  local page = session.eventually("the page of its code is shown", function()
    return vim.iter(vim.api.nvim_list_bufs()):find(function(buffer)
      return vim.api.nvim_buf_get_name(buffer):find("hx://" .. diagnostic.code, 1, true) ~= nil
    end)
  end)
  session.check("it is Markdown", page and vim.bo[page].filetype == "markdown")
  vim.api.nvim_buf_delete(page, { force = true })
  vim.api.nvim_set_current_win(window)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title:find("sync()", 1, true) ~= nil
    end,
  })
  session.eventually("its fix is applied", function()
    return text():find("    sync();", 1, true)
  end)
  session.eventually("the race is gone", function()
    return #vim.diagnostic.get(0) == 0
  end)

  vim.cmd("silent write")
  local lenses
  session.eventually("lenses come", function()
    local answers = vim.lsp.buf_request_sync(0, "textDocument/codeLens", { textDocument = { uri = vim.uri_from_bufnr(0) } }, 5000)
    lenses = vim.iter(answers or {}):map(function(answer)
      return answer.result
    end):flatten():totable()
    return #lenses > 0
  end)
  local lens = vim.iter(lenses):find(function(it)
    return it.command and it.command.command == "hx.runTest"
  end)
  if session.check("one of them runs a test", lens ~= nil, vim.inspect(lenses)) then
    client():exec_cmd(lens.command, { bufnr = 0 })
    local namespace = vim.api.nvim_get_namespaces()["hx.test"]
    local mark = session.eventually("the test runs", function()
      return vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })[1]
    end, 60000)
    session.check("it passes", mark and mark[4].virt_text[1][1]:find("^2 passed") ~= nil, vim.inspect(mark))
    session.equal("its line", mark and mark[2] + 1, (line_with('test "')))
  end

  vim.cmd.HxRestart()
  session.eventually("the server comes back", function()
    return client() and hints()[line_with("gemm(")]
  end)
end)
