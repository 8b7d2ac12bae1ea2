--- The `:Hx…` commands.

local hx = require("hx")

local M = {}

local STAGES = { "cuda", "ptx", "sass", "layouts", "tile", "thread", "constraints" }

--- Runs the toolchain in a terminal below.
---@param args string[]
function M.terminal(args)
  vim.cmd("botright 14split")
  vim.cmd.enew()
  vim.fn.jobstart({ require("hx.server").path(), unpack(args) }, { term = true })
end

--- `BM=128 T=bf16` as a table; anything else is an error.
---@param words string[]
---@return table<string, string>
function M.arguments(words)
  local args = {}
  for _, word in ipairs(words) do
    local name, value = word:match("^([%a_][%w_]*)=(.+)$")
    if not name then
      error(("hx: `%s` is no NAME=VALUE"):format(word), 0)
    end
    args[name] = value
  end
  return args
end

--- Shows an instance of a kernel in hints, hovers and lenses.
---@param argument table as `hx.showInstance` takes it
---@param buffer integer?
function M.show_instance(argument, buffer)
  hx.ask("workspace/executeCommand", { command = "hx.showInstance", arguments = { argument } }, function() end, buffer)
end

--- Starts the server anew.
function M.restart()
  local clients = vim.lsp.get_clients({ name = "hx" })
  local buffers = {}
  for _, client in ipairs(clients) do
    vim.list_extend(buffers, vim.tbl_keys(client.attached_buffers))
    client:stop(true)
  end
  local tries = 0
  local function again()
    tries = tries + 1
    local is_gone = vim.iter(clients):all(function(client)
      return client:is_stopped()
    end)
    if not is_gone and tries < 50 then
      return vim.defer_fn(again, 100)
    end
    for _, buffer in ipairs(buffers) do
      if vim.api.nvim_buf_is_valid(buffer) then
        vim.api.nvim_exec_autocmds("FileType", { group = "nvim.lsp.enable", buffer = buffer, modeline = false })
      end
    end
    hx.say("the server was restarted")
  end
  again()
end

--- Compiles the tree-sitter parser of this clone into the user's data folder.
function M.install_parser()
  local root = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))))
  local source = vim.fs.joinpath(vim.g.hx_grammar or vim.fs.joinpath(root, "../../grammar/tree-sitter-hx"), "src")
  if not vim.uv.fs_stat(vim.fs.joinpath(source, "parser.c")) then
    return hx.say(("there is no grammar at `%s`: set g:hx_grammar"):format(source), vim.log.levels.ERROR)
  end
  local folder = vim.fs.joinpath(vim.fn.stdpath("data"), "site", "parser")
  vim.fn.mkdir(folder, "p")
  local out = vim.fs.joinpath(folder, "hx.so")
  local compiler = vim.env.CC or "cc"
  local command = { compiler, "-O2", "-shared", "-fPIC", "-std=c11", "-I", source, "-o", out }
  vim.list_extend(command, { vim.fs.joinpath(source, "parser.c"), vim.fs.joinpath(source, "scanner.c") })
  local ok, ran = pcall(function()
    return vim.system(command, { text = true }):wait()
  end)
  if not ok or ran.code ~= 0 then
    local why = ok and ran.stderr or tostring(ran)
    return hx.say("the parser was not compiled: " .. why, vim.log.levels.ERROR)
  end
  local added, problem = vim.treesitter.language.add("hx", { path = out })
  if not added then
    return hx.say("the parser was compiled and cannot be loaded: " .. tostring(problem), vim.log.levels.ERROR)
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == "hx" then
      vim.treesitter.start(buffer, "hx")
    end
  end
  hx.say("the parser is at " .. out)
end

local function complete_stage(lead)
  return vim.tbl_filter(function(stage)
    return vim.startswith(stage, lead)
  end, STAGES)
end

local function current_file()
  return vim.api.nvim_buf_get_name(0)
end

function M.define()
  local function command(name, description, run, options)
    options = vim.tbl_extend("force", { desc = description }, options or {})
    vim.api.nvim_create_user_command(name, run, options)
  end
  command("HxLayout", "Layouts of the tensor at the cursor", function()
    require("hx.view").layout()
  end)
  command("HxWhy", "Why the tensor at the cursor has its layout", function()
    require("hx.view").why()
  end)
  command("HxEmit", "A stage of the kernel at the cursor, beside it", function(call)
    local stage = table.remove(call.fargs, 1) or "cuda"
    if not vim.tbl_contains(STAGES, stage) then
      return hx.say(("`%s` is no stage: %s"):format(stage, table.concat(STAGES, ", ")), vim.log.levels.ERROR)
    end
    require("hx.code").open({ stage = stage, args = M.arguments(call.fargs) })
  end, { nargs = "*", complete = complete_stage })
  command("HxExplain", "The page about a code, or about that of the diagnostic at the cursor", function(call)
    require("hx.view").explain(call.fargs[1])
  end, { nargs = "?" })
  command("HxCosts", "What the kernels of this file need", function()
    require("hx.view").costs()
  end)
  command("HxTest", "Runs the test at the cursor, all with !, or those that match", function(call)
    local filter = call.args ~= "" and call.args or nil
    if not filter and not call.bang then
      filter = require("hx.test").nearest()
    end
    require("hx.test").run({ path = current_file(), filter = filter })
  end, { nargs = "?", bang = true })
  command("HxTestClear", "Forgets what test runs showed", function()
    require("hx.test").clear()
  end)
  command("HxRun", "Runs `main` of this file", function(call)
    M.terminal({ "run", current_file(), "--", unpack(call.fargs) })
  end, { nargs = "*", complete = "file" })
  command("HxBench", "Runs the benches of this file", function(call)
    M.terminal({ "bench", current_file(), unpack(call.fargs) })
  end, { nargs = "?" })
  command("HxInstance", "Shows the instance of a kernel with these compile-time arguments", function(call)
    local kernel = table.remove(call.fargs, 1)
    local args = M.arguments(call.fargs)
    local document = { uri = vim.uri_from_bufnr(0) }
    M.show_instance({ textDocument = document, kernel = kernel, args = next(args) and args or nil })
  end, { nargs = "+" })
  command("HxStatus", "The state of the server", function()
    require("hx.view").status()
  end)
  command("HxSyntaxTree", "The syntax tree of this file", function()
    require("hx.view").syntax_tree()
  end)
  command("HxRestart", "Starts the server anew", M.restart)
  command("HxInstallParser", "Compiles the tree-sitter parser", M.install_parser)
end

return M
