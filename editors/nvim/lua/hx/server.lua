--- Where the toolchain is. The editor Helix has a binary of the same name, so what `PATH` finds is asked who it is.

local M = {}

local IDENTITY = "hx kernel language toolchain"

---@type table<string, boolean> what was asked before
local known = {}

--- Whether a binary is ours.
---@param path string
---@return boolean
function M.is_ours(path)
  if known[path] == nil then
    local ok, result = pcall(function()
      return vim.system({ path, "--version" }, { text = true, timeout = 5000 }):wait()
    end)
    known[path] = ok and result.code == 0 and (result.stdout or ""):find(IDENTITY, 1, true) ~= nil
  end
  return known[path]
end

local function is_absolute(folder)
  return folder:sub(1, 1) == "/" or folder:match("^%a:[/\\]") ~= nil or folder:sub(1, 2) == "\\\\"
end

--- The binaries that are tried, in order, each with where it came from.
---@return { path: string, origin: string }[]
function M.candidates()
  local candidates = {}
  if vim.g.hx_path then
    return { { path = vim.fn.expand(vim.g.hx_path), origin = "g:hx_path" } }
  end
  local is_windows = vim.fn.has("win32") == 1
  local separator = is_windows and ";" or ":"
  -- The Python wheel brings the toolchain with it.
  for _, name in ipairs({ "VIRTUAL_ENV", "CONDA_PREFIX" }) do
    local environment = vim.env[name]
    if environment and is_absolute(environment) then
      local path = vim.fs.joinpath(environment, is_windows and "Scripts/hx.exe" or "bin/hx")
      if vim.fn.executable(path) == 1 then
        table.insert(candidates, { path = path, origin = name })
      end
    end
  end
  for _, folder in ipairs(vim.split(vim.env.PATH or "", separator, { plain = true })) do
    for _, name in ipairs({ "hx", "hxk" }) do
      local path = vim.fs.joinpath(folder, name)
      -- A relative entry, or an empty one, means a folder of the project at hand.
      if is_absolute(folder) and vim.fn.executable(path) == 1 then
        table.insert(candidates, { path = path, origin = "PATH" })
      end
    end
  end
  return candidates
end

--- The toolchain.
---@return string path
function M.path()
  for _, candidate in ipairs(M.candidates()) do
    if M.is_ours(candidate.path) then
      return candidate.path
    end
  end
  if vim.g.hx_path then
    error(("hx: `%s` (g:hx_path) is not the hx toolchain"):format(vim.g.hx_path), 0)
  end
  error("hx: the toolchain was not found in a Python environment or on PATH: set g:hx_path", 0)
end

return M
