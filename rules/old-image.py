"""A pinned image version is more than a year old, so it lacks all newer patches.

Nodes of an old image run with an old kernel, containerd and kubelet. EKS marks images as deprecated after some time
and removes them. Then nothing starts. Update a pin regularly, for example every month, by hand or with a tool that
opens a pull request.

The version of an alias, a name or an SSM parameter contains the date. For Bottlerocket, nodelint knows dates before
which older versions were published. nodelint counts the age to the date of its image facts, so that two runs of one
version of nodelint give the same result.

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: al2023@v20240807
```

```yaml good frame=bad
spec.amiSelectorTerms:
  - alias: al2023@v20260714
```
"""

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Suggestion,
    edits,
    fixes,
    images,
    messages,
    rule,
)


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["unsupported-alias", "ended-family", "deprecated-image", "no-image", "image-for-one-kubernetes"],
    options={"months": "an image is reported from this age on, in months"},
    subject="images",
    source="https://karpenter.sh/docs/tasks/managing-amis/",
)
def check(node_class: EC2NodeClass, context: Context, *, months: int = 12) -> Findings:
    image_set = context.images(node_class)
    if image_set.alias is not None:
        if image_set.alias_node is not None:
            alias = image_set.alias
            yield from _old(image_set.alias_node, alias.family, alias.version, image_set, context, months)
        return
    family = next((image.family for image in image_set.images if image.family is not None), None)
    for term in node_class.ami_terms:
        for key in ("name", "ssmParameter"):
            node = term.node.get(key)
            if family is not None and node is not None and isinstance(node.value, str):
                yield from _old(node, family, node.value, image_set, context, months)


def _old(node: Node, family: str, version: str, image_set: images.ImageSet, context: Context, least: int) -> Findings:
    day, today = images.published_by(family, version), images.provenance()[1]
    months = _months(day, today) if day is not None else 0
    if months < least or "*" in version:
        return
    newest = images.newest_known(family, context.kubernetes)
    changes = edits.if_editable(fixes.set_alias, image_set, family, newest) if image_set.alias and newest else []
    yield Finding(
        at=node,
        message=f"`{messages.short(version, 50)}` is from {day} or earlier: {months} months of patches are missing",
        note=f"the months end on {today}, the date of nodelint's image facts",
        help="pin a newer version, in one environment first: nodes drift to the new image",
        suggestions=[Suggestion(f"pin {family}@{newest}, the newest version known then", changes)] if changes else [],
    )


def _months(day: str, today: str) -> int:
    """Return the whole months from one day to another. Both days are `YYYY-MM-DD`."""
    (year, month, date), (to, its_month, its_date) = (
        [int(part) for part in time.split("-")] for time in (day, today)
    )
    return (to - year) * 12 + its_month - month - (its_date < date)
