r"""A field is missing, has the wrong type, or has a value that the API server refuses.

The schemas say for each Karpenter release what the API server accepts: types, required fields, patterns, bounds, and
lists without duplicates. If an object breaks them, `kubectl apply` fails. In a GitOps repository the sync fails, and
the cluster does not change. With `--crds`, nodelint uses the CRDs of your own cluster instead.

There is no fix for a required field whose value only the author knows, such as a whole `spec`.

```yaml bad frame=pool
spec.weight: "10"
```

```yaml bad frame=pool
spec.template.spec.expireAfter: 7d
```

Karpenter v1 requires image terms in a class, which v1beta1 did not. The fix writes the alias of the class's family.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms: null
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
    Object,
    Suggestion,
    apiserver,
    edits,
    fixes,
    gvk,
    images,
    manifest,
    messages,
    remedies,
    rule,
)


@rule(
    on=Object,
    group="correctness",
    fix="safe",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label", "terraform-reference"],
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
            if problem.layer == "structure":
                terms = _terms(obj, problem)
                reshaped = terms or _as_list(obj, problem, context) or _as_mapping(problem) or _as_item(problem)
                reshaped = reshaped or _as_terms(problem) or _as_reference(problem) or _as_text(problem)
                changes = reshaped or _suggested_edits(problem)
                ways = [] if terms else _choices(obj, problem, context, bool(changes))
                shown = any(
                    way.name.startswith(("select by ", "use EC2NodeClass ")) for way in ways
                )  # that is the example, complete
                yield Finding(
                    at=problem.node,
                    message=problem.message,
                    edits=changes,
                    note="v1 has no default images" if terms else None,
                    help="use the alias of the family, and pin its version"
                    if terms
                    else None
                    if shown
                    else _help(problem),
                    suggestions=ways,
                )


_MISSING = {
    "nodeClassRef": "name the EC2NodeClass: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: <name>}",
    "subnetSelectorTerms": "for example [{tags: {karpenter.sh/discovery: <cluster>}}], as these are tagged",
    "securityGroupSelectorTerms": "for example [{tags: {karpenter.sh/discovery: <cluster>}}], as these are tagged",
    "amiSelectorTerms": "for example [{alias: al2023@<version>}]",
    "consolidateAfter": "the time without a change of pods after which a node may be consolidated, such as 1m, or "
    "Never",
    "requirements": "[] allows every instance type",
}


def _help(problem: apiserver.SchemaProblem) -> str | None:
    """Return a help: how to write a missing or empty field, or which value to set instead of a refused
    consolidationPolicy. None if the rule has no help for the field.
    """
    name = problem.missing or problem.path.rpartition(".")[2]
    if problem.missing is not None or (problem.node.kind == "sequence" and not problem.node.items):
        return _MISSING.get(name)
    if problem.path == "spec.disruption.consolidationPolicy" and problem.suggestion is None:
        return "to keep nodes that run pods, use `WhenEmpty`; to keep all nodes, also set `consolidateAfter: Never`"
    return None


def _choices(obj: Object, problem: apiserver.SchemaProblem, context: Context, fixed: bool) -> list[Suggestion]:
    """Return suggestions of possible values, among which only the author can choose.

    If there is none, return suggestions to remove the field.
    """
    node, holder = problem.node, problem.holder
    name = problem.missing or problem.path.rpartition(".")[2]
    if name in _TERMS and (problem.missing is not None or (node.kind == "sequence" and not node.items)):
        return remedies.list_suggestions(remedies.missing_terms(obj, name, context.objects))
    judge = partial(apiserver.check, release=context.karpenter, schemas=context.schemas)
    if problem.missing is not None:
        if holder is None:
            return []
        renamed = remedies.rename_to_missing(obj, holder, context.problems(obj), judge)
        if renamed is not None:
            return [Suggestion(f"rename `{renamed[0]}` to `{renamed[1]}`", renamed[2])]
        return remedies.list_suggestions(_missing_values(problem.missing, holder, context))
    if fixed:
        return []
    number = problem.wanted == "integer" or (isinstance(node.value, int) and not problem.wanted)
    others = node.parent.items if node.parent is not None else ()
    present = {item.value for item in others}
    ways = [
        (f"write `{text}`", edits.if_editable(edits.set_value, node, int(text) if number else text))
        for text in problem.choices
        if text not in present
    ]
    if ways and len(others) > 1:
        ways.insert(0, (f"remove `{node.value}`", edits.if_editable(edits.remove, node)))
    if problem.path == "spec.weight" and node.value == 0:
        way = "remove `weight`: a NodePool without a weight has the lowest weight"
        ways.insert(0, (way, edits.if_editable(edits.remove, node)))
    if problem.path == "spec.limits" and problem.wanted == "object" and isinstance(node.value, int):
        ways.append((f"limit cpu to {node.value} cores", edits.if_editable(edits.replace, node, {"cpu": node.value})))
    if problem.path == "metadata.name" and isinstance(node.value, str):
        name = re.sub(r"[^a-z0-9.-]+", "-", node.value.lower()).strip("-.")[:253]
        ways.append(
            (f"name it `{messages.short(name, 40)}`", edits.if_editable(edits.set_value, node, name) if name else [])
        )
    if node.value == "" and "SelectorTerms[" in problem.path and ".tags[" in problem.path:
        ways.append(("use `*` for any value of the tag", edits.if_editable(edits.set_value, node, "*")))
        return remedies.list_suggestions(ways)
    if problem.path.endswith("].id"):
        ways += remedies.selected_by_name(obj, node)
    ways += _texts_of_list(problem)
    return remedies.list_suggestions(ways) or remedies.drop_refused(obj, node, judge)


MOST_CLASSES = 3
"""If the files define more EC2NodeClasses, none is suggested for a missing `nodeClassRef`."""

_TERMS = ("subnetSelectorTerms", "securityGroupSelectorTerms")
_USUAL: dict[str, tuple[str, ...]] = {
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "consolidateAfter": ("5m", "0s"),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist"),
}


def _missing_values(missing: str, holder: Node, context: Context) -> list[tuple[str, list[Edit]]]:
    """Return names and edits for the few values that a missing field may have; empty for other fields."""
    if missing == "nodeClassRef":
        names = sorted(name for name in context.defined_classes if isinstance(name, str))
        reference = {"group": gvk.AWS_GROUP, "kind": gvk.CLASS_KIND}
        return [
            (
                f"use EC2NodeClass `{name}`",
                edits.if_editable(edits.add_key, holder, missing, reference | {"name": name}),
            )
            for name in (names if len(names) <= MOST_CLASSES else ())
        ]
    if missing == "amiSelectorTerms":
        return [
            (f"the images of {images.family_title(name)}", _alias(holder, name))
            for name in ("al2023", "bottlerocket")
        ]
    if missing == "requirements":
        return [("allow every instance type", edits.if_editable(edits.add_key, holder, missing, []))]
    return [
        (f"{missing} {value}", edits.if_editable(edits.add_key, holder, missing, value))
        for value in _USUAL.get(missing, ())
        if missing != "operator" or (holder.get("values") is not None) == (value in ("In", "NotIn"))
    ]


def _terms(obj: Object, problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that add the alias of the class's family, because v1 requires terms; empty for other problems."""
    holder = problem.holder
    if problem.missing != "amiSelectorTerms" or holder is None or not isinstance(obj, EC2NodeClass):
        return []
    alias = next((name for name in images.families() if images.ami_family_of(name) == obj.ami_family), None)
    if alias is None:
        return []
    return _alias(holder, alias)


