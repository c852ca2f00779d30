import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

import { LANGUAGES, serverCommand, startFailure } from "./server";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("nodelint.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("nodelint.path") || change.affectsConfiguration("nodelint.arguments")) {
        void restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

async function start(): Promise<void> {
  const settings = workspace.getConfiguration("nodelint");
  const server = serverCommand(settings.get<string>("path"), settings.get<string[]>("arguments"));
  const options: ServerOptions = { command: server.command, args: server.args };
  const clientOptions: LanguageClientOptions = {
    documentSelector: LANGUAGES.flatMap((language) => [
      { language, scheme: "file" },
      { language, scheme: "untitled" },
    ]),
    synchronize: {
      fileEvents: workspace.createFileSystemWatcher(
        "**/{*.yaml,*.yml,*.json,*.tf,*.tpl,*.tftpl,pyproject.toml}",
      ),
    },
  };
  client = new LanguageClient("nodelint", "nodelint", options, clientOptions);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    void window.showErrorMessage(startFailure(server.command, error));
  }
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}
