r"""A NodePool keeps Karpenter's default disruption: nodes are replaced soon after a change, at any hour.

Most NodePools keep these defaults, or set `WhenEmpty` on purpose. So nodelint shows the findings only if `--select`
or `--extend-select` asks for this rule.

One line of a run reports this for all its NodePools, with a suggestion for each. The rule reports a NodePool if
Karpenter can replace its nodes seconds after a change, or never consolidates them. The finding also names missing
budgets and a missing `terminationGracePeriod`. These alone are no finding, because most NodePools set neither.

*When.* `consolidateAfter` is the time without a change of a node's pods after which Karpenter may consolidate the
node. A NodePool without a `disruption` block has `0s`. With `WhenEmptyOrUnderutilized` and ten seconds or less, each
pod that starts or ends can move other pods to another node. Deployments, jobs and autoscalers start and end pods all
day. Each move restarts pods and pulls images again. An on-demand node costs at least one minute more. A few minutes
save nearly as much. The rule does not report `WhenEmpty` here, because it moves no pod.

*How many.* Without `spec.disruption.budgets` a pool has one budget of 10% without a schedule, rounded up: one node of
up to ten, ten nodes of a hundred. The budget applies to drift and consolidation, at all hours.

*How long.* From Karpenter 1.0 on, a node that reaches its `expireAfter` is drained at once, whatever the budgets say.
The drain waits for every pod that cannot be evicted: because of a PodDisruptionBudget, or because of
`karpenter.sh/do-not-disrupt`. Without `terminationGracePeriod` there is no time limit. Meanwhile the node takes no
new pods, costs money, and keeps its old image. With `terminationGracePeriod: 24h`, Karpenter deletes such pods in
time. That can end longer work, so only the owner of the workloads knows how long is enough. The field is part of the
template: if you set it, Karpenter replaces the pool's nodes, within its budgets.

*Which.* With `WhenEmpty` Karpenter removes a node only after its last pod is gone. A node with one small pod stays
until it expires or drifts, and Karpenter never replaces it by a cheaper type. After a peak this can be most of the
pool. `WhenEmpty` is right for batch jobs and other work that must not move. Such pools usually have a taint, and the
rule does not report them. It does not report pools of accelerators and static pools either. A taint that only names
the architecture, such as `arm64`, does not count. A taint such as `CriticalAddonsOnly`, or a pool name such as
`system`, stands for services that never end, so their nodes are hardly ever empty.

```yaml bad frame=pool
```

```yaml good frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets:
    - nodes: 10%
    - nodes: "0"
      schedule: 0 9 * * mon-fri
      duration: 8h
spec.template.spec.terminationGracePeriod: 24h
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5s
spec.template.spec.terminationGracePeriod: 24h
```

```yaml good frame=bad
spec.disruption:
  consolidationPolicy: WhenEmptyOrUnderutilized
  consolidateAfter: 5m
  budgets: [{nodes: 10%}]
```

```yaml bad frame=pool
spec.disruption:
  consolidationPolicy: WhenEmpty
  consolidateAfter: 5m
  budgets: [{nodes: 10%}]
spec.template.spec.terminationGracePeriod: 24h
```

```yaml good frame=bad
spec.disruption.consolidationPolicy: WhenEmptyOrUnderutilized
```
"""

import re
from collections.abc import Sequence

from nodelint.api import (
    EVERY_PROVIDER,
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    Suggestion,
    budgets,
    controller,
    edits,
    fixes,
    manifest,
    resolve,
    rule,
)