def _alias(spec: Node, family: str) -> list[Edit]:
    return edits.if_editable(edits.add_key, spec, "amiSelectorTerms", [{"alias": f"{family}@latest"}], "amiFamily")


def _as_list(obj: Object, problem: apiserver.SchemaProblem, context: Context) -> list[Edit]:
    """Return edits that wrap a mapping into a list, or split a term with several ids; empty for other problems."""
    node = problem.node
    of_terms = "SelectorTerms" in problem.path
    if problem.wanted != "array" and not (of_terms and problem.path.endswith((".id", ".name"))):
        return []
    value = _value_of(problem)
    if of_terms and problem.path.endswith((".id", ".name")) and value.kind == "sequence" and value.parent is not None:
        ids = [item.value for item in value.items if isinstance(item.value, str)]
        field = problem.path.rpartition(".")[2]
        return edits.if_editable(fixes.split_term, value.parent, field, ids) if len(ids) == len(value.items) else []
    if problem.path.endswith(".values") and isinstance(node.value, int) and not isinstance(node.value, bool):
        return edits.if_editable(edits.replace, node, [str(node.value)])
    if problem.wanted != "array" or value.kind != "mapping" or not value.entries:
        return []
    shape = context.schemas.shape(obj.kind, obj.version, context.karpenter)
    for step in re.sub(r"\[\d+\]", ".[]", problem.path).split("."):
        shape = None if shape is None else shape.items if step == "[]" else shape.field(step)
    items = shape.items if shape is not None else None
    known = [items is not None and items.field(entry.name or "") is not None for entry in value.entries]
    if all(known):
        return edits.if_editable(edits.listed, value)
    if problem.path.endswith(".requirements"):
        return _as_requirements(value)
    if problem.path.endswith(("taints", "Taints")):
        return _as_taints(value)
    tags = {
        entry.name: entry.value.value for entry in value.entries if entry.name and isinstance(entry.value.value, str)
    }
    if of_terms and not any(known) and len(tags) == len(value.entries):
        return edits.if_editable(edits.replace, value, [{"tags": tags}])
    return []


