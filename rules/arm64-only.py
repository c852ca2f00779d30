r"""A NodePool of arm64 nodes only, whose name, taints and labels say nothing of it: `spot`, `team-a`.

Karpenter knows nothing of container images. Who tolerates the taint of such a pool wants spot capacity, or the nodes
of a team, and gets arm64: a container whose image was built for amd64 alone stops with `exec format error`, and a pod
that asks for amd64 stays Pending.

Silent where the same folder holds a NodePool with the same taints that may launch amd64 types. Pools without a taint
are `untainted-arm64`'s.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: team-a
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [arm64]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      taints:
        - {key: team, value: a, effect: NoSchedule}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: team-a
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [arm64]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      taints:
        - {key: team, value: a, effect: NoSchedule}
        - {key: kubernetes.io/arch, value: arm64, effect: NoSchedule}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, rule

WORDS = frozenset({"arm", "arm64", "aarch64", "graviton"})


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["image-arch-mismatch", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None or not pool.taints or _says_so(pool):
        return
    resolution = context.resolution(pool)
    if tuple(resolution.arches) != ("arm64",) or fixes.doubts(resolution):
        return
    if any("amd64" in context.resolution(other).arches for other in context.siblings(pool)):
        return
    line = labels.last_asking(pool, keys.ARCH)
    yield Finding(
        at=labels.values_at(line) if line is not None else fixes.place(pool),
        message="all nodes are arm64: a container image without a build for arm64 does not start on them",
        note="neither name nor taint say so to whoever uses the pool",
        help="add a taint that names the architecture, rename the pool, or allow amd64 as well",
    )


def _says_so(pool: NodePool) -> bool:
    texts = [pool.name, *(text for taint in pool.taints for text in (taint.key, taint.value))]
    texts += [text for label in pool.template_labels for text in (label.key, label.value)]
    written = "/".join(text for text in texts if isinstance(text, str)).replace("/", "-")
    return any(word in WORDS or word == "arch" for word in labels.words_of(written))
