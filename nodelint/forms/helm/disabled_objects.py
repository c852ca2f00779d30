"""Find the objects of chart templates that the values disable: helm does not create them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.forms.helm.charts import ChartFiles
from nodelint.forms.lib.chart_places import chart_of
from nodelint.forms.lib.gotemplate.evaluate import fill
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.forms.rendered import Built
from nodelint.forms.requests import BlockAddress
from nodelint.model.documents import objects as objects_of
from nodelint.model.manifest import Object
from nodelint.text import Source

_Names = Collection[tuple[str, str]]


def find_addresses(
    objects: Sequence[Object], sources: Sequence[Source]
) -> Iterator[tuple[Object, BlockAddress, str]]:
    """Yield the objects of charts: the object, the address of its template, and a reason.

    The reason is empty if helm creates the object with the values of its rendering. The name of the address includes
    the object, its environment, and what applies it.
    """
    files = ChartFiles({os.path.abspath(source.path): source for source in sources})
    made: dict[int, _Names | None] = {}
    for obj in objects:
        built = obj.source.built
        path = os.path.abspath(obj.source.path)
        template = files.sources.get(path)
        if built is None or built.values is None or template is None or chart_of(path) is None:
            continue
        if id(obj.source) not in made:
            made[id(obj.source)] = _list_created(template, built, files)
        names = made[id(obj.source)]
        if names is not None:
            environment = os.path.relpath(built.cluster or os.curdir, os.path.dirname(path))
            name = f"{_name(obj)} {environment} {built.applied_by[1]}"
            yield obj, BlockAddress(path, obj.kind, name), "" if (obj.kind, _name(obj)) in names else _REASON


_REASON = "the values of its chart disable it"


def _list_created(template: Source, built: Built, files: ChartFiles) -> _Names | None:
    """Return kinds and names of the objects that helm creates from a template. None if that is not known."""
    try:
        parts = parse(template.text)
        filled = fill(template.text, parts, built.values, "as helm", files.data_for(template))
    except (BadTemplate, BudgetSpent):
        return None
    result = Source.from_text(template.path, filled.text, template.also)
    if result.problems or result.set_aside:
        return None
    return {(obj.kind, _name(obj)) for obj in objects_of(result, foreign=True)}


def _name(obj: Object) -> str:
    return obj.name if isinstance(obj.name, str) else obj.name_node.unquoted
