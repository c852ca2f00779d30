r"""The `nodeClassRef` does not name the class in the way that v1 requires.

In v1 a NodePool names its class by `group`, `kind` and `name`. The field `apiVersion` of v1beta1 no longer exists.
The API server refuses a version in the group (`karpenter.k8s.aws/v1`). A kind of another provider points to nothing
that this Karpenter watches. EKS Auto Mode has one kind, `NodeClass`, of the group `eks.amazonaws.com`. If group and
kind both belong to another cloud, the rule does not report the reference. If one of them is empty, the API server
refuses the pool.

```yaml bad frame=pool
spec.template.spec.nodeClassRef:
  apiVersion: karpenter.k8s.aws/v1beta1
  kind: EC2NodeClass
  name: default
```

```yaml bad frame=pool
spec.template.spec.nodeClassRef: {name: default}
```

```yaml bad frame=pool
spec.template.spec.nodeClassRef: {group: eks.amazonaws.com, kind: EC2NodeClass, name: default}
spec.template.spec.requirements:
  - {key: eks.amazonaws.com/instance-category, operator: In, values: [c, m]}
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


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["removed-api"],
    providers=["aws", "auto-mode"],
    subject="objects",
    source=[
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:135",
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html",
    ],
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
            edits=[] if auto or _is_anothers(ref, pool) else _mended(ref, *_right_names(pool)),
            covers=[ref.node, key or ref.node],
            help="if the class is one of EKS Auto Mode, use `eks.amazonaws.com`" if auto else None,
            suggestions=_choose_kind(ref, pool),
        )


def _right_names(pool: NodePool) -> tuple[str, str]:
    """Return the group and the kind that a reference to a class of the pool's provider must have."""
    if pool.provider == "auto-mode":
        return gvk.AUTO_MODE_GROUP, gvk.AUTO_MODE_KIND
    return gvk.AWS_GROUP, gvk.CLASS_KIND


def _choose_kind(ref: manifest.ClassRef, pool: NodePool) -> list[Suggestion]:
    """Return suggestions to refer to an EC2NodeClass, or to a NodeClass of EKS Auto Mode, if the author may mean
    either. Empty for other references.
    """
    group = ref.node.get("group")
    if ref.kind == gvk.CLASS_KIND and ref.group == gvk.AUTO_MODE_GROUP and not _tells_provider(pool):
        ways = [
            ("name a class of EKS Auto Mode", _mended(ref, gvk.AUTO_MODE_GROUP, gvk.AUTO_MODE_KIND)),
            (f"name an {gvk.CLASS_KIND}", _mended(ref)),
        ]
        return remedies.list_suggestions(ways)
    if (
        ref.kind != "NodeClass"
        or ref.group not in (None, "", gvk.AWS_GROUP)
        or ref.node.get("apiVersion") is not None
    ):
        return []
    own = (
        edits.if_editable(edits.set_value, group, gvk.AUTO_MODE_GROUP)
        if group is not None
        else edits.if_editable(edits.add_keys, ref.node, {"group": gvk.AUTO_MODE_GROUP}, None, True)
    )
    return remedies.list_suggestions(
        [(f"name an {gvk.CLASS_KIND}", _mended(ref)), ("name a class of EKS Auto Mode", own)]
    )


def _fault(pool: NodePool, ref: manifest.ClassRef) -> tuple[Node, str] | None:
    """Return the node and the message of the first mistake in a reference, or None.

    The fix corrects all mistakes at once.
    """
    old = ref.node.key("apiVersion")
    if old is not None:
        return old, "nodeClassRef has no `apiVersion` in v1: use `group`, without a version"
    if _empty(ref.node.get("group")) and not pool.partial:
        return ref.node, f"nodeClassRef has no `group`: it must be `{gvk.AWS_GROUP}`"
    if isinstance(ref.group, str) and ref.group.startswith((f"{gvk.AWS_GROUP}/", f"{gvk.AUTO_MODE_GROUP}/")):
        return ref.node.get("group") or ref.node, f"`{ref.group}` is not a group: remove the version"
    if _empty(ref.node.get("kind")) and not pool.partial:
        return ref.node, f"nodeClassRef has no `kind`: it must be `{gvk.CLASS_KIND}`"
    kind = {gvk.AWS_GROUP: gvk.CLASS_KIND, gvk.AUTO_MODE_GROUP: gvk.AUTO_MODE_KIND}.get(str(ref.group))
    if kind is not None and isinstance(ref.kind, str) and ref.kind != kind:
        return ref.node.get("kind") or ref.node, f"`{ref.group}` has no kind `{ref.kind}`, only `{kind}`"
    if ref.kind == gvk.CLASS_KIND and isinstance(ref.group, str) and ref.group != gvk.AWS_GROUP:
        return ref.node.get("group") or ref.node, f"`{gvk.CLASS_KIND}` is not in group `{ref.group}`"
    if ref.name == "":
        return ref.node.get("name") or ref.node, "nodeClassRef names no class: its `name` is empty"
    return None


def _is_anothers(ref: manifest.ClassRef, pool: NodePool) -> bool:
    """Return whether a kind is probably one of another provider, such as AKSNodeClass."""
    kind = ref.kind
    if kind == gvk.CLASS_KIND and ref.group == gvk.AUTO_MODE_GROUP:
        return not _tells_provider(pool)
    anothers = isinstance(kind, str) and kind.endswith("NodeClass") and "ec2" not in kind.lower()
    return anothers and kind != _right_names(pool)[1]


def _tells_provider(pool: NodePool) -> bool:
    """Return whether a required label of a pool has the group of an AWS provider, which shows the provider of the
    pool.
    """
    keys = [line.key for line in pool.requirements if isinstance(line.key, str)]
    return any(key.startswith((f"{gvk.AWS_GROUP}/", f"{gvk.AUTO_MODE_GROUP}/")) for key in keys)


def _empty(node: Node | None) -> bool:
    return node is None or (node.kind == "scalar" and node.value in (None, ""))


def _mended(
    ref: manifest.ClassRef, wanted_group: str = gvk.AWS_GROUP, wanted_kind: str = gvk.CLASS_KIND
) -> list[Edit]:
    """Return the edits that write the right group and kind, in the order group, kind, name."""
    old, group, kind = ref.node.get("apiVersion"), ref.node.get("group"), ref.node.get("kind")
    old_key = ref.node.key("apiVersion")
    changes: list[Edit] = []
    new: dict[str, str] = {}
    try:
        if group is not None:
            if ref.group not in (wanted_group, UNKNOWN):
                changes += edits.set_value(group, wanted_group)
            if old is not None:
                changes += edits.remove(old)
        elif old is not None and old_key is not None:
            changes += [*edits.set_key(old_key, "group"), *edits.set_value(old, wanted_group)]
        else:
            new["group"] = wanted_group
        if kind is None:
            new["kind"] = wanted_kind
        elif ref.kind not in (wanted_kind, UNKNOWN):
            changes += edits.set_value(kind, wanted_kind)
        if new:
            known = "group" if ref.node.key("group") else None
            changes += edits.add_keys(ref.node, new, after=known, first=known is None)
    except edits.NotEditable as error:
        return edits.NoEdits(error.reason)
    return changes
