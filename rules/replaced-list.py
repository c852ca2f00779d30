"""A patch of an overlay replaces a list, so the entries of the base are lost.

A strategic merge patch adds to a list only if kustomize knows its schema. For NodePool and EC2NodeClass it knows
none, so the list of the patch replaces the list of the base. A patch that should add one requirement, taint or device
silently removes all the others.

The rule does not report a patch that repeats an entry of the base, or that gives all entries another value, because
it replaces the list on purpose. To add an entry without repeating the list, use a JSON6902 patch with `op: add` and a
path that ends in `/-`.

```yaml bad
# file: base/pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spot, on-demand]
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: [c, m, r]
# file: base/kustomization.yaml
resources: [pool.yaml]
# file: prod/kustomization.yaml
resources: [../base]
patches:
  - path: newer.yaml
# file: prod/newer.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      requirements:
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["4"]
```

```yaml good frame=pool
# file: base/pool.yaml
apiVersion: karpenter.sh/v1
metadata.name: general
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: [amd64]
  - key: karpenter.sh/capacity-type
    operator: In
    values: [spot, on-demand]
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: [c, m, r]
# file: base/kustomization.yaml
resources: [pool.yaml]
# file: prod/kustomization.yaml
resources: [../base]
patches:
  - target: {kind: NodePool, name: general}
    patch: |-
      - op: add
        path: /spec/template/spec/requirements/-
        value: {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```
"""

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Object,
    Suggestion,
    edits,
    messages,
    rule,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

_NAMING = ("key", "deviceName")
"""The fields that identify an entry of a list."""


@rule(
    on=Object,
    group="hazard",
    subject="templates",
    source="https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/"
    "#notes-on-the-strategic-merge-patch",
)
def check(obj: Object, context: Context) -> Findings:
    built = obj.source.built
    for lost in built.lost if built is not None else ():
        at = obj.node.find(*lost.path)
        origin = built.find_origin(at) if at is not None else None
        if origin is None or origin.at is not lost.new:
            continue
        gone = _find_gone(lost.path[-1], lost.new.items, lost.old.items)
        if not gone:
            continue
        names = [f"`{messages.short(_name_of(item), 40)}`" for item in gone]
        field = lost.path[-1]
        added: list[Any] = [item.plain() for item in gone]
        made = edits.if_editable(edits.insert_items, lost.new, len(lost.new.items), added)
        yield Finding(
            at=lost.new,
            message=messages.first_fitting(
                *(f"the patch drops {_list_names(names, most)} of the base's `{field}`" for most in (4, 3, 2, 1)),
                f"the patch drops {len(names)} entries of the base's `{field}`",
            ),
            also=[Also(item, "gone") for item in gone],
            note=f"kustomize has no schema of {obj.kind}: the list of a patch replaces the list of the base",
            help="repeat the entries that must stay, or add with a JSON6902 patch",
            suggestions=[Suggestion("keep the entries of the base", made)] if made else [],
        )


def _find_gone(field: str, new: list[Node], old: list[Node]) -> list[Node]:
    """Return the entries of the base that a patch drops and does not replace.

    Empty if the patch repeats an entry of the base.

    Terms of a selector are alternatives: a patch with at least as many terms replaces the terms of the base on
    purpose.
    """
    items = [*new, *old]
    if not new or any(item.kind != "mapping" or _is_unknown(item) for item in items):
        return []
    restated = [item.plain() for item in new]
    if any(item.plain() in restated for item in old):
        return []
    if field.endswith("SelectorTerms") and (len(new) >= len(old) or any(item.get("alias") for item in items)):
        return []
    kinds = [_identify(item) for item in new]
    return [item for item in old if _identify(item) not in kinds]


def _list_names(names: list[str], most: int) -> str:
    if len(names) > most:
        return messages.list_first(names, most)
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _is_unknown(item: Node) -> bool:
    return any(node.value is UNKNOWN for node in item.walk())


def _identify(item: Node) -> tuple[object, ...]:
    """Return a key that is equal for entries about the same thing: the `key` or `deviceName` of an entry, else the
    names of its fields.
    """
    for field in _NAMING:
        value = item.get(field)
        if value is not None:
            return field, value.value
    tags = item.get("tags")
    within = tags.entries if tags is not None else ()
    return tuple(sorted(str(entry.name) for entry in (*item.entries, *within)))


def _name_of(item: Node) -> str:
    for field in (*_NAMING, "id", "name"):
        value = item.get(field)
        if value is not None and isinstance(value.value, str):
            return value.value
    return item.text
