r"""A NodePool without taints, or for services of the system, that consolidates empty nodes only.

With `WhenEmpty` Karpenter removes a node when its last pod is gone. A node that one small pod holds stays until it
expires or drifts, and a cheaper type never replaces it. After a peak that can be most of the pool. For batch jobs and
other work that must not be moved `WhenEmpty` is right; such pools have a taint as a rule, and are let alone here, as
are pools of accelerators and static ones. A taint that only names the architecture, such as `arm64`, says nothing of
the work. One such as `CriticalAddonsOnly`, or a pool's name such as `system`, stands for services, which never end:
such nodes are hardly ever empty.

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: 5m
```

```yaml good frame=bad
spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized
```
"""

import re

from nodelint.api import Context, Finding, Findings, NodePool, resolve, rule

ARCHITECTURE = {"amd64", "arch", "architecture", "arm", "arm64", "graviton", "x86"}
SERVICES = {"addon", "addons", "criticaladdonsonly", "infra", "infrastructure", "ingress", "monitoring", "system"}


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    providers=["aws", "auto-mode"],
    gives_way_to=["no-instance-type"],
    subject="disruption",
    source=[
        "core:pkg/controllers/disruption/emptiness.go@v1.14.0:42",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    disruption = pool.node.find("spec", "disruption")
    policy = disruption.get("consolidationPolicy") if disruption is not None else None
    if pool.partial or pool.static or disruption is None or policy is None or policy.value != "WhenEmpty":
        return
    taints = resolve.taints(pool)
    if taints is None or not (
        _words(str(pool.name)) & SERVICES or all(_is_no_job(key, value) for key, value, _ in taints)
    ):
        return
    after = disruption.get("consolidateAfter")
    resolution = context.resolution(pool)
    if (after is not None and after.value == "Never") or not resolution.launchable - resolve.special(
        resolution.catalog
    ):
        return
    yield Finding(
        at=policy,
        message="`WhenEmpty`: a node that one small pod holds is never consolidated, nor replaced by a cheaper one",
        once=True,
        help="`WhenEmptyOrUnderutilized` does both, at the pace of the budgets"
        if pool.version == "v1"
        else "`WhenUnderutilized` does both; it takes no `consolidateAfter` before v1",
    )


def _is_no_job(key: str, value: str) -> bool:
    """Whether a taint names the architecture of images, or services: no work that runs to an end."""
    return bool(_words(key) & ARCHITECTURE or _words(f"{key.rpartition('/')[2]} {value}") & SERVICES)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", name.lower()))
