r"""A `terminationGracePeriod` of a few minutes: it ends drains that pods have reason to hold up.

When a node is replaced, expires or is deleted, its pods are evicted one by one, as PodDisruptionBudgets allow.
Once `terminationGracePeriod` is over, what is left is deleted, whatever a PodDisruptionBudget or the annotation
`karpenter.sh/do-not-disrupt` says; a pod with a longer `terminationGracePeriodSeconds` of its own is deleted early
enough to end in time. Five minutes are less than a replacement takes to start and become ready.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      terminationGracePeriod: 5m
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
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
      terminationGracePeriod: 24h
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, controller, manifest, rule

SHORT = 5 * 60


@rule(on=NodePool, group="practice", severity="info", gives_way_to=["invalid-field", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.node.at("spec", "template", "spec", "terminationGracePeriod")
    written = manifest.text(node)
    length = controller.seconds(written) if isinstance(written, str) else None
    if node is not None and length is not None and length <= SHORT:
        yield Finding(
            at=node,
            message=f"after `{written}` of a drain all pods left are deleted, also those that a PDB protects",
            note="`karpenter.sh/do-not-disrupt` does not keep them either",
            help="allow for the longest job or replacement, for example `1h` or `24h`",
        )
