"""Pack nodelint and the pure Python of what it needs into one archive for the browser.

    python pack.py ARCHIVE

It takes click and PyYAML from the environment that runs it, and nodelint with rules and schemas from the checkout.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LEFT_OUT = {"lsp", "client"}
"""Folders that a page needs nothing of: the language server, and what asks AWS."""


def members() -> Iterator[tuple[Path, str]]:
    """Yield each file with its name in the archive."""
    for folder, name in ((ROOT / "nodelint", "nodelint"), (ROOT / "rules", "nodelint/rules"),
                         (ROOT / "schemas", "nodelint/schemas"), (_package("click"), "click"),
                         (_package("yaml"), "yaml")):  # fmt: skip
        for path in sorted(folder.rglob("*")):
            inner = path.relative_to(folder)
            if path.is_file() and path.suffix in (".py", ".json") and not LEFT_OUT & set(inner.parts):
                yield path, f"{name}/{inner.as_posix()}"
    for module in ("_ruamel_yaml", "playground"):
        yield HERE / f"{module}.py", f"{module}.py"


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"{name} is not installed: run `pip install -e .` in the checkout first")
    return Path(spec.origin).parent


def main() -> None:
    """Write the archive: the same sources give the same bytes."""
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, name in members():
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


if __name__ == "__main__":
    main()
