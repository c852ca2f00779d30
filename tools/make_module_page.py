"""Write docs/modules.md: each module of the package, by room, with what its docstring says first."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nodelint"
PAGE = ROOT / "docs" / "modules.md"

HEAD = """# Modules

What each module is about, in its own words, room by room. The rooms stand in the order in which they may import:
`ARCHITECTURE.md` has the picture. `python tools/make_module_page.py` writes this page.
"""


def rooms() -> list[str]:
    """The rooms in the order of ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Modules, in the order in which they may import", 1)[1].split("\n## ", 1)[0]
    rows = (line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    return [room for row in rows for room in re.findall(r"`([\w/]+?(?:\.py|/))`", row)]


def first_sentence(path: Path) -> str:
    """The first line of a module's docstring, or as much of it as is a sentence."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\.(?=\s)", paragraph, maxsplit=1)[0].rstrip(".")


def module_page() -> str:
    """The page as a whole."""
    lines = [HEAD]
    for room in rooms():
        path = PACKAGE / room
        if path.is_file():
            lines.append(f"## {room}\n\n{first_sentence(path)}.\n")
            continue
        inner = [PACKAGE / other for other in rooms() if other.startswith(room) and other != room]
        modules = sorted(m for m in path.rglob("*.py") if not any(m.is_relative_to(other) for other in inner))
        rows = [f"| `{module.relative_to(PACKAGE).as_posix()}` | {first_sentence(module)} |" for module in modules]
        lines.append("\n".join([f"## {room}", "", "| module | what it is about |", "| --- | --- |", *rows, ""]))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(module_page(), encoding="utf-8")
