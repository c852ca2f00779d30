r"""The name of a NodePool contradicts its requirements, for example `spot-medium` allows on-demand.

People use the name to choose a pool, read bills and silence alerts. The rule looks at the words of the name,
separated by hyphens and dots:

- `spot`, if the pool allows on-demand capacity
- `on-demand`, `ondemand` and `od`, if the pool allows spot capacity, which Karpenter tries first
- `arm64`, `arm`, `aarch64` and `graviton`, if the pool allows amd64 types
- `amd64`, `x86` and `x64`, if the pool allows arm64 types
- `priority`, `preferred` and `prioritized`, if the pool has no weight, so Karpenter does not try it first
- `gpu`, `nvidia` and `cuda`, if the pool allows no type with a GPU; `neuron`, `inferentia` and `trainium` likewise

The rule also checks template labels with such a value, such as `lifecycle: spot`, because pods select them. It
ignores a name with words of both sides (`spot-od`, `amd64-arm64`). A pool that is named `spot` and falls back to
on-demand is reported only if `--select` or `--extend-select` asks for the rule.

```yaml bad frame=pool
metadata.name: spot-medium
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [medium, large]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [medium, large]}
```

```yaml bad frame=pool
metadata.name: batch-on-demand
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml bad frame=pool
metadata.name: graviton
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
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
    keys,
    labels,
    messages,
    pool_requirements,
    resolve,
    rule,
)

CAPACITY = {"spot": ("spot",), "on-demand": ("od", "ondemand")}
ARCHES = {"arm64": ("arm64", "arm", "aarch64", "graviton"), "amd64": ("amd64", "x86", "x64")}
PREFERRED = ("preferred", "prioritized", "priority")
DEVICES = {
    "GPU": ("gpu", "gpus", "nvidia", "cuda"),
    "Neuron device": ("neuron", "inferentia", "trainium"),
}


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "device-of-another-vendor", "removed-api", "unknown-label"],
    providers=["aws", "auto-mode"],
    subject="pools",
    source="https://karpenter.sh/docs/concepts/nodepools/",
)
def check(pool: NodePool, context: Context) -> Findings:
    words = labels.words_of(pool.name)
    if pool.partial or context.duplicates(pool):
        return
    if pool.weight_node is None and any(word in PREFERRED for word in words):
        yield Finding(
            at=pool.name_node,
            message="the name says that the NodePool is preferred, but it has no `weight`: Karpenter does not "
            "prefer it",
            help="set `spec.weight` (100 is tried first), or rename the pool",
        )
    named = _kinds(words)
    yield from _against(pool, pool.name_node, "the name says {}", named, context)
    for label in pool.template_labels:
        kinds = _kinds(labels.words_of(label.value)) - named
        if kinds and len(labels.words_of(label.value)) <= 2:
            shown = messages.short(f"{label.key}: {label.value}", 40)
            yield from _against(pool, fixes.visible_node(label.node), f"nodes are labelled `{shown}`", kinds, context)


def _kinds(words: tuple[str, ...]) -> set[str]:
    """Return the kinds of capacity, architecture and device that words name.

    Two kinds of the same group cancel each other: of `spot-and-od`, none is returned.
    """
    found = set()
    for kinds in (CAPACITY, ARCHES, DEVICES):
        kinds_named = {kind for kind, names in kinds.items() if any(word in names for word in words)}
        if kinds is CAPACITY and "on-demand" in "-".join(words):
            kinds_named.add("on-demand")
        if kinds is ARCHES and any(word.startswith(("arm", "aarch")) for word in words):
            kinds_named |= {"arm64"} if kinds_named else set()  # a word such as `armd64` names it, too
        found |= kinds_named if len(kinds_named) == 1 else set()
    return found


def _against(pool: NodePool, at: Node, start: str, kinds: set[str], context: Context) -> Findings:
    """Yield a finding for each kind in `kinds` that the requirements contradict. `start` begins the message."""
    for kind in sorted(kinds):
        judge = _capacity if kind in CAPACITY else _arch if kind in ARCHES else _device
        yield from judge(pool, at, start, kind, context)


def _capacity(pool: NodePool, at: Node, start: str, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    other = "spot" if named == "on-demand" else "on-demand"
    if other not in resolution.capacity_types or fixes.doubts(resolution, (keys.CAPACITY_TYPE,)):
        return
    line = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    remark = f"but the requirements allow {other}" + (", which is tried first" if other == "spot" else "")
    if named not in resolution.capacity_types:
        remark = f"but the requirements allow only {other}"
    yield Finding(
        at=at,
        message=f"{start.replace('{}', named)}, {remark}",
        severity="warning" if other == "spot" else None,
        # Karpenter tries spot first, so the name holds as long as there is spot capacity.
        on_request=named == "spot" and named in resolution.capacity_types,
        also=[_also(pool_requirements.values_at(line), other)] if line is not None else (),
        help=f"require `karpenter.sh/capacity-type In [{named}]`, {_rename(pool, at)}",
    )


def _rename(pool: NodePool, at: Node) -> str:
    """Return the end of the help, which says what to change instead: the name of the pool, or the label at
    this node.
    """
    return "or rename the pool" if at is pool.name_node else "or change the label"


def _also(node: Node, what: str) -> Also:
    return Also(fixes.visible_node(node), f"allows {what}")


def _arch(pool: NodePool, at: Node, start: str, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    left = resolution.launchable or resolution.candidates
    other = "amd64" if named == "arm64" else "arm64"
    types = left & resolution.catalog.values(keys.ARCH)[other]
    if not types or fixes.doubts(resolution):
        return
    if resolution.node_class is not None and any(image.arch is None for image in resolution.images.images):
        return  # the images decide, and are not known
    line = pool_requirements.find_last_requirement(pool, keys.ARCH)
    yield Finding(
        at=at,
        message=f"{start.replace('{}', named)}, but {len(types):,} of {len(left):,} instance types are {other}",
        also=[_also(pool_requirements.values_at(line), other)] if line is not None else (),
        help=f"require `kubernetes.io/arch In [{named}]`, {_rename(pool, at)}",
    )


def _device(pool: NodePool, at: Node, start: str, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    having = resolution.catalog.having(keys.GPU_COUNT if named == "GPU" else keys.ACCELERATOR_COUNT)
    left = resolution.candidates
    if not left or left & having or resolve.special(resolution.catalog) & left or fixes.doubts(resolution):
        return
    several = len(left) > 1
    lack = (
        f"none of the {len(left):,} allowed instance types has one"
        if several
        else "the only allowed instance type has none"
    )
    yield Finding(
        at=at,
        message=f"{start.replace('{}', f'{named}s')}, but {lack}",
        help=f"allow instance types that have one, {_rename(pool, at)}",
    )
