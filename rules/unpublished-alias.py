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

from nodelint.ec2.questions import latest_version
from nodelint.edits import if_editable
from nodelint.karpenter.images import ImageSet
from nodelint.karpenter.selectors import check_region
from nodelint.lint.fixes import set_alias
from nodelint.lint.rule import Context, rule
from nodelint.model.finding import Edit, Finding, Findings
from nodelint.model.manifest import EC2NodeClass


@rule(on=EC2NodeClass, severity="error", fix="safe", gives_way_to=["unsupported-alias"], needs=("parameters",))
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    images = context.images(node_class)
    if images.alias is None:
        return
    check_region(context.pools(node_class), context.facts, "parameters")
    for term in images.terms:
        yield from term.skips()
    version = latest_version(images.alias.family, context.karpenter, context.kubernetes, context.facts)
    for problem in images.problems:
        if problem.kind == "unpublished":
            yield Finding(
                at=problem.at,
                message=problem.message,
                edits=if_editable(_moved, images, version),
                hint=_hint(images.alias.family, version, context),
            )


def _hint(family: str, version: str | None, context: Context) -> str:
    if version is not None:
        return f"the newest that is published is `{family}@{version}`"
    region = context.facts.region.name if context.facts.region is not None else ""
    return f"{region} has none of its SSM parameters; say another --kubernetes-version if that is not the cluster's"


def _moved(images: ImageSet, version: str | None) -> list[Edit]:
    return set_alias(images, images.alias.family, version) if images.alias and version else []
