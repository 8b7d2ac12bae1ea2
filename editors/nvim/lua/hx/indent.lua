--- Indentation while typing, as `hx fmt` will leave it: one step in for each bracket that a line leaves open, and one for the
--- clauses between a header and its body.

local M = {}

local CLAUSES = { where = true, tune = true, grid = true, threads = true, cluster = true, blocks_per_sm = true }

--- The code of a line: no strings, no comment behind it.
---@param line string
---@return string
local function code(line)
  line = line:gsub('"[^"]*"', '""')
  return (line:gsub("//.*$", ""))
end

--- How many brackets a line leaves open; closers at its beginning are not counted.
---@param line string
---@return integer
local function opened(line)
  local depth, lowest = 0, 0
  for bracket in code(line):gsub("^[%s%)%]}]+", ""):gmatch("[%(%)%[%]{}]") do
    depth = depth + ((bracket == "(" or bracket == "[" or bracket == "{") and 1 or -1)
    lowest = math.min(lowest, depth)
  end
  return depth > 0 and 1 or lowest < 0 and -1 or 0
end

local function is_clause(line)
  return CLAUSES[line:match("^%s*(%a+)") or ""] or false
end

---@param number integer counted from 1
---@return integer columns
function M.at(number)
  local step = vim.fn.shiftwidth()
  local above = vim.fn.prevnonblank(number - 1)
  if above == 0 then
    return 0
  end
  local line, before = vim.fn.getline(number), vim.fn.getline(above)
  local indent = vim.fn.indent(above)
  if is_clause(before) and (line:match("^%s*{") or opened(before) > 0) then
    -- The body begins below its clauses.
    return line:match("^%s*{") and math.max(0, indent - step) or indent
  end
  if is_clause(line) then
    return is_clause(before) and indent or indent + step
  end
  indent = indent + step * opened(before)
  if line:match("^%s*[%)%]}]") then
    indent = indent - step
  end
  return math.max(0, indent)
end

return M
