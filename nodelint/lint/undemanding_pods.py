"""Find by keywords the files whose pods certainly fit some NodePool; these files are not parsed.

Most files with pods request only a little CPU and memory. If a NodePool accepts any such pod, none of these files can
contain a pod that no NodePool accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from nodelint.model.keys import ARCH, CAPACITY_TYPE, CATEGORY, GENERATION
from nodelint.model.manifest import EC2NodeClass, NodeOverlay, NodePool, Object
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.quantities import ONE, billionths_or_zero, quantity_of
from nodelint.model.requirement import well_known
from nodelint.text.placeholders import holds_any

_LITTLE = {"cpu": 8 * ONE, "memory": 16 * 1024**3 * ONE}
"""The most resources that the pods of a file and the DaemonSets of a run may request: half of a 4xlarge of a common
family.
"""

_WITHIN_LIMITS = 16 * ONE
"""The CPUs of all replicas that fit into the smallest limits, even if each node has unused resources."""

_LEAST_LIMITS = {"cpu": 32 * ONE, "memory": 128 * 1024**3 * ONE}
"""Limits that allow a 4xlarge of any common family."""

_USUAL = frozenset("cmr")
_USUAL_GENERATIONS = frozenset("567")
_HARMLESS = {"clusterDNS", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota"}
"""Kubelet settings that do not reduce the resources for pods."""

# `re` looks for the first letters of alternatives by their set; for one that begins with a set it does not.
_AMOUNTS = re.compile(
    r"""(cpu|memory|replica\w{0,24}+|Replica\w{0,24}+)["']?[ \t]*[:=][ \t]*["']?([0-9.]+[A-Za-z]*)"""
)
_NOT_WRITTEN = re.compile(r"\{\{.{0,200}?\}\}|[ \t]#[^\n]*", re.DOTALL)
_DEMANDING_PARTS = (
    *("node", "ffinity", "topolog", "runtime", "laim", "overhead", "PersistentV", "StorageC", "ostPort", "ostNet"),
    "host_",
)
"""Each text that `_DEMANDING` matches contains one of these."""
_DEMANDING = re.compile(
    r"(?m)"
    # a key with a value on its line, or with deeper lines below it
    r"""^([ \t-]*)["']?(?:nodeSelector|affinity|nodeAffinity|podAffinity|podAntiAffinity|topologySpreadConstraints"""
    r"""|runtimeClassName|resourceClaims|nodeName|overhead)["']?:(?:[ \t]*(?!\{[ \t]*\}|\[[ \t]*\]|["']{2})[^\s]"""
    r"|[ \t]*\n(?:[ \t]*\n)*\1[ \t]*[ \t-][^\s])"
    r"|[{,\"][ \t]*\"?(?:nodeSelector|affinity|topologySpreadConstraints|runtimeClassName|resourceClaims|nodeName)\b"
    r"|topologyKey|olumeClaim|PersistentVolume|StorageClass|volume_claim|hostPort|host_port|hostNetwork|host_network|node_selector|node_affinity"
    r"|affinity {|topology_spread|runtime_class"
    # HCL, and a value that is set by its path
    r"|\b(?:nodeSelector|affinity|nodeAffinity|podAffinity|podAntiAffinity|topologySpreadConstraints|runtimeClassName"
    r"|resourceClaims|nodeName|overhead)(?:\"?[ \t]*=[ \t]*(?!null\b|\{[ \t]*\}|\[[ \t]*\]|\"\")[^\s]|\.[\w\\])"
)
_FILLED = re.compile(
    r"\b(nodeSelector|affinity|nodeAffinity|podAffinity|podAntiAffinity|topologySpreadConstraints|runtimeClassName"
    r"|resourceClaims|nodeName|overhead|resources)[\"']?:\s*(?:\{\{-?\s*(?:with|if|range)\b[^{}]*\}\}\s*)?\{\{"
    r"|\b(cpu|memory)[\"']?:[ \t]*[\"']?\{\{"
)
"""A field of a pod that template code fills."""
_OPEN_AMOUNT = re.compile(
    r"""\b(?:cpu|memory|replicas)["']?[ \t]*[:=][ \t]*["']?(?:\$|(?:var|local|each|module|data)\.|[a-z_]+\()"""
)
"""An amount that a variable or an expression fills."""
_OTHER_WORDS = ("hugepages-", "ephemeral-storage")
_OTHER_RESOURCES = re.compile(
    # behind the colon of a key is a blank, a quote before it; the tag of an image has neither
    r"""\.[a-z]+/[\w.-]+(?:["'][ \t]*[:=][ \t]*|[ \t]*:[ \t]+|[ \t]*=[ \t]*)["']?[0-9]"""
)


_TOGETHER = 1 << 14
"""Characters of texts that are searched together: one search over several texts is far faster than one in each."""


def find_little_requests(texts: Mapping[str, str], daemons: dict[str, int]) -> set[str]:
    """Return the paths of the texts that pass `requests_little`."""
    little = {path for path, text in texts.items() if "{{" in text and requests_little(text, daemons)}
    group: list[tuple[str, str]] = []
    size = 0
    for path, text in (*((path, text) for path, text in texts.items() if "{{" not in text), ("", "")):
        group.append((path, text))
        size += len(text)
        if size >= _TOGETHER or not path:
            # What no joined text contains, none of them contains.
            passes = requests_little if _may_request_more("\n".join([text for _, text in group])) else _has_little
            little.update(path for path, text in group if passes(text, daemons))
            group, size = [], 0
    return little


def requests_little(text: str, daemons: dict[str, int]) -> bool:
    """Return whether the pods of a text, with the DaemonSets' requests (`daemons`), request only a little CPU and
    memory, and no other resource.
    """
    return not _may_request_more(text) and _has_little(text, daemons)


