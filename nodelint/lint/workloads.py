"""Find the workloads that `check` compares with the NodePools of a run, and parse only those that may matter."""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.safe_read import is_below, is_inside, repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nodelint.files.folders import Discovery
    from nodelint.lint.engine import Selection
    from nodelint.model.manifest import NodePool, Object
    from nodelint.rule.definition import Rule
    from nodelint.text import Source


def add_workloads(
    found: Discovery, rules: Mapping[str, Rule], selection: Selection, objects: Iterable[Object]
) -> bool:
    """Add the files with relevant workloads to the sources of a run. Return whether there are any.

    Relevant files without the word karpenter have DaemonSets, name a label or taint of a NodePool, or have pods that
    may be too large. If a rule asks about all workloads, all files are added. Nothing is added if the run has no
    NodePools, lacks the rules, or does not cover the repository: other NodePools may be elsewhere.
    """
    selected = _list_tags(rules, selection)
    if not (found.workloads or found.buffers) or not selected or not _is_whole(found):
        return False
    from nodelint.model.manifest import NodePool

    there = list(objects)
    pools = [obj for obj in there if isinstance(obj, NodePool) and not obj.foreign]
    if not pools:
        return False
    from nodelint.lint.undemanding_pods import has_pool_for_little
    from nodelint.model.cluster_objects import PATTERN
    from nodelint.text import Source

    keys = [key.encode() for key in own_keys(pools)]
    is_demanding = "demanding-workloads" in selected
    every = "all-workloads" in selected or (is_demanding and not has_pool_for_little(there))
    texts = dict(_selecting_texts(found, keys, every, demanding=is_demanding))
    texts.update(_texts_of_bases(found, texts))
    node_groups = read_texts(found.node_groups)
    known = {source.path: number for number, source in enumerate(found.sources)}
    for path, text in texts.items():
        shown = path.replace(os.sep, "/")
        source = Source.from_text(shown, text, PATTERN)
        source.node_groups = node_groups
        number = known.get(shown)
        if number is None:
            found.sources.append(source)
        else:
            source.part, source.encoding = found.sources[number].part, found.sources[number].encoding
            source.is_named, source.values_order = found.sources[number].is_named, found.sources[number].values_order
            found.sources[number] = source
    if "all-workloads" in selected:
        unread = frozenset(_list_unread_keys(found, pools))
        for source in found.sources:
            source.unread_keys = unread
    return bool(texts)


def _list_tags(rules: Mapping[str, Rule], selection: Selection) -> set[str]:
    return {
        tag for rule in rules.values() if "workloads" in rule.tags and selection.enables(rule) for tag in rule.tags
    }


def find_repository_around(
    found: Discovery, rules: Mapping[str, Rule], selection: Selection, objects: Iterable[Object]
) -> str | None:
    """Return the repository around the folders of a run, if workloads outside of these folders are not compared.

    None if the folders cover the repository or are in none, and if the run has only named files. None also if the run
    has no NodePool or no rule that compares workloads.
    """
    from nodelint.model.manifest import NodePool

    if not found.folders or not _list_tags(rules, selection):
        return None
    if not any(isinstance(obj, NodePool) and not obj.foreign for obj in objects):
        return None
    root = repository(found.folders[0])
    return None if root is None or any(is_inside(root, folder) for folder in found.folders) else root


def _list_unread_keys(found: Discovery, pools: Iterable[NodePool]) -> Iterator[str]:
    """Yield the taint keys that occur next to tolerations in files that are not fully parsed as objects.

    Such files are values files, templates, scripts and other kinds of objects: they may contain a toleration of the
    taint.
    """
    keys = {taint.key.encode() for pool in pools for taint in pool.taints if isinstance(taint.key, str)}
    known = {source.path: source for source in found.sources}
    for path in sorted(found.seen | found.glanced) if keys else ():
        source = known.get(path.replace(os.sep, "/"))
        text = source.text if source is not None else _text_with(path, sorted(keys), _TOLERATIONS)
        if not text or (source is not None and _is_all_read(source)):
            continue
        data = text.encode()
        if _holds(data, _TOLERATIONS):
            yield from (key.decode() for key in keys if key in data)


