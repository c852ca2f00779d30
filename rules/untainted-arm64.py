r"""A NodePool of arm64 nodes only, and no taint, label or name keeps away pods whose images are built for amd64.

A NodePool of arm64 nodes without a taint: pods whose images are built for amd64 alone end there, too.

A pod that says nothing about the architecture fits these nodes like any others. It runs on one that has room,
whichever pool it was started for, and where the arm64 pool is tried first, by its weight or by its name, a node is
started for it there. A container image that is built for amd64 alone then ends with `exec format error`. A taint on
the arm64 pool lets in only pods that tolerate it. Where all images are built for both, nothing is wrong.

The finding names the pools of amd64 nodes that the same pods fit, as far as the file or its folder holds some, and
says which of them Karpenter tries before this one. While those have room and capacity, pods start there; they still
share arm64 nodes that run already.

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

A NodePool of arm64 nodes only, whose name, taints and labels say nothing of it: `spot`, `team-a`.

Karpenter knows nothing of container images. Who tolerates the taint of such a pool wants spot capacity, or the nodes
of a team, and gets arm64: a container whose image was built for amd64 alone stops with `exec format error`, and a pod
that asks for amd64 stays Pending.

Silent where the same folder holds a NodePool with the same taints that may launch amd64 types. Pools without a taint
are `untainted-arm64`'s.

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
"""Keys by which a pool leaves arm64 types alone."""


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
            Also(other.name_node, f"amd64, for the same pods: tried {_order_text(other, pool)} this one")
            for other in alike
        ],
        help="unless all images are built for both architectures, add a taint to this pool",
    )


def _message(pool: NodePool, alike: list[NodePool]) -> str:
    if alike and resolve.turn(alike[0]) < resolve.turn(pool):
        return f"pods that name no architecture are started on arm64 here before `{_name(alike[0])}`"
    if alike:
        return f"pods that name no architecture fit these arm64 nodes as well as those of `{_name(alike[0])}`"
    return "arm64 nodes without a taint: pods that name no architecture fit them, whatever their images are built for"


def _name(pool: NodePool) -> str:
    return messages.short(str(pool.name), 30)


def _order_text(other: NodePool, pool: NodePool) -> str:
    return "after" if resolve.turn(other) < resolve.turn(pool) else "before"


def _alike(mine: resolve.Resolution, other: resolve.Resolution) -> bool:
    """Whether a pod without a word about the architecture fits both pools; the other has amd64 nodes alone."""
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
    line = pool_requirements.last_asking(pool, keys.ARCH)
    yield Finding(
        at=pool_requirements.values_at(line) if line is not None else fixes.place(pool),
        message="all nodes are arm64: a container image without a build for arm64 does not start on them",
        note="neither the name of the pool nor a taint says so",
        help="add a taint that names the architecture, rename the pool, or allow amd64 as well",
    )


def _says_so(pool: NodePool) -> bool:
    texts = [pool.name, *(text for taint in pool.taints for text in (taint.key, taint.value))]
    texts += [text for label in pool.template_labels for text in (label.key, label.value)]
    written = "/".join(text for text in texts if isinstance(text, str)).replace("/", "-")
    return any(word in WORDS or word == "arch" for word in labels.words_of(written))
