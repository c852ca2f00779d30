r"""A field that no release of Karpenter has, or that stands in the wrong place.

`kubectl apply` validates strictly and refuses it; other clients drop it silently, and what it was to say never
happens. nodelint names the field that was probably meant and writes it where only the spelling is off.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      expiresAfter: 720h # a month
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
      expireAfter: 720h # a month
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
```
"""

from nodelint.edits import NotEditable, set_key
from nodelint.finding import Edit, Finding, Findings
from nodelint.manifest import Object
from nodelint.rule import Context, rule, served
from nodelint.schema import Problem


@rule(on=Object, severity="error", fix="safe", gives_way_to=["node-class-ref", "removed-api"])
def check(obj: Object, context: Context) -> Findings:
    if served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "unknown":
                yield Finding(at=problem.node, message=problem.message, edits=_renamed(problem))


def _renamed(problem: Problem) -> list[Edit]:
    """The key as it was probably meant; nothing where that key is there already or the place is shared."""
    parent = problem.node.parent
    if problem.suggestion is None or parent is None or parent.key(problem.suggestion) is not None:
        return []
    try:
        return set_key(problem.node, problem.suggestion)
    except NotEditable:
        return []
