r"""Karpenter uses a deprecated image: its owner wants it replaced and may soon remove it.

AWS deprecates the images that EKS publishes after some time. A pipeline can set such a time for your own images. A
deprecated image still launches. After the owner deregisters it, nothing launches. Karpenter 1.1.0 and newer use a
deprecated image only if no other image matches, so the selector, id or alias version is out of date. Karpenter 1.0.x
finds no deprecated images of other accounts and of Amazon, except for an alias at `latest` from 1.0.7 on: see
no-image. It treats your own deprecated images like all others.

For an alias, the fix writes the newest version. It is unsafe because Karpenter replaces nodes.

```yaml facts
images:
  - {id: ami-0a1, name: golden-al2023-7, created: 2024-11-01, deprecated: 2026-11-01, tags: {team: platform}}
  - {id: ami-0a2, name: golden-al2023-8, created: 2026-11-01, tags: {team: nodes}}
```

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - tags: {team: platform}
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - tags: {team: nodes}
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

```yaml bad frame=class kubernetes=1.33
spec.amiSelectorTerms: [{alias: bottlerocket@v1.30.0}]
```
"""

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Edit,
    Finding,
    Findings,
    edits,
    fixes,
    images,
    messages,
    questions,
    rule,
    selectors,
    snapshot,
)


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    needs=("images",),
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:173",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ami-deprecate.html",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    selectors.check_region(context.pools(node_class), context.facts, "images")
    image_set = context.images(node_class)
    reported: list[snapshot.MachineImage] = []
    for term in image_set.terms:
        yield from term.skips()
        ready = [image for image in term.used if image.state == "available" and image not in reported]
        old = [image for image in ready if images.is_deprecated(image, context.facts.now)]
        if not old:
            continue
        reported += old
        first = old[0]
        since = (first.deprecated or "")[:10]
        yield Finding(
            at=term.node,
            message=messages.first_fitting(
                f"`{messages.short(first.name, 60)}` ({first.id}) has been deprecated since {since}",
                f"`{first.id}` has been deprecated since {since}",
            ),
            edits=edits.if_editable(_moved, image_set, context),
            also=[
                Also(term.node, f"`{i.name}` ({i.id}), deprecated since {(i.deprecated or '')[:10]}") for i in old[1:]
            ],
            note="nodes launch from it until it is deregistered",
            help=_hint(image_set),
        )


def _hint(image_set: images.ImageSet) -> str:
    if image_set.alias is not None:
        return "pin a newer version, after a test"
    return "select a newer image, or build one"


def _moved(image_set: images.ImageSet, context: Context) -> list[Edit]:
    """Return edits that set the alias to its newest version; empty if this version is not known."""
    if image_set.alias is None or image_set.alias.version == "latest":
        return []
    version = questions.latest_version(image_set.alias.family, context.karpenter, context.kubernetes, context.facts)
    if version is None or version == image_set.alias.version:
        return []
    return fixes.set_alias(image_set, image_set.alias.family, version)
