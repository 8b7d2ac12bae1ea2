-- What scripts of sessions share: checks that are written down, and waiting.

local M = {}

local lines = {}

local function write()
  vim.fn.writefile(lines, vim.env.HX_REPORT)
end

--- Waits until `get` gives something that is true, and gives that; what never comes is a failure.
function M.eventually(what, get, timeout)
  local value
  local ok = vim.wait(timeout or 20000, function()
    local fine, result = pcall(get)
    value = fine and result or nil
    return value ~= nil and value ~= false
  end, 20)
  M.check(what, ok)
  return value
end

function M.check(what, ok, detail)
  table.insert(lines, (ok and "ok: " or "FAILED: ") .. what .. (not ok and detail and " (" .. detail .. ")" or ""))
  write()
  return ok
end

--- Something that the other side does not have.
function M.missing(what)
  table.insert(lines, "missing: " .. what)
  write()
end

--- Whether something was missing.
function M.is_partial()
  return vim.iter(lines):any(function(line)
    return vim.startswith(line, "missing: ")
  end)
end

function M.equal(what, got, wanted)
  return M.check(what, vim.deep_equal(got, wanted), vim.inspect(got) .. " is not " .. vim.inspect(wanted))
end

--- Runs the script; an error in it is a failure too. Then the session ends.
function M.run(script)
  local ok, problem = xpcall(script, debug.traceback)
  M.check("the script ran to its end", ok, tostring(problem))
  table.insert(lines, "done")
  write()
  vim.cmd("qa!")
end

return M
