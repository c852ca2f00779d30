"""Convert the plain values of a NodePool and an EC2NodeClass of v1beta1 to v1.

The facts are those of Karpenter's own conversion (core and provider 1.0.x) and of the defaults of v1beta1 (0.37). If
a default differs in v1, the old one is written out, so that the meaning of the object does not change.
"""

from __future__ import annotations

import re
from typing import Any

from nodelint.karpenter.images import ami_family_of, families
from nodelint.model.gvk import AWS_GROUP, CLASS_KIND, CORE_GROUP
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

Plain = dict[str, Any]


class PlaceholderText(str):
    """The text of a scalar with a placeholder, without its quotes. `written` is the source text with quotes.

    `written` is None if nodelint composed the text, or if the text depends on its indent.
    """

    __slots__ = ("written",)
    written: str | None

    def __new__(cls, text: str, written: str | None = None) -> PlaceholderText:
        """Return the text with its source text `written`."""
        made = super().__new__(cls, text)
        made.written = written
        return made


class Blocked(Exception):
    """Raised if an object cannot be converted without a decision that only its owner can make. The text names the
    decision.
    """


class Migration:
    """The converted value of an object, the kubelet settings that were removed from it, and notes for its owner."""

    def __init__(self, value: Plain, kubelet: Plain | None = None) -> None:
        self.value = value
        self.kubelet = kubelet
        self.notes: list[str] = []


OLD_LABEL = "karpenter.sh/provisioner-name"
_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_ANNOTATIONS = ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-evict")

_VOLUME_SIZE = re.compile(
    r"((?:[1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G"
    r"|([1-9]|[1-5][0-7]|58)Ti|([1-9]|[1-5][0-9]|6[0-3]|64)T)"
)


def plain_with_placeholders(node: Node) -> Any:
    """Return a node's plain value, in which placeholders are `PlaceholderText`."""
    if node.kind == "mapping":
        return {
            (
                PlaceholderText(entry.key.text, entry.key.text) if entry.name is None else entry.name
            ): plain_with_placeholders(entry.value)
            for entry in node.entries
        }
    if node.kind == "sequence":
        return [plain_with_placeholders(item) for item in node.items]
    if node.value is UNKNOWN:
        return PlaceholderText(node.unquoted, None if node.style in ("literal", "folded") else node.text)
    return node.plain()


def kubelet_of(kind: str, value: Plain) -> Plain | None:
    """Return the kubelet settings of a NodePool or Provisioner of an old API. None if it has none."""
    spec = field(value, "spec")
    if kind == "Provisioner":
        found = spec.get("kubeletConfiguration")
    else:
        found = field(field(spec, "template"), "spec").get("kubelet")
    if not isinstance(found, dict):
        return None
    settings = {}
    for name, setting in found.items():
        if name in ("kubeReserved", "systemReserved", "evictionHard", "evictionSoft") and isinstance(setting, dict):
            # Amounts could be numbers until v1beta1 of 0.36; now they are texts.
            settings[name] = {key: _amount(amount) for key, amount in setting.items()}
        elif name != "containerRuntime":
            settings[name] = setting
    return settings or None


def _amount(value: Any) -> Any:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if number else value


def node_pool(value: Plain, partial: bool) -> Migration:
    """Return a v1beta1 NodePool converted to v1. Raise Blocked if only its owner can decide how.

    A `partial` object gets no defaults, because another file may set them.
    """
    result = Migration(value, kubelet_of("NodePool", value))
    value["apiVersion"] = f"{CORE_GROUP}/v1"
    spec = field(value, "spec")
    template = field(spec, "template")
    inner = field(template, "spec")
    inner.pop("kubelet", None)
    if inner.pop("resources", None):
        result.notes.append("`resources` of the template no longer exists: Karpenter sets it for each node")
    if isinstance(inner.get("nodeClassRef"), dict):
        inner["nodeClassRef"] = class_reference(inner["nodeClassRef"], partial)
    disruption = spec.get("disruption")
    if isinstance(disruption, dict):
        if "expireAfter" in disruption:
            inner["expireAfter"] = disruption.pop("expireAfter")
            template.setdefault("spec", inner)
            spec.setdefault("template", template)
        if disruption:
            _disruption(disruption, partial, result)
        else:
            del spec["disruption"]
    template_metadata(template, result)
    return result


