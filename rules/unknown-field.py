r"""A field does not exist in any release of Karpenter, or it is in the wrong place.

`kubectl apply` validates strictly and refuses the object. Other clients silently drop the field. nodelint names the
field that was probably meant, and fixes the name if only the spelling is wrong. It moves fields that v1 moved, such
as `expireAfter` and `kubelet` of a NodePool. If the API server may have accepted the object without the field, the
fix is unsafe: the corrected field takes effect, and can make Karpenter replace nodes.

```yaml bad frame=pool
spec.template.spec.expiresAfter: 720h # a month
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: 30s
  expireAfter: 720h # a month
```

A taint has no `operator`, which is a field of a pod's tolerations.

```yaml bad frame=pool
spec.template.spec.taints:
  - key: example.com/team
    operator: Exists
    effect: NoSchedule
```

A NodeClass of EKS Auto Mode has few of the fields of an EC2NodeClass. The finding names the field to use instead. AWS
adds fields without a release number. If an unknown field resembles no known one, the finding is a warning that
names the date up to which nodelint knows the fields.

```yaml bad frame=node-class
spec.userData: "#!/bin/bash"
```

```yaml good frame=bad
spec.userData: null
```

The fix converts fields of a Provisioner to v1:

```yaml bad frame=pool
spec.ttlSecondsAfterEmpty: 30
spec.ttlSecondsUntilExpired: 2592000
spec.consolidation.enabled: true
```
"""

import re
from functools import partial

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Object,
    Safety,
    Suggestion,
    apiserver,
    convert,
    edits,
    fixes,
    hashes,
    manifest,
    messages,
    releases,
    remedies,
    rule,
)


@rule(
    on=Object,
    group="correctness",
    fix="safe",
    gives_way_to=["node-class-ref", "removed-api"],
    providers=EVERY_PROVIDER,
    subject="objects",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:33",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:42",
    ],
    tags=["admission", "release-dependent"],
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "unknown":
                changes = (
                    _terms_of_ids(problem)
                    or _tag_of_name(problem)
                    or _of_seconds(problem)
                    or _renamed(problem)
                    or _settled(obj, problem, context)
                    or _indented(obj, problem)
                )
                safety: Safety | None = "unsafe" if changes and _moves_nodes(obj, problem, context) else None
                if not changes and (changes := _of_provisioner(obj, problem)):
                    accepted = not apiserver.refuses(obj, context.karpenter, context.schemas)
                    safety = "unsafe" if accepted else None
                newer = None if changes else _may_be_newer(obj, problem)
                changes = changes or _terms_of_selector(obj, problem) or _remove_toleration_fields(problem)
                yield Finding(
                    at=problem.node,
                    message=problem.message,
                    edits=changes,
                    severity="warning" if newer else None,
                    safety=safety,
                    help=newer or _about_state(problem, context),
                    suggestions=() if changes else _ways(obj, problem, context),
                )


def _may_be_newer(obj: Object, problem: apiserver.SchemaProblem) -> str | None:
    """Return a help for a field of an EKS Auto Mode class that resembles no known field: AWS may have added the field
    since. None for other fields.
    """
    is_like_none = problem.message.startswith(f"`{problem.node.text}` is not a known field of ")
    if not isinstance(obj, manifest.AutoModeClass) or not is_like_none:
        return None
    return f"remove the field, unless AWS added it after {apiserver.load('nodeclass-v1')['x-nodelint-known-on']}"


