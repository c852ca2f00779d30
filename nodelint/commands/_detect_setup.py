"""Find out how a repository keeps its manifests: releases, forms, and CI."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.files.discover import discover
from nodelint.files.gate import Gate
from nodelint.files.globs import Excluded
from nodelint.forms.registry import TABLE, FormRow
from nodelint.model.documents import objects
from nodelint.model.evidence import About
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import FIRST_SERVING, OLDEST
from nodelint.releases import Evidence, Stated, evidence_of
from nodelint.text.missing import text_of

_LARGEST = 1 << 20
_WORKFLOWS = ".github/workflows/"


class Survey(NamedTuple):
    """The result of surveying a folder; paths are relative to the folder."""

    pools: int
    classes: int
    files: int
    styles: tuple[str, ...]
    karpenter: tuple[Evidence, ...]
    kubernetes: tuple[Evidence, ...]
    snapshot: str | None
    ci: tuple[str, ...]


def survey(folder: str) -> Survey:
    """Return the survey of a repository. No code of the repository runs, and no file outside of it is read."""
    found = discover([folder], Excluded(gitignore=True))
    judged = [obj for source in found.sources for obj in objects(source)]
    styles = Counter(style for obj in judged for style in _styles(obj, folder))
    stated = evidence_of(found.stating)
    ci: set[str] = set()
    for path in sorted(found.seen | found.glanced):
        shown = _relative_path(path, folder)
        if shown.startswith(_WORKFLOWS):
            ci.add("GitHub Actions, which runs it already" if _names_us(path, folder) else "GitHub Actions")
        elif shown == ".gitlab-ci.yml":
            ci.add("GitLab CI, which runs it already" if _names_us(path, folder) else "GitLab CI")

    def evidence_about(about: About) -> tuple[Evidence, ...]:
        """Return the stated releases that count for the objects, with paths relative to the folder.

        If none counts, return all statements about this program.
        """
        evidence = [e for obj in judged for e in _stating(stated, about, obj)]
        counts = dict.fromkeys(evidence or (e for e in stated.all if e.about == about))
        known = (e for e in counts if about == "kubernetes" or e.karpenter >= OLDEST)
        return tuple(e._replace(path=_relative_path(e.path, folder)) for e in known)

    snapshot = "nodelint.snapshot.json"
    return Survey(
        sum(isinstance(obj, NodePool) for obj in judged),
        sum(isinstance(obj, EC2NodeClass) for obj in judged),
        len({obj.source.path for obj in judged}),
        tuple(style for style, _ in styles.most_common()),
        evidence_about("karpenter"),
        evidence_about("kubernetes"),
        snapshot if os.path.isfile(os.path.join(folder, snapshot)) else None,
        tuple(sorted(ci)),
    )


def _stating(stated: Stated, about: About, obj: Object) -> tuple[Evidence, ...]:
    if about == "kubernetes":
        return stated.list_kubernetes_of_root(obj.source.path)
    return stated.for_path(about, obj.source.path, FIRST_SERVING.get(obj.version))


def _relative_path(path: str, folder: str) -> str:
    """Return a path as a comment of the configuration shows it."""
    return printable(os.path.relpath(path, folder).replace(os.sep, "/"))


def _names_us(path: str, top: str) -> bool:
    try:
        return b"nodelint" in Gate(top).read(path, _LARGEST)
    except OSError:
        return False


# -- how manifests are kept


def _styles(obj: Object, top: str) -> Iterator[str]:
    """Yield the forms in which the repository keeps an object: one, or two for a chart in an overlay."""
    document, root = obj.document, obj.document.root
    outer = text_of(root.get("kind")) if root is not None and root is not obj.node else ""
    of_block = obj.source.text if document.host == "block" else ""
    for row in TABLE.rows:
        hosted = document.host is not None and document.host in (row.name, *row.styles)
        if hosted or _is_template_of(row, obj.source.path):
            yield row.style
            return
    for row in TABLE.rows:
        if row.style and (outer in row.kinds or _names_kind(of_block, row.kinds)):
            yield row.style
            return
    for row in reversed(TABLE.rows):  # a chart that an overlay takes is a chart
        if (row.names or row.folders) and _above(obj.source.path, top, (*row.names, *row.heads)):
            yield row.style
            return
    yield "plain manifests"


def _names_kind(text: str, kinds: Sequence[str]) -> bool:
    return bool(kinds) and re.search(rf"kind: (?:{'|'.join(kinds)})\b", text) is not None


def _is_template_of(row: FormRow, path: str) -> bool:
    """Return whether a file is a template of this form, by its file name."""
    return path.endswith((*row.templates, *(f"{ending}.tpl" for ending in row.endings)))


def _above(path: str, top: str, names: tuple[str, ...]) -> bool:
    """Return whether a file with one of the names is next to the path or above, up to the folder `top`."""
    folder, highest = os.path.dirname(os.path.abspath(path)), os.path.abspath(top)
    while True:
        if any(os.path.isfile(os.path.join(folder, name)) for name in names):
            return True
        if folder in (highest, os.path.dirname(folder)):
            return False
        folder = os.path.dirname(folder)
