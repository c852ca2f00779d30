"""One form of TYPE_CHECKING in the modules below the given folders."""

import re
import sys
from pathlib import Path

IMPORT = "from nodelint.base.types import TYPE_CHECKING\n"
changed = 0
for folder in sys.argv[1:]:
    p = Path(folder)
    for path in [p] if p.is_file() else sorted(p.rglob("*.py")):
        if path.as_posix().endswith(("nodelint/base/types.py", "nodelint/__init__.py")):
            continue
        text = old = path.read_text(encoding="utf-8")
        if "\nTYPE_CHECKING = False\n\n" in text:
            text = text.replace("\nTYPE_CHECKING = False\n\n", "\n", 1)
        elif re.search(r"(?m)^from typing import TYPE_CHECKING$", text):
            text = re.sub(r"(?m)^from typing import TYPE_CHECKING\n", "", text, count=1)
        elif m := re.search(r"(?m)^from typing import ([\w, ]*)\bTYPE_CHECKING\b(?:, )?([\w, ]*)$", text):
            rest = (m[1] + m[2]).strip().strip(",").strip()
            text = text.replace(m[0], f"from typing import {rest}", 1)
        else:
            continue
        head = "from __future__ import annotations\n\n"
        assert head in text, path
        text = text.replace(head, head + IMPORT, 1)
        path.write_text(text, encoding="utf-8")
        changed += 1
print(changed)
