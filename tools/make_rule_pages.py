"""Write docs/rules/: one page for each rule with the tool's real messages, and the index."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from nodelint.lint.rule import Rule, bundled, load  # noqa: E402
from nodelint.report.page import header, markdown  # noqa: E402


def main() -> None:
    """Pages of rules that are gone are deleted."""
    folder = ROOT / "docs" / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    rules = load(bundled())
    for page in folder.glob("*.md"):
        page.unlink()
    for rule in rules.values():
        (folder / f"{rule.name}.md").write_text(markdown(rule, rules), encoding="utf-8")
    (folder / "index.md").write_text(index(rules.values()), encoding="utf-8")


ABOUT = {
    "correctness": "The object is refused, never ready, cannot launch, or part of it is silently dropped.",
    "hazard": "It works, and will hurt: cost, outage, security, surprise.",
    "practice": "What a careful team decides once. Off by default: `--profile strict`, or `--select practice`.",
}


def index(rules: Iterable[Rule]) -> str:
    """The list of the rules by group, a line each."""
    lines = ["# Rules", ""]
    for group, about in ABOUT.items():
        lines += [f"## {group.capitalize()}", "", about, "", "| rule | what it flags | |", "| --- | --- | --- |"]
        lines += [f"| [{r.name}]({r.name}.md) | {r.summary} | {header(r)} |" for r in rules if r.group == group]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
