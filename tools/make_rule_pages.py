"""Write docs/rules/: one page for each rule with the tool's real messages, and the index."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from nodelint.lint.rule import bundled, load  # noqa: E402
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
    rows = [f"| [{r.name}]({r.name}.md) | {r.summary} | {header(r)} |" for r in rules.values()]
    table = "\n".join(["| rule | what it flags | |", "| --- | --- | --- |", *rows])
    (folder / "index.md").write_text(f"# Rules\n\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