def _disruption(disruption: Plain, partial: bool, result: Migration) -> None:
    policy = disruption.get("consolidationPolicy")
    if isinstance(policy, PlaceholderText):
        result.notes.append("the consolidationPolicy WhenUnderutilized is WhenEmptyOrUnderutilized in v1")
    if policy == "WhenUnderutilized":
        disruption["consolidationPolicy"] = "WhenEmptyOrUnderutilized"
    if "consolidateAfter" not in disruption and not partial:
        # Without the field, v1beta1 never disrupted empty nodes, and disrupted underutilized ones without delay.
        after = "Never" if policy == "WhenEmpty" else "0s"
        put_after(disruption, "consolidateAfter", after, "consolidationPolicy")


def class_reference(old: Plain, partial: bool) -> Plain:
    """Return a nodeClassRef with group and kind instead of its apiVersion."""
    ref = dict(old)
    api = ref.pop("apiVersion", None)
    group = ref.get("group")
    if group is None and isinstance(api, str):
        group = AWS_GROUP if isinstance(api, PlaceholderText) or not api else api.partition("/")[0]
    kind = ref.get("kind")
    if kind in (None, "", "AWSNodeTemplate"):
        kind = CLASS_KIND
    if partial and not api and group is None:
        return ref
    rest = {name: part for name, part in ref.items() if name not in ("group", "kind")}
    return {"group": group or AWS_GROUP, "kind": kind, **rest}


def template_metadata(template: Plain, result: Migration) -> None:
    """Rename old labels and annotations of the template to those of v1, in place."""
    metadata = field(template, "metadata")
    labels = field(metadata, "labels")
    if labels.pop(OLD_LABEL, None) is not None:
        result.notes.append(f"the label {OLD_LABEL} no longer exists: pods select karpenter.sh/nodepool instead")
        if not labels:
            metadata.pop("labels")
    annotations = field(metadata, "annotations")
    for name in _ANNOTATIONS:
        if name in annotations:
            annotation = annotations.pop(name)
            annotations.setdefault(_DO_NOT_DISRUPT, annotation)
    if "metadata" in template and not metadata:
        del template["metadata"]


def node_class(value: Plain, partial: bool) -> Migration:
    """Return a v1beta1 EC2NodeClass converted to v1. Raise Blocked if only its owner can decide how.

    A `partial` object gets no defaults.
    """
    result = Migration(value)
    value["apiVersion"] = f"{AWS_GROUP}/v1"
    spec = field(value, "spec")
    terms = spec.get("amiSelectorTerms")
    family = spec.get("amiFamily")
    if terms:
        image_terms(spec, terms, family, result)
    elif not partial or family is not None:
        spec.pop("amiSelectorTerms", None)
        put_after(spec, "amiSelectorTerms", [{"alias": alias_of(family)}], "amiFamily")
    common(spec, result, partial)
    return result


