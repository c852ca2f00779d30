r"""A pool lets Karpenter choose instance types of an architecture for which its class has no image.

Karpenter does not look at images when it chooses instance types. If a pool does not set the architecture, it allows
amd64 and arm64, and Graviton (arm64) is often cheaper. If the class has only an amd64 image, Karpenter drops the
arm64 types at the launch, after it planned with them. If none of the chosen types has an image, the launch fails
again and again with "no instance types satisfy requirements of amis", and pods stay Pending. It can happen if a pod
runs on both architectures, if Karpenter consolidates onto cheaper nodes, or if amd64 is out of capacity.

Most aliases have images for both architectures. Windows aliases have amd64 images only. If an image is selected by a
name or SSM parameter of AWS's own scheme, the name contains the architecture. An id, a tag or a custom name does not
contain it. Then nodelint reports that the architecture is not known. Set `kubernetes.io/arch` in the pool to state
it.

The fix limits the pool to the architectures of the class's images. It is safe, because Karpenter launches no node
without an image.

```yaml bad frame=pool+class
spec.template.spec.nodeClassRef:
  group: karpenter.k8s.aws
  kind: EC2NodeClass
  name: hardened
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
---
metadata.name: hardened
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - name: amazon-eks-node-al2023-x86_64-standard-1.31-v20250403
    owner: amazon
```

If the pool lists the architecture, the fix removes it from the list. The next class has Windows images.

```yaml bad frame=class+pool
metadata.name: windows
spec.amiSelectorTerms: [{alias: windows2022@latest}]
---
metadata.name: windows
spec.template.spec.taints: [{key: os, value: windows, effect: NoSchedule}]
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: windows}
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]} # both are cheap
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['4']}
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Safety,
    Suggestion,
    edits,
    fixes,
    images,
    keys,
    messages,
    requirement,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["wildcard-value", "value-of-another-key"],
    subject="images",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:228",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.class_ref is None:
        return
    resolution = context.resolution(pool)
    gaps = [gap for gap in resolution.unlaunchable if gap.kind == "arch"]
    if not gaps:
        yield from _unknown(resolution, is_asked=bool(context.facts))
    if any(gap.kind == "os" for gap in resolution.unlaunchable):
        yield _of_another_system(pool, resolution)
    for gap in gaps:
        unsure = fixes.doubts(resolution)
        if unsure:
            yield unsure[0].skip(f"whether the NodePool allows {gap.arch} types, for which the class has no image: ")
        else:
            yield _finding(pool, resolution, gap)


def _unknown(resolution: resolve.Resolution, *, is_asked: bool) -> Findings:
    """Yield a skip for an image of unknown architecture, if the pool allows several architectures."""
    served = {image.arch for image in resolution.images.known}
    if len(resolution.arches) > 1 and not served >= resolution.arches.keys():
        for unknown in resolution.images.unknown[:1]:
            way = f"set `{keys.ARCH}` in the NodePool" if resolution.node_class else "its images are not known"
            if unknown.fact is not None:
                way = f"; or {way}" if is_asked else f": {way}, or ask AWS with `nodelint refresh`"
                yield unknown.skip(suffix=way)
            else:
                yield unknown.skip(suffix=f": {way}")


def _of_another_system(pool: NodePool, resolution: resolve.Resolution) -> Finding:
    """Return the finding about Windows images in a class whose instance types count as Linux."""
    field = resolution.node_class.ami_family_node if resolution.node_class else None
    return Finding(
        at=fixes.place(pool),
        message="no instance type can launch: the class has Windows images, but its instance types count as Linux",
        also=[Also(field, f"amiFamily `{resolution.images.ami_family}` makes them Linux")] if field else [],
        help="remove amiFamily: it follows from the alias",
    )


def _finding(pool: NodePool, resolution: resolve.Resolution, gap: resolve.Unlaunchable) -> Finding:
    arch = gap.arch or ""
    count, total = len(gap.types), len(resolution.candidates)
    whole = count == total
    if whole:
        message = f"the class has no `{arch}` image, but all {total:,} allowed instance types are {arch}"
    else:
        message = f"the class has no `{arch}` image: {count:,} of {total:,} allowed instance types cannot launch"
    lines = [
        line
        for line in pool.requirements
        if isinstance(line.key, str) and requirement.normalize(line.key) == keys.ARCH
    ]
    listing = next((line for line in lines if line.operator == "In" and arch in line.texts), None)
    named = None
    if listing is not None:
        named = fixes.visible_node(next(value.node for value in listing.values if value.text == arch))
    serving = sorted({image.arch for image in resolution.images.known if image.arch is not None})
    safety: Safety = "unsafe" if whole else "safe"
    try:
        if whole:
            changes = _moved(resolution, listing, lines, serving)
        elif not resolution.varied_enough(resolution.candidates - gap.types):
            raise edits.NotEditable("minValues requires more instance types than the fix leaves")
        elif listing is not None:
            changes = fixes.take_out(listing, [arch])
        else:
            changes = fixes.require(pool, [(keys.ARCH, "In", tuple(serving))])
    except edits.NotEditable as error:
        changes = edits.NoEdits(error.reason)
    return Finding(
        at=named or fixes.place(pool),
        message=message,
        edits=changes,
        safety=safety,
        worse=whole,
        also=_terms(resolution),
        suggestions=_by_alias(resolution, arch),
        help=_other_way(resolution, gap),
    )


def _by_alias(resolution: resolve.Resolution, arch: str) -> list[Suggestion]:
    """Return suggestions to replace names and parameters of one architecture's images by an alias.

    An alias has an image for each architecture.
    """
    if resolution.node_class is None or resolution.images.alias is not None:
        return []
    try:
        alias, changes = fixes.alias_instead(resolution.node_class, resolution.images)
    except edits.NotEditable:
        return []
    has = alias.partition("@")[0] in images.aliases_with(arch, "standard", resolution.version, resolution.kubernetes)
    return [Suggestion(f"use the alias {alias}, which also has {arch} images", changes)] if has else []


def _moved(
    resolution: resolve.Resolution,
    listing: RequirementLine | None,
    lines: Sequence[RequirementLine],
    serving: Sequence[str],
) -> list[Edit]:
    """Return edits that set the architecture requirement to the class's architectures, if types remain;
    else empty.
    """
    if listing is None or len(lines) > 1 or (listing.min_values or 1) > len(serving):
        return []
    effect = next(line for line in resolution.lines if line.at is listing)
    of_class = resolution.catalog.having_value(keys.ARCH, *serving)
    return edits.set_values(listing.values_node, serving) if effect.without & of_class else []


def _terms(resolution: resolve.Resolution) -> list[Also]:
    """Return up to three places of the class's image terms, each with the architectures of its images."""
    found: dict[int, Also] = {}
    for image in resolution.images.known:
        same = [i for i in resolution.images.known if i.at is image.at]
        arches = " and ".join(sorted({i.arch or "" for i in same}))
        tagged = image.found if image.at.kind == "mapping" else None
        what = (
            f"`{messages.short(image.label, 60)}` is"
            if tagged is None
            else f"the newest with these tags, `{tagged.id}`, is"
        )
        found.setdefault(id(image.at), Also(image.at, f"{what} {arches} only"))
    return list(found.values())[:3]


def _other_way(resolution: resolve.Resolution, gap: resolve.Unlaunchable) -> str:
    """Return what to do instead of the fix: select an image. AWS has no Windows images for arm64."""
    family = resolution.images.ami_family or ""
    if family.startswith("Windows") and gap.arch != "amd64":
        return "AWS publishes Windows images only for amd64"
    if not gap.aliases:
        return f"you can also select an {gap.arch} image"
    alias = fixes.nearest_alias(gap.aliases, resolution.images.ami_family)
    return f"you can also select an {gap.arch} image, for example with the alias `{alias}`"