def _ways(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> list[Suggestion]:
    """Return suggestions to rename, move or remove an unknown field.

    If the field is also in the right place, each suggestion keeps one of the two values.
    """
    name, parent = str(problem.node.value), problem.node.parent
    judge = partial(apiserver.check, release=context.karpenter, schemas=context.schemas)
    renamed = remedies.rename_to_missing(obj, parent, context.problems(obj), judge) if parent is not None else None
    if renamed is not None:
        return [Suggestion(f"rename it to `{renamed[1]}`", renamed[2])]
    if name == "instanceTypes" and isinstance(obj, NodePool) and parent is not None:
        return remedies.list_suggestions(_types_as_requirement(parent, problem.node))
    if name == "nodeSelector" and isinstance(obj, NodePool) and parent is not None:
        return remedies.list_suggestions(_as_requirements(parent, problem.node))
    there = obj.node.find(*problem.belongs.split("."), name) if problem.belongs else None
    if there is None or parent is None or there.parent is parent or _is_within(parent, there):
        # The other fields of the mapping stay. A mapping that becomes empty may be refused.
        alone = parent is None or len(parent.entries) == 1
        return remedies.drop_refused(obj, problem.node, judge if alone else None)
    here, drop = parent.get(name), edits.if_editable(edits.remove, problem.node)
    ways = [(f"remove `{name}`: {problem.belongs}.{name} is already set", drop)]
    if here is not None and drop and isinstance(here.value, str) and here.value != there.value:
        value = remedies.duration_meant(here.value) or here.value
        moved = edits.if_editable(edits.set_value, there, value)
        ways.append((f"keep `{messages.short(value, 30)}`, in {problem.belongs}", [*drop, *moved] if moved else []))
    return remedies.list_suggestions(ways)


def _is_within(node: Node, outer: Node) -> bool:
    """Return whether a node is another node, or is below it."""
    inner: Node | None = node
    while inner is not None and inner is not outer:
        inner = inner.parent
    return inner is not None


def _about_state(problem: apiserver.SchemaProblem, context: Context) -> str | None:
    """Return a help for an image term with a `state`, which only the AWS CLI has. None for other fields."""
    if problem.node.value != "state" or "amiSelectorTerms[" not in problem.path:
        return None
    if releases.has_defect("pending-images", context.karpenter):
        release = releases.fixed_for("pending-images", context.karpenter)
        return f"remove `state`, and upgrade to Karpenter {release}, which uses only available images"
    return f"remove `state`: Karpenter {context.karpenter} uses only available images"


def _moves_nodes(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> bool:
    """Return whether the fix may replace nodes: the API server dropped the field so far, and Karpenter hashes the
    right field.
    """
    if problem.node.value == "kubelet":  # its settings go to the class, which may run
        return True
    if apiserver.refuses(obj, context.karpenter, context.schemas):
        return False
    place = problem.belongs or problem.path.rpartition(".")[0]
    moves: bool = hashes.moves_nodes(
        obj.kind,
        # The number of seconds of a field that pods have goes to the field without the word.
        f"{place}.{problem.suggestion or str(problem.node.value).removesuffix('Seconds')}",
        context.karpenter,
    )
    return moves


def _settled(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> list[Edit]:
    """Return edits that move a field to the place that v1 has for the field.

    Empty if there is none, or the node is shared.
    """
    name, at = problem.node.value, tuple(problem.path.split("."))
    if problem.belongs and "[]" in problem.belongs and not problem.node.shared:
        return _moved_within_item(obj, problem, context)
    if problem.node.shared or problem.node.parent is not obj.node.find(*at[:-1]):
        return []
    if name == "kubelet" and isinstance(obj, NodePool):
        return convert.settled_kubelet(obj, context.objects)
    if not problem.belongs:
        return []
    home = tuple(problem.belongs.split("."))
    if any(step.endswith("[]") for step in home):
        return []
    return convert.settled(obj, at, home if home == at[:-1] else (*home, at[-1]))


def _moved_within_item(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> list[Edit]:
    """Return edits that move fields of a list item one level deeper, such as `volumeType` into `ebs`.

    Empty if `ebs` already has one of these fields.
    """
    item, (home, _, deeper) = problem.node.parent, str(problem.belongs).rpartition(".")
    if item is None or re.sub(r"\[\d+\]", "[]", problem.path.rpartition(".")[0]) != home:
        return []
    inner = item.get(deeper)
    alike = [other for other in context.problems(obj) if other.belongs == problem.belongs]
    names = [str(other.node.value) for other in alike if other.node.parent is item]
    fields = {entry.name: entry.value.value for entry in item.entries if entry.name in names}
    values = {name: value for name, value in fields.items() if name and isinstance(value, str | int | bool)}
    if len(values) != len(names) or (inner is not None and inner.kind != "mapping"):
        return []
    below = edits.plain_fields(inner) if inner is not None else {}
    if any(name in below for name in names):
        return []
    others = {name: plain for name, plain in edits.plain_fields(item).items() if name not in (*names, deeper)}
    return edits.if_editable(edits.restructure, item, others | {deeper: below | values})


def _indented(obj: Object, problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return an edit that indents a field of one line below an empty `metadata:`. Empty for other problems."""
    metadata, field = obj.node.get("metadata"), obj.node.get(problem.node.text)
    key = obj.node.key("metadata")
    if problem.belongs != "metadata" or metadata is None or key is None or metadata.kind != "scalar":
        return []
    if problem.node.parent is not obj.node or field is None or field.kind != "scalar" or metadata.text:
        return []
    text, at = obj.source.text, problem.node.start
    between, above = text[key.end : at], text[text.rfind("\n", 0, key.start) + 1 : key.start]
    if between not in (f":\n{above}", f":\r\n{above}") or "\n" in text[at : field.end]:
        return []
    return [Edit(obj.source, at, at, "  ")]


_OF_PROVISIONER = ("ttlSecondsAfterEmpty", "ttlSecondsUntilExpired", "consolidation", "providerRef")


def _of_provisioner(obj: Object, problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that replace a v1alpha5 field in a v1 NodePool by the field of v1. Empty for other fields."""
    at = tuple(problem.path.split("."))
    if obj.version != "v1" or obj.partial or at[-1] not in _OF_PROVISIONER or problem.node.shared:
        return []
    if not isinstance(obj, NodePool) or problem.node.parent is not obj.node.find(*at[:-1]):
        return []
    return convert.settled_of_provisioner(obj, at)


_SELECTORS = ("subnetSelector", "securityGroupSelector", "amiSelector")


def _terms_of_selector(obj: Object, problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn a selector of an AWSNodeTemplate in an EC2NodeClass into terms."""
    name = problem.node.value
    if not isinstance(obj, EC2NodeClass) or obj.version != "v1" or obj.partial or name not in _SELECTORS:
        return []
    spec = obj.node.get("spec")
    if problem.node.shared or spec is None or problem.node.parent is not spec:
        return []
    written = spec.get(name)
    if written is not None and written.kind == "sequence" and spec.get(f"{name}Terms") is None:
        return edits.if_editable(edits.set_key, problem.node, f"{name}Terms")
    return convert.settled_selector(obj, name)


def _remove_toleration_fields(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that remove a field of tolerations from a taint. Empty for other fields."""
    toleration = problem.node.value in ("operator", "tolerationSeconds") and "aints[" in problem.path
    return edits.if_editable(edits.remove, problem.node) if toleration else []


def _terms_of_ids(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn a selector term with a list `ids` into one term for each id."""
    term = problem.node.parent
    value = term.get("ids") if term is not None and problem.node.value == "ids" else None
    if term is None or value is None or value.kind != "sequence" or "SelectorTerms[" not in problem.path:
        return []
    ids = [item.value for item in value.items if isinstance(item.value, str)]
    return edits.if_editable(fixes.split_term, term, "id", ids) if len(ids) == len(value.items) else []


def _tag_of_name(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that write the `name` of a subnet term as the tag `Name`, because subnet terms have no `name`.

    Empty for other fields.
    """
    term = problem.node.parent
    name = term.get("name") if term is not None and problem.node.value == "name" else None
    if term is None or name is None or not isinstance(name.value, str) or "subnetSelectorTerms[" not in problem.path:
        return []
    tags = term.get("tags")
    if tags is None:
        renamed = edits.if_editable(edits.set_key, problem.node, "tags")
        written = edits.if_editable(edits.replace, name, {"Name": name.value})
        return [*renamed, *written] if renamed and written else []
    if tags.kind != "mapping" or tags.key("Name") is not None:
        return []
    dropped = edits.if_editable(edits.remove, name)
    added = edits.if_editable(edits.add_key, tags, "Name", name.value)
    return [*dropped, *added] if dropped and added else []


def _of_seconds(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn a field with seconds, as pods have it, into a duration: `terminationGracePeriodSeconds:
    300`. Empty for other fields.
    """
    name, parent = str(problem.node.value), problem.node.parent
    meant = name.removesuffix("Seconds")
    if parent is None or meant == name or not problem.message.endswith(f" (did you mean `{meant}`?)"):
        return []
    value = parent.get(name)
    if value is None:
        return []
    if type(value.value) is not int or value.value < 0 or parent.key(meant) is not None:
        return []
    renamed = edits.if_editable(edits.set_key, problem.node, meant)
    written = edits.if_editable(edits.set_value, value, f"{value.value}s")
    return [*renamed, *written] if renamed and written else []


def _types_as_requirement(spec: Node, field: Node) -> list[tuple[str, list[Edit]]]:
    """Return suggestions to write a list of instance types as a requirement, or to remove the list."""
    dropped = edits.if_editable(edits.remove, field)
    names, requirements = spec.get(str(field.value)), spec.get("requirements")
    items = names.items if names is not None else []
    types = [item.value for item in items if isinstance(item.value, str)]
    ways = [(f"remove `{field.value}`", dropped)]
    if not dropped or not types or len(types) != len(items) or requirements is None or requirements.style == "flow":
        return ways
    item = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    lines = [*(line.plain() for line in requirements.items), item]
    fields = {name: plain for name, plain in edits.plain_fields(spec).items() if name != field.value}
    changes = edits.if_editable(edits.restructure, spec, fields | {"requirements": lines})
    return [("write it as a requirement", changes), *ways]


def _as_requirements(spec: Node, field: Node) -> list[tuple[str, list[Edit]]]:
    """Return suggestions to write the labels of a `nodeSelector` as requirements, or to remove the `nodeSelector`."""
    dropped = edits.if_editable(edits.remove, field)
    selector, requirements = spec.get(str(field.value)), spec.get("requirements")
    labels = selector.entries if selector is not None and selector.kind == "mapping" else ()
    items = [
        {"key": entry.name, "operator": "In", "values": [entry.value.value]}
        for entry in labels
        if entry.name and isinstance(entry.value.value, str)
    ]
    ways = [("remove `nodeSelector`", dropped)]
    if not dropped or not items or len(items) != len(labels) or requirements is None or requirements.style == "flow":
        return ways
    added = edits.if_editable(edits.insert_items, requirements, len(requirements.items), items)
    return [("write it as requirements", [*added, *dropped] if added else []), *ways]


def _renamed(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return an edit that writes the key that was probably meant.

    Empty if this key already exists, or no key is similar.
    """
    parent = problem.node.parent
    if problem.suggestion is None or parent is None or parent.key(problem.suggestion) is not None:
        return []
    return edits.if_editable(edits.set_key, problem.node, problem.suggestion)
