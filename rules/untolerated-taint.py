r"""A taint of a NodePool that no workload of the repository tolerates.

Pods that do not tolerate a taint never make Karpenter launch a node of the pool, so that a pool whose taint nobody
tolerates stays empty: a slip in the key, the value or the effect, or the rest of a project that is gone. Where the
workloads of the cluster are in other repositories, there is nothing to find here, and the rule is best left off, as
it is unless it is selected.

It speaks only where the run is about a whole repository in which there are workloads. DaemonSets are none: they run
on the nodes that others ask for, and many tolerate all taints. A placeholder may be a toleration, and so may be what
stands in values of a chart, in templates and in objects of other kinds that name the taint's key next to tolerations.
EKS adds a toleration of its key to pods that request an extended resource, such as `nvidia.com/gpu`.

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
            message=f"no workload here tolerates `{messages.short(f'{taint.key}{value}:{taint.effect}', 60)}`",
            also=[
                Also(workload.name_node, "names the key, and tolerates another value or effect")
                for workload in nearly
            ],
            help="correct the taint or the tolerations, or drop the pool if nothing needs it",
        )


def _is_all_read(workload: "cluster_objects.Workload") -> bool:
    """Whether the workloads beside it were looked for, too."""
    return workload.source.also is not None or workload.source.unread_keys is not None
