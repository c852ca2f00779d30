r"""A pool allows GPU or accelerator types, but the alias of its class has no image for them.

An alias stands for several images, one for each architecture and kind of accelerator. Not all combinations exist:

- `al2` has no image for arm64 with a GPU (g5g) in any release
- `al2023` has one from Karpenter 1.4.0 and image version v20250403 on
- `bottlerocket` has none for Neuron (inf, trn) in Karpenter 1.1.0 to 1.2.1

Karpenter never launches types without an image. If the pool allows no other types, the launch fails. If the pool is
not meant for these types, the fix excludes them. This fix is safe, because Karpenter launches no node without an
image. If the pool is meant for them (it names them, or requires GPUs by label or taint), the class needs an alias
that has the image.

Karpenter uses an image that is selected by name for every type of its architecture. A standard image then boots on a
GPU type but has no driver for it. The rule also reports this for arm64 images, for pools that are meant for GPUs or
Neuron, and if a workload of the repository requests GPUs and fits only such pools. It reports nothing if the class's
user data installs a driver.

```yaml bad frame=pool+class kubernetes=1.30
metadata.name: arm
spec.template.spec.nodeClassRef:
  group: karpenter.k8s.aws
  kind: EC2NodeClass
  name: al2
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values:
    - "4"
  - key: kubernetes.io/arch
    operator: In
    values:
    - arm64
---
metadata.name: al2
spec.amiSelectorTerms:
  - alias: al2@v20250123
```

The next pool is meant for these types:

```yaml bad frame=class+pool
metadata: {name: gpu}
spec.amiSelectorTerms: [{alias: "al2@latest"}]
---
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g4dn, g5g]}
```

The next release has no image for Neuron on Bottlerocket:

```yaml bad frame=pool+class karpenter=1.2.1
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist}
  - key: kubernetes.io/arch
    operator: In
    values: [amd64]
---
spec.amiSelectorTerms: [{alias: bottlerocket@v1.36.0}]
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    TypeSet,
    cluster_objects,
    edits,
    fit,
    fixes,
    images,
    keys,
    labels,
    manifest,
    messages,
    questions,
    requirement,
    resolve,
    rule,
    type_set,
)

COUNTS = {"nvidia": keys.GPU_COUNT, "neuron": keys.ACCELERATOR_COUNT}
WORDS = {"nvidia": "GPUs", "neuron": "accelerators"}
# Taints that keep other pods off such nodes: nvidia.com/gpu, aws.amazon.com/neuron, or one's own of that name.
RESOURCES = {"nvidia": ("nvidia.com/gpu",), "neuron": ("aws.amazon.com/neuron", "aws.amazon.com/neuroncore")}
TAINTS = {"nvidia": r"gpu|nvidia", "neuron": r"neuron|inferentia|trainium|accelerator"}


@rule(
    on=NodePool,
    group="correctness",
    fix="unsafe",
    gives_way_to=["wildcard-value"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    resolution = context.resolution(pool)
    for gap in resolution.unlaunchable:
        if gap.kind == "variant" and gap.variant in COUNTS:
            unsure = fixes.doubts(resolution)
            if unsure:
                yield unsure[0].skip(f"whether the NodePool allows {gap.arch} types with {WORDS[gap.variant]}: ")
            else:
                yield _gap(pool, context, gap, gap.variant)
    yield from _without_driver(pool, resolution, context)


def _gap(pool: NodePool, context: Context, gap: resolve.Unlaunchable, variant: str) -> Finding:
    resolution = context.resolution(pool)
    image_set = resolution.images
    family = image_set.alias.family if image_set.alias else "alias"
    types = _types(resolution, gap.types)
    message = f"`{family}` has no image for {gap.arch} {WORDS[variant]}: {types} cannot launch"
    also = [Also(image_set.alias_node, "this selects the images")] if image_set.alias_node is not None else []
    meant = _find_gpu_intent(pool, resolution, gap.types, variant)
    whole = not resolution.candidates - gap.types
    ways = _ways_out(resolution, gap, context)
    if meant is None:
        return Finding(
            at=fixes.place(pool),
            message=message,
            severity="warning",
            worse=whole,
            edits=_kept_out(pool, resolution, gap.types, variant),
            safety="safe",
            also=also,
            help=f"if you need {types}, {', or '.join(ways)}" if ways else None,
        )
    changes, moves = _moves(resolution, gap, context, ways)
    if changes:
        ways[0] = "you can also exclude these types from the pool"
    out = _taken_out(pool, resolution, gap.types, variant)
    return Finding(
        at=meant,
        message=message,
        worse=whole,
        edits=changes,
        also=also,
        help=", ".join(ways) or None,
        suggestions=[*([Suggestion(f"exclude {types} from the pool", out)] if out else []), *moves],
    )


def _moves(
    resolution: resolve.Resolution, gap: resolve.Unlaunchable, context: Context, ways: list[str]
) -> tuple[list[Edit], list[Suggestion]]:
    """Return the edits to an alias that has the image, and suggestions of other such edits.

    If there is none, the reason is added to `ways`.
    """
    node_class, image_set = resolution.node_class, resolution.images
    if node_class is None or image_set.alias is None or not gap.aliases:
        return [], []
    runs = gap.types | type_set.union(context.resolution(other).launchable for other in context.pools(node_class))
    served = {alias: fixes.served_by(alias, resolution.catalog, resolution.version) for alias in gap.aliases}
    enough = [alias for alias in gap.aliases if not runs - served[alias]]
    if not enough:
        ways.append("fix it by hand: no alias has images for all instance types of the class's pools")
        return [], []
    alias = fixes.nearest_alias(enough)
    version = _version(image_set, gap, alias, context)
    try:
        changes = fixes.move_alias(node_class, image_set, alias, version) if version else []
    except edits.NotEditable as error:
        ways.append(f"fix it by hand: {error.reason}")
        changes = []
    found = []
    for family in enough:
        newest = _newest(image_set, gap, family, context)
        moved = edits.if_editable(fixes.move_alias, node_class, image_set, family, newest or "", any_script=True)
        if newest and moved and moved != changes:
            found.append(Suggestion(f"use {family}@{newest}, which has the image", moved))
    return changes, found


def _newest(image_set: images.ImageSet, gap: resolve.Unlaunchable, family: str, context: Context) -> str | None:
    """Return `latest` if the class uses `latest`, else the newest known version of a family that has the image.

    None if no version is known.
    """
    if image_set.alias is None or image_set.alias.version == "latest":
        return "latest"
    known = questions.latest_version(family, context.karpenter, context.kubernetes, context.facts)
    version = known or images.newest_known(family, context.kubernetes)
    first = images.first_published(family, gap.arch or "", gap.variant or "")
    return version if version is not None and (first is None or first <= version) else None


def _taken_out(pool: NodePool, resolution: resolve.Resolution, types: TypeSet, variant: str) -> list[Edit]:
    """Return edits that exclude the types from a pool: from the lists that name them, else by a requirement.

    Empty if no type would remain.
    """
    if not resolution.candidates - types:
        return []
    for line in pool.requirements:
        key = requirement.normalize(str(line.key))
        if not line.known or line.operator != "In" or key not in (keys.FAMILY, keys.INSTANCE_TYPE):
            continue
        of_values = {str(value.text): resolution.catalog.having_value(key, str(value.text)) for value in line.values}
        out = {text: types & resolution.candidates for text, types in of_values.items()}
        dead = [str(text) for text, left_types in out.items() if left_types and not left_types - types]
        if dead and type_set.union(out[text] for text in dead) == types:
            return edits.if_editable(fixes.take_out, line, dead)
    return _kept_out(pool, resolution, types, variant)


def _version(image_set: images.ImageSet, gap: resolve.Unlaunchable, family: str, context: Context) -> str | None:
    """Return `latest` if the class follows it, else a version of the family: of its own, the first with the image.

    None if the class pins its version and none of another family is known.
    """
    if image_set.alias is None or image_set.alias.version == "latest":
        return "latest"
    if image_set.alias.family == family:
        return images.first_published(family, gap.arch or "", gap.variant or "")
    return questions.latest_version(family, context.karpenter, context.kubernetes, context.facts)


def _find_gpu_intent(pool: NodePool, resolution: resolve.Resolution, types: TypeSet, variant: str) -> Node | None:
    """Return the node that shows that the pool is for these types: a value or label that names them, or a taint.

    If the pool allows only these types, return the node of its requirements. None if the pool is not for them.
    """
    names = {*resolution.catalog.names_in(types), *resolution.families(types)}
    word = COUNTS[variant].removesuffix("count")
    for line in resolution.lines:
        if not line.known or line.requirement is None or line.requirement.absent_allowed:
            continue
        if requirement.normalize(line.key) in (keys.FAMILY, keys.INSTANCE_TYPE) and line.operator == "In":
            node = _value(line, names)
            if node is not None:
                return node
        if line.key.startswith(word):
            return fixes.visible_node(line.at.key_node)
    for taint in pool.taints:
        if isinstance(taint.key, str) and re.search(TAINTS[variant], taint.key, re.IGNORECASE):
            return taint.node.get("key")
    return fixes.place(pool) if types == resolution.candidates else None


def _value(line: resolve.LineEffect, names: set[str]) -> Node | None:
    if isinstance(line.at, manifest.Label):
        return line.node if line.at.value in names else None
    return next((fixes.visible_node(value.node) for value in line.at.values if value.text in names), None)


def _kept_out(pool: NodePool, resolution: resolve.Resolution, types: TypeSet, variant: str) -> list[Edit]:
    """Return edits with a requirement that excludes exactly these types; empty if minValues then cannot be met."""
    if not resolution.varied_enough(resolution.candidates - types):
        return []
    count = COUNTS[variant]
    families = resolution.families(types)
    of_families = resolution.catalog.having_value(keys.FAMILY, *families)
    exact = of_families & resolution.candidates == types
    try:
        if exact and len(families) <= 2:
            return fixes.keep_out(pool, keys.FAMILY, families)
        if resolution.catalog.having(count) & resolution.candidates == types:
            return fixes.require(pool, [(count, "DoesNotExist", ())])
        if exact:
            return fixes.keep_out(pool, keys.FAMILY, families)
        return fixes.keep_out(pool, keys.INSTANCE_TYPE, resolution.catalog.names_in(types))
    except edits.NotEditable:
        return []


def _ways_out(resolution: resolve.Resolution, gap: resolve.Unlaunchable, context: Context) -> list[str]:
    """Return the alias that has the image, and the release in which the present alias has it."""
    family = fixes.nearest_alias(gap.aliases) if gap.aliases else ""
    version = _version(resolution.images, gap, family, context)
    named = f"`{family}@{version}`" if version else f"a pinned version of `{family}`"
    ways = [f"use {named}, which has the image"] if family else []
    if gap.since is not None and gap.since > resolution.version and resolution.images.alias:
        ways.append(f"upgrade to Karpenter {gap.since} to use the image of `{resolution.images.alias.family}`")
    return ways


def _types(resolution: resolve.Resolution, types: TypeSet) -> str:
    """Return families in words: `g5g`, or the first three and the number of others."""
    return messages.list_first([f"`{family}`" for family in resolution.families(types)], 3)


def _installs(resolution: resolve.Resolution, variant: str) -> bool:
    """Return whether the class's user data installs the driver."""
    script = resolution.node_class.user_data_node if resolution.node_class is not None else None
    return script is not None and labels.installs_driver(script.text, variant)


