r"""No workload of the repository tolerates a taint of a NodePool.

For a pod that does not tolerate a taint, Karpenter never launches a node of the pool. If nobody tolerates the taint,
the pool stays empty: the key, the value or the effect has a typo, or the project is gone. The rule is off unless you
select it. Leave it off if the workloads of the cluster are in other repositories.

The rule reports only if the run covers a whole repository with workloads. DaemonSets do not count, because they run
on nodes that other pods need, and many tolerate all taints. Placeholders may be tolerations. So may values of a
chart, templates and other objects that contain the taint's key next to tolerations. EKS adds a toleration with the
same key to pods that request an extended resource, such as `nvidia.com/gpu`.

```yaml bad frame=pool
metadata.name: batch
spec.template.spec.taints:
  - {key: example.com/team, value: batch, effect: NoSchedule}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: report
spec:
  selector: {matchLabels: {app: report}}
  template:
    metadata: {labels: {app: report}}
    spec:
      tolerations:
        - {key: example.com/team, value: bach, effect: NoSchedule}
      containers:
        - {name: report, image: report}
```

```yaml good frame=bad
---
spec.template.spec.tolerations:
  - {key: example.com/team, value: batch, effect: NoSchedule}
```
"""

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, NodePool, cluster_objects, fit, messages, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    providers=["aws", "auto-mode"],
    mentions=["taints"],
    subject="pools",
    source="core:pkg/scheduling/taints.go@v1.14.1:72",
    tags=["workloads", "all-workloads"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial:
        return
    pods = [
        o for o in context.objects if isinstance(o, cluster_objects.Workload) and not o.is_daemon and _is_all_read(o)
    ]
    for taint in pool.taints if pods else ():
        known = isinstance(taint.key, str) and isinstance(taint.effect, str) and taint.value is not UNKNOWN
        if not known or taint.effect not in ("NoSchedule", "NoExecute"):
            continue
        unread = any(taint.key in (workload.source.unread_keys or ()) for workload in pods)
        if unread or any(fit.may_tolerate(workload, taint) for workload in pods):
            continue
        value = f"={taint.value}" if taint.value else ""
        nearly = [workload for workload in pods if fit.names_taint(workload, str(taint.key))]
        yield Finding(
            at=taint.node.get("key") or taint.node,
            message="no workload of the repository tolerates "
            f"`{messages.short(f'{taint.key}{value}:{taint.effect}', 60)}`",
            also=[
                Also(workload.name_node, "has the key, but tolerates another value or effect") for workload in nearly
            ],
            help="correct the taint or the tolerations; if nothing needs the pool, remove the pool",
        )


def _is_all_read(workload: "cluster_objects.Workload") -> bool:
    """Return whether nodelint also read all other workloads of the repository."""
    return workload.source.also is not None or workload.source.unread_keys is not None