CALM = "5m"
BLOCK = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": CALM}
QUIET = [{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]
TEMPLATE = ("spec", "template", "spec")
ARCHITECTURE = {"amd64", "arch", "architecture", "arm", "arm64", "graviton", "x86"}
SERVICES = {"addon", "addons", "criticaladdonsonly", "infra", "infrastructure", "ingress", "monitoring", "system"}


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    providers=EVERY_PROVIDER,
    options={"seconds": "the longest `consolidateAfter`, in seconds, that counts as short for any work"},
    renamed=("no-budgets", "no-termination-grace-period", "empty-only"),
    subject="disruption",
    source=[
        "core:pkg/apis/v1/nodepool.go@v1.14.0:109",
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:73",
        "core:pkg/controllers/nodeclaim/disruption/consolidation.go@v1.14.0:40",
        "core:pkg/controllers/disruption/emptiness.go@v1.14.0:42",
        "https://karpenter.sh/docs/concepts/disruption/",
    ],
)
def check(pool: NodePool, context: Context, *, seconds: int = 10) -> Findings:
    soon = _place_of_haste(pool, seconds)
    if (
        soon is not None
        and soon is not pool.name_node
        and fixes.describe_long_work(pool, context.resolution) is not None
    ):
        soon = None  # `node-churn` says what it does to such work
    many = _place_of_many(pool)
    long = _place_of_drain(pool)
    policy_at = _place_of_held(pool, context)
    at = soon if policy_at is None else many or long
    if policy_at is not None:
        rest = None if at is None else Also(at, _message(pool, None, many is not None, long is not None))
        yield Finding(
            at=policy_at,
            message="`WhenEmpty`: a node with one small pod is never consolidated, nor replaced by a cheaper one",
            once="nodes with pods",
            on_request=True,
            also=[] if rest is None else [rest],
            help="`WhenEmptyOrUnderutilized` does both, at the pace of the budgets"
            if pool.version == "v1"
            else "`WhenUnderutilized` does both; it takes no `consolidateAfter` before v1",
            suggestions=_ways(pool, None, many is not None),
        )
    elif at is not None:
        yield Finding(
            at=at,
            message=_message(pool, soon, many is not None, long is not None),
            once="defaults",
            on_request=True,
            note=None if long is None else "a pod that must not be evicted keeps its node forever",
            help=_help(pool, soon, many is not None, long is not None),
            suggestions=_ways(pool, soon, many is not None),
        )


def _place_of_held(pool: NodePool, context: Context) -> Node | None:
    """Return the node of `WhenEmpty` if the pool is for services or for any workload; else None."""
    disruption = pool.node.find("spec", "disruption")
    policy = disruption.get("consolidationPolicy") if disruption is not None else None
    if pool.partial or pool.static or disruption is None or policy is None or policy.value != "WhenEmpty":
        return None
    taints = resolve.taints(pool)
    if pool.provider not in ("aws", "auto-mode") or taints is None:
        return None
    if not (_words(str(pool.name)) & SERVICES or all(_is_no_job(key, value) for key, value, _ in taints)):
        return None
    after = disruption.get("consolidateAfter")
    resolution = context.resolution(pool)
    if after is not None and after.value == "Never":
        return None
    return policy if resolution.launchable - resolve.special(resolution.catalog) else None


def _is_no_job(key: str, value: str) -> bool:
    """Return whether a taint names an architecture or a service, so that the pool is not for jobs."""
    return bool(_words(key) & ARCHITECTURE or _words(f"{key.rpartition('/')[2]} {value}") & SERVICES)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", name.lower()))


def _place_of_haste(pool: NodePool, seconds: int) -> Node | None:
    """Return the node of a short `consolidateAfter`; the pool's name if there is no `disruption` block.

    None if underutilized nodes are not consolidated soon.
    """
    if pool.static:
        return None
    block = pool.find_field("spec", "disruption")
    if pool.budgets_node is not None and budgets.always_closed(pool, "Underutilized"):
        return None
    if block is None or (block.value is None and block.kind == "scalar"):
        return None if pool.partial or pool.node.get("spec") is None else pool.name_node
    policy, after = block.get("consolidationPolicy"), block.get("consolidateAfter")
    written = manifest.text(policy)
    if written not in ("WhenEmptyOrUnderutilized", "WhenUnderutilized", None) or (written is None and pool.partial):
        return None
    if _has_no_delay(pool, after):
        return policy or block
    text = manifest.text(after)
    length = controller.seconds(text) if isinstance(text, str) else None
    return after if length is not None and length <= seconds else None


