// SPDX-License-Identifier: Apache-2.0
// Starts `fuselage lsp` for .fuse files.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("fuselage");
  const run = { command: settings.get("program"), args: ["lsp"] };
  const model = settings.get("model");
  client = new LanguageClient("fuselage", "Fuselage", run, {
    documentSelector: [{ language: "fuse" }],
    initializationOptions: model ? { model } : {},
  });
  return client.start();
};

exports.deactivate = () => client && client.stop();
