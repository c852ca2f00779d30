r"""Several fields are valid by themselves, but together they break a validation rule of the CRD.

The API server then refuses the object. Such rules (CEL expressions, `x-kubernetes-validations`) state what a type
cannot: an alias must be the only term, `role` and `instanceProfile` exclude each other, `minValues` must not exceed
the length of the list, some label domains are restricted. They differ between releases. nodelint evaluates the rules
of the target release.

```yaml bad frame=class
spec.instanceProfile: KarpenterNodeProfile-main
```

```yaml good frame=class
```
"""

import re
from collections.abc import Callable
from functools import partial

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    Object,
    Skip,
    apiserver,
    edits,
    images,
    labels,
    manifest,
    remedies,
    rule,
)


@rule(
    on=Object,
    group="correctness",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
    providers=EVERY_PROVIDER,
    subject="objects",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:33",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:39",
    ],
    tags=["admission", "release-dependent", "controller"],
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "validation":
                advice, offers = _ways(obj, problem, context)
                judge = partial(apiserver.check, release=context.karpenter, schemas=context.schemas)
                suggestions = remedies.list_suggestions(offers) or remedies.drop_refused(obj, problem.node, judge)
                yield Finding(at=problem.node, message=problem.message, help=advice, suggestions=suggestions)
            elif problem.layer == "unjudged":
                yield Skip(problem.node, problem.message)


Ways = tuple[str | None, list[tuple[str, list[Edit]]]]
"""The help, or None, and the named edits of which the author chooses one."""


