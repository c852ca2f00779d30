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

Karpenter v1 takes no class without image terms, which v1beta1 did; the fix writes the alias of the class's family.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2023
  amiSelectorTerms:
    - alias: al2023@latest
  role: KarpenterNodeRole-main
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    Object,
    apiserver,
    edits,
    images,
    manifest,
    rule,
    scalars,
)


@rule(
    on=Object,
    group="correctness",
    fix="safe",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
    providers=EVERY_PROVIDER,
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "structure":
                terms = _terms(obj, problem)
                note = "v1 has no default images" if terms else None
                hint = "use the alias of the family, and pin its version" if terms else None
                yield Finding(
                    at=problem.node, message=problem.message, edits=terms or _meant(problem), note=note, help=hint
                )


def _terms(obj: Object, problem: apiserver.SchemaProblem) -> list[Edit]:
    """The alias of the class's family, where v1 asks for the terms that v1beta1 did without."""
    holder = problem.holder
    if problem.missing != "amiSelectorTerms" or holder is None or not isinstance(obj, EC2NodeClass):
        return []
    alias = next((name for name in images.families() if images.ami_family_of(name) == obj.ami_family), None)
    if alias is None:
        return []
    return edits.if_editable(edits.add_key, holder, "amiSelectorTerms", [{"alias": f"{alias}@latest"}], "amiFamily")


def _meant(problem: apiserver.SchemaProblem) -> list[Edit]:
    """The value that was plainly meant: the same text in the type that is wanted, or the nearest choice."""
    node, meant = problem.node, problem.suggestion
    if meant is None or node.kind != "scalar":
        return []
    value = scalars.resolve(meant) if node.value == meant else meant
    return edits.if_editable(edits.set_value, node, value) if isinstance(value, str | int | float) else []
