// SPDX-License-Identifier: Apache-2.0
// Starts `fuselage lsp` for .fuse files. Another model is taken while it runs, another program
// starts it again.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

const start = () => {
  const settings = workspace.getConfiguration("fuselage");
  const run = { command: settings.get("program"), args: ["lsp"] };
  const model = settings.get("model");
  client = new LanguageClient("fuselage", "Fuselage", run, {
    documentSelector: [{ language: "fuse" }],
    initializationOptions: model ? { model } : {},
    synchronize: { configurationSection: "fuselage" },
  });
  return client.start();
};

exports.activate = (context) => {
  context.subscriptions.push(
    workspace.onDidChangeConfiguration(async (change) => {
      if (!change.affectsConfiguration("fuselage.program")) return;
      await client.stop();
      await start();
    })
  );
  return start();
};

exports.deactivate = () => client && client.stop();
