r"""Fields that are well formed one by one break a validation rule of the CRD together, so the object is refused.

Such rules (CEL expressions, `x-kubernetes-validations`) say what a type cannot: an alias stands alone, a role or an
instance profile but not both, `minValues` no larger than the list, a restricted label domain. They differ from
release to release, and nodelint evaluates those of the target release.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  instanceProfile: KarpenterNodeProfile-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, Object, Skip, manifest, rule


@rule(
    on=Object,
    group="correctness",
    gives_way_to=["node-class-ref", "removed-api", "unsupported-alias", "unknown-label"],
    providers=EVERY_PROVIDER,
)
def check(obj: Object, context: Context) -> Findings:
    if manifest.served(obj, context.karpenter):
        for problem in context.problems(obj):
            if problem.layer == "validation":
                yield Finding(at=problem.node, message=problem.message)
            elif problem.layer == "unjudged":
                yield Skip(problem.node, f"a field that it needs is missing or has the wrong type: {problem.message}")