def _may_request_more(text: str) -> bool:
    """Return whether a text may request what `_has_little` does not see: other resources, amounts that code fills,
    certain nodes or volumes.
    """
    written = _read_written(text)
    return (
        (holds_any(written, _DEMANDING_PARTS) and _DEMANDING.search(written) is not None)
        or ("{{" in text and _takes_other_names(text))
        or _OPEN_AMOUNT.search(written) is not None
        or holds_any(written, _OTHER_WORDS)
        or _OTHER_RESOURCES.search(written) is not None
    )


def _has_little(text: str, daemons: dict[str, int]) -> bool:
    """Return whether the amounts of CPU and memory in a text are little, together with those of DaemonSets."""
    return _are_little(tuple(_AMOUNTS.findall(_read_written(text))), daemons["cpu"], daemons["memory"])


def _read_written(text: str) -> str:
    """Return a text without comments and template code."""
    return _NOT_WRITTEN.sub("", text) if "{{" in text or " #" in text else text


def _takes_other_names(template: str) -> bool:
    """Return whether a template fills a field that matters from a value whose key has another name.

    A field that is filled from a value of its own name is found by this name in the values.
    """
    names = (match[1] or match[2] for match in _FILLED.finditer(template))
    return any(re.search(rf"\.\s*{name}\b", template) is None for name in set(names))


@cache
def _are_little(written: tuple[tuple[str, str], ...], of_daemons: int, memory_of_daemons: int) -> bool:
    """Return whether the amounts are little together with those of DaemonSets, and fit the smallest limits with all
    replicas.
    """
    amounts = _add(written)
    if amounts["cpu"] + of_daemons > _LITTLE["cpu"] or amounts["memory"] + memory_of_daemons > _LITTLE["memory"]:
        return False
    replicas = max((billionths_or_zero(amount) for name, amount in written if name not in _LITTLE), default=ONE)
    return amounts["cpu"] * replicas <= _WITHIN_LIMITS * ONE


def add_amounts(text: str) -> dict[str, int]:
    """Return the sums of all amounts of CPU and memory in a text, in billionths (1e-9) of the unit; limits count as
    well.
    """
    return _add(_AMOUNTS.findall(text))


def _add(written: Iterable[tuple[str, str]]) -> dict[str, int]:
    amounts = dict.fromkeys(_LITTLE, 0)
    for name, amount in written:
        if name in amounts:
            amounts[name] += billionths_or_zero(amount)
    return amounts


def has_pool_for_little(objects: Iterable[Object]) -> bool:
    """Return whether a NodePool certainly accepts any pod that requests little.

    Of several NodePools with one name each must accept them, because a workload is compared with the nearest one.
    """
    there = list(objects)
    if any(isinstance(obj, NodeOverlay) for obj in there):
        return False
    pools: dict[str, list[NodePool]] = {}
    classes: dict[str, list[EC2NodeClass]] = {}
    for obj in there:
        if isinstance(obj, NodePool) and not obj.foreign and isinstance(obj.name, str):
            pools.setdefault(obj.name, []).append(obj)
        elif isinstance(obj, EC2NodeClass) and isinstance(obj.name, str):
            classes.setdefault(obj.name, []).append(obj)
    return any(all(_is_roomy(pool, classes) for pool in of_name) for of_name in pools.values())


def _is_roomy(pool: NodePool, classes: Mapping[str, Sequence[EC2NodeClass]]) -> bool:
    """Return whether a NodePool accepts all pods and may launch the larger sizes of a common family."""
    if pool.partial or pool.static or pool.find_field("spec", "template", "spec", "taints") is not None:
        return False
    labels = {label.key for label in pool.template_labels}
    if labels & well_known() or not all(map(_leaves_usual_types, pool.requirements)):
        return False
    limits = pool.find_field("spec", "limits")
    for entry in limits.entries if limits is not None else ():
        amount = quantity_of(entry.value)
        if entry.name not in _LEAST_LIMITS or amount is None or amount < _LEAST_LIMITS[entry.name]:
            return False
    ref = pool.class_ref
    name = ref.name if ref is not None else None
    named = classes.get(name, ()) if isinstance(name, str) else ()
    return bool(named) and all(map(_takes_usual_types, named))


def _leaves_usual_types(line: RequirementLine) -> bool:
    """Return whether a requirement admits types of a common family and a recent generation."""
    if line.min_values is not None or not line.known or not isinstance(line.key, str):
        return False
    texts = set(line.texts)
    if line.operator == "Gt" and line.key == GENERATION:
        return texts <= set("123456") and len(texts) == 1
    if line.operator != "In":
        return False
    if line.key == CATEGORY:
        return bool(texts & _USUAL)
    if line.key == GENERATION:
        return bool(texts & _USUAL_GENERATIONS)
    if line.key == "kubernetes.io/os":
        return texts == {"linux"}
    return (line.key == ARCH and bool(texts & {"amd64", "arm64"})) or (
        line.key == CAPACITY_TYPE and bool(texts & {"spot", "on-demand"})
    )


def _takes_usual_types(node_class: EC2NodeClass) -> bool:
    """Return whether nodes of a class offer all resources of their types, and have an image for each architecture."""
    spec = node_class.node.get("spec")
    if spec is None or node_class.partial or spec.get("networkInterfaces") is not None:
        return False
    aliases = [term.alias for term in node_class.ami_terms]
    if not any(isinstance(alias, str) and alias.startswith(("al2023@", "bottlerocket@")) for alias in aliases):
        return False
    kubelet = spec.get("kubelet")
    return kubelet is None or all(entry.name in _HARMLESS for entry in kubelet.entries)
