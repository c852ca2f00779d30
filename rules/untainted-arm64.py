r"""A NodePool has arm64 nodes only, and no taint, label or name keeps away pods with amd64 images.

A pod that does not select an architecture fits these nodes like any others. It runs on a node with room, whichever
pool it was started for. If Karpenter tries the arm64 pool first, by its weight or its name, it starts an arm64 node
for the pod. A container image that is built only for amd64 then fails with `exec format error`. With a taint, only
pods that tolerate it run there. If all images are built for both architectures, you need no taint.

The finding names the pools of amd64 nodes in the file or its folder that the same pods fit, and says which of them
Karpenter tries first. While those have room and capacity, pods start there. But pods can still run on arm64 nodes
that already exist.

```yaml bad frame=pool+pool
metadata.name: x86
---
metadata.name: graviton
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```

```yaml good frame=bad
---
spec.template.spec.taints: [{key: arch, value: arm64, effect: NoSchedule}]
```

The rule also reports a tainted pool of arm64 nodes if its name, taints and labels do not mention arm64, such as
`spot` or `team-a`.

Karpenter does not know container images. A pod that tolerates such a taint wants spot capacity or the nodes of a
team, but gets arm64. If its image is built only for amd64, it fails with `exec format error`. A pod that selects
amd64 stays Pending.

The rule reports nothing if the same folder holds a NodePool with the same taints that may launch amd64 types. If the
pool lists its instance types or families, somebody chose arm64 for these pods: only `--select` and `--extend-select`
show the finding.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
spec.template.spec.taints:
  - {key: team, value: a, effect: NoSchedule}
```

```yaml good frame=bad
spec.template.spec.taints:
  - {key: team, value: a, effect: NoSchedule}
  - {key: kubernetes.io/arch, value: arm64, effect: NoSchedule}
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RuleCheck,
    fixes,
    keys,
    labels,
    messages,
    pool_requirements,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "removed-api", "image-arch-mismatch"],
    providers=["aws", "auto-mode"],
    renamed=("arm64-only",),
    subject="pools",
    source=[
        "https://karpenter.sh/docs/concepts/scheduling/",
        "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    yield from run_checks(pool, context, RuleCheck(_check_untainted), RuleCheck(_check_unnamed))


TELLING = (keys.ARCH, keys.FAMILY, keys.INSTANCE_TYPE, keys.SIZE, keys.CPU_MANUFACTURER)
"""Keys by which a NodePool can select only arm64 types."""


def _check_untainted(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    if (
        own is None
        or own
        or pool.partial
        or not any(item.key in TELLING for item in pool_requirements.requirements_of(pool))
    ):
        return
    mine = context.resolution(pool)
    if tuple(mine.arches) != ("arm64",) or not resolve.comparable(mine):
        return
    pools = [other for other in context.cluster_pools(pool) if resolve.taints(other) == own]
    alike = sorted(
        (other for other in pools if _alike(mine, context.resolution(other))), key=resolve.turn, reverse=True
    )
    yield Finding(
        at=pool.name_node,
        message=_message(pool, alike),
        also=[
            Also(
                other.name_node,
                f"Karpenter tries this amd64 pool {_order_text(other, pool)} the arm64 one",
            )
            for other in alike
        ],
        help="unless all images are built for both architectures, add a taint to this pool",
    )


def _message(pool: NodePool, alike: list[NodePool]) -> str:
    if alike and resolve.turn(alike[0]) < resolve.turn(pool):
        return f"pods that select no architecture start on these arm64 nodes before those of `{_name(alike[0])}`"
    if alike:
        return f"pods that select no architecture can start on these arm64 nodes or on those of `{_name(alike[0])}`"
    return "the arm64 nodes have no taint: pods that select no architecture fit them, even with amd64 images"


def _name(pool: NodePool) -> str:
    return messages.short(str(pool.name), 30)


def _order_text(other: NodePool, pool: NodePool) -> str:
    return "after" if resolve.turn(other) < resolve.turn(pool) else "before"


def _alike(mine: resolve.Resolution, other: resolve.Resolution) -> bool:
    """Return whether the other pool has only amd64 nodes, and pods that select no architecture fit both pools."""
    return tuple(other.arches) == ("amd64",) and resolve.same_pods(mine, other)


WORDS = frozenset({"arm", "arm64", "aarch64", "graviton"})


def _check_unnamed(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None or not pool.taints or _says_so(pool):
        return
    resolution = context.resolution(pool)
    if tuple(resolution.arches) != ("arm64",) or fixes.doubts(resolution):
        return
    if any(context.interchangeable_pools(pool, "amd64")):
        return
    line = pool_requirements.find_last_requirement(pool, keys.ARCH)
    chosen = any(
        item.key in (keys.FAMILY, keys.INSTANCE_TYPE) and item.operator == "In"
        for item in pool_requirements.requirements_of(pool)
    )
    yield Finding(
        at=pool_requirements.values_at(line) if line is not None else fixes.place(pool),
        message="all nodes are arm64: a container image without a build for arm64 does not start on them",
        on_request=chosen,
        note="neither the name nor a taint of the pool mentions arm64",
        help="add a taint that names arm64, rename the pool, or allow amd64 as well",
    )


def _says_so(pool: NodePool) -> bool:
    texts = [pool.name, *(text for taint in pool.taints for text in (taint.key, taint.value))]
    texts += [text for label in pool.template_labels for text in (label.key, label.value)]
    written = "/".join(text for text in texts if isinstance(text, str)).replace("/", "-")
    return any(word in WORDS or word == "arch" for word in labels.words_of(written))
