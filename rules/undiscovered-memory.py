r"""Karpenter before 1.4.0 can record the wrong image for a node, and then never learns the real memory of the node.

An alias such as `bottlerocket@v1.36.0` stands for several images: with and without GPU support, for both
architectures. When a node has joined, Karpenter 1.1 to 1.3 records how much memory its type really has with its
image. It looks up the image by the requirements of the NodeClaim and uses the first one that they do not exclude. If
the pool says nothing about GPUs, that can be the GPU image. Karpenter then treats the real image as outdated and
records nothing. It keeps to the estimate, which `vmMemoryOverheadPercent` sets (7.5 % less than the type has, by
default). If that is too much, a part of large nodes stays unused. If it is too little, a new node is too small for
the waiting pod. (1.0 records nothing at all. For 1.0, the rule only reports what the upgrade brings.)

1.4.0 uses the labels of the node. Until then, the requirements that the fix adds make the match unique. The fix is
safe if they exclude no instance type. Otherwise it is unsafe, because Karpenter replaces running nodes of those
types. If a pool names both architectures, or types of both, use one pool for each, or 1.4.0. The rule does not report
pools that have a requirement about GPUs or that require accelerators.

```yaml bad frame=pool+class karpenter=1.3.3
spec.template.spec.nodeClassRef:
  group: karpenter.k8s.aws
  kind: EC2NodeClass
  name: bottlerocket
spec.template.spec.requirements:
  - key: kubernetes.io/arch
    operator: In
    values: [amd64]
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: [c, m, r]
---
metadata.name: bottlerocket
spec.amiSelectorTerms:
  - alias: bottlerocket@1.32.0-cacc4ce9
```

```yaml bad frame=pool+class karpenter=1.2.3
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i]}
```
"""

from __future__ import annotations

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    TypeSet,
    edits,
    fixes,
    images,
    keys,
    releases,
    requirement,
    resolve,
    rule,
)

