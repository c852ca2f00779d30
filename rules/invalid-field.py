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
"""

from nodelint.apiserver import Problem
from nodelint.edits import if_editable, set_value
from nodelint.lint.rule import Context, rule
from nodelint.model.finding import Edit, Finding, Findings
from nodelint.model.manifest import Object, served
from nodelint.source.scalars import resolve


@rule(
    on=Object,
    severity="error",
    fix="safe",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
)
def check(obj: Object, context: Context) -> Findings:
    if served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "structure":
                yield Finding(at=problem.node, message=problem.message, edits=_meant(problem))


def _meant(problem: Problem) -> list[Edit]:
    """The value that was plainly meant: the same text in the type that is wanted, or the nearest choice."""
    node, meant = problem.node, problem.suggestion
    if meant is None or node.kind != "scalar":
        return []
    value = resolve(meant) if node.value == meant else meant
    return if_editable(set_value, node, value) if isinstance(value, str | int | float) else []
