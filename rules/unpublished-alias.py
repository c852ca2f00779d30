r"""A version of an image alias that was never published for the cluster's Kubernetes version.

The images of an alias stand in AWS's public SSM parameters, one set for each Kubernetes minor version. A version that
is too old for the minor, or mistyped, has none there: the class finds no image and never becomes ready. It often
shows after an upgrade of the control plane, for an alias that was pinned before.

It takes facts from AWS for the Kubernetes version: `nodelint refresh --kubernetes-version 1.33`. The fix writes the
newest version that is published.

```yaml facts
parameters:
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id: ami-0a1
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.50.0/image_id: ami-0a1
images:
  - {id: ami-0a1, name: bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-5d2f1c3a, owner: amazon}
```

```yaml bad kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: bottlerocket@v1.5.0
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: bottlerocket@v1.50.0
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.api import (
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    edits,
    fixes,
    images,
    questions,
    rule,
    selectors,
)


@rule(on=EC2NodeClass, group="correctness", fix="safe", gives_way_to=["unsupported-alias"], needs=("parameters",))
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    image_set = context.images(node_class)
    if image_set.alias is None:
        return
    selectors.check_region(context.pools(node_class), context.facts, "parameters")
    for term in image_set.terms:
        yield from term.skips()
    version = questions.latest_version(image_set.alias.family, context.karpenter, context.kubernetes, context.facts)
    for problem in image_set.problems:
        if problem.kind == "unpublished":
            yield Finding(
                at=problem.at,
                message=problem.message,
                edits=edits.if_editable(_moved, image_set, version),
                help=_hint(image_set.alias.family, version, context),
            )


def _hint(family: str, version: str | None, context: Context) -> str:
    if version is not None:
        return f"the newest published version is `{family}@{version}`"
    region = context.facts.region.name if context.facts.region is not None else ""
    return f"{region} has none of its SSM parameters: set --kubernetes-version if the cluster has another version"


def _moved(image_set: images.ImageSet, version: str | None) -> list[Edit]:
    return fixes.set_alias(image_set, image_set.alias.family, version) if image_set.alias and version else []