_TOLERATIONS = (b"oleration",)


def _is_all_read(source: Source) -> bool:
    """Return whether each document of a plain manifest is an object of a known kind."""
    from nodelint.model.documents import objects

    kinds = re.findall(r"(?m)^kind:", source.text)
    return not source.masked and 0 < len(kinds) == len(list(objects(source, foreign=True, more=True)))


def _selecting_texts(
    found: Discovery, keys: Sequence[bytes], every: bool, demanding: bool
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file with pods that select one of the keys; with `every`, of each file with pods.

    `demanding` adds files with DaemonSets and with pods that request more than a little.
    """
    from nodelint.model.cluster_objects import PATTERN

    known = {source.path: source for source in found.sources}
    buffers = set(found.buffers)
    values = _ValuesOfTemplates(found)
    passed_over: dict[str, str] = {}
    for path in dict.fromkeys((*found.workloads, *found.buffers)):
        source = known.get(path.replace(os.sep, "/"))
        whole = every or path in buffers
        if source is None and not whole and not keys and not demanding:
            continue
        text = source.text if source is not None else _text_of(path, found)
        if re.search(PATTERN, text) is None or (source is not None and not source.whole):
            continue
        meant = bool(keys) and (_is_selecting(text, keys) or values.may_hold(path, keys))
        if source is not None or whole or meant:
            yield path, text
        elif demanding:
            passed_over[path] = text
    yield from _demanding_texts(passed_over, known.values(), values)


def _is_selecting(text: str, keys: Sequence[bytes]) -> bool:
    return any(key.decode() in text for key in keys) and any(mark in text for mark in _SELECTING)


def _demanding_texts(
    texts: Mapping[str, str], sources: Iterable[Source], values: _ValuesOfTemplates
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that has a DaemonSet, or whose pods request more than `requests_little`
    allows. A template counts with its values.
    """
    from nodelint.lint.undemanding_pods import add_amounts, find_little_requests

    with_daemons = {path: text for path, text in texts.items() if _has_daemons(text)}
    yield from with_daemons.items()
    of_daemons = "\n".join([*with_daemons.values(), *(s.text for s in sources if _has_daemons(s.text))])
    whole: dict[str, str] = {}
    for path, text in texts.items():
        given = values.find(path) if path not in with_daemons else None
        if given is not None:
            whole[path] = f"{text}\n{given}" if given else text
    little = find_little_requests(whole, add_amounts(of_daemons))
    yield from ((path, text) for path, text in texts.items() if path not in little and path not in with_daemons)


class _ValuesOfTemplates:
    """The texts of a run that may contain the values of templates with workloads."""

    def __init__(self, found: Discovery) -> None:
        self._found = found
        self._finders: list[Callable[[str], str | None]] | None = None

    def find(self, path: str) -> str | None:
        """Return the texts that may contain values of a template; empty for other files. None if not known."""
        from nodelint.forms.registry import TABLE

        if not any(folder in path for row in TABLE.rows for folder in row.folders):
            return ""
        if self._finders is None:
            forms = [row.load() for row in TABLE.rows if row.folders]
            self._finders = [form.find_given_texts(self._found.seen, self._found.installing) for form in forms]
        texts = [find(path) for find in self._finders]
        return None if None in texts else "".join(filter(None, texts))

    def may_hold(self, path: str, keys: Sequence[bytes]) -> bool:
        """Return whether the values of a template may contain one of the keys."""
        given = self.find(path)
        return given is None or any(key.decode() in given for key in keys)


def _has_daemons(text: str) -> bool:
    return "DaemonSet" in text or "kubernetes_daemon" in text


def _texts_of_bases(found: Discovery, selecting: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of files below overlays with an object that one of the patches may change.

    A patch with a name changes objects of that name; a patch by path may change any object. The base and the overlay
    together decide where pods are scheduled.
    """
    from nodelint.forms.registry import TABLE
    from nodelint.model.cluster_objects import PATTERN

    folders = {os.path.dirname(path) for path in found.seen if os.path.basename(path) in TABLE.names}
    any_name = any(_patches_pods(path) for path in (*found.patching, *found.applying))
    if not any_name and (not selecting or not folders):
        return
    names = {name.encode() for text in selecting.values() for name in re.findall(_NAME, text)}
    known = {source.path for source in found.sources}
    for path in found.workloads:
        below = any_name or any(is_below(path, folder) for folder in folders)
        if path not in selecting and path.replace(os.sep, "/") not in known and below:
            text = _text_with(path, None if any_name else sorted(names))
            if re.search(PATTERN, text) is not None:
                yield path, text


def _patches_pods(path: str) -> bool:
    """Return whether a file may patch a field that decides where pods are scheduled, and does not name the patched
    object.
    """
    text = _text_with(path, None)
    if "patch" in text and re.search(_PATCHED, text) is not None:
        return True
    return re.search(_PATCHED_BY_PATH, text) is not None


_OF_PODS = r"nodeSelector|affinity|topologySpreadConstraints|runtimeClassName|nodeName|overhead|tolerations|resources"
_PATCHED_BY_PATH = rf"(?m)/(?:spec|containers/[0-9]+)(?:/(?:{_OF_PODS})\b|[\"']?[ \t]*$)"
_PATCHED = rf"(?m)^[ \t]{{4,}}[\"']?(?:{_OF_PODS})[\"']?:"
_NAME = r"""\bname["']?[ \t]*:[ \t]*["']?([\w.-]+)"""


_SELECTING = ("nodeSelector", "nodeAffinity", "olerations", "node_selector", "node_affinity", "toleration {")
"""Each pod that selects nodes contains one of these. A label key may contain one as well."""


def _text_of(path: str, found: Discovery) -> str:
    """Return the text of a file with workloads; empty if it cannot be read."""
    data = found.contents.get(path)
    return _text_with(path, None) if data is None else data.decode("utf-8", "replace")


def _text_with(path: str, keys: Sequence[bytes] | None, markers: Sequence[bytes] = ()) -> str:
    """Return the text of a file that contains one of the keys (None: any file) and a marker. "" for other files."""
    from nodelint.files.gate import gate

    try:
        data = gate.read_listed(path)
    except OSError:
        return ""
    wanted = keys is None or (_holds(data, keys) and (not markers or _holds(data, markers)))
    return data.decode("utf-8", "replace") if wanted else ""


def _holds(data: bytes, words: Sequence[bytes]) -> bool:
    return any(data.find(word) >= 0 for word in words)


def own_keys(pools: Iterable[NodePool]) -> set[str]:
    """Return the keys of labels and taints that NodePools define, without Karpenter's well-known labels."""
    from nodelint.model.requirement import well_known

    keys = {
        key
        for pool in pools
        for key in (
            *(line.key for line in pool.requirements),
            *(label.key for label in pool.template_labels),
            *(taint.key for taint in pool.taints),
        )
        if isinstance(key, str)
    }
    return keys - well_known()


def _is_whole(found: Discovery) -> bool:
    """Return whether the run covers the whole repository of its sources, and could read all of it.

    A chart, folder or values file that is missing may give further pools.
    """
    from nodelint.inventory.missing_sources import list_all_missing

    if found.unreadable or any(source.problems for source in found.sources):
        return False
    if next(list_all_missing(found.sources), None) is not None:
        return False
    for place in {os.path.dirname(source.path) for source in found.sources}:
        root = repository(os.path.abspath(place))
        if root is not None and not any(is_inside(root, folder) for folder in found.folders):
            return False
    return True


def read_texts(paths: Sequence[str]) -> list[str]:
    """Return the texts of files, without files that cannot be read any more."""
    from nodelint.files.gate import gate

    found = []
    for path in paths:
        try:
            found.append(gate.read(path).decode("utf-8", "replace"))
        except OSError:
            continue
    return found