DEFECT = "undiscovered-memory"
GPU, ACCELERATOR = "karpenter.k8s.aws/instance-gpu-", "karpenter.k8s.aws/instance-accelerator-"
GENERATION = "karpenter.k8s.aws/instance-generation"


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    fix="unsafe",
    releases=">=1.1.0,<1.4.0",
    gives_way_to=["wildcard-value"],
    renamed=("loose-image-match",),
    subject="images",
    source=[
        "provider:pkg/controllers/providers/instancetype/capacity/controller.go@v1.3.0:54",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    resolution = context.resolution(pool)
    image_set, by_image = resolution.images, resolution.types_by_image
    taken = [index for index, types in enumerate(by_image) if types & resolution.image_mixups.types]
    if image_set.alias is None or image_set.alias_node is None or not taken or _states_gpus(resolution):
        return
    unsure = fixes.doubts(
        resolution, (keys.ARCH, keys.INSTANCE_TYPE, keys.FAMILY, keys.GPU_COUNT, keys.ACCELERATOR_COUNT)
    )
    if unsure:
        yield unsure[0].skip(f"whether nodes match only one image of `{image_set.alias.family}`: ")
        return
    main = max(taken, key=lambda index: len(by_image[index]))
    matching = [
        image_set.images[index] for index in (main, *(i for i in resolution.image_mixups.possible if i != main))
    ]
    known = not fixes.doubts(resolution)
    matches = f"`{_example(resolution, by_image[main])}` matches" if known else "the types of this pool match"
    release = releases.fixed_for(DEFECT, context.karpenter)
    wanted, otherwise = _unique(resolution, main)
    try:
        # A fix that leaves two architectures would take the message away, and not the cause.
        whole = bool(wanted) and not otherwise and _varied(resolution, wanted)
        changes = fixes.require(pool, wanted) if whole else []
    except edits.NotEditable as error:
        changes = edits.NoEdits(error.reason)
    runs = resolution.launchable
    sure = known and _left(resolution, runs, wanted) == runs
    yield Finding(
        at=fixes.place(pool),
        message=f"Karpenter before {release} can record the wrong image for a node: the memory of new nodes stays an"
        " estimate",
        edits=changes,
        safety="safe" if sure else "unsafe",
        also=[Also(image_set.alias_node, "this alias selects several images")],
        once=True,
        note=f"{matches} {len(matching)} images ({_listed(matching)}), and the node's real memory is never recorded",
        help=f"upgrade to Karpenter {release}" + (f", or use {otherwise}" if otherwise else ""),
    )


def _states_gpus(resolution: resolve.Resolution) -> bool:
    """Return whether the pool states whether it uses GPUs: it has a requirement on GPUs, or it requires
    accelerators.
    """
    return any(
        line.key.startswith(GPU)
        or (line.key.startswith(ACCELERATOR) and line.requirement and not line.requirement.absent_allowed)
        for line in resolution.lines
    )


def _listed(image_set: list[images.Image]) -> str:
    """Return a text with the architecture and the variant of each image: `amd64, amd64 nvidia`.

    The standard variant is not written.
    """
    words = []
    for image in image_set:
        variant = "" if image.variants[0] == "standard" else f" {image.variants[0]}"
        words.append(f"{image.arch}{variant}")
    return ", ".join(words)


def _example(resolution: resolve.Resolution, types: TypeSet) -> str:
    """Return an example of an instance type of the newest generation in a set: the cheapest `xlarge`, else the
    cheapest type.
    """
    catalog = resolution.catalog
    by_age = sorted(catalog.values(GENERATION).items(), key=lambda family_types: -int(family_types[0] or 0))
    newest = next((left for _, of in by_age if (left := of & types)), types)
    return min(
        catalog.names_in(newest),
        key=lambda name: (not name.endswith(".xlarge"), catalog.prices.on_demand(name) or float("inf"), name),
    )


def _unique(resolution: resolve.Resolution, main: int) -> tuple[list[fixes.Wanted], str]:
    """Return the requirements after which the nodes of an image match only this image, and what else to do if these
    do not suffice.

    A requirement that excludes an architecture, a family or a type that the pool lists is not returned.
    """
    wanted = resolution.image_mixups.requirements_for(main)
    if wanted is None:
        mixed = all(
            resolution.catalog.having(key) & resolution.types_by_image[main]
            for key in (keys.GPU_COUNT, keys.ACCELERATOR_COUNT)
        )
        return [], "separate pools for GPUs and for accelerators" if mixed else ""
    lost = [
        question for question in wanted if any(_shuts_out(resolution, question, line) for line in resolution.lines)
    ]
    if any(key != keys.ARCH for key, _, _ in lost):
        return [], "a separate pool for types with a GPU"
    return [question for question in wanted if question not in lost], "one pool for each architecture" if lost else ""


def _shuts_out(resolution: resolve.Resolution, wanted: fixes.Wanted, line: resolve.LineEffect) -> bool:
    """Return whether a requirement excludes instance types of an architecture, a family or a type that a line of the
    pool lists.
    """
    key = requirement.normalize(line.key)
    if (
        line.operator != "In"
        or key not in (keys.ARCH, keys.FAMILY, keys.INSTANCE_TYPE)
        or (key == keys.ARCH and wanted[0] != keys.ARCH)
    ):
        return False
    types = line.kept & resolution.candidates
    return bool(types - _left(resolution, types, [wanted]))


def _varied(resolution: resolve.Resolution, wanted: list[fixes.Wanted]) -> bool:
    """Return whether the pool still meets each minValues with these requirements."""
    return resolution.varied_enough(_left(resolution, resolution.candidates, wanted))


def _left(resolution: resolve.Resolution, types: TypeSet, wanted: list[fixes.Wanted]) -> TypeSet:
    """Return the instance types of a set that meet the requirements."""
    for key, operator, values in wanted:
        types &= resolution.catalog.select(requirement.Requirement.parse(key, operator, values))
    return types
