/** Starts the language server once a text speaks of Karpenter, and shows what commands say in texts of their own. */

import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import type { LanguageClient } from "vscode-languageclient/node";
import {
  commands, EventEmitter, ExtensionContext, extensions, TextDocument, Uri, window, workspace,
} from "vscode";

import { LANGUAGES, poolAt, schemaOf, serverCommand, speaksOfKarpenter, startFailure } from "./server";

const SCHEME = "nodelint";
let client: LanguageClient | undefined;
let starting: Promise<void> | undefined;
let failed = false;
const pages = new Map<string, string>();
const changed = new EventEmitter<Uri>();

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    changed,
    commands.registerCommand("nodelint.restart", restart),
    commands.registerCommand("nodelint.explainPool", explainPool),
    commands.registerCommand("nodelint.planAgainstMain", planAgainstMain),
    workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => pages.get(uri.toString()),
    }),
    workspace.onDidOpenTextDocument(look),
    workspace.onDidChangeTextDocument((change) => look(change.document)),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("nodelint.path") || change.affectsConfiguration("nodelint.arguments")) {
        void restart();
      }
    }),
  );
  workspace.textDocuments.forEach(look);
  await offerSchemas(context);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
  starting = undefined;
}

/** A text that speaks of Karpenter starts the server; in a workspace without any, nothing runs. */
function look(document: TextDocument): void {
  const known = (LANGUAGES as readonly string[]).includes(document.languageId);
  if (starting === undefined && known && speaksOfKarpenter(document.fileName, document.getText())) {
    starting = start();
  }
}

async function start(): Promise<void> {
  const server = command();
  const { createClient } = require("./client.js") as typeof import("./client.js");
  const created = createClient(server);
  try {
    await created.start();
    client = created;
  } catch (error) {
    void window.showErrorMessage(startFailure(server.command, error));
  }
  failed = client === undefined;
  await commands.executeCommand("setContext", "nodelint.running", !failed);
}

async function restart(): Promise<void> {
  await deactivate();
  starting = start();
  await starting;
}

function command() {
  const settings = workspace.getConfiguration("nodelint");
  return serverCommand(settings.get<string>("path"), settings.get<string[]>("arguments"));
}

/** What the pool under the cursor, or above the lens, can launch. */
async function explainPool(uri?: string, line?: number): Promise<void> {
  const document = uri ? await workspace.openTextDocument(Uri.parse(uri)) : window.activeTextEditor?.document;
  if (document === undefined) {
    return;
  }
  const at = line ?? window.activeTextEditor?.selection.active.line ?? 0;
  const name = poolAt(document.getText(), at);
  await document.save();
  const chosen = name === undefined ? [] : ["--nodepool", name];
  await show(`explain ${name ?? document.fileName}`, ["explain", ...chosen, "--", document.fileName],
    dirname(document.fileName));
}

/** What the work tree does to the fleet, beside the branch that it will be merged into. */
async function planAgainstMain(): Promise<void> {
  const open = window.activeTextEditor?.document;
  const folder = (open && workspace.getWorkspaceFolder(open.uri)) ?? workspace.workspaceFolders?.[0];
  if (folder === undefined) {
    void window.showErrorMessage("nodelint: open a folder, which is compared with its branch.");
    return;
  }
  await workspace.saveAll(false);
  const branch = workspace.getConfiguration("nodelint").get<string>("planAgainst")?.trim();
  await show("plan", ["plan", ...(branch ? ["--against", branch] : [])], folder.uri.fsPath);
}

/** Run the command, and show what it prints beside the text. */
async function show(title: string, args: string[], folder: string): Promise<void> {
  const env = { ...process.env, COLUMNS: "90", NO_COLOR: "1" };
  const text = await new Promise<string>((resolve) => {
    execFile(command().command, args, { cwd: folder, env, maxBuffer: 1 << 26 }, (error, out, err) => {
      const cannotStart = error !== null && typeof error.code === "string";
      resolve(cannotStart ? startFailure(command().command, error) : [out, err].filter(Boolean).join("\n"));
    });
  });
  const uri = Uri.from({ scheme: SCHEME, path: `${title.replaceAll("/", " ")}.txt` });
  pages.set(uri.toString(), text);
  changed.fire(uri);
  await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true, viewColumn: 2 });
}

/** Give the schemas to the YAML extension, where it is installed, for as long as the server cannot be started. */
async function offerSchemas(context: ExtensionContext): Promise<void> {
  const yaml = extensions.getExtension("redhat.vscode-yaml");
  const api = await yaml?.activate();
  api?.registerContributor?.(
    SCHEME,
    (resource: string) => {
      const text = workspace.textDocuments.find((document) => document.uri.toString() === resource)?.getText();
      return failed && text !== undefined ? schemaOf(text) : undefined;
    },
    async (uri: string) => {
      const file = Uri.file(join(context.extensionPath, "schemas", Uri.parse(uri).path.slice(1)));
      return new TextDecoder().decode(await workspace.fs.readFile(file));
    },
  );
}
