r"""A NodePool of arm64 nodes without a taint, beside one of amd64 nodes that the same pods fit.

A pod that says nothing about the architecture fits both. It runs on an arm64 node that has room, whichever pool it
was started for, and where the arm64 pool is tried first, by its weight or by its name, a node is started for it
there. A container image that is built for amd64 alone then ends with `exec format error`. A taint on the arm64 pool
lets in only pods that tolerate it. Where all images are built for both, nothing is wrong.

The rule looks at pools of one file or folder.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: x86
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: graviton
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: x86
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: graviton
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: arch, value: arm64, effect: NoSchedule}]
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, messages, resolve, rule


@rule(on=NodePool, group="practice", severity="info", gives_way_to=["no-instance-type", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    if own is None:
        return
    others = [other for other in context.beside(pool) if resolve.taints(other) == own]
    if not others or tuple(context.resolution(pool).arches) != ("arm64",):
        return
    mine = context.resolution(pool)
    alike = [other for other in others if _alike(mine, context.resolution(other))]
    if not alike:
        return
    name = messages.short(str(alike[0].name), 30)
    before = [other for other in alike if _later(other, pool)]
    message = f"pods that name no architecture fit these arm64 nodes like those of `{name}`"
    if before:
        name = messages.short(str(before[0].name), 30)
        message = f"pods that name no architecture are started on arm64 here before `{name}`"
    yield Finding(
        at=pool.name_node,
        message=message,
        also=[Also(other.name_node, "amd64, for the same pods") for other in alike],
        help="unless all images are built for both architectures, add a taint to this pool",
    )


def _later(other: NodePool, pool: NodePool) -> bool:
    """Whether Karpenter tries the other pool after this one: by weight, then by name, the last one first."""
    return (other.weight or 0, str(other.name)) < (pool.weight or 0, str(pool.name))


def _alike(mine: resolve.Resolution, other: resolve.Resolution) -> bool:
    """Whether a pod without a word about the architecture fits both pools; the other has amd64 nodes alone."""
    return tuple(other.arches) == ("amd64",) and resolve.same_pods(mine, other)
