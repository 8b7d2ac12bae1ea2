-- What the plugin does before any server answers: file type, indentation, highlighting, commands, help, health.

local folder = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
local session = dofile(folder .. "/session.lua")

local function highlight(line, column)
  return vim.iter(vim.fn.synstack(line, column)):map(function(id)
    return vim.fn.synIDattr(id, "name")
  end):last()
end

session.run(function()
  session.equal("no server was asked for", #vim.lsp.get_clients(), 0)
  session.equal("the file type", vim.bo.filetype, "hx")
  session.equal("comments", vim.bo.commentstring, "// %s")
  local before = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  local first = vim.iter(ipairs(before)):find(function(_, line)
    return vim.startswith(line, "kernel ")
  end)
  session.equal("the first kernel", before[first]:match("^kernel (%w+)"), "matmul")

  session.equal("without a parser, the file for syntax highlights", vim.bo.syntax, "hx")
  session.equal("a keyword", highlight(first, 1), "hxItem")
  session.equal("a comment", highlight(1, 5), "hxDocComment")

  vim.cmd("silent normal! gg=G")
  local after = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  session.equal("indentation is that of the formatter", after, before)

  for _, name in ipairs({ "Layout", "Why", "Emit", "Costs", "Test", "Run", "Bench", "Instance", "Restart", "Status" }) do
    session.equal(":Hx" .. name, vim.fn.exists(":Hx" .. name), 2)
  end
  local source = vim.api.nvim_get_current_buf()
  for _, tag in ipairs({ "hx", "hx.txt", ":HxLayout", ":HxTest", "g:hx_path" }) do
    -- Where the editor lacks its own parser for manuals, it says so, and opens them all the same.
    vim.cmd("silent! help " .. tag)
    session.check("help for " .. tag, vim.bo.buftype == "help" and vim.endswith(vim.api.nvim_buf_get_name(0), "/nvim/doc/hx.txt"))
    session.check("help at " .. tag, vim.api.nvim_get_current_line():find("*" .. tag .. "*", 1, true) ~= nil)
    vim.cmd("helpclose")
  end
  vim.api.nvim_set_current_buf(source)

  vim.g.hx_grammar = vim.env.HX_GRAMMAR
  vim.cmd("HxInstallParser")
  local tree = session.eventually("the parser is compiled and loaded", function()
    return vim.treesitter.get_parser(0, "hx"):parse()[1]
  end)
  session.equal("the tree has no error", tree:root():has_error(), false)
  session.check("tree-sitter highlights", vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil)
  for _, kind in ipairs({ "highlights", "folds", "indents", "locals", "injections", "tags" }) do
    session.check("query " .. kind, vim.treesitter.query.get("hx", kind) ~= nil)
  end

  local view = require("hx.view")
  session.equal("prose is wrapped", view.wrap("one two three", 9, " "), { " one two", " three" })
  local tensor = { name = "s", space = "shared", dtype = "f16", shape = { 8, 4 }, alias = "row-major", layout = "(8,4):(4,1)" }
  local described = { "s: shared f16[8, 4]  ⟨row-major⟩", "  = (8,4):(4,1)" }
  session.equal("a tensor without a reason or a drawing", view.describe(tensor), described)
  session.equal("lines of code", require("hx.code").partners({ { emitted = 3, source = 1 } }, "source", 1), { 3 })

  local test = require("hx.test")
  session.equal("the title of a case", test.title("a/k.hx::rows of [f16][1, 2]"), "rows of [f16]")
  session.equal("a line of no JSON", test.parse("device: simulator"), nil)
end)
