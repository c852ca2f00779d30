// The built page in a browser: its findings, its fixes and its links, and the findings of the native command.
//
// NODELINT names the native command (default: nodelint), CHROMIUM the browser (default: the first one on the path).
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

import puppeteer from "puppeteer-core";

const here = import.meta.dirname;
const root = path.resolve(here, "../..");
const dist = path.resolve(here, "../dist");
const native = process.env.NODELINT ?? "nodelint";
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css",
  ".json": "application/json", ".wasm": "application/wasm" };
// The list of rules, and a rule that asks a CEL runtime, which has no build for a browser.
const WITHOUT = ["index.md", "kubelet-expression.md"];
const asked = [];
let server, browser, page, folder;

function chromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    const found = spawnSync("which", [name], { encoding: "utf8" });
    if (found.status === 0) return found.stdout.trim();
  }
  throw new Error("no Chromium on the path: set CHROMIUM");
}

before(async () => {
  server = createServer((request, response) => {
    asked.push(request.url);
    const file = path.join(dist, request.url === "/" ? "index.html" : path.normalize(request.url.split("?")[0]));
    try {
      const bytes = readFileSync(file);
      response.writeHead(200, { "Content-Type": types[path.extname(file)] ?? "application/octet-stream" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  folder = mkdtempSync(path.join(tmpdir(), "playground-"));
  browser = await puppeteer.launch({ executablePath: chromium(), args: ["--no-sandbox"], userDataDir: folder });
  page = await browser.newPage();
  page.on("pageerror", (error) => assert.fail(String(error)));
  await page.goto(address());
  await page.waitForFunction(() => window.playground && document.querySelector("#state").className !== "" || document.querySelector("article"), { timeout: 120_000 });
});

after(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const address = () => `http://127.0.0.1:${server.address().port}/`;

async function settled() {
  await page.waitForFunction(() => window.playground.settled(), { timeout: 120_000 });
}

async function write(text) {
  await page.evaluate((text) => {
    const { view } = window.playground;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, text);
  await settled();
}

const text = () => page.evaluate(() => window.playground.view.state.doc.toString());

// The findings by line, column, rule and message, as the page and as the native command have them.
const findings = () => page.$$eval("#findings article", (articles) => articles.map((article) => [
  article.querySelector(".place").textContent.replace("line ", ""),
  article.querySelector(".name").textContent,
  article.querySelector("p").textContent,
].join(" ")));

function nativeFindings(text) {
  const place = mkdtempSync(path.join(tmpdir(), "native-"));
  writeFileSync(path.join(place, "manifest.yaml"), text);
  const done = spawnSync(native, ["check", "--format", "json", "--profile", "strict", "manifest.yaml"], { cwd: place, encoding: "utf8" });
  rmSync(place, { recursive: true });
  return JSON.parse(done.stdout).findings.map((found) =>
    `${found.start.line}:${found.start.column} ${found.rule} ${found.severity} ${found.message.split("`").length % 2 ? found.message.replaceAll("`", "") : found.message}`);
}

function ruleExamples() {
  const pages = path.join(root, "docs/rules");
  return readdirSync(pages).filter((name) => !WITHOUT.includes(name)).flatMap((name) => {
    const found = /^```yaml bad[^\n]*\n(.*?)^```$/ms.exec(readFileSync(path.join(pages, name), "utf8"));
    return found ? [[name, found[1]]] : [];
  });
}

test("an example of each rule has the findings of the native command", { timeout: 900_000 }, async () => {
  await page.select("#profile", "strict");
  const examples = ruleExamples();
  assert.ok(examples.length > 100);
  const chosen = process.env.ALL_EXAMPLES ? examples : examples.filter((_, number) => number % 10 === 0);
  for (const [name, example] of chosen) {
    await write(example);
    assert.deepEqual(await findings(), nativeFindings(example), name);
  }
});

test("a fix is applied by a click, at the right place behind letters beyond the first plane", async () => {
  const pool = readFileSync(path.join(root, "examples/bad/custom-image.yaml"), "utf8");
  await write(`# 🚀🚀\n${pool}`);
  const fix = await page.waitForSelector("article.error .fix");
  await fix.click();
  await page.waitForFunction(() => window.playground.view.state.doc.toString().includes('values: ["amd64"]'));
  await settled();
  assert.match(await text(), /- key: kubernetes\.io\/arch\n {10}operator: In\n {10}values: \["amd64"\]/);
  await page.waitForFunction(() => !document.querySelector("article.error"));
});

test("explain shows what a pool can launch", async () => {
  await page.click("#tab-explain");
  await page.waitForFunction(() => document.querySelector("#explain pre").textContent.includes("all instance types"));
  await page.click("#tab-findings");
});

test("a link holds text and settings, and sends nothing", async () => {
  await write("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: größe-🚀}\n");
  await page.select("#karpenter", await page.$eval("#karpenter option:nth-child(3)", (option) => option.value));
  await page.click("#share");
  await page.waitForFunction(() => location.hash.length > 10);
  const link = await page.evaluate(() => location.href);
  const before = asked.length;
  const other = await browser.newPage();
  await other.goto(link);
  await other.waitForFunction(() => window.playground?.view.state.doc.toString().includes("größe-🚀"), { timeout: 60_000 });
  assert.equal(await other.$eval("#karpenter", (select) => select.value), await page.$eval("#karpenter", (select) => select.value));
  assert.ok(asked.slice(before).every((url) => !url.includes("#") && url.length < 60));
  await other.close();
});

test("what a manifest says stays text", async () => {
  await write("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {\"<img src=x onerror=alert(1)>\": 1}\n");
  await page.waitForFunction(() => document.querySelector("#findings").textContent.includes("<img src=x"));
  assert.equal(await page.$("#findings img"), null);
});

test("what is not judged is listed", async () => {
  await page.select("#profile", "default");
  await write(readFileSync(path.join(root, "examples/good/gpu.yaml"), "utf8").replace(/values: \[[^\]]*\]/, "values: [\"$ARCH\"]"));
  await page.waitForFunction(() => document.querySelector("#unjudged").textContent.includes("Not known"));
});

test("broken YAML and an empty text are said, and the page goes on", async () => {
  await write("kind: NodePool # karpenter\n  bad: [\n");
  await page.waitForFunction(() => document.querySelector("#findings").textContent.includes("yaml-syntax"));
  await write("");
  await page.waitForFunction(() => document.querySelector("#state").textContent.startsWith("manifest.yaml is empty"));
});
