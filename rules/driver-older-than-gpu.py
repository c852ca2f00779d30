"""A pinned image version has an NVIDIA driver that is older than the GPU of the pool's instance types needs.

The GPU of `g7` needs driver 595 or newer. These images have only an older driver:

- `al2023` before v20260917: the node joins, but its GPU stays unused. Pods that request a GPU stay Pending
- `bottlerocket` up to v1.62.1: the node does not boot, and Karpenter launches the next one
- `bottlerocket` up to v1.68.0 for Kubernetes 1.36 and older, if the Kubernetes version is known

The rule reports NodePools that name these types or allow no others. It ignores `latest`, which may be a newer image,
images that are selected by name or id, and classes whose user data installs a driver.

```yaml bad frame=pool+class
metadata.name: gpu
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, g7]}
---
spec.amiSelectorTerms: [{alias: al2023@v20260714}]
```

```yaml good frame=bad
---
spec.amiSelectorTerms: [{alias: al2023@v20260917}]
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Node,
    NodePool,
    fixes,
    images,
    keys,
    labels,
    pool_requirements,
    resolve,
    rule,
)

FAMILIES = ("g7",)
DRIVERS = {
    # What happens, the last version without the driver, and the newest Kubernetes for which that is known.
    "al2023": (("its GPU stays unused", "v20260916", None),),
    "bottlerocket": (("does not boot", "v1.62.1", None), ("does not boot", "v1.68.0", 36)),
}
FIRST = {"al2023": "v20260917"}


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "gpu-image-gap", "removed-api", "unsupported-alias", "no-image"],
    subject="GPUs",
    source=[
        "https://github.com/awslabs/amazon-eks-ami/pull/2747",
        "https://github.com/awslabs/amazon-eks-ami/issues/2768",
        "https://github.com/bottlerocket-os/bottlerocket/issues/4889",
        "https://github.com/bottlerocket-os/bottlerocket/pull/4946",
        "https://bottlerocket.dev/en/os/1.68.x/version-information/gpu-drivers/1.68.0/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.class_ref is None:
        return
    resolution = context.resolution(pool)
    alias, node = resolution.images.alias, resolution.images.alias_node
    meant = resolution.candidates & resolution.catalog.having_value(keys.FAMILY, *FAMILIES)
    happens = _find_lack(resolution, context) if meant else None
    script = resolution.node_class.user_data_node if resolution.node_class is not None else None
    if script is not None and labels.installs_driver(script.text, "nvidia"):
        return
    if alias is None or happens is None or fixes.doubts(resolution):
        return
    at = _find_named(pool)
    if at is None and resolution.candidates != meant:
        return
    names = ", ".join(f"`{family}`" for family in resolution.families(meant))
    first = FIRST.get(alias.family)
    yield Finding(
        at=at or fixes.place(pool),
        message=f"`{alias.family}@{alias.version}` has no NVIDIA driver for {names}: a node launches, but {happens}",
        also=[Also(node, "the NVIDIA driver of this image is older than 595")] if node is not None else [],
        help=f"use `{alias.family}@{first}` or newer, or exclude {names}"
        if first is not None
        else f"exclude {names}, or use an image with driver 595",
    )


def _find_lack(resolution: resolve.Resolution, context: Context) -> str | None:
    """Return what happens to a node of these types with the pinned image; None if the image has the driver, or may
    have it.
    """
    alias = resolution.images.alias
    own = images.version_order(alias.version) if alias is not None else None
    for happens, last, newest in DRIVERS.get(alias.family, ()) if alias is not None else ():
        least = images.version_order(last)
        of_kubernetes = newest is None or (context.kubernetes is not None and context.kubernetes.minor <= newest)
        if own is not None and least is not None and own <= least and of_kubernetes:
            return happens
    return None


def _find_named(pool: NodePool) -> Node | None:
    """Return the value that names one of these families or types; None if no value does."""
    for item in pool_requirements.requirements_of(pool):
        if item.key in (keys.FAMILY, keys.INSTANCE_TYPE) and item.operator == "In":
            for value in item.values:
                if str(value.text).partition(".")[0] in FAMILIES:
                    return fixes.visible_node(value.node)
    return None