def _without_driver(pool: NodePool, resolution: resolve.Resolution, context: Context) -> Findings:
    """Yield a finding for a standard image selected by name or parameter, which Karpenter also uses for GPU types.

    It is reported for pools that are for GPUs, for workloads with GPUs that only fit such pools, and for arm64,
    because `g5g` is easily overlooked.
    """
    if fixes.doubts(resolution):
        return
    for variant, image, without in _find_driverless(resolution):
        meant = _find_gpu_intent(pool, resolution, without, variant)
        asking = _find_asking(pool, variant, context) if meant is None else None
        if meant is None and asking is None and image.arch != "arm64":
            continue
        driver = "GPU" if variant == "nvidia" else "Neuron"
        wanted = meant is not None or asking is not None
        ways = _list_ways_by_alias(resolution, variant, image.arch or "") if wanted else []
        if meant is not None and (out := _taken_out(pool, resolution, without, variant)):
            ways.insert(0, Suggestion(f"exclude {_types(resolution, without)} from the pool", out))
        other = ", or install the driver with the GPU operator" if variant == "nvidia" else ""
        shown = messages.short(image.found.name if image.found else image.label, 60)
        also = [Also(image.at, f"a standard image: `{shown}`")]
        if asking is not None:
            also.append(Also(asking.name_node, f"asks for {WORDS[variant]}, and no pool with a driver accepts it"))
        yield Finding(
            at=meant or fixes.place(pool),
            message=f"the standard {image.arch} image has no {driver} driver for {_types(resolution, without)}",
            severity="warning",
            worse=not resolution.candidates - without,
            edits=[] if wanted else _kept_out(pool, resolution, without, variant),
            safety="unsafe",
            also=also,
            help=f"select the image for {WORDS[variant]} as well, or use an alias{other}",
            suggestions=ways,
        )


