"""Convert the plain values of a Provisioner and an AWSNodeTemplate to v1.

The facts are those of Karpenter 0.31 and 0.32, the last releases that know these kinds: the defaults of the admission
webhook, the queries of the selector maps, and the converter of 0.32 for all other fields.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from typing import Any

from nodelint.convert.migrate import (
    OLD_LABEL,
    Blocked,
    Migration,
    PlaceholderText,
    Plain,
    alias_of,
    class_reference,
    common,
    field,
    image_terms,
    kubelet_of,
    put_after,
    rename_field,
    template_metadata,
)
from nodelint.model.gvk import AWS_GROUP, CLASS_KIND, CORE_GROUP
from nodelint.model.messages import did_you_mean, short

# The defaults of a Provisioner's admission webhook: the keys whose presence prevents the default, and the
# requirement.
_PROVISIONER_DEFAULTS: tuple[tuple[tuple[str, ...], tuple[Plain, ...]], ...] = (
    (
        ("kubernetes.io/os", "beta.kubernetes.io/os"),
        ({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},),
    ),
    (
        ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
        ({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},),
    ),
    (
        ("karpenter.sh/capacity-type",),
        ({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},),
    ),
    (
        (
            "node.kubernetes.io/instance-type",
            "beta.kubernetes.io/instance-type",
            "karpenter.k8s.aws/instance-family",
            "karpenter.k8s.aws/instance-category",
            "karpenter.k8s.aws/instance-generation",
        ),
        (
            {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
            {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["2"]},
        ),
    ),
)

_IDS = {
    "subnetSelector": re.compile("subnet-[0-9a-z]+"),
    "securityGroupSelector": re.compile("sg-[0-9a-z]+"),
    "amiSelector": re.compile("ami-[0-9a-z]+"),
}

_PROVISIONER_FIELDS = {
    *("labels", "annotations", "requirements", "taints", "startupTaints", "kubeletConfiguration", "provider"),
    *("providerRef", "ttlSecondsAfterEmpty", "ttlSecondsUntilExpired", "limits", "weight", "consolidation"),
}


def provisioner(value: Plain, partial: bool) -> Migration:
    """Return a Provisioner converted to a NodePool. Raise Blocked if only its owner can decide how.

    A `partial` object gets no defaults.
    """
    old = field(value, "spec")
    _hold_to_provisioner(old, partial)
    result = Migration({}, kubelet_of("Provisioner", value))
    if isinstance(old.get("kubeletConfiguration"), dict) and "containerRuntime" in old["kubeletConfiguration"]:
        result.notes.append("containerRuntime no longer exists: every image runs containerd")
    template = _provisioner_template(old, result, partial)
    spec: Plain = {"template": template} if template else {}
    limits = old.get("limits")
    if isinstance(limits, dict) and isinstance(limits.get("resources"), dict):
        spec["limits"] = limits["resources"]
    if "weight" in old:
        spec["weight"] = old["weight"]
    disruption = _provisioner_disruption(old, partial)
    if "ttlSecondsAfterEmpty" in old and disruption.get("consolidationPolicy") == "WhenEmptyOrUnderutilized":
        result.notes.append("the API server refused ttlSecondsAfterEmpty with consolidation: consolidation is kept")
    if disruption:
        spec["disruption"] = disruption
    if not partial:
        result.notes.append("v1 disrupts at most a tenth of a pool's nodes at a time: disruption.budgets")
    top = {name: part for name, part in value.items() if name not in ("spec", "status")}
    result.value = {**top, "apiVersion": f"{CORE_GROUP}/v1", "kind": "NodePool", "spec": spec}
    return result


def _hold_to_provisioner(old: Plain, partial: bool) -> None:
    """Raise Blocked if no NodePool has the meaning of this Provisioner."""
    unknown = next((name for name in old if name not in _PROVISIONER_FIELDS), None)
    if unknown is not None:
        meant = did_you_mean(unknown, _PROVISIONER_FIELDS, 0.8)
        raise Blocked(f"`spec.{unknown}` is not a field of a Provisioner{meant}")
    provider = old.get("provider")
    if isinstance(provider, dict) and provider:
        needed = (
            ("subnetSelector",) if provider.get("launchTemplate") else ("subnetSelector", "securityGroupSelector")
        )
        lacks = [name for name in needed if not provider.get(name)]
        if lacks:
            raise Blocked(f"`spec.provider` has no {' and no '.join(lacks)}: add what every release requires")
    if provider:
        raise Blocked("`spec.provider` needs an EC2NodeClass of its own: write one, and name it in providerRef")
    reference = old.get("providerRef")
    if not isinstance(reference, dict) and not partial:
        raise Blocked("it names no class: add a `providerRef` to an AWSNodeTemplate")
    if isinstance(reference, dict) and reference.get("kind") not in (None, "", "AWSNodeTemplate", CLASS_KIND):
        raise Blocked("its providerRef is not to an AWSNodeTemplate")


def _provisioner_template(old: Plain, result: Migration, partial: bool) -> Plain:
    """Return the template of the NodePool, from the fields of a Provisioner that concern nodes."""
    metadata = {name: old[name] for name in ("labels", "annotations") if name in old}
    inner: Plain = {}
    requirements = _provisioner_requirements(old, result, partial)
    if requirements is not None:
        inner["requirements"] = requirements
    inner.update({name: old[name] for name in ("taints", "startupTaints") if name in old})
    reference = old.get("providerRef")
    if isinstance(reference, dict):
        inner["nodeClassRef"] = class_reference({**reference, "apiVersion": AWS_GROUP}, partial)
    if "ttlSecondsUntilExpired" in old:
        inner["expireAfter"] = _seconds(old["ttlSecondsUntilExpired"])
    elif not partial:
        inner["expireAfter"] = "Never"
    template: Plain = {"metadata": metadata} if metadata else {}
    if inner:
        template["spec"] = inner
    template_metadata(template, result)
    return template


def _provisioner_requirements(old: Plain, result: Migration, partial: bool) -> list[Any] | None:
    requirements = old.get("requirements")
    if partial:
        return requirements if isinstance(requirements, list) else None
    if requirements is not None and not isinstance(requirements, list):
        raise Blocked("`spec.requirements` must be a list")
    written = [line for line in requirements or [] if isinstance(line, dict)]
    keys = [line.get("key") for line in written]
    if any(isinstance(key, PlaceholderText) for key in keys):
        raise Blocked("the key of a requirement is a placeholder: the defaults of a Provisioner depend on it")
    kept_lines = [line for line in written if line.get("key") != OLD_LABEL]
    filled = [
        default
        for names, defaults in _PROVISIONER_DEFAULTS
        if not any(name in keys for name in names)
        for default in defaults
    ]
    if filled:
        listed = ", ".join(f"{d['key']} {d['operator']} [{', '.join(d['values'])}]" for d in filled)
        result.notes.append(f"a Provisioner's defaults are written out: {listed}")
    return [*kept_lines, *(copy.deepcopy(default) for default in filled)]


def _provisioner_disruption(old: Plain, partial: bool) -> Plain:
    consolidation = old.get("consolidation")
    enabled = consolidation.get("enabled") if isinstance(consolidation, dict) else None
    if isinstance(enabled, PlaceholderText):
        raise Blocked("`consolidation.enabled` is a placeholder: write `consolidationPolicy` in its place")
    after = old.get("ttlSecondsAfterEmpty")
    if enabled is True:
        return {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    if after is not None:
        return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": _seconds(after)}
    if partial and consolidation is None:
        return {}
    return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}


def settle(value: Plain, path: Sequence[str]) -> None:
    """Replace a field of a Provisioner in a v1 NodePool by its v1 equivalent, in place. Fields that are set already
    do not change.

    Raise Blocked if v1 has no equivalent.
    """
    spec, name, holder = field(value, "spec"), path[-1], value
    for step in path[:-1]:
        holder = field(holder, step)
    old = holder.pop(name)
    if name in ("consolidation", "ttlSecondsAfterEmpty"):
        other = holder.pop("ttlSecondsAfterEmpty" if name == "consolidation" else "consolidation", None)
        consolidation, after = (old, other) if name == "consolidation" else (other, old)
        enabled = field({"": consolidation}, "").get("enabled", False)
        if not isinstance(enabled, bool):
            raise Blocked("`consolidation.enabled` must be `true` or `false`")
        home = _home(spec, "disruption")
        home.setdefault("consolidationPolicy", "WhenEmptyOrUnderutilized" if enabled else "WhenEmpty")
        home.setdefault("consolidateAfter", _seconds(after) if after is not None else "0s" if enabled else "Never")
    elif name == "ttlSecondsUntilExpired":
        _home(spec, "template", "spec").setdefault("expireAfter", _seconds(old))
    elif name == "providerRef" and isinstance(old, dict):
        _home(spec, "template", "spec").setdefault("nodeClassRef", class_reference(old, partial=False))
    else:
        raise Blocked(f"v1 has no field for `{name}`: remove it")


def _home(spec: Plain, *path: str) -> Plain:
    for name in path:
        spec = spec.setdefault(name, {})
        if not isinstance(spec, dict):
            raise Blocked(f"`{name}` must be a mapping")
    return spec


def _seconds(value: Any) -> str:
    if isinstance(value, PlaceholderText):
        return PlaceholderText(f"{value}s")
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Blocked(f"a time to live must be a whole number of seconds, not `{short(str(value), 30)}`")
    return f"{value // 3600}h" if value and value % 3600 == 0 else f"{value}s"


def node_template(value: Plain, partial: bool) -> Migration:
    """Return an AWSNodeTemplate converted to an EC2NodeClass. Raise Blocked if only its owner can decide how.

    A `partial` object gets no defaults.
    """
    result = Migration(value)
    value.update({"apiVersion": f"{AWS_GROUP}/v1", "kind": CLASS_KIND})
    value.pop("status", None)
    spec = field(value, "spec")
    if "launchTemplate" in spec:
        raise Blocked("v1 has no `launchTemplate`: write what it sets as fields of the EC2NodeClass")
    if not partial and not spec.get("instanceProfile") and not spec.get("role"):
        raise Blocked("it has neither `role` nor `instanceProfile`: add one of them, which v1 requires")
    for old, new in (
        ("subnetSelector", "subnetSelectorTerms"),
        ("securityGroupSelector", "securityGroupSelectorTerms"),
    ):
        if old in spec:
            rename_field(spec, old, new, selector_terms(spec[old], old))
        elif not partial:
            raise Blocked(f"it has no {old}: add it, for v1 requires {new}")
    selector = spec.get("amiSelector")
    if selector:
        rename_field(spec, "amiSelector", "amiSelectorTerms", selector_terms(selector, "amiSelector"))
        if not partial and "amiFamily" not in spec:
            before = list(spec).index("amiSelectorTerms")
            put_after(spec, "amiFamily", "AL2", list(spec)[max(before, 1) - 1])
        image_terms(spec, spec["amiSelectorTerms"], spec.get("amiFamily"), result)
    elif not partial or "amiFamily" in spec:
        spec.pop("amiSelector", None)
        family = spec.get("amiFamily", "AL2")
        put_after(spec, "amiSelectorTerms", [{"alias": alias_of(family)}], "amiFamily")
    common(spec, result, partial)
    return result


def selector_terms(selector: Any, selected: str) -> list[Plain]:
    """Return a selector map as selector terms: texts are split at commas, special keys become fields.

    Raise Blocked for a map that v1 terms cannot express.
    """
    if not isinstance(selector, dict) or not selector:
        raise Blocked(f"{selected} selects nothing")
    special = {"aws-ids": "id", "aws::ids": "id", "aws::name": "name", "aws::owners": "owner"}
    if selected != "amiSelector":
        special = {"aws-ids": "id", "aws::ids": "id"}
    choices: list[list[tuple[str, str, str]]] = []
    for key, written in selector.items():
        part = special.get(key, "tags")
        if isinstance(written, PlaceholderText) and part != "tags" and part != "name":
            raise Blocked(f"`{key}` of {selected} is a placeholder: how many terms it means is not known")
        values = (
            [written]
            if isinstance(written, PlaceholderText)
            else [v.strip() for v in str(written).split(",") if v.strip()]
        )
        choices.append([(part, key, value) for value in values])
    terms: list[Plain] = []
    for chosen in itertools.product(*choices):
        term: Plain = {part: value for part, _, value in chosen if part != "tags"}
        tags = {key: value for part, key, value in chosen if part == "tags"}
        if tags:
            term["tags"] = tags
        wrong = term.get("id")
        if isinstance(wrong, str) and not _IDS[selected].fullmatch(wrong):
            raise Blocked(f"`{wrong}` of {selected} is not an id")
        if "id" in term and len(term) > 1:
            raise Blocked(f"{selected} has ids and tags: a term of v1 with an id takes no tags")
        terms.append(term)
    if not terms:
        raise Blocked(f"{selected} selects nothing")
    if len(terms) > 30:
        raise Blocked(f"{selected} becomes {len(terms)} terms: v1 takes at most 30")
    return terms
