r"""A `nodeClassRef` that does not say which kind of class it means, in the way that v1 asks for.

In v1 a NodePool names its class by `group`, `kind` and `name`. What v1beta1 had, `apiVersion`, is gone; a version
in the group (`karpenter.k8s.aws/v1`) is refused; a kind of another provider points to nothing that this Karpenter
watches. Where group and kind agree on EKS Auto Mode or another cloud, the reference is let be. Where one of them is
empty, no provider's API server takes the pool.

```yaml bad frame=pool
spec.template.spec.nodeClassRef:
  apiVersion: karpenter.k8s.aws/v1beta1
  kind: EC2NodeClass
  name: default
```

```yaml bad frame=pool
spec.template.spec.nodeClassRef: {name: default}
```
"""

from nodelint.api import (
    UNKNOWN,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    edits,
    gvk,
    manifest,
    remedies,
    rule,
)

AUTO_MODE_GROUP = "eks.amazonaws.com"


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["removed-api"],
    subject="objects",
    source="core:pkg/apis/v1/nodeclaim.go@v1.14.0:135",
)
def check(pool: NodePool, context: Context) -> Findings:
    ref = pool.class_ref
    if ref is None or pool.version != "v1":
        return
    fault = _fault(pool, ref)
    if fault is not None:
        at, message = fault
        spec = pool.node.find("spec", "template", "spec")
        key = spec.key("nodeClassRef") if spec else None
        # A NodeClass without a group may be EKS Auto Mode's, whose group only its owner can add.
        auto = ref.kind == "NodeClass" and not ref.group
        yield Finding(
            at=at,
            message=message,
            edits=[] if auto or _is_anothers(ref.kind) else _mended(ref),
            covers=[ref.node, key or ref.node],
            help="or use `eks.amazonaws.com`, if the class is one of EKS Auto Mode" if auto else None,
            suggestions=_choose_kind(ref),
        )


def _choose_kind(ref: manifest.ClassRef) -> list[Suggestion]:
    """A `NodeClass` is EKS Auto Mode's under its own group; under Karpenter's, or none, either may be meant."""
    group = ref.node.get("group")
    if (
        ref.kind != "NodeClass"
        or ref.group not in (None, "", gvk.AWS_GROUP)
        or ref.node.get("apiVersion") is not None
    ):
        return []
    own = (
        edits.if_editable(edits.set_value, group, AUTO_MODE_GROUP)
        if group is not None
        else edits.if_editable(edits.add_keys, ref.node, {"group": AUTO_MODE_GROUP}, None, True)
    )
    return remedies.list_suggestions(
        [(f"name an {gvk.CLASS_KIND}", _mended(ref)), ("name a class of EKS Auto Mode", own)]
    )


def _fault(pool: NodePool, ref: manifest.ClassRef) -> tuple[Node, str] | None:
    """The first thing that is wrong with the reference, and where; the fix mends all of them at once."""
    old = ref.node.key("apiVersion")
    if old is not None:
        return old, "nodeClassRef has no `apiVersion` in v1: use `group`, without a version"
    if _empty(ref.node.get("group")) and not pool.partial:
        return ref.node, f"nodeClassRef has no `group`: it has to be `{gvk.AWS_GROUP}`"
    if isinstance(ref.group, str) and ref.group.startswith(f"{gvk.AWS_GROUP}/"):
        return ref.node.get("group") or ref.node, f"`{ref.group}` is not a group: it includes a version"
    if _empty(ref.node.get("kind")) and not pool.partial:
        return ref.node, f"nodeClassRef has no `kind`: it has to be `{gvk.CLASS_KIND}`"
    if ref.group == gvk.AWS_GROUP and isinstance(ref.kind, str) and ref.kind != gvk.CLASS_KIND:
        return ref.node.get(
            "kind"
        ) or ref.node, f"`{gvk.AWS_GROUP}` has no kind `{ref.kind}`, only `{gvk.CLASS_KIND}`"
    if ref.kind == gvk.CLASS_KIND and isinstance(ref.group, str) and ref.group != gvk.AWS_GROUP:
        return ref.node.get("group") or ref.node, f"`{gvk.CLASS_KIND}` is not in group `{ref.group}`"
    if ref.name == "":
        return ref.node.get("name") or ref.node, "nodeClassRef names no class: its `name` is empty"
    return None


def _is_anothers(kind: object) -> bool:
    """Whether a kind is, for all that one can see, that of another provider's classes: AKSNodeClass."""
    return isinstance(kind, str) and kind.endswith("NodeClass") and "ec2" not in kind.lower()


def _empty(node: Node | None) -> bool:
    return node is None or (node.kind == "scalar" and node.value in (None, ""))


def _mended(ref: manifest.ClassRef) -> list[Edit]:
    """The edits that leave the right group and kind, in the order in which people write them."""
    old, group, kind = ref.node.get("apiVersion"), ref.node.get("group"), ref.node.get("kind")
    old_key = ref.node.key("apiVersion")
    changes: list[Edit] = []
    new: dict[str, str] = {}
    try:
        if group is not None:
            if ref.group not in (gvk.AWS_GROUP, UNKNOWN):
                changes += edits.set_value(group, gvk.AWS_GROUP)
            if old is not None:
                changes += edits.remove(old)
        elif old is not None and old_key is not None:
            changes += [*edits.set_key(old_key, "group"), *edits.set_value(old, gvk.AWS_GROUP)]
        else:
            new["group"] = gvk.AWS_GROUP
        if kind is None:
            new["kind"] = gvk.CLASS_KIND
        elif ref.kind not in (gvk.CLASS_KIND, UNKNOWN):
            changes += edits.set_value(kind, gvk.CLASS_KIND)
        if new:
            known = "group" if ref.node.key("group") else None
            changes += edits.add_keys(ref.node, new, after=known, first=known is None)
    except edits.NotEditable:
        return []
    return changes
