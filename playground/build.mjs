// Builds the page into a folder: `npm run build -- ../docs/playground-app`, by default dist/.
//
// PYTHON names the Python in whose environment nodelint is installed (default: python3).
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

const here = import.meta.dirname;
const root = path.dirname(here);
const python = process.env.PYTHON ?? "python3";
const out = path.resolve(process.argv[2] ?? path.join(here, "dist"));

rmSync(out, { recursive: true, force: true });
mkdirSync(path.join(out, "pyodide"), { recursive: true });
await build({
  entryPoints: [path.join(here, "src/main.js"), path.join(here, "src/worker.js")],
  outdir: out, bundle: true, minify: true, format: "esm", target: "es2022",
  external: ["./pyodide/pyodide.mjs"], legalComments: "linked",
});
for (const name of ["index.html", "style.css"]) copyFileSync(path.join(here, "src", name), path.join(out, name));
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]) {
  copyFileSync(path.join(here, "node_modules/pyodide", name), path.join(out, "pyodide", name));
}
execFileSync(python, [path.join(here, "python/pack.py"), path.join(out, "nodelint.zip")], { stdio: "inherit" });

// The example that the page begins with shows a finding, its fix and a suggestion.
const first = (one, other) => (other === "custom-image.yaml") - (one === "custom-image.yaml") || (one < other ? -1 : 1);
const bad = path.join(root, "examples/bad");
const examples = Object.fromEntries(
  [...readdirSync(bad).sort(first).map((name) => path.join(bad, name)), path.join(root, "examples/good/general.yaml")]
    .map((file) => [path.relative(path.join(root, "examples"), file), readFileSync(file, "utf8")]),
);
const versions = JSON.parse(execFileSync(python, [path.join(here, "python/versions.py")], { encoding: "utf8" }));
writeFileSync(path.join(out, "choices.json"), JSON.stringify({ examples, ...versions }));
