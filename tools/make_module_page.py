"""Write the pages of docs/ that repeat parts of the repository.

docs/modules.md lists each module with the first sentence of its docstring, by package. docs/contributing.md is
CONTRIBUTING.md, for readers who only have the documentation.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nodelint"
PAGE = ROOT / "docs" / "modules.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
COPY = ROOT / "docs" / "contributing.md"

HEAD = """# Modules

The page lists each module with the first sentence of its docstring. A package may import only from packages above it:
see `ARCHITECTURE.md`. `python tools/make_module_page.py` writes this page.
"""


def packages() -> list[str]:
    """Return the packages and top modules in the order of ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Modules, in the order in which they may import", 1)[1].split("\n## ", 1)[0]
    rows = (line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    return [name for row in rows for name in re.findall(r"`([\w/]+?(?:\.py|/))`", row)]


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)])\.(?=\s)", paragraph, maxsplit=1)[0].rstrip(".")


def module_page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    for name in packages():
        path = PACKAGE / name
        if path.is_file():
            lines.append(f"## {name}\n\n{first_sentence(path)}.\n")
            continue
        inner = [PACKAGE / other for other in packages() if other.startswith(name) and other != name]
        modules = sorted(m for m in path.rglob("*.py") if not any(m.is_relative_to(other) for other in inner))
        rows = [f"| `{module.relative_to(PACKAGE).as_posix()}` | {first_sentence(module)} |" for module in modules]
        lines.append("\n".join([f"## {name}", "", "| module | subject |", "| --- | --- |", *rows, ""]))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(module_page(), encoding="utf-8")
    COPY.write_bytes(CONTRIBUTING.read_bytes())
