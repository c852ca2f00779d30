"""Write docs/rules/, a page for each rule with the tool's real messages and their index, data/rules.json, and the
options of rules in schemas/config.schema.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from nodelint.data import DATA  # noqa: E402
from nodelint.report.page import markdown  # noqa: E402
from nodelint.rule.classification import PROFILES, SUBJECTS  # noqa: E402
from nodelint.rule.definition import Rule, bundled, index, load  # noqa: E402


def main() -> None:
    """Write the page of each rule, and delete the pages of rules that no longer exist."""
    folder = ROOT / "docs" / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    rules = load(bundled())
    for page in folder.glob("*.md"):
        page.unlink()
    for rule in rules.values():
        (folder / f"{rule.name}.md").write_text(markdown(rule, rules), encoding="utf-8")
    (folder / "index.md").write_text(listed(rules.values()), encoding="utf-8")
    (Path(DATA) / "rules.json").write_text(declared(rules), encoding="utf-8")
    schema = ROOT / "schemas" / "config.schema.json"
    schema.write_text(with_options(schema.read_text(encoding="utf-8"), rules.values()), encoding="utf-8")


def declared(rules: dict[str, Rule]) -> str:
    """Return the text of `data/rules.json`, with a line for each rule (see `load_bundled`)."""
    rows = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in index(rules, bundled()).items()]
    note = "What the files of rules/ declare, their sizes and hashes. Written by tools/make_rule_pages.py."
    return f'{{\n "note": {json.dumps(note)},\n "rules": {{\n' + ",\n".join(rows) + "\n }\n}\n"


def with_options(schema: str, rules: Iterable[Rule]) -> str:
    """Return the configuration's schema with a line for each rule that has options, after that of `folders`."""
    before, folders, rest = schema.partition('"folders": { "$ref": "#/$defs/names" }')
    _, end, after = rest.partition("\n          },\n")
    lines = [before + folders]
    for rule in rules:
        options = [
            f'"{o.name}": {{ "type": "{o.type}", "default": {json.dumps(o.default)}, '
            f'"description": {json.dumps(o.text, ensure_ascii=False)} }}'
            for o in rule.options
        ]
        if options:
            stated = f'"type": "object", "additionalProperties": false, "properties": {{ {", ".join(options)} }}'
            lines.append(f'            "{rule.name}": {{ {stated} }}')
    return ",\n".join(lines) + end + after


ABOUT = {
    "correctness": "The API server refuses the object, Karpenter cannot launch a node, or drops a part silently.",
    "hazard": "The object works, but it costs too much, or causes an outage, a security risk or a surprise.",
    "practice": "Advice that a team decides on once. Off by default: `--profile strict`, or `--select practice`.",
}


def sort(rule: Rule) -> str:
    """Return the group of a rule, its kind of fix, and the facts that it needs, in a few words."""
    words = [rule.group, f"{rule.fix} fix" if rule.fix else "", "needs facts from AWS" if rule.needs else ""]
    words.append("preview" if rule.preview else "")
    return ", ".join(filter(None, [*words, "off by default" if rule.group not in PROFILES["default"] else ""]))


def listed(rules: Iterable[Rule]) -> str:
    """Return the list of the rules by subject, one line each. Rules without a subject are at the end."""
    lines = ["# Rules", ""]
    for subject, about in {**SUBJECTS, "": ""}.items():
        chosen = [rule for rule in rules if rule.subject == subject]
        if chosen:
            title = subject[:1].upper() + subject[1:] or "More"
            lines += [f"## {title}", "", *filter(None, [about and f"{about}\n"])]
            lines += ["| rule | what it flags | severity | group, fix |", "| --- | --- | --- | --- |"]
            lines += [f"| [{r.name}]({r.name}.md) | {r.summary} | {r.severity} | {sort(r)} |" for r in chosen]
            lines.append("")
    lines += ["## Groups", ""]
    for group, about in ABOUT.items():
        lines += [f"### {group.capitalize()}", "", about, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
