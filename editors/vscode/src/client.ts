/** The client of the language server; loaded when the server is started, and not before. */

import { CodeLens, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

import { Command, LANGUAGES } from "./server";

export function createClient(server: Command): LanguageClient {
  return new LanguageClient("nodelint", "nodelint", { command: server.command, args: server.args }, {
    documentSelector: LANGUAGES.flatMap((language) => [
      { language, scheme: "file" },
      { language, scheme: "untitled" },
    ]),
    synchronize: {
      fileEvents: workspace.createFileSystemWatcher(
        "**/{*.yaml,*.yml,*.json,*.tf,*.tofu,*.tfvars,*.tpl,*.tftpl,pyproject.toml}",
      ),
    },
    middleware: {
      // The server's lens says what a pool can launch; here a click on it says why.
      provideCodeLenses: async (document, token, next) =>
        (await next(document, token))?.map(
          (lens) =>
            new CodeLens(lens.range, {
              title: lens.command?.title ?? "",
              command: "nodelint.explainPool",
              arguments: [document.uri.toString(), lens.range.start.line],
            }),
        ),
    },
  });
}