def _ways(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> Ways:
    """Return the help and the suggestions for a refused combination. (None, []) if the rule has none."""
    spec = obj.node.get("spec")
    if spec is not None and _lacks_identity(spec) and problem.message.startswith("one of `role`"):
        return _identity(spec)[0], list(remedies.missing_role(obj, context.objects))
    if problem.message.startswith("tag `"):
        return None, [("remove the tag", edits.if_editable(edits.remove, problem.node))]
    if problem.message.startswith("label `") and (line := problem.node.parent) and line.get("operator") is not None:
        return None, [("remove the requirement", edits.if_editable(edits.remove, line))]
    for start, (name, ways) in _WAYS.items():
        if problem.message.startswith(start):
            node: Node | None = problem.node
            while node is not None and node.get(name) is None and not any(item.get(name) for item in node.items):
                node = node.parent
            return ways(node or obj.node.get("spec") or obj.node)
    return None, []


def _lacks_identity(spec: Node) -> bool:
    return all(remedies.is_null(spec.get(name)) for name in ("role", "instanceProfile"))


def _identity(spec: Node) -> Ways:
    if _lacks_identity(spec):
        return "add `role: <name>`, the IAM role of the nodes by its name, without path or ARN", []
    return None, _keep_one(spec, ("role", "instanceProfile"))


def _one_selector(term: Node) -> Ways:
    """Return the help and the suggestions for a term with an ID and other fields.

    If the node is the list, the first term with an ID is taken.
    """
    if term.kind == "sequence":
        term = next((item for item in term.items if item.get("id") is not None), term)
    others = [entry.name for entry in term.entries if entry.name not in ("id", None)]
    keep = [("keep only `id`", _remove_fields(term, [str(name) for name in others]))]
    named = ", ".join(f"`{name}`" for name in others)
    return "to select by either, write two terms", [*keep, (f"keep {named}", _remove_fields(term, ["id"]))]


def _split_term(term: Node) -> Ways:
    """Return the help and the suggestions for a term with only `owner`, if the previous term has a name or tags and
    no owner. (None, []) if the mistake is another one.
    """
    owner, terms = term.get("owner"), term.parent
    at = next((n for n, item in enumerate(terms.items) if item is term), 0) if terms is not None else 0
    before = terms.items[at - 1] if terms is not None and at else None
    if owner is None or len(term.entries) > 1 or before is None or before.get("owner") is not None:
        return None, []
    if (before.get("name") is None and before.get("tags") is None) or not isinstance(owner.value, str):
        return None, []
    merged = edits.if_editable(_one_term, before, term, owner.value)
    return "`-` begins a new term: the owner belongs to the previous term", [("write one term", merged)]


def _one_term(before: Node, term: Node, owner: str) -> list[Edit]:
    return [*edits.add_key(before, "owner", owner), *edits.remove(term)]


def _alias_alone(term: Node) -> Ways:
    others = [str(entry.name) for entry in term.entries if entry.name not in ("alias", None)]
    return None, [
        ("keep the alias", _remove_fields(term, others)),
        ("remove the alias", _without_alias(term, _remove_fields(term, ["alias"]))),
    ]


def _lone_alias(node: Node) -> Ways:
    terms = node.parent if node.kind == "mapping" else node
    items = terms.items if terms is not None else []
    aliases = [item for item in items if item.get("alias") is not None]
    if len(aliases) != 1 or len(items) != 2:
        return "keep only the alias, or only the other terms", []
    other = next(item for item in items if item is not aliases[0])
    keep = ("keep the alias", edits.if_editable(edits.remove, other))
    dropped = edits.if_editable(edits.remove, aliases[0])
    return None, [keep, ("keep the other term", _without_alias(aliases[0], dropped))]


def _without_alias(term: Node, dropped: list[Edit]) -> list[Edit]:
    """Return the edits `dropped`, and one that sets the `amiFamily` of the removed alias: without an alias,
    `amiFamily` is required.
    """
    alias, terms = term.get("alias"), term.parent
    spec = terms.parent if terms is not None else None
    if not dropped or spec is None or spec.get("amiFamily") is not None or alias is None:
        return dropped
    name = str(alias.value).partition("@")[0]
    if name not in images.families():
        return dropped
    return [*dropped, *edits.if_editable(edits.add_key, spec, "amiFamily", images.ami_family_of(name))]


def _family(spec: Node) -> Ways:
    names = ("al2023", "bottlerocket")
    return "set amiFamily to the family of the images: it decides how a node joins", [
        (f"amiFamily {name}", edits.if_editable(edits.add_key, spec, "amiFamily", name))
        for name in (*map(images.ami_family_of, names), "Custom")
    ]


def _of_alias(spec: Node) -> Ways:
    """Return the help and the suggestions for an `amiFamily` that differs from the family of the alias."""
    field = spec.get("amiFamily")
    aliases = [alias for item in _terms(spec) if (alias := item.get("alias")) is not None]
    if field is None or len(aliases) != 1:
        return None, []
    offers = [("remove amiFamily: the alias implies it", edits.if_editable(edits.remove, field))]
    family = next((family for family in images.families() if images.ami_family_of(family) == field.value), None)
    version = str(aliases[0].value).partition("@")[2]
    meant = "latest" if version == "latest" or family is None else images.newest_known(family)
    if family is not None and meant is not None:
        other = f"{family}@{meant}"
        offers.append((f"use the alias {other}", edits.if_editable(edits.set_value, aliases[0], other)))
    return "amiFamily and alias must name the same family", offers


def _terms(spec: Node) -> list[Node]:
    terms = spec.get("amiSelectorTerms")
    return [item for item in terms.items if item.kind == "mapping"] if terms is not None else []


def _window(budget: Node) -> Ways:
    """Return suggestions for a budget with only one of `schedule` and `duration`: add the other, or remove both."""
    schedule, duration = budget.get("schedule"), budget.get("duration")
    if schedule is not None and duration is None:
        lasts = [
            (
                f"let it last {after} from each time",
                edits.if_editable(edits.add_key, budget, "duration", after),
            )
            for after in ("1h", "8h")
        ]
        return None, [
            *lasts,
            ("remove `schedule`: the budget is then always active", edits.if_editable(edits.remove, schedule)),
        ]
    if duration is None:
        return None, []
    daily = edits.if_editable(edits.add_key, budget, "schedule", "@daily")
    drop = edits.if_editable(edits.remove, duration)
    return None, [
        ("let it begin each day at 0:00 UTC", daily),
        ("remove `duration`: the budget is then always active", drop),
    ]


def _no_values(line: Node) -> Ways:
    """Return suggestions for an `In` requirement without values: allow any value, or remove the requirement."""
    operator, values = line.get("operator"), line.get("values")
    if operator is None or operator.value != "In":
        return None, []
    exists = edits.if_editable(edits.set_value, operator, "Exists")
    rest = edits.if_editable(edits.remove, values) if values is not None else []
    drop = ("remove the requirement", edits.if_editable(edits.remove, line))
    return None, [("allow any value, with `Exists`", [*exists, *rest] if rest or values is None else []), drop]


def _static_limits(spec: Node) -> Ways:
    """Return suggestions for the limits of a static NodePool: only limit nodes, to one more than `replicas`, or
    remove `replicas`.
    """
    limits, replicas = spec.get("limits"), spec.get("replicas")
    if limits is None or replicas is None:
        return None, []
    drop = ("remove `replicas`", edits.if_editable(edits.remove, replicas))
    if limits.get("nodes") is not None:
        others = [str(entry.name) for entry in limits.entries if entry.name != "nodes"]
        return None, [("keep only the limit on nodes", _remove_fields(limits, others)), drop]
    if not isinstance(replicas.value, int):
        return None, [drop]
    most = replicas.value + 1
    return None, [(f"limit nodes to {most}", edits.if_editable(edits.replace, limits, {"nodes": most})), drop]


def _group_by_name(term: Node) -> Ways:
    others = [str(entry.name) for entry in term.entries if entry.name not in ("name", None)]
    keep = [("keep only `name`", _remove_fields(term, others)), ("remove `name`", _remove_fields(term, ["name"]))]
    return "to select by either, write two terms", keep


def _fewer(line: Node) -> Ways:
    values, least = line.get("values"), line.get("minValues")
    count = len(values.items) if values is not None else 0
    offer = edits.if_editable(edits.set_value, least, count) if least is not None and count else []
    return "list more values, or lower minValues", [(f"minValues {count}", offer)]


_SIZES = {"m": 1, "g": 1024, "t": 1024**2}
"""The number of MiB in a unit of memory, by the first letter of the unit."""


def _number(line: Node) -> Ways:
    """Return the help and the suggestions for a `Gt` or `Lt` value that is not one number in the unit of
    the label.
    """
    key, values = line.get("key"), line.get("values")
    items = values.items if values is not None else []
    if key is None or values is None:
        return None, []
    unit = labels.unit_of(str(key.value))
    about = f"`{labels.name_of(str(key.value))}` is in {unit}" if unit is not None else None
    if len(items) > 1:
        ways = [
            (f"keep `{item.value}`", edits.if_editable(edits.set_values, values, [str(item.value)])) for item in items
        ]
        return about, ways
    written = re.fullmatch(r"([0-9]{1,6})(?:\.0+)? ?([A-Za-z]*)", str(items[0].value)) if items else None
    if written is None:
        return about, [("remove the requirement", edits.if_editable(edits.remove, line))]
    word, count = written[2].lower(), int(written[1])
    if unit == "MiB":
        factor = _SIZES.get(word[:1]) if re.fullmatch(r"[mgt]i?b?", word) else None
        if factor is None:
            return about, []
        count *= factor
    named = f"write `{count}`, in {unit}" if unit is not None else f"write `{count}`"
    return about, [(named, edits.if_editable(edits.set_value, items[0], str(count)))]


def _both(first: str, second: str) -> Callable[[Node], Ways]:
    """Return a function that suggests, for two fields that exclude each other, to keep one of them."""
    return lambda node: (None, _keep_one(node, (first, second)))


def _keep_one(node: Node, names: tuple[str, str]) -> list[tuple[str, list[Edit]]]:
    return [
        (f"keep `{kept_name}`", _remove_fields(node, [name for name in names if name != kept_name]))
        for kept_name in names
    ]


def _remove_fields(node: Node, names: list[str]) -> list[Edit]:
    """Return edits that remove some fields of a mapping."""
    found = [value for name in names if (value := node.get(name)) is not None]
    return edits.if_editable(edits.remove_all, found) if found else []


def _grace(kubelet: Node) -> Ways:
    soft, grace = kubelet.get("evictionSoft"), kubelet.get("evictionSoftGracePeriod")
    given = {entry.name for entry in grace.entries} if grace is not None else set()
    lacking = [str(entry.name) for entry in soft.entries if entry.name not in given] if soft is not None else []
    periods = dict.fromkeys(lacking, "2m")
    field = "evictionSoftGracePeriod"
    added = (
        edits.if_editable(edits.add_key, kubelet, field, dict(periods), "evictionSoft")
        if grace is None
        else edits.if_editable(edits.add_keys, grace, dict(periods))
    )
    drop = [] if soft is None or grace is not None else edits.if_editable(edits.remove, soft)
    return "set how long a signal may last before pods are evicted", [
        (f"evict after 2m of {', '.join(lacking)}", added if lacking else []),
        ("remove `evictionSoft`", drop),
    ]


def _thresholds(kubelet: Node) -> Ways:
    return None, remedies.swap_thresholds(kubelet)


_WAYS: dict[str, tuple[str, Callable[[Node], Ways]]] = {
    "one of `role` and `instanceProfile`": ("role", _identity),
    "`role` and `instanceProfile` cannot": ("role", _identity),
    "`id` cannot go with": ("id", _one_selector),
    "`alias` cannot go with": ("alias", _alias_alone),
    "an image selector needs": ("owner", _split_term),
    "an `alias` must be the only": ("alias", _lone_alias),
    "amiFamily is needed": ("amiSelectorTerms", _family),
    "amiFamily `": ("amiFamily", _of_alias),
    "a budget has `schedule`": ("nodes", _window),
    "minValues is": ("minValues", _fewer),
    "a comparison of numbers needs": ("operator", _number),
    "`Gt` of": ("operator", _number),
    "`Lt` of": ("operator", _number),
    "`Gte` of": ("operator", _number),
    "`Lte` of": ("operator", _number),
    "`weight` and `replicas`": ("weight", _both("weight", "replicas")),
    "each key of evictionSoft needs": ("evictionSoft", _grace),
    "imageGCHighThresholdPercent must be": ("imageGCHighThresholdPercent", _thresholds),
    "operator `In` of": ("operator", _no_values),
    "operators `In` and": ("operator", _no_values),
    "with `replicas` the only": ("replicas", _static_limits),
    "`name` cannot go with other fields of a security": ("name", _group_by_name),
}
"""By the start of a message of the API server: a field that the refused mapping has, and the function that returns
the help and the suggestions.
"""
