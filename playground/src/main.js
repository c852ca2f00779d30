import { basicSetup, EditorView } from "codemirror";
import { yaml } from "@codemirror/lang-yaml";
import { linter, lintGutter, setDiagnostics } from "@codemirror/lint";

import { changesOf, unitsOf } from "./edits.js";
import { fromFragment, toFragment } from "./fragment.js";

const byId = (id) => document.getElementById(id);
const { examples, karpenter, kubernetes } = await fetch("choices.json").then((response) => response.json());
const worker = new Worker("worker.js", { type: "module" });
const waiting = new Map();
let number = 0;
let shown = "";
let timer;

worker.addEventListener("message", ({ data }) => {
  if (data.failed) return say(`nodelint could not be loaded: ${data.failed}`, "bad");
  if (data.ready) return void update();
  const { resolve, reject } = waiting.get(data.number);
  waiting.delete(data.number);
  if (data.error) reject(new Error(data.error));
  else resolve(data.answer);
});

function ask(call, argument) {
  number += 1;
  worker.postMessage({ number, call, argument });
  return new Promise((resolve, reject) => waiting.set(number, { resolve, reject }));
}

function say(text, kind = "") {
  byId("state").textContent = text;
  byId("state").className = kind;
}

function fill(select, values, first) {
  for (const [value, label] of [...(first ? [first] : []), ...values.map((value) => [value, value])]) {
    select.append(new Option(label, value));
  }
}

fill(byId("example"), Object.keys(examples), ["", "your own"]);
fill(byId("karpenter"), karpenter, ["", "newest known"]);
fill(byId("kubernetes"), kubernetes, ["", "not known"]);

const state = await stateOfAddress();
const view = new EditorView({
  parent: byId("editor"),
  doc: state.text,
  extensions: [
    basicSetup,
    yaml(),
    lintGutter(),
    linter(null),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Manifests" }),
    EditorView.updateListener.of((change) => {
      if (!change.docChanged) return;
      if (change.transactions.some((made) => made.isUserEvent("input") || made.isUserEvent("delete"))) byId("example").value = "";
      clearTimeout(timer);
      timer = setTimeout(update, 250);
    }),
  ],
});
for (const name of ["karpenter", "kubernetes", "profile"]) {
  if (state[name]) byId(name).value = state[name];
  byId(name).addEventListener("change", update);
}
byId("example").value = state.example ?? "";
byId("example").addEventListener("change", ({ target }) => {
  const text = examples[target.value];
  if (text !== undefined) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
});
byId("share").addEventListener("click", share);
for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => choose(tab));
window.playground = { view, settled: () => timer === undefined && waiting.size === 0 };

async function stateOfAddress() {
  const first = Object.keys(examples)[0];
  if (location.hash.length < 2) return { example: first, text: examples[first] };
  try {
    const found = await fromFragment(location.hash.slice(1));
    return { text: String(found.text ?? ""), karpenter: found.karpenter, kubernetes: found.kubernetes, profile: found.profile };
  } catch {
    return { text: "# The link is damaged: its text could not be read.\n" };
  }
}

function settings() {
  return { karpenter: byId("karpenter").value, kubernetes: byId("kubernetes").value, profile: byId("profile").value };
}

async function update() {
  timer = undefined;
  const text = view.state.doc.toString();
  try {
    const answer = JSON.parse(await ask("check", JSON.stringify({ text, ...settings() })));
    if (text !== view.state.doc.toString()) return;
    show(answer, text);
  } catch (error) {
    say(`nodelint broke down: ${error.message}`, "bad");
  }
}

function show(answer, text) {
  shown = text;
  const findings = answer.check?.findings ?? [];
  // The last paragraph is the verdict, and above it what was not judged.
  const lines = answer.text.trim().split("\n\n").at(-1).split("\n");
  const last = lines.pop();
  byId("unjudged").textContent = lines.join("\n");
  say(answer.error || last, answer.error ? "bad" : last.startsWith("All good") ? "good" : "");
  byId("explain").firstElementChild.textContent = answer.explain;
  byId("findings").replaceChildren(...findings.map((finding) => article(finding, text)));
  const unit = unitsOf(text);
  const end = view.state.doc.length;
  const diagnostics = findings.map((finding) => ({
    from: Math.min(unit(finding.start.offset), end),
    to: Math.min(unit(finding.end.offset), view.state.doc.lineAt(Math.min(unit(finding.start.offset), end)).to),
    severity: finding.severity,
    message: finding.message,
    source: finding.rule,
  }));
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Text between backticks is code; whatever a manifest says stays text.
function inline(text) {
  const parts = text.split("`");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, place) => (place % 2 ? element("code", { textContent: part }) : part));
}

function article(finding, text) {
  const { line, column } = finding.start;
  const place = element("button", { type: "button", className: "place", textContent: `line ${line}:${column}` });
  place.addEventListener("click", () => jump(finding.start.offset, text));
  const rows = [
    element("p", {}, element("span", { className: "word", textContent: finding.severity }), " ", ...inline(finding.message)),
    element("p", {}, place, " ", element("span", { className: "name", textContent: finding.rule })),
  ];
  for (const word of ["note", "help"]) if (finding[word]) rows.push(element("p", {}, `${word}: `, ...inline(finding[word])));
  if (finding.fixWithheld) rows.push(element("p", {}, "fix withheld: ", ...inline(finding.fixWithheld.message)));
  if (finding.fix) rows.push(button(`Apply the fix (${finding.fix.safety})`, finding.fix.edits, text));
  for (const suggestion of finding.suggestions) rows.push(button(`Suggestion: ${suggestion.name}`, suggestion.edits, text));
  return element("article", { className: finding.severity }, ...rows);
}

function button(title, edits, text) {
  const made = element("button", { type: "button", className: "fix" }, ...inline(title));
  made.addEventListener("click", () => {
    // Edits are for the text that was judged: while a newer one waits, they do nothing.
    if (shown === text && view.state.doc.toString() === text) view.dispatch({ changes: changesOf(edits, text) });
  });
  return made;
}

function jump(offset, text) {
  const at = Math.min(unitsOf(text)(offset), view.state.doc.length);
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}

async function share() {
  location.hash = await toFragment({ text: view.state.doc.toString(), ...settings() });
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. It holds the text itself, behind the #: no server sees it.");
  } catch {
    say("The address of this page now holds the text: copy it from the address bar.");
  }
}

function choose(tab) {
  for (const other of document.querySelectorAll("[role=tab]")) {
    other.setAttribute("aria-selected", String(other === tab));
    byId(other.getAttribute("aria-controls")).hidden = other !== tab;
  }
}
