r"""The image that Karpenter takes is deprecated: whoever made it wants it replaced, and may soon remove it.

AWS deprecates the images that EKS publishes after some time, and a pipeline can set a time for its own. A deprecated
image still launches; once it is deregistered, nothing does. Karpenter from 1.1.0 on takes deprecated images only
where nothing else matches, so this says that a selector, an id or an alias version is out of date. (1.0.x does not
find deprecated images of other accounts and of Amazon, but for an alias at latest from 1.0.7 on: see no-image. Your
own it ranks as all others.)

An alias is moved to the newest version by the fix. That replaces nodes, so it is unsafe.

```yaml facts
images:
  - {id: ami-0a1, name: golden-al2023-7, created: 2024-11-01, deprecated: 2026-11-01, tags: {team: platform}}
  - {id: ami-0a2, name: golden-al2023-8, created: 2026-11-01, tags: {team: nodes}}
```

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: golden}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - tags: {team: platform}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: golden}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - tags: {team: nodes}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml facts
parameters:
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/latest/image_id: ami-0b2
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.50.0/image_id: ami-0b2
  /aws/service/bottlerocket/aws-k8s-1.33/x86_64/1.30.0/image_id: ami-0b1
images:
  - {id: ami-0b2, name: bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-5d2f1c3a, owner: amazon}
  - id: ami-0b1
    name: bottlerocket-aws-k8s-1.33-x86_64-v1.30.0-a1b2c3d4
    owner: amazon
    created: 2024-11-01
    deprecated: 2026-11-01
```

```yaml bad kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: bottlerocket@v1.30.0}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good kubernetes=1.33
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: bottlerocket@v1.50.0}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from nodelint.ec2.questions import latest_version
from nodelint.ec2.snapshot import MachineImage
from nodelint.edits import if_editable
from nodelint.karpenter.images import ImageSet, is_deprecated
from nodelint.karpenter.selectors import check_region
from nodelint.lint.fixes import set_alias
from nodelint.lint.rule import Context, rule
from nodelint.model.finding import Also, Edit, Finding, Findings
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.messages import first_fitting, short


@rule(on=EC2NodeClass, severity="warning", fix="unsafe", needs=("images",))
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    check_region(context.pools(node_class), context.facts, "images")
    images = context.images(node_class)
    told: list[MachineImage] = []
    for term in images.terms:
        yield from term.skips()
        ready = [image for image in term.used if image.state == "available" and image not in told]
        old = [image for image in ready if is_deprecated(image, context.facts.now)]
        if not old:
            continue
        told += old
        first = old[0]
        since = (first.deprecated or "")[:10]
        yield Finding(
            at=term.node,
            message=first_fitting(
                f"`{short(first.name, 40)}` ({first.id}) is deprecated since {since}",
                f"`{first.id}` is deprecated since {since}",
            ),
            edits=if_editable(_moved, images, context),
            also=[
                Also(term.node, f"`{i.name}` ({i.id}), deprecated since {(i.deprecated or '')[:10]}") for i in old[1:]
            ],
            hint=_hint(images),
        )


def _hint(images: ImageSet) -> str:
    if images.alias is not None:
        return "pin a newer version, and try it first"
    return "it launches until it is deregistered; select, or build, a newer one"


def _moved(images: ImageSet, context: Context) -> list[Edit]:
    """The alias at the newest version, where that is known."""
    if images.alias is None or images.alias.version == "latest":
        return []
    version = latest_version(images.alias.family, context.karpenter, context.kubernetes, context.facts)
    if version is None or version == images.alias.version:
        return []
    return set_alias(images, images.alias.family, version)
