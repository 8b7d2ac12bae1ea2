--- `:checkhealth hx`

local M = {}

local health = vim.health

local function check_toolchain()
  health.start("hx: toolchain")
  local server = require("hx.server")
  for _, candidate in ipairs(server.candidates()) do
    if server.is_ours(candidate.path) then
      local version = vim.trim(vim.system({ candidate.path, "--version" }, { text = true }):wait().stdout)
      health.ok(("%s (%s): %s"):format(candidate.path, candidate.origin, version))
      return candidate.path
    end
    health.info(("%s (%s) is another program, perhaps the editor Helix"):format(candidate.path, candidate.origin))
  end
  health.error("the hx toolchain was not found", { "put it on PATH", "or set g:hx_path to it" })
end

local function check_server()
  health.start("hx: language server")
  local clients = vim.lsp.get_clients({ name = "hx" })
  if vim.g.hx_lsp == false and #clients == 0 then
    health.info("g:hx_lsp is false: `vim.lsp.enable('hx')` starts the server")
  elseif #clients == 0 then
    health.info("no buffer of hx is open, so no server runs")
  end
  for _, client in ipairs(clients) do
    local buffers = vim.tbl_count(client.attached_buffers)
    health.ok(("running in %s, %d buffers, positions in %s"):format(
      client.root_dir or "no project",
      buffers,
      client.offset_encoding
    ))
  end
end

local function check_parser()
  health.start("hx: tree-sitter")
  local ok, why = vim.treesitter.language.add("hx")
  if not ok then
    local advice = { ":HxInstallParser compiles it; without it, syntax/hx.vim highlights" }
    health.warn("there is no parser: " .. tostring(why or "not found"), advice)
    return
  end
  health.ok("the parser is there, ABI " .. vim.treesitter.language.inspect("hx").abi_version)
  for _, kind in ipairs({ "highlights", "folds", "indents", "locals", "injections", "tags" }) do
    local fine, problem = pcall(vim.treesitter.query.get, "hx", kind)
    if fine then
      health.ok("query " .. kind)
    else
      health.error("query " .. kind .. ": " .. tostring(problem), { ":HxInstallParser compiles the parser of this version" })
    end
  end
end

local function check_machine(path)
  health.start("hx: machine")
  local ran = vim.system({ path, "doctor" }, { text = true }):wait(10000)
  for line in vim.gsplit(vim.trim(ran.stdout or ""), "\n", { trimempty = true }) do
    health.info(line)
  end
end

function M.check()
  health.start("hx: editor")
  if vim.fn.has("nvim-0.11") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.11 or newer is needed")
    return
  end
  local path = check_toolchain()
  check_server()
  check_parser()
  if path then
    check_machine(path)
  end
end

return M
