r"""A NodePool whose name says one thing and whose requirements say another: `spot-medium` that allows on-demand.

People choose a pool, read bills and silence alerts by its name. The rule looks at the words of the name, which
hyphens and dots part:

- `spot`, where on-demand capacity is allowed
- `on-demand`, `ondemand` and `od`, where spot capacity is allowed, which is then tried first
- `arm64`, `arm`, `aarch64` and `graviton`, where amd64 types are left
- `amd64`, `x86` and `x64`, where arm64 types are left
- `priority`, `preferred` and `prioritized`, where the pool has no weight, so that it is not tried before others
- `gpu`, `nvidia` and `cuda`, where no type with a GPU is left; `neuron`, `inferentia` and `trainium` likewise

A name with words of both sides (`spot-od`, `amd64-arm64`) says what it is.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: spot-medium
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [medium, large]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: spot-medium
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [medium, large]}
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch-on-demand
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch-on-demand
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: graviton
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: graviton
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```
"""

from nodelint.api import Also, Context, Finding, Findings, Node, NodePool, fixes, keys, labels, resolve, rule

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
    gives_way_to=["no-instance-type", "device-of-another-vendor", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    words = labels.words_of(pool.name)
    if pool.partial or not words or context.namesake(pool) is not None:
        return
    capacity = {kind for kind, names in CAPACITY.items() if any(word in names for word in words)}
    if "on-demand" in "-".join(words):
        capacity.add("on-demand")
    arches = {arch for arch, names in ARCHES.items() if any(word in names for word in words)}
    devices = {what for what, names in DEVICES.items() if any(word in names for word in words)}
    if pool.node.at("spec", "weight") is None and any(word in PREFERRED for word in words):
        yield Finding(
            at=pool.name_node,
            message="named to be preferred, but without a `weight`: Karpenter tries it like all others",
            help="set `spec.weight` (100 is tried first), or rename the pool",
        )
    if len(capacity) == 1:
        yield from _capacity(pool, capacity.pop(), context)
    if len(arches) == 1:
        yield from _arch(pool, arches.pop(), context)
    if len(devices) == 1:
        yield from _device(pool, devices.pop(), context)


def _capacity(pool: NodePool, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    other = "spot" if named == "on-demand" else "on-demand"
    if other not in resolution.capacity_types or fixes.doubts(resolution, (keys.CAPACITY_TYPE,)):
        return
    line = labels.last_asking(pool, keys.CAPACITY_TYPE)
    said = f"but {other} is allowed" + (", and tried first" if other == "spot" else "")
    if named not in resolution.capacity_types:
        said = f"but only {other} is allowed"
    yield Finding(
        at=pool.name_node,
        message=f"named for {named} capacity, {said}",
        severity="warning" if other == "spot" else None,
        also=[_also(labels.values_at(line), other)] if line is not None else (),
        help=f"require `karpenter.sh/capacity-type In [{named}]`, or rename the pool",
    )


def _also(node: Node, what: str) -> Also:
    return Also(fixes.seen(node), f"allows {what}")


def _arch(pool: NodePool, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    left = resolution.launchable or resolution.candidates
    other = "amd64" if named == "arm64" else "arm64"
    types = left & resolution.catalog.values(keys.ARCH)[other]
    if not types or fixes.doubts(resolution):
        return
    if resolution.node_class is not None and any(image.arch is None for image in resolution.images.images):
        return  # the images decide, and are not known
    line = labels.last_asking(pool, keys.ARCH)
    yield Finding(
        at=pool.name_node,
        message=f"named for {named}, but {len(types):,} of the {len(left):,} instance types left are {other}",
        also=[_also(labels.values_at(line), other)] if line is not None else (),
        help=f"require `kubernetes.io/arch In [{named}]`, or rename the pool",
    )


def _device(pool: NodePool, named: str, context: Context) -> Findings:
    resolution = context.resolution(pool)
    having = resolution.catalog.having(keys.GPU_COUNT if named == "GPU" else keys.ACCELERATOR_COUNT)
    left = resolution.candidates
    if not left or left & having or resolve.special(resolution.catalog) & left or fixes.doubts(resolution):
        return
    yield Finding(
        at=pool.name_node,
        message=f"named for {named}s, but none of the {len(left):,} instance types left has one",
        help="let types in that have one, or rename the pool",
    )
