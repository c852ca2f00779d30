r"""A field is missing, of the wrong type, or holds what the API server refuses.

The schemas say for each Karpenter release what the API server admits: types, required fields, patterns, bounds,
sets without duplicates. An object that breaks them is refused by `kubectl apply`; in a GitOps repository the sync
fails, and the cluster stays as it was. `--crds` judges by the CRDs of your own cluster instead.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  weight: "10"
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  weight: 10
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
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
      expireAfter: 7d
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
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
      expireAfter: 168h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```
"""

from nodelint.api import Context, Edit, Finding, Findings, Object, apiserver, edits, manifest, rule, scalars


@rule(
    on=Object,
    group="correctness",
    fix="safe",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "structure":
                yield Finding(at=problem.node, message=problem.message, edits=_meant(problem))


def _meant(problem: apiserver.Problem) -> list[Edit]:
    """The value that was plainly meant: the same text in the type that is wanted, or the nearest choice."""
    node, meant = problem.node, problem.suggestion
    if meant is None or node.kind != "scalar":
        return []
    value = scalars.resolve(meant) if node.value == meant else meant
    return edits.if_editable(edits.set_value, node, value) if isinstance(value, str | int | float) else []
