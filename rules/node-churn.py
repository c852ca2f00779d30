"""Nodes are replaced more often than most workloads want: consolidated within seconds, or expired within a day.

`consolidateAfter` is how long a node has to be without a change of its pods before Karpenter may consolidate it.
With `WhenEmptyOrUnderutilized` and `0s`, which is what a NodePool without a `disruption` block gets, each pod that
comes or goes can move others to another node. Jobs, deployments and autoscalers do that all day. Each move restarts
pods, pulls images again and, with on-demand nodes, buys a minute of a new node at least. A few minutes save nearly
as much.

An `expireAfter` of a day or less restarts every pod of the pool at least once a day, whatever the budgets say.

Both are common and can be meant, in a development cluster for instance. `WhenEmpty` moves no pod and is left alone.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 30s
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
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
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5m
```
"""

from collections.abc import Iterator

from nodelint.api import Context, Edit, Finding, Findings, Node, NodePool, controller, edits, manifest, rule

DAY = 24 * 3600
CALM = "5m"


@rule(on=NodePool, group="practice", severity="info", fix="safe")
def check(pool: NodePool, context: Context) -> Findings:
    spec = pool.node.get("spec")
    if spec is None or pool.version != "v1" or spec.get("replicas") is not None:
        return
    yield from _consolidated(pool, spec)
    node = pool.meant("spec", "template", "spec", "expireAfter")
    length = _seconds(node)
    if node is not None and length is not None and 0 < length <= DAY:
        yield Finding(
            at=node,
            message=f"every node expires within `{node.value}`, whatever the budgets allow",
            note="a new value changes the hash of the template, so that nodes are replaced once more",
            help="the default is 720h",
        )


def _consolidated(pool: NodePool, spec: Node) -> Iterator[Finding]:
    block = pool.meant("spec", "disruption")
    if block is None or (block.value is None and block.kind == "scalar"):
        if not pool.partial:
            yield Finding(
                at=pool.name_node,
                message="without a `disruption` block, nodes are consolidated as soon as their pods change (0s)",
                edits=edits.if_editable(_block, spec, block),
            )
        return
    policy, after = manifest.text(block.get("consolidationPolicy")), block.get("consolidateAfter")
    if policy not in ("WhenEmptyOrUnderutilized", None) or (policy is None and pool.partial):
        return
    length = _seconds(after)
    if after is not None and length is not None and length <= 30:
        yield Finding(
            at=after,
            message=f"underutilized nodes are consolidated only `{after.value}` after their pods change",
            edits=edits.if_editable(edits.set_value, after, CALM),
        )


def _block(spec: Node, block: Node | None) -> list[Edit]:
    value = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": CALM}
    return edits.add_key(spec, "disruption", value) if block is None else edits.replace(block, value)


def _seconds(node: Node | None) -> float | None:
    """The length of a duration; None for Never, a placeholder and what the schema refuses."""
    written = manifest.text(node)
    return controller.seconds(written) if isinstance(written, str) else None
