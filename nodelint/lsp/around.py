"""What is built of texts that are open in an editor, with the files around them that this takes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository
from nodelint.forms.lib.chart_places import CHART
from nodelint.forms.rendered import Built
from nodelint.inventory import Inventory, build
from nodelint.model.documents import objects
from nodelint.text import Source

_TERRAFORM = (".tf", ".tofu", ".tf.json", ".tofu.json", ".tftpl", ".tpl")
_OF_MODULES_ELSEWHERE = (".tfvars", ".tfvars.json", ".hcl")


_CALLED = r"\bsource\"?\s{0,20}[=:]\s{0,20}\"(\.{1,2}/[^\"$\n]+)\""
"""The folder of a module that a file of Terraform calls."""


_MOST_OVERLAYS = 60
"""Kustomizations of a repository that are built at every key; of more, the command alone says what they come to."""


def build_around(
    opened: Sequence[Source], sources: Sequence[Source], kustomizations: Sequence[str] = ()
) -> Inventory:
    """What open texts have a part in: templates of their charts and modules are taken from `sources`.

    `kustomizations` are those of the repository. Of a large repository only little is built at every key.
    """
    folders = {folder for source in opened for folder in _folders(source)}
    near = [source for source in sources if any(_is_below(source.path, folder) for folder in folders)]
    manifests = any(source.path.endswith((".yaml", ".yml", ".json")) for source in opened)
    overlays = kustomizations if manifests and len(kustomizations) <= _MOST_OVERLAYS else ()
    inventory = build([*opened, *near], None, overlays)
    paths = {os.path.abspath(source.path) for source in opened}
    mine = {id(source) for source in opened}
    built = (built for built in inventory.built if paths.intersection(built.parts) or _holds_value_of(built, mine))
    return inventory._replace(built=tuple(built))


def _holds_value_of(built: Built, sources: set[int]) -> bool:
    """Whether a value of what is built is written in one of some sources, by their ids: a variable's file, say."""
    roots = (document.root for document in built.source.documents if document.root is not None)
    origins = (built.find_origin(node) for root in roots for node in root.walk())
    return any(origin is not None and id(origin.at.source) in sources for origin in origins)


def _folders(source: Source) -> Iterator[str]:
    """The folders whose files may be built together with a text."""
    path = os.path.abspath(source.path)
    if not os.path.isabs(source.path):
        return  # a text without a name
    folder = os.path.dirname(path)
    if path.endswith(_TERRAFORM):
        yield os.path.dirname(folder)
        yield from (os.path.normpath(os.path.join(folder, called)) for called in re.findall(_CALLED, source.text))
        return
    top = repository(folder)
    if path.endswith(_OF_MODULES_ELSEWHERE):
        yield top or os.path.dirname(folder)
        return
    around = folder
    while around != os.path.dirname(around):
        if gate.is_file(os.path.join(around, CHART)):
            yield around
            return
        if around == top:
            break
        around = os.path.dirname(around)
    if top is not None and path.endswith((".yaml", ".yml")) and not any(objects(source)):
        yield top  # values for a chart elsewhere in the repository


def _is_below(path: str, folder: str) -> bool:
    return os.path.abspath(path).startswith(os.path.join(folder, ""))