def image_terms(spec: Plain, terms: Any, family: Any, result: Migration) -> None:
    """Change image terms that v1 does not accept, and the family Ubuntu, which v1 does not have, in place."""
    for term in terms if isinstance(terms, list) else []:
        if isinstance(term, dict) and "id" in term and len(term) > 1:
            for name in [name for name in term if name != "id"]:
                del term[name]
            result.notes.append("an image term with an id takes no other field: the other fields are removed")
    if family == "Ubuntu":
        # AL2 and Ubuntu take the same user data; their default volumes differ.
        spec["amiFamily"] = "AL2"
        if "blockDeviceMappings" not in spec:
            ebs = {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"}
            spec["blockDeviceMappings"] = [{"deviceName": "/dev/sda1", "rootVolume": True, "ebs": ebs}]
        result.notes.append("v1 has no Ubuntu family: AL2 boots it, with Ubuntu's default volume")


def alias_of(family: Any) -> str:
    """Return the alias for the newest image of a family, which v1beta1 selected without terms. Raise Blocked if there
    is none.
    """
    if isinstance(family, PlaceholderText):
        raise Blocked("amiFamily is a placeholder: add amiSelectorTerms that name the image")
    if family == "Ubuntu":
        raise Blocked("Ubuntu has no alias in v1: name its image in amiSelectorTerms")
    alias = next((name for name in families() if ami_family_of(name) == family), None)
    if alias is None:
        raise Blocked(
            f"amiFamily {family or 'is missing'}: add amiSelectorTerms, for v1 has no image for it by default"
        )
    return f"{alias}@latest"


def common(spec: Plain, result: Migration, partial: bool) -> None:
    """Convert the fields that v1beta1 and v1alpha1 classes have in common, in place: volumes, tags, and the hop
    limit, whose default changed.
    """
    mappings = spec.get("blockDeviceMappings")
    for mapping in mappings if isinstance(mappings, list) else []:
        size = field(field(mapping, "ebs"), "volumeSize", raw=True)
        if size is not None and not isinstance(size, PlaceholderText) and not _VOLUME_SIZE.fullmatch(str(size)):
            raise Blocked(f"volumeSize {size} is not valid in v1: use whole G, Gi, T or Ti")
    tags = spec.get("tags")
    if isinstance(tags, dict):
        for key in list(tags):
            if _restricted_tag(key):
                del tags[key]
                result.notes.append(f"it removes the tag {key}: Karpenter sets it itself")
        if not tags:
            del spec["tags"]
    if partial:
        return
    options = spec.get("metadataOptions") or {}
    if isinstance(options, dict) and "httpPutResponseHopLimit" not in options:
        options["httpPutResponseHopLimit"] = 2
        if not spec.get("metadataOptions"):
            # Before userData, whose text would get another line break where the file ends with it.
            keys = list(spec)
            before = keys.index("userData") if "userData" in keys else len(keys)
            spec.pop("metadataOptions", None)
            put_after(spec, "metadataOptions", options, keys[max(before, 1) - 1])
        result.notes.append(
            "it keeps httpPutResponseHopLimit 2, the default of v1beta1: with 1, the default of v1, pods lack IMDS"
        )


def _restricted_tag(key: str) -> bool:
    own = (
        "eks:eks-cluster-name",
        "karpenter.sh/nodepool",
        "karpenter.sh/nodeclaim",
        f"{AWS_GROUP}/ec2nodeclass",
    )
    return key in own or key.startswith("kubernetes.io/cluster")


def field(value: Any, name: str, raw: bool = False) -> Any:
    """Return a mapping's field if it is a mapping, else an empty mapping. With `raw`, return any value, None if it is
    missing.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if raw:
        return found
    return found if isinstance(found, dict) else {}


def rename_field(mapping: Plain, old: str, new: str, value: Any) -> None:
    """Replace a key of a mapping by another key with a new value, in the same position."""
    items = [(new, value) if key == old else (key, renamed_value) for key, renamed_value in mapping.items()]
    mapping.clear()
    mapping.update(items)


def put_after(mapping: Plain, key: str, value: Any, after: str) -> None:
    """Add a key after another one, or as the first key if there is no such key."""
    items = list(mapping.items())
    place = next((number for number, (name, _) in enumerate(items, 1) if name == after), 0)
    mapping.clear()
    mapping.update([*items[:place], (key, value), *items[place:]])


def same(a: Any, b: Any) -> bool:
    """Return whether two plain values are equal. The quotes of a placeholder do not count."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(first, other) for first, other in zip(a, b, strict=True))
    if isinstance(a, str) and isinstance(b, str):
        return str(a) == str(b)
    return type(a) is type(b) and bool(a == b)
