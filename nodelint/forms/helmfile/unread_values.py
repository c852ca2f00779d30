"""Find helmfiles whose values for a chart contain template code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.unread_inputs import UnreadInputs, whole_text

_HELMFILE = re.compile(r"(?:^|/)(?:helmfile[^/]*|helmfile\.d/[^/]+)\.ya?ml(?:\.gotmpl)?$")
_PATH = re.compile(
    r"(?<![\w./$*-])(?!\.(?:ya?ml|json)\b)[\w./$*-]*(?:\{\{[^{}\n]*\}\}[\w./$*-]*){0,20}"
    r"\.(?:ya?ml|json)(?:\.gotmpl)?(?![\w.])"
)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield the helmfiles that install a chart with template code in its values, and the files that they name."""

    for path in files.paths:
        source = files.read(path) if _HELMFILE.search(path.replace(os.sep, "/")) else None
        if source is None or not names_chart(source.text, chart):
            continue
        if not re.search(r"\{\{|\.gotmpl|(?m:^environments:)", source.text):
            continue
        yield whole_text(source)
        for name in dict.fromkeys(_PATH.findall(source.text)):
            yield from files.list_named(os.path.dirname(path), name)