def _has_no_delay(pool: NodePool, after: Node | None) -> bool:
    """Return whether the API version has no delay for underutilized nodes (v1beta1 and the Provisioner)."""
    return pool.version != "v1" and after is None and not pool.partial


def _place_of_many(pool: NodePool) -> Node | None:
    """Return the place at which budgets are missing. None if the pool has budgets, or if this is not known."""
    spec, written = pool.node.get("spec"), pool.find_field("spec", "disruption", "budgets")
    if spec is None or not (written is None or (written.kind == "scalar" and written.value is None)):
        return None
    block = spec.get("disruption")
    if block is None and pool.find_field("spec", "disruption") is not None:
        return None  # the API server refuses it at this place
    if not pool.shows_all(spec if block is None or block.kind != "mapping" else block):
        return None
    return pool.name_node if block is None else fixes.key_of(block)


def _place_of_drain(pool: NodePool) -> Node | None:
    """Return the place of an expiration without a limit on the drain; None if there is none.

    EKS Auto Mode limits the drain to one day by default.
    """
    if pool.provider != "aws" or pool.node.find(*TEMPLATE) is None or pool.partial:
        return None
    if pool.find_field(*TEMPLATE, "terminationGracePeriod") is not None:
        return None
    node = pool.find_field(*TEMPLATE, "expireAfter")
    written = manifest.text(node)
    if node is None or node.value is None:
        return pool.name_node
    return node if isinstance(written, str) and controller.seconds(written) is not None else None


def _message(pool: NodePool, soon: Node | None, many: bool, long: bool) -> str:
    if soon is None and not many:
        written = manifest.text(pool.find_field(*TEMPLATE, "expireAfter"))
        lifetime = f"`{written}`" if isinstance(written, str) else "720h (default)"
        return f"nodes expire after {lifetime}, but drains have no time limit"
    drain = "; drains have no time limit" if long else ""
    if soon is None:
        return f"without budgets, Karpenter may replace 10% of the nodes at once, at any hour{drain}"
    tenth = (", 10% at once" if drain else ", 10% at once, at any hour") if many else ""
    block = pool.find_field("spec", "disruption")
    if soon is pool.name_node:
        return f"without a `disruption` block, nodes are consolidated once their pods change (0s){tenth}{drain}"
    text = "0s" if block is None or soon is not block.get("consolidateAfter") else str(soon.value)
    return f"underutilized nodes are consolidated `{text}` after their pods change{tenth}{drain}"


def _help(pool: NodePool, soon: Node | None, many: bool, long: bool) -> str:
    wanted = [f"`consolidateAfter: {CALM}`"] if soon is not None else []
    wanted += ["`budgets` with quiet hours (UTC)"] if many else []
    wanted += ["`terminationGracePeriod: 24h`"] if long else []
    listed = " and ".join(filter(None, (", ".join(wanted[:-1]), wanted[-1])))
    first = "" if pool.version == "v1" else "write the object as v1, and "
    return f"{first}set what fits the workloads, such as {listed}"


def _ways(pool: NodePool, soon: Node | None, many: bool) -> list[Suggestion]:
    spec, block = pool.node.get("spec"), pool.find_field("spec", "disruption")
    ways: list[tuple[str, Sequence[Edit]]] = []
    if soon is not None and spec is not None and pool.version == "v1":
        ways.append(("wait for five minutes without a change", edits.if_editable(_calm, spec, block)))
    if many and block is not None and block.kind == "mapping" and block.get("budgets") is None:
        quiet = edits.if_editable(edits.add_key, block, "budgets", QUIET)
        ways.append(("allow no disruption in working hours (Mon-Fri 9-17 UTC)", quiet))
    return [Suggestion(name, changes) for name, changes in ways if changes]


def _calm(spec: Node, block: Node | None) -> list[Edit]:
    if block is None:
        return edits.add_key(spec, "disruption", BLOCK)
    if block.kind != "mapping":
        return edits.replace(block, BLOCK)
    after = block.get("consolidateAfter")
    return edits.add_key(block, "consolidateAfter", CALM) if after is None else edits.set_value(after, CALM)
