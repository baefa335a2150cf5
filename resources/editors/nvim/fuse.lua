-- SPDX-License-Identifier: Apache-2.0
-- Starts `fuselage lsp` for .fuse files; Neovim 0.9 and later. `require("fuse")` in init.lua.
vim.filetype.add({ extension = { fuse = "fuse" } })
vim.api.nvim_create_autocmd("FileType", {
  pattern = "fuse",
  callback = function(event)
    vim.bo[event.buf].commentstring = "// %s"
    local project = vim.fs.find({ "fuselage.toml", ".git" }, { upward = true, path = event.file })[1]
    vim.lsp.start({
      name = "fuselage",
      cmd = { "fuselage", "lsp" },
      root_dir = project and vim.fs.dirname(project) or vim.fs.dirname(event.file),
    })
  end,
})
