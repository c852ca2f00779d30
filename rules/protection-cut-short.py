"""Pods with `karpenter.sh/do-not-disrupt` run in a NodePool that ends a drain before they are done.

The annotation delays the drain of a node only until the `terminationGracePeriod` of its NodePool is over. Then
Karpenter deletes the pods. If the field is set, Karpenter also replaces a drifted node with such pods, which it would
otherwise leave alone.

The rule reports a period that is shorter than the pod's `terminationGracePeriodSeconds` or a Job's
`activeDeadlineSeconds`, and a period of half an hour or less. It reports only if every NodePool that accepts the
pods has such a short period. It reports nothing if nodelint does not know which NodePools accept the pods, or if
nodes outside of Karpenter may accept the pods.

```yaml bad frame=pool
spec.template.spec.terminationGracePeriod: 20m
---
apiVersion: batch/v1
kind: Job
metadata:
  name: training
spec:
  template:
    metadata:
      annotations: {karpenter.sh/do-not-disrupt: "true"}
    spec:
      restartPolicy: Never
      containers:
        - {name: training, image: training, resources: {requests: {cpu: 500m}}}
```

```yaml good frame=bad
spec.template.spec.terminationGracePeriod: 24h
```
"""

from nodelint.api import Also, Context, Finding, Findings, Node, NodePool, cluster_objects, controller, manifest, rule

_DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
_OF_JOBS = {"Job": ("spec",), "CronJob": ("spec", "jobTemplate", "spec")}


@rule(
    on=cluster_objects.Workload,
    group="hazard",
    severity="info",
    subject="disruption",
    options={"minutes": "the longest `terminationGracePeriod`, in minutes, that is short for any such pod"},
    source=[
        "https://karpenter.sh/docs/concepts/disruption/#terminationgraceperiod",
        "core:pkg/apis/v1/nodeclaim.go@v1.14.0:73",
    ],
    tags=["workloads"],
)
def check(workload: "cluster_objects.Workload", context: Context, *, minutes: int = 30) -> Findings:
    of_pod, spec = workload.pod_metadata, workload.pod_spec
    annotation = of_pod.find("annotations", _DO_NOT_DISRUPT) if of_pod is not None else None
    if workload.partial or workload.is_daemon or spec is None or annotation is None or annotation.value != "true":
        return
    if context.pools_elsewhere:
        return
    found = context.fit(workload)
    pools = [verdict.pool.pool for verdict in found.verdicts if verdict.fits]
    if not pools or found.elsewhere or found.unknown or found.unread_pool is not None:
        return
    longest = max(minutes * 60, *map(_seconds_below, _find_needs(workload, spec)))
    short = [(pool, node) for pool in pools if (node := _find_short(pool, longest)) is not None]
    if len(short) < len(pools):
        return
    pool, node = short[0]
    yield Finding(
        at=annotation,
        message=f"NodePool `{pool.name}` ends a drain after `{node.value}`: Karpenter then deletes these pods anyway",
        also=[Also(node, "after this time Karpenter deletes every pod")],
        note="with a `terminationGracePeriod`, Karpenter also replaces their nodes for drift",
        help="set a time longer than the longest job runs, or use a separate NodePool for these pods",
    )


def _find_needs(workload: "cluster_objects.Workload", spec: Node) -> list[Node | None]:
    """Return the fields of a workload, in seconds, that limit how long a pod runs or takes to end.

    A missing field is None.
    """
    job = workload.node.find(*_OF_JOBS[workload.kind]) if workload.kind in _OF_JOBS else None
    return [
        spec.get("terminationGracePeriodSeconds"),
        spec.get("activeDeadlineSeconds"),
        job.get("activeDeadlineSeconds") if job is not None else None,
    ]


def _seconds_below(node: Node | None) -> int:
    """Return the written number of seconds less 1. 0 if the node has no number."""
    value = node.value if node is not None else None
    return value - 1 if isinstance(value, int) and not isinstance(value, bool) else 0


def _find_short(pool: NodePool, longest: int) -> Node | None:
    """Return the node of a pool's `terminationGracePeriod` if it is at most `longest` seconds.

    None if it is longer or missing.
    """
    node = pool.node.find("spec", "template", "spec", "terminationGracePeriod")
    written = manifest.text(node)
    length = controller.seconds(written) if isinstance(written, str) else None
    return node if length is not None and length <= longest else None
