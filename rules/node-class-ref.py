r"""A `nodeClassRef` that does not say which kind of class it means, in the way that v1 asks for.

In v1 a NodePool names its class by `group`, `kind` and `name`. What v1beta1 had, `apiVersion`, is gone; a version
in the group (`karpenter.k8s.aws/v1`) is refused; a kind of another provider points to nothing that this Karpenter
watches. References to classes of EKS Auto Mode and of other clouds are left in peace when group and kind agree.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        apiVersion: karpenter.k8s.aws/v1beta1
        kind: EC2NodeClass
        name: default
      requirements: []
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements: []
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {name: default}
      requirements: []
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```
"""

from nodelint.edits import NotEditable, add_keys, remove, set_key, set_value
from nodelint.lint.rule import Context, rule
from nodelint.model.finding import Edit, Finding, Findings
from nodelint.model.manifest import AWS_GROUP, CLASS_KIND, ClassRef, NodePool
from nodelint.source import UNKNOWN, Node


@rule(on=NodePool, severity="error", fix="safe", gives_way_to=["removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    ref = pool.class_ref
    if ref is None or pool.version != "v1":
        return
    said = _fault(pool, ref)
    if said is not None:
        at, message = said
        spec = pool.node.at("spec", "template", "spec")
        key = spec.key("nodeClassRef") if spec else None
        # A NodeClass without a group may be EKS Auto Mode's, whose group only its owner can add.
        auto = ref.kind == "NodeClass" and not isinstance(ref.group, str)
        yield Finding(
            at=at,
            message=message,
            edits=[] if auto else _mended(ref),
            covers=[ref.node, key or ref.node],
            hint="or `eks.amazonaws.com`, if it is a class of EKS Auto Mode" if auto else None,
        )


def _fault(pool: NodePool, ref: ClassRef) -> tuple[Node, str] | None:
    """The first thing that is wrong with the reference, and where; the fix mends all of them at once."""
    old = ref.node.key("apiVersion")
    if old is not None:
        return old, "`apiVersion` is gone from nodeClassRef: v1 has `group`, without a version"
    if _empty(ref.node.get("group")) and not pool.partial:
        return ref.node, f"nodeClassRef lacks `group`: `{AWS_GROUP}`"
    if isinstance(ref.group, str) and ref.group.startswith(f"{AWS_GROUP}/"):
        return ref.node.get("group") or ref.node, f"`{ref.group}` is no group: it holds a version"
    if _empty(ref.node.get("kind")) and not pool.partial:
        return ref.node, f"nodeClassRef lacks `kind`: `{CLASS_KIND}`"
    if ref.group == AWS_GROUP and isinstance(ref.kind, str) and ref.kind != CLASS_KIND:
        return ref.node.get("kind") or ref.node, f"`{AWS_GROUP}` has no kind `{ref.kind}`, only `{CLASS_KIND}`"
    if ref.kind == CLASS_KIND and isinstance(ref.group, str) and ref.group != AWS_GROUP:
        return ref.node.get("group") or ref.node, f"`{CLASS_KIND}` is not of group `{ref.group}`"
    if ref.name == "":
        return ref.node.get("name") or ref.node, "nodeClassRef names no class: its `name` is empty"
    return None


def _empty(node: Node | None) -> bool:
    return node is None or (node.kind == "scalar" and node.value in (None, ""))


def _mended(ref: ClassRef) -> list[Edit]:
    """The edits that leave the right group and kind, in the order in which people write them."""
    old, group, kind = ref.node.get("apiVersion"), ref.node.get("group"), ref.node.get("kind")
    old_key = ref.node.key("apiVersion")
    edits: list[Edit] = []
    new: dict[str, str] = {}
    try:
        if group is not None:
            if ref.group not in (AWS_GROUP, UNKNOWN):
                edits += set_value(group, AWS_GROUP)
            if old is not None:
                edits += remove(old)
        elif old is not None and old_key is not None:
            edits += [*set_key(old_key, "group"), *set_value(old, AWS_GROUP)]
        else:
            new["group"] = AWS_GROUP
        if kind is None:
            new["kind"] = CLASS_KIND
        elif ref.kind not in (CLASS_KIND, UNKNOWN):
            edits += set_value(kind, CLASS_KIND)
        if new:
            known = "group" if ref.node.key("group") else None
            edits += add_keys(ref.node, new, after=known, first=known is None)
    except NotEditable:
        return []
    return edits