def _find_driverless(resolution: resolve.Resolution) -> Iterator[tuple[str, images.Image, TypeSet]]:
    """Yield each kind of device with the standard image that types with it get, and these types."""
    image_set = resolution.images
    if not image_set.complete or image_set.alias is not None:
        return
    for image, types in zip(image_set.images, resolution.types_by_image, strict=True):
        same = [other for other in image_set.images if other.arch == image.arch]
        if image.family is None or any(other.variants != ("standard",) for other in same):
            continue
        for variant, count in COUNTS.items():
            without = types & resolution.catalog.having(count)
            # The standard image of Bottlerocket is the one for Neuron.
            has_driver = variant == "neuron" and image.family == "bottlerocket"
            if without and not has_driver and not _installs(resolution, variant):
                yield variant, image, without


def _find_asking(pool: NodePool, variant: str, context: Context) -> "cluster_objects.Workload | None":
    """Return a workload that requests such a device and fits only types without its driver; None if there is none."""
    for obj in context.objects if not context.pools_elsewhere else ():
        if not isinstance(obj, cluster_objects.Workload) or obj.is_daemon or obj.partial:
            continue
        if not any(resource in RESOURCES[variant] for resource in fit.requests_of(obj)):
            continue
        found = context.fit(obj)
        taking = [verdict for verdict in found.verdicts if verdict.fits]
        if found.elsewhere or found.unknown or not any(verdict.pool.pool is pool for verdict in taking):
            continue
        if not any(verdict.types - _list_driverless(verdict.pool.resolution, variant) for verdict in taking):
            return obj
    return None


def _list_driverless(resolution: resolve.Resolution, variant: str) -> TypeSet:
    return type_set.union(types for kind, _, types in _find_driverless(resolution) if kind == variant)


def _list_ways_by_alias(resolution: resolve.Resolution, variant: str, arch: str) -> list[Suggestion]:
    """Return a suggestion to replace a standard image by an alias that also has an image with the driver."""
    if resolution.node_class is None:
        return []
    try:
        alias, changes = fixes.alias_instead(resolution.node_class, resolution.images)
    except edits.NotEditable:
        return []
    family, _, version = alias.partition("@")
    first = images.first_published(family, arch, variant)
    has = family in images.aliases_with(arch, variant, resolution.version, resolution.kubernetes)
    if not has or not (version == "latest" or first is None or first <= version):
        return []
    return [Suggestion(f"select the images by the alias {alias}, which has one for each kind", changes)]