_IDS = {"subnet": "subnet-", "securityGroup": "sg-", "ami": "ami-", "capacityReservation": "cr-"}


def _as_item(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn a text into a mapping: an id or alias into a selector term, `key=value:Effect` into a
    taint.

    Empty for other problems.
    """
    if problem.path.rpartition("[")[0].endswith(("taints", "startupTaints")) and problem.wanted == "object":
        taint = re.fullmatch(r"([^=:\s]+)(?:=([^=:\s]*))?:(\w+)", str(problem.node.value))
        if taint is None or taint[3] not in _USUAL["effect"]:
            return []
        fields = {"key": taint[1], **({"value": taint[2]} if taint[2] else {}), "effect": taint[3]}
        return edits.if_editable(edits.replace, problem.node, fields)
    value, term = problem.node.value, re.fullmatch(r"spec\.(\w+)SelectorTerms\[\d+\]", problem.path)
    if problem.wanted != "object" or term is None or term[1] not in _IDS or not isinstance(value, str):
        return []
    if value.startswith(_IDS[term[1]]):
        return edits.if_editable(edits.replace, problem.node, {"id": value})
    if term[1] == "ami" and "@" in value:
        return edits.if_editable(edits.replace, problem.node, {"alias": value})
    return []


def _as_reference(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn the name of a class into a reference; empty for other problems."""
    name = problem.node.value
    if problem.path != "spec.template.spec.nodeClassRef" or problem.wanted != "object" or not isinstance(name, str):
        return []
    if re.fullmatch(r"[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?", name) is None:
        return []
    reference = {"group": gvk.AWS_GROUP, "kind": gvk.CLASS_KIND, "name": name}
    return edits.if_editable(edits.replace, problem.node, reference)


def _value_of(problem: apiserver.SchemaProblem) -> Node:
    """Return the node of the value that has the wrong type. The node of a problem may be the key of this value."""
    node = problem.node
    return next((e.value for e in node.parent.entries if e.key is node), node) if node.parent is not None else node


def _listed_texts(problem: apiserver.SchemaProblem) -> list[str]:
    """Return the texts of a list that is written instead of one text; empty if it has other items."""
    value = _value_of(problem)
    texts = [item.value for item in value.items if isinstance(item.value, str)]
    return texts if problem.wanted == "string" and len(texts) == len(value.items) else []


def _as_text(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that replace a list of one text by the text; empty for other problems."""
    texts = _listed_texts(problem)
    return edits.if_editable(edits.replace, _value_of(problem), texts[0]) if len(texts) == 1 else []


def _texts_of_list(problem: apiserver.SchemaProblem) -> list[tuple[str, list[Edit]]]:
    """Return a suggestion for each text of a list that is written instead of one text."""
    texts = dict.fromkeys(_listed_texts(problem))
    return [
        (f"keep `{messages.short(text, 40)}`", edits.if_editable(edits.replace, _value_of(problem), text))
        for text in texts
    ]


def _as_terms(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that split a term whose tag has several values into one term for each value.

    Terms are alternatives. Empty for other problems.
    """
    node, found = problem.node, re.search(r"SelectorTerms\[(\d+)\]\.tags[.\[]", problem.path)
    tags = node.parent
    entry = next((e for e in tags.entries if node in (e.key, e.value)), None) if tags is not None else None
    if tags is None or entry is None or found is None or entry.value.kind != "sequence":
        return []
    term = tags.parent
    terms = term.parent if term is not None else None
    texts = [item.value for item in entry.value.items if isinstance(item.value, str)]
    if term is None or terms is None or not texts or len(texts) != len(entry.value.items):
        return []
    split = [
        edits.plain_fields(term) | {"tags": edits.plain_fields(tags) | {str(entry.name): text}} for text in texts
    ]
    number = int(found[1])
    plain = [item.plain() for item in terms.items]
    return edits.if_editable(edits.restructure, terms, [*plain[:number], *split, *plain[number + 1 :]])


def _as_taints(node: Node) -> list[Edit]:
    """Return edits that turn a mapping such as `dedicated: gpu:NoSchedule` into taints; empty for other mappings."""
    items: list[dict[str, str]] = []
    for entry in node.entries:
        value, _, effect = str(entry.value.value).rpartition(":")
        if entry.name is None or effect not in _USUAL["effect"]:
            return []
        items.append({"key": entry.name, **({"value": value} if value else {}), "effect": effect})
    return edits.if_editable(edits.replace, node, items)


def _as_mapping(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that turn a list such as `- team: a` or `- {key: team, value: a}` into a mapping, such as tags.

    Empty for other problems.
    """
    node = _value_of(problem)
    items = node.items
    if problem.wanted != "object" or not items or any(item.kind != "mapping" for item in items):
        return []
    admitted = (str, int) if problem.path == "spec.limits" else (str,)
    found: dict[str, str | int] = {}
    for item in items:
        fields = {(entry.name or "").lower(): entry.value.value for entry in item.entries}
        if set(fields) in ({"key", "value"}, {"name", "value"}):
            pairs = {str(fields.get("key", fields.get("name"))): fields["value"]}
        else:
            pairs = {str(entry.name): entry.value.value for entry in item.entries}
        if any(type(value) not in admitted for value in pairs.values()) or set(pairs) & set(found):
            return []
        found |= {name: value for name, value in pairs.items() if isinstance(value, str | int)}
    return edits.if_editable(edits.replace, node, found)


def _as_requirements(node: Node) -> list[Edit]:
    """Return edits that turn a mapping of labels to values into requirements with the operator `In`.

    Empty if a key has no domain, or a value is no text.
    """
    items: list[dict[str, str | list[str]]] = []
    for entry in node.entries:
        values = entry.value.items if entry.value.kind == "sequence" else (entry.value,)
        texts = [value.value for value in values if isinstance(value.value, str)]
        if "/" not in (entry.name or "") or not texts or len(texts) != len(values):
            return []
        items.append({"key": str(entry.name), "operator": "In", "values": texts})
    return edits.if_editable(edits.replace, node, items)


def _suggested_edits(problem: apiserver.SchemaProblem) -> list[Edit]:
    """Return edits that write the value that the schema check suggests: the same value in the right type, or the most
    similar allowed value. Empty if the problem has no suggestion.
    """
    if problem.suggestion is None or problem.node.kind != "scalar":
        return []
    several = problem.path.endswith(".values")  # a label's value has no comma
    return remedies.write_meant(problem.node, problem.suggestion, problem.wanted, several)
