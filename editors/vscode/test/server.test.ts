/** The extension's way of starting the server, tried with a real one: it has to be on the PATH, or in NODELINT. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  CodeActionRequest,
  createProtocolConnection,
  DidOpenTextDocumentNotification,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

import { poolAt, schemaOf, serverCommand, speaksOfKarpenter, startFailure } from "../src/server";

const POOL = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: main}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: ["m7*"]}
`;

test("an empty setting means the program on the PATH", () => {
  assert.deepEqual(serverCommand("  ", []), { command: "nodelint", args: ["lsp"] });
  assert.deepEqual(serverCommand("/opt/nodelint", ["lsp", "-v"]), { command: "/opt/nodelint", args: ["lsp", "-v"] });
});

test("a missing program says how to install it", () => {
  assert.match(startFailure("nodelint", new Error("spawn nodelint ENOENT")), /pipx install '\.\[lsp\]'/);
  assert.match(startFailure("nodelint", new Error("boom")), /did not start: boom/);
});

test("the server answers with findings, a fix and a hover", { timeout: 60_000 }, async () => {
  const { command, args } = serverCommand(process.env.NODELINT, undefined);
  const folder = mkdtempSync(join(tmpdir(), "nodelint-"));
  const uri = pathToFileURL(join(folder, "pool.yaml")).href;
  const server = spawn(command, args, { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  const published = new Promise<PublishDiagnosticsParams>((resolve) => {
    connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
      if (params.uri === uri && params.diagnostics.length) resolve(params);
    });
  });
  connection.onRequest("client/registerCapability", () => null);
  connection.onRequest("workspace/configuration", () => [null]);
  connection.listen();
  await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities: { textDocument: { codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } } } },
    workspaceFolders: null,
  });
  await connection.sendNotification(InitializedNotification.type, {});
  await connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "yaml", version: 1, text: POOL },
  });
  const { diagnostics } = await published;
  const found = diagnostics.find((each) => each.code === "wildcard-value");
  assert.ok(found, JSON.stringify(diagnostics));
  assert.equal(found.range.start.line, 9);
  const actions = await connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri },
    range: found.range,
    context: { diagnostics: [found] },
  });
  assert.ok(actions?.length);
  const hover = await connection.sendRequest(HoverRequest.type, {
    textDocument: { uri },
    position: { line: 9, character: 20 },
  });
  assert.ok(hover);
  await connection.sendRequest(ShutdownRequest.type);
  const ended = new Promise<number | null>((resolve) => server.on("exit", resolve));
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await ended, 0);
  connection.dispose();
});

test("only what speaks of Karpenter starts the server", () => {
  assert.ok(speaksOfKarpenter("/a/pool.yaml", POOL));
  assert.ok(speaksOfKarpenter("/a/nodelint.yaml", ""));
  assert.ok(!speaksOfKarpenter("/a/deployment.yaml", "kind: Deployment\n"));
});

test("the pool of a line is the one of its document", () => {
  const two = `${POOL}---\nkind: EC2NodeClass\nmetadata: {name: main}\n---\n${POOL.replace("name: general", "name: 'gpu-1' # b")}`;
  assert.equal(poolAt(two, 0), "general");
  assert.equal(poolAt(two, 8), "general");
  assert.equal(poolAt(two, 12), undefined);
  assert.equal(poolAt(two, 20), "gpu-1");
  assert.equal(poolAt("kind: NodePool\nmetadata: {labels: {a: b}, name: web}\n", 0), "web");
  assert.equal(poolAt("kind: NodePool\nmetadata:\n  labels:\n    name: no\n  name: yes\n", 0), "yes");
  assert.equal(poolAt("kind: NodePool\nmetadata:\n  name: {{ .Values.name }}\n", 0), undefined);
});

test("a schema is offered for texts of one kind alone", () => {
  assert.equal(schemaOf(POOL), "nodelint://schemas/nodepool-v1.schema.json");
  assert.equal(schemaOf(`${POOL}---\napiVersion: v1\nkind: ConfigMap\n`), undefined);
  assert.equal(schemaOf("apiVersion: v1\nkind: Pod\n"), undefined);
});
