"""Write what `nodelint/api.py` repeats of its imports: `__all__`, and where what is loaded late is.

    python tools/make_api.py            write the file
    python tools/make_api.py --check    say whether it is written anew; end with 1 if it is not

A name of the API is written in two places: its import, and its row in the docstring.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "nodelint" / "api.py"
_BEGIN = "# -- written by tools/make_api.py\n"
_END = "# -- end of what is written\n"
_NOT_OF_THE_API = ("annotations", "TYPE_CHECKING")


def is_module(home: str, name: str) -> bool:
    """Return whether a name of a package is a module."""
    path = ROOT.joinpath(*home.split("."), name)
    return path.is_dir() or path.with_suffix(".py").is_file()


def make_text(text: str) -> str:
    """Return the text of the API with its lists written again from its imports."""
    tree = ast.parse(text)
    eager = [alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom)
             for alias in node.names]  # fmt: skip
    late = [(str(node.module), alias.name) for block in tree.body if isinstance(block, ast.If)
            and ast.unparse(block.test) == "TYPE_CHECKING" for node in block.body
            if isinstance(node, ast.ImportFrom) for alias in node.names]  # fmt: skip
    names = sorted({*eager, *(name for _, name in late)} - {*_NOT_OF_THE_API}, key=_order)
    lines = ["__all__ = [", *(f'    "{name}",' for name in names), "]", ""]
    for table, wanted in (("_MODULES", True), ("_NAMES", False)):
        homes: dict[str, list[str]] = {}
        for home, name in late:
            if is_module(home, name) is wanted:
                homes.setdefault(home, []).append(name)
        lines += [f"{table} = {{"]
        for home, found in sorted(homes.items()):
            written = [f'    "{home}": (', *(f'        "{name}",' for name in found), "    ),"]
            lines += written if len(found) > 1 else [f'    "{home}": ("{found[0]}",),']
        lines += ["}"]
    start, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return text[:start] + "\n".join(lines) + "\n" + text[end:]


def _order(name: str) -> tuple[int, str]:
    """Return a sort key that puts constants first, then classes, as the linter sorts `__all__`."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def run() -> int:
    """Write the file, or with `--check` say whether it differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = API.read_text(encoding="utf-8")
    made = make_text(text)
    if options.check:
        print("up to date" if made == text else f"run python tools/{Path(__file__).name}")
        return int(made != text)
    API.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run())
